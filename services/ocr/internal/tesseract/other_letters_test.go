package tesseract

import (
	"strings"
	"testing"
)

// TestWordsInOtherLetters takes words in Latin letters for those of the page's language where that is sure of them or
// has them elsewhere, and leaves names and terms in Latin letters.
func TestWordsInOtherLetters(t *testing.T) {
	t.Parallel()
	const rest = "κάθε σύστημα φέρνει ένα παλιό γράμμα και το παράθυρο της πόλης"
	for name, tt := range map[string]struct {
		read  string
		again string
		sure  float32
		want  string
	}{
		"sure":                              {"and", "από", 0.93, "από"},
		"unsure":                            {"and", "από", 0.5, "and"},
		"elsewhere on the page":             {"Eva", "ένα", 0.4, "ένα"},
		"elsewhere, hardly read":            {"Eva", "ένα", 0.1, "Eva"},
		"letters of both kinds":             {"νοσοκοpeto", "νοσοκομείο", 0.5, "νοσοκομείο"},
		"a term, made of small and capital": {"Table", "ΤαΡΙο", 0.88, "Table"},
		"an acronym":                        {"MOP", "ΜΟΡ", 0.95, "MOP"},
		"a term, with a digit":              {"n/a", "η/8", 0.95, "n/a"},
		"a term, less sure":                 {"Fig.", "Εἰρ.", 0.82, "Fig."},
		"nothing":                           {"and", "", 0, "and"},
		"within a name":                     {"Kelton to", "το", 0.95, "Kelton to"},
	} {
		got := readingOfWords(tt.read + " " + rest)
		err := got.replaceLatinWords(func(l *line, at int) (word, error) {
			if l.words[at].text == "Kelton" {
				return word{}, nil
			}
			return word{text: tt.again, confidence: tt.sure}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if text := got.words(); text != tt.want+" "+rest {
			t.Errorf("%s: got %q, want %q first", name, strings.TrimSuffix(text, " "+rest), tt.want)
		}
	}
}
