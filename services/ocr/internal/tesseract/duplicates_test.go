package tesseract

import "testing"

// Characters stand 20 pixels apart, but for those that are set closer by the test.
func TestDuplicatesAreDropped(t *testing.T) {
	t.Parallel()
	type read struct {
		text       string
		middle     int
		confidence float32
	}
	row := func(from int, text string) []read { // of sure characters
		var out []read
		for _, r := range text {
			out = append(out, read{string(r), from, 0.99})
			from += 20
		}
		return out
	}
	const start = "漢字仮名交文" // at 0 to 100
	for _, tt := range []struct {
		name string
		more []read
		want string
	}{
		{"two readings of one, the first as sure", []read{{"で", 120, 0.95}, {"ご", 128, 0.95}, {"き", 144, 0.99}},
			start + "でき"},
		{"two readings of one, the second surer", []read{{"ビ", 120, 0.9}, {"ド", 126, 0.99}}, start + "ド"},
		{"three readings of one", []read{{"オ", 118, 0.98}, {"ォ", 125, 0.95}, {"オ", 131, 0.99}, {"ル", 144, 0.99}},
			start + "オル"},
		{"sure of both", []read{{"セ", 120, 0.99}, {"ッ", 126, 0.98}}, start + "セッ"},
		{"unsure, but with room", []read{{"に", 120, 0.99}, {"で", 133, 0.9}}, start + "にで"},
		{"Latin letters stand closer", []read{{"i", 120, 0.8}, {"l", 125, 0.8}, {"ト", 140, 0.99}}, start + "ilト"},
		{"out of order, so that the places are wrong", []read{{"動", 130, 0.9}, {"パ", 120, 0.99}}, start + "動パ"},
	} {
		var symbols []symbol
		var l line
		for _, s := range append(row(0, start), tt.more...) {
			symbols = append(symbols, symbol{text: s.text, from: s.middle - 5, to: s.middle + 5, confidence: s.confidence})
			l.words = append(l.words, word{text: s.text})
		}
		l.dropDuplicates(symbols)
		got := ""
		for _, w := range l.words {
			got += w.text
		}
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
	short := []symbol{{"で", 0, 10, 0.9}, {"ご", 8, 16, 0.9}}
	l := line{words: []word{{text: "でご"}}}
	if l.dropDuplicates(short); l.words[0].text != "でご" {
		t.Errorf("of a line too short to tell its squares: got %q, want it as it was", l.words[0].text)
	}
	other := line{words: []word{{text: start}, {text: "なご"}}}
	symbols := []symbol{}
	for i, r := range []rune(start + "でご") {
		symbols = append(symbols, symbol{string(r), 20*i - 5, 20*i + 5, 0.9})
	}
	symbols[7].from, symbols[7].to = 120, 130
	if other.dropDuplicates(symbols); other.words[1].text != "なご" {
		t.Errorf("of words that are not made of the symbols: got %q, want them as they were", other.words[1].text)
	}
}
