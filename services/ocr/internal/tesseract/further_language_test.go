package tesseract

import (
	"strings"
	"testing"
)

// TestFurtherLanguage finds a language that a page has besides those that it was read in, and takes the lines in that.
func TestFurtherLanguage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	english := "house garden winter paper chair table window street letter river mountain morning"
	polish := "dom ogród zima papier krzesło stół okno ulica list rzeka góra rano wieczór miasto szkoła"
	german := "Haus Garten Winter Papier Stuhl Tisch Fenster Straße Brief Fluss Berg Morgen Küste Brücke Gebäude"
	writeModel(t, dir, "eng", strings.Fields(english)...)
	writeModel(t, dir, "pol", strings.Fields(polish)...)
	writeModel(t, dir, "frk", strings.Fields(german)...)
	writeModel(t, dir, "deu", strings.Fields(german)...)
	m := &handleCache{datapath: dir}
	names := "Smith Jones Baker Miller Yilmaz Novak Kowalski Zimmer Okafor Tanaka Rossi Hollis Adler Quinn Crane"
	misread := strings.NewReplacer("ü", "ii", "ß", "B").Replace(german)
	for name, tt := range map[string]struct {
		blocks []string
		want   string
	}{
		"half of the page":   {[]string{polish, polish, misread, "wall roof " + misread + " gate stone field path"}, "deu"},
		"all in its own":     {[]string{polish, polish, english}, ""},
		"names":              {[]string{polish, names, names}, ""},
		"a few words":        {[]string{polish, polish, "Haus Garten Stuhl"}, ""},
		"a part of the page": {append(strings.Split(strings.Repeat(polish+"|", 12), "|"), misread), ""},
	} {
		got, err := m.furtherLanguage(textReading(0.9, tt.blocks...), []string{"eng", "pol"})
		if got != tt.want || err != nil {
			t.Errorf("%s: got %q, %v; want %q", name, got, err, tt.want)
		}
	}
	first, again := textReading(0.9, "dom ogród zima", "Kiiste Briicke Fenster"), textReading(0.8, "dom ogrod Winter", "Küste Brücke Fenster")
	for _, r := range []*reading{first, again} {
		for i := range r.blocks[1].lines[0].words {
			w := &r.blocks[1].lines[0].words[i]
			w.box[1], w.box[3] = w.box[1]+40, w.box[3]+40
		}
	}
	m.takeLinesIn("deu", first, again, []string{"eng", "pol"})
	if got, want := blocksText(first.blocks), "dom ogród zima Küste Brücke Fenster"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
