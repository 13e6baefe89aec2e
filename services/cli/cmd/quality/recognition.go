package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/pdftest/score"
)

// wantsRecognition takes scans whose text is known.
func wantsRecognition(f pdftest.CorpusFile) bool { return f.HasTags("ocr-truth") && isPDF(f) }

func isPDF(f pdftest.CorpusFile) bool { return strings.HasSuffix(f.Path, ".pdf") }

// The readers that are compared.
const (
	inkstream = iota
	tesseractAlone
	ocrmypdf
	readers
)

var readerNames = [readers]string{"Inkstream", "tesseract", "OCRmyPDF"}

// recognitionResult is how well each reader read a file; nil where a reader could not be run. A reader that failed
// has read nothing.
type recognitionResult struct {
	*sample
	byReader [readers]*score.Result
	note     string
}

func scoreRecognition(ctx context.Context, b *qualityRun, samples []*sample) (section, error) {
	readings, err := forEachSample(ctx, b, samples, b.scoreRecognisers)
	if err != nil {
		return section{}, err
	}
	sec := section{method: "Character and word error rates (CER, WER) against the known text of scans, as pkg/pdftest/score has them, leniently: Unicode " +
		"NFKC, white space, quotes, dashes and hyphens at line ends folded; case does not count where the truth is in capitals only. A sum over " +
		"files is that of their edits over that of their characters. F1 is that of words regardless of order: a high CER with a high F1 is " +
		"wrong order, with a low one wrong letters. A group is worse by as many characters as more are wrong than for the better peer. Peers: pdftoppm at 300 dpi with the tesseract command, and OCRmyPDF, which turns and " +
		"straightens pages, with the same models and languages. Target: in every group at least as good as the better peer, and better in the groups " +
		strings.Join(hardGroups, ", ") + ", as far as there are such files.",
	}
	byGroup := reportTable{title: "Recognition by group",
		columns: []string{"Group", "Files", "CER", "tesseract", "OCRmyPDF", "WER", "tesseract", "OCRmyPDF", ""}}
	all := sumByReader(readings)
	sec.summary = append(sec.summary,
		summaryFigure{"CER, all scans", formatRate(all[inkstream], charErrorRate), formatBestPeer(all, charErrorRate),
			"≤ peer", !isWorseThanPeer(all, charErrorRate)},
		summaryFigure{"WER, all scans", formatRate(all[inkstream], wordErrorRate), formatBestPeer(all, wordErrorRate),
			"≤ peer", !isWorseThanPeer(all, wordErrorRate)})
	groups := map[string][]recognitionResult{}
	for _, r := range readings {
		for _, g := range scanGroups(r.sample) {
			groups[g] = append(groups[g], r)
		}
	}
	var asGood, asGoodWords, hard, won int
	for _, g := range slices.Sorted(maps.Keys(groups)) {
		sum := sumByReader(groups[g])
		verdict := ""
		if n := charsBehindPeer(sum); n > 0 {
			verdict = fmt.Sprintf("worse by %d", n)
		} else {
			asGood++
		}
		asGoodWords += boolToInt(!isWorseThanPeer(sum, wordErrorRate))
		if slices.Contains(hardGroups, g) {
			hard++
			won += boolToInt(isAheadOfPeer(sum, charErrorRate))
		}
		byGroup.addRow(append(append([]string{g, fmt.Sprint(len(groups[g]))}, formatRates(sum)...), verdict)...)
	}
	byGroup.addRow(append(append([]string{"all", fmt.Sprint(len(readings))}, formatRates(all)...), "")...)
	of := func(what string, n, of int) summaryFigure {
		return summaryFigure{what, fmt.Sprintf("%d of %d", n, of), absent, "all", n == of}
	}
	sec.summary = append(sec.summary, of("groups with a CER not above the better peer's", asGood, len(groups)),
		of("groups with a WER not above the better peer's", asGoodWords, len(groups)),
		of("groups of skewed, noisy, low-resolution or inverted scans with a CER below the better peer's", won, hard))

	byFile := reportTable{title: "Recognition by file, worst against the peers first", columns: []string{
		"File", "CER", "tesseract", "OCRmyPDF", "WER", "tesseract", "OCRmyPDF", "F1", "Note"}}
	slices.SortStableFunc(readings, func(x, y recognitionResult) int {
		return cmp.Compare(charsBehindPeer(y.byReader), charsBehindPeer(x.byReader))
	})
	for _, r := range readings {
		byFile.addRow(append(append([]string{r.Path}, formatRates(r.byReader)...), formatRatio(r.byReader[inkstream].F1),
			r.note)...)
	}
	sec.tables = []reportTable{byGroup, byFile}
	return sec, nil
}

// scoreRecognisers scores what every reader made of a scan.
func (b *qualityRun) scoreRecognisers(ctx context.Context, s *sample) (recognitionResult, error) {
	truth, err := os.ReadFile(filepath.Join(b.corpus, filepath.FromSlash(s.TruthPath)))
	if err != nil {
		return recognitionResult{}, err
	}
	o := score.Options{Lenient: true, IgnoreCase: strings.Contains(s.Notes, "--ignore-case")}
	r := recognitionResult{sample: s}
	compare := func(reader int, text string) {
		res := score.CompareTexts(string(truth), text, o)
		r.byReader[reader] = &res
	}
	text, ok := s.readArtifact("text.txt")
	if !ok {
		r.note = "text.txt " + absentArtifact + ": " + s.state
	}
	compare(inkstream, text)
	if b.peers.areInstalled("pdftoppm", "tesseract") {
		text, err := b.peers.runTesseract(ctx, s.CorpusFile, s.tesseractLanguages())
		if err != nil && !errors.Is(err, errPeer) {
			return r, err
		}
		compare(tesseractAlone, text)
	}
	if b.peers.areInstalled("ocrmypdf", "pdftotext") {
		text, err := b.peers.readOCRmyPDFText(ctx, s.CorpusFile, s.tesseractLanguages())
		if err != nil && !errors.Is(err, errPeer) {
			return r, err
		}
		compare(ocrmypdf, text)
	}
	return r, nil
}

// charsBehindPeer is by how many characters Inkstream is worse than the better peer.
func charsBehindPeer(by [readers]*score.Result) int {
	peer, found := betterPeer(by, charErrorRate)
	if !found {
		return 0
	}
	return by[inkstream].CharEdits - by[peer].CharEdits
}

// hardGroups are those in which Inkstream is to be better than the peers.
var hardGroups = []string{"skew", "noise", "made lowdpi", "inverted"}

// recipe finds what was done to a made scan.
var recipe = regexp.MustCompile(`; recipe (\S+)`)

// scanGroups names the groups that a scan is in: the collection it is from, its tags, and what was done to it if it
// was made.
func scanGroups(s *sample) []string {
	groups := []string{"from " + strings.Split(s.Path, "/")[1]}
	if m := recipe.FindStringSubmatch(s.Notes); m != nil {
		groups = append(groups, "made "+m[1])
	}
	for _, tag := range s.Tags {
		if tag != "ocr-truth" && tag != "scanned" { // nearly all are
			groups = append(groups, tag)
		}
	}
	return groups
}

// sumByReader sums the edits of several files, by reader.
func sumByReader(readings []recognitionResult) [readers]*score.Result {
	var sums [readers]*score.Result
	for i := range sums {
		for _, r := range readings {
			if r.byReader[i] == nil {
				continue
			}
			if sums[i] == nil {
				sums[i] = &score.Result{}
			}
			s, f := sums[i], r.byReader[i]
			s.CharEdits, s.TruthChars = s.CharEdits+f.CharEdits, s.TruthChars+f.TruthChars
			s.WordEdits, s.TruthWords = s.WordEdits+f.WordEdits, s.TruthWords+f.TruthWords
		}
	}
	return sums
}

func charErrorRate(r *score.Result) float64 {
	return float64(r.CharEdits) / float64(max(1, r.TruthChars))
}
func wordErrorRate(r *score.Result) float64 {
	return float64(r.WordEdits) / float64(max(1, r.TruthWords))
}

func formatRate(r *score.Result, of func(*score.Result) float64) string {
	if r == nil {
		return absent
	}
	return formatRatio(of(r))
}

// formatRates returns the cells of all readers' CER and WER.
func formatRates(by [readers]*score.Result) []string {
	var out []string
	for _, of := range []func(*score.Result) float64{charErrorRate, wordErrorRate} {
		for _, r := range by {
			out = append(out, formatRate(r, of))
		}
	}
	return out
}

// betterPeer returns the peer with the lower rate; nil if none was run.
func betterPeer(by [readers]*score.Result, of func(*score.Result) float64) (peer int, found bool) {
	for i := inkstream + 1; i < readers; i++ {
		if by[i] != nil && (!found || of(by[i]) < of(by[peer])) {
			peer, found = i, true
		}
	}
	return peer, found
}

func isWorseThanPeer(by [readers]*score.Result, of func(*score.Result) float64) bool {
	peer, found := betterPeer(by, of)
	return found && of(by[inkstream]) > of(by[peer])
}

func isAheadOfPeer(by [readers]*score.Result, of func(*score.Result) float64) bool {
	peer, found := betterPeer(by, of)
	return !found || of(by[inkstream]) < of(by[peer])
}

func formatBestPeer(by [readers]*score.Result, of func(*score.Result) float64) string {
	peer, found := betterPeer(by, of)
	if !found {
		return absent
	}
	return formatRatio(of(by[peer])) + " " + readerNames[peer]
}
