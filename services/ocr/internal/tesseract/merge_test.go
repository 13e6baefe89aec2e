package tesseract

import (
	"slices"
	"strings"
	"testing"
)

// newReading makes a reading of one block from lines: text, confidence, and the top.
func newReading(lines ...any) reading {
	var b block
	for i := 0; i < len(lines); i += 3 {
		top := lines[i+2].(int)
		x := 10
		var l line
		for w := range strings.FieldsSeq(lines[i].(string)) {
			l.words = append(l.words, word{text: w, box: box{x, top, x + 10*len(w), top + 20},
				confidence: float32(lines[i+1].(float64))})
			x += 10*len(w) + 8
		}
		b.lines = append(b.lines, l)
	}
	r := reading{blocks: []block{b}}
	r.confidence = r.meanConfidence()
	return r
}

func TestMergeReadings(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		a, b       reading
		want       string
		confidence float64 // at least
	}{
		{"the surer line wins", newReading("thc quick", 0.6, 0, "brown fox", 0.9, 30),
			newReading("the quick", 0.9, 1, "brovn fox", 0.7, 31),
			"the quick brown fox", 0.89},
		{"a line that only one has is kept", newReading("the quick", 0.9, 0),
			newReading("the quick", 0.9, 0, "brown fox", 0.8, 30), "the quick brown fox", 0.8},
		{"but not one that is hardly sure", newReading("the quick", 0.9, 0),
			newReading("the quick", 0.9, 0, "~~ --- -", 0.4, 30), "the quick", 0.9},
		{"lines that were cut otherwise stay", newReading("the quick brown fox", 0.6, 0), newReading("the", 0.9, 0),
			"the quick brown fox", 0.6},
		{"the one that found much more gives the layout", newReading("fox", 0.9, 30),
			newReading("the quick", 0.9, 0, "fox", 0.8, 30), "the quick fox", 0.8},
		{"nothing and something", reading{}, newReading("fox", 0.9, 0), "fox", 0.9},
		{"nothing twice", reading{}, reading{}, "", 0},
	} {
		got := mergeReadings(tt.a, tt.b)
		if blocksText(got.blocks) != tt.want || got.confidence < tt.confidence-1e-6 {
			t.Errorf("%s: got %q, confidence %.2f; want %q, %.2f", tt.name, blocksText(got.blocks), got.confidence, tt.want,
				tt.confidence)
		}
	}
}

func TestWordsWithoutBlanksBecomeOne(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		blanks string
		words  []string
		want   []string
	}{
		{"환영합니다 모두\n", []string{"환", "영", "합니다", "모두"}, []string{"환영합니다", "모두"}},
		{"", []string{"환", "영"}, []string{"환", "영"}},             // a language whose words stand apart
		{"other text\n", []string{"환", "영"}, []string{"환", "영"}}, // what cannot be
	} {
		l := line{spacedText: tt.blanks}
		for i, w := range tt.words {
			l.addWord(word{text: w, box: box{10 * i, 0, 10*i + 9, 10}, confidence: 0.9})
		}
		var got []string
		for _, w := range l.words {
			got = append(got, w.text)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%q: got %q, want %q", tt.blanks, got, tt.want)
		}
	}
}

func TestMarksJoinTheWordThatTheyTouch(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		mark  string
		from  int
		angle int
		want  string
	}{
		{"set off by a hair", ";", 98, 0, "noted;"},
		{"behind a blank", ";", 104, 0, "noted ;"},
		{"a dash", "—", 98, 0, "noted —"},
		{"within the word", ".", 40, 0, "noted ."},
		{"of a line from right to left", "!", -8, 0, "noted !"},
		{"of a line that runs upwards", ";", 98, 270, "noted ;"},
	} {
		l := line{angle: tt.angle}
		l.addWord(word{text: "noted", box: box{0, 0, 100, 20}, confidence: 0.9})
		l.addWord(word{text: tt.mark, box: box{tt.from, 0, tt.from + 6, 20}, confidence: 0.3})
		if got := blocksText([]block{{lines: []line{l}}}); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
	l := line{words: []word{{text: "noted", box: box{0, 2, 100, 20}, confidence: 0.9}}}
	l.addWord(word{text: ";", box: box{98, 0, 104, 22}, confidence: 0.3})
	if w := l.words[0]; w.box != (box{0, 0, 104, 22}) || w.confidence < 0.79 || w.confidence > 0.81 {
		t.Errorf("got box %v, confidence %v; want that of both, and their mean by characters, 0.8", w.box, w.confidence)
	}
}

func TestLanguagesInScript(t *testing.T) {
	t.Parallel()
	known := []string{"chi_sim", "deu", "eng", "jpn_vert", "rus", "script/Latin", "ukr"}
	for script, want := range map[string][]string{
		"Latin": {"deu", "eng"}, "Cyrillic": {"rus", "ukr"}, "Han": {"chi_sim"}, "Thai": nil, "Klingon": nil,
	} {
		if got := languagesInScript(script, known); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", script, got, want)
		}
	}
	for language, want := range map[string]string{"eng": "eng", "chi_sim": "zho", "eng+deu": "", "script/Latin": "",
		"frk": "deu"} {
		if got := isoCode(language); got != want {
			t.Errorf("%s: got %q, want %q", language, got, want)
		}
	}
}

func TestSpecksAreDropped(t *testing.T) {
	t.Parallel()
	r := newReading("the quick", 0.9, 0, "£", 0.1, 30, "~ -", 0.2, 60, "Ww", 0.5, 75, "7", 0.7, 90, "OVE", 0.4, 105,
		"brown fox", 0.2, 120)
	r.dropSpecks()
	if got, want := blocksText(r.blocks), "the quick 7 brown fox"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
