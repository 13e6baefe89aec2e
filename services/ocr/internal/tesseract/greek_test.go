package tesseract

import (
	"strings"
	"testing"
)

// readingOf returns a reading of one line of words.
func readingOfWords(text string) reading {
	var l line
	for word := range strings.FieldsSeq(text) {
		l.words = append(l.words, wordAt(word))
	}
	return reading{blocks: []block{{lines: []line{l}}}}
}

func wordAt(text string) word { return word{text: text, confidence: 0.9} }

func (r *reading) words() string {
	var out []string
	for w := range allWords(r.blocks) {
		out = append(out, w.text)
	}
	return strings.Join(out, " ")
}

func TestModernGreekHasOneAccent(t *testing.T) {
	t.Parallel()
	const plain = "κάθε σύστημα φέρνει κάποιο παλιό γράμμα και το παράθυρο της πόλης άνοιξε αργά"
	for _, tt := range []struct{ read, want string }{
		{"Ἐκείνο", "Εκείνο"},
		{"εἶναι", "είναι"},
		{"ἥταν", "ήταν"},
		{"ἑνα", "ένα"},
		{"απὀ", "από"},
		{"ὁ", "ο"},
		{"µάθηµα,", "μάθημα,"},
		{"5 µm", "5 µm"},
	} {
		got := readingOfWords(plain + " " + tt.read)
		got.useModernGreek()
		if want := plain + " " + tt.want; got.words() != want {
			t.Errorf("got %q, want %q", got.words(), want)
		}
	}
}

func TestAncientGreekKeepsItsAccents(t *testing.T) {
	t.Parallel()
	const text = "ἐν ἀρχῇ ἦν ὁ λόγος καὶ ὁ λόγος ἦν πρὸς τὸν θεόν"
	got := readingOfWords(text)
	got.useModernGreek()
	if got.words() != text {
		t.Errorf("got %q, want %q", got.words(), text)
	}
}
