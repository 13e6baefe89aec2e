package tesseract

import (
	"path"
	"slices"
	"strings"
)

// largerFolder is where the folder of the models has those of larger networks, under the same names; it may be
// missing. The networks that distributions install are small, for speed. Those of the release 4.0.0 that are called
// best, in whole numbers, have the same kinds of layers, and the same words, and make a third fewer errors in letters
// on bad scans.
const largerFolder = "best"

// withLargerModels returns the languages to load for a page in the given ones, joined by plus signs: those, and then
// the larger models that there are of them. Tesseract reads a line with one after the other until it is sure of each
// word, and of the readings of a word takes the one that is surer or, where none is, in a list of words. So it is
// only the lines which a small network doubts that cost more, and neither has to be trusted by itself.
//
// Larger models of Latin letters are left out where they stand beside another script: they would be the surer ones of
// letters that look alike.
func withLargerModels(datapath, languages string) string {
	all := strings.Split(languages, "+")
	mixed := slices.ContainsFunc(all, isNonLatin)
	var larger []string
	for _, l := range all {
		model := path.Join(largerFolder, l)
		if (isNonLatin(l) || !mixed) && l != osdModel && hasModel(datapath, model) {
			larger = append(larger, model)
		}
	}
	return strings.Join(append(all, larger...), "+")
}
