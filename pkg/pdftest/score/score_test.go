package score

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func plainDistance(a, b []rune) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range a {
		last := row[0]
		row[0] = i + 1
		for j, y := range b {
			cost := last
			if x != y {
				cost++
			}
			last = row[j+1]
			row[j+1] = min(row[j+1]+1, row[j]+1, cost)
		}
	}
	return row[len(b)]
}

func TestDistanceAgreesWithThePlainTable(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	text := func(n int) []rune {
		out := make([]rune, n)
		for i := range out {
			out[i] = rune("abcd "[rng.IntN(5)])
		}
		return out
	}
	for range 3000 {
		a, b := text(rng.IntN(200)), text(rng.IntN(200))
		if rng.IntN(2) == 0 { // few edits, so that long common runs are met too
			b = append([]rune(nil), a...)
			for range rng.IntN(12) {
				if at := rng.IntN(len(b) + 1); at < len(b) {
					b[at] = 'x'
				}
			}
		}
		if got, want := EditDistance(a, b), plainDistance(a, b); got != want {
			t.Fatalf("EditDistance(%q, %q) = %d, want %d", string(a), string(b), got, want)
		}
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name        string
		truth, read string
		options     Options
		cer, wer    float64
		f1          float64
	}{
		{"the same", "The quick fish", "The quick fish", Options{}, 0, 0, 1},
		{"white space and ligatures do not count", "The  quick\nbrown \ufb01sh\f", "The quick brown fish", Options{}, 0, 0,
			1},
		{"one letter", "abcd efgh", "abed efgh", Options{}, 1. / 9, 0.5, 0.5},
		{"order is an error of words", "one two three", "three one two", Options{}, 11. / 13, 2. / 3, 1},
		{"both empty", "", "", Options{}, 0, 0, 1},
		{"nothing there, something read", "", "x", Options{}, 1, 1, 0},
		{"nothing read", "x", "", Options{}, 1, 1, 0},
		{"composed and decomposed", "e\u0301t\u00e9", "\u00e9te\u0301", Options{}, 0, 0, 1},
		{"a Han character is a word", "\u65e5\u672c\u8a9e", "\u65e5\u672c\u4eba", Options{}, 1. / 3, 1. / 3, 2. / 3},
		{"blanks between Han characters do not count", "\u65e5\u672c\n\u8a9e", "\u65e5 \u672c\u8a9e", Options{}, 0, 0, 1},
		{"case counts", "A B", "a b", Options{}, 2. / 3, 1, 0},
		{"unless it is ignored", "A B", "a b", Options{IgnoreCase: true}, 0, 0, 1},
		{"lenient folds quotes and joins words", "\u201cinfor-\nmation\u201d", `"information"`, Options{Lenient: true}, 0, 0,
			1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := CompareTexts(tt.truth, tt.read, tt.options)
			if !near(got.CER, tt.cer) || !near(got.WER, tt.wer) || !near(got.F1, tt.f1) {
				t.Errorf("CompareTexts(%q, %q) = CER %.4f WER %.4f F1 %.4f, want %.4f %.4f %.4f", tt.truth, tt.read, got.CER,
					got.WER, got.F1, tt.cer, tt.wer, tt.f1)
			}
		})
	}
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

func TestOrder(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, a, b string
		want       float64
	}{
		{"same order", "a b c d", "a b c d", 1},
		{"words of one text only do not count", "a b c d", "a x b y c z d", 1},
		{"one word has moved", "a b c d", "b c d a", 0.5},
		{"nothing shared", "a", "b", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := WordOrder(tt.a, tt.b); !near(got, tt.want) {
				t.Errorf("WordOrder(%q, %q) = %v, want %v", tt.a, tt.b, got, tt.want)
			}
		})
	}
}

// reference finds the script that these figures have to agree with; it lies beside the corpus.
func reference(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not here")
	}
	for parent := filepath.Dir(dir); ; dir, parent = parent, filepath.Dir(parent) {
		path := filepath.Join(dir, "shared", "tools", "ocr_score.py")
		if _, err := os.Stat(path); err == nil {
			return path
		}
		if parent == dir {
			t.Skip("shared/tools/ocr_score.py is not above this folder")
		}
	}
}

func TestAgreesWithTheReferenceScript(t *testing.T) {
	t.Parallel()
	script := reference(t)
	rng := rand.New(rand.NewPCG(3, 4))
	pieces := []string{"word", "infor-\nmation", "\u201cquoted\u201d", "\ufb01ne", "\u65e5\u672c\u8a9e",
		"\u0e44\u0e17\u0e22", "caf\u00e9", "cafe\u0301",
		"a\u00adb", "\u200b", "A\u00a0B", "Stra\u00dfe", "STRASSE", "x\u2013y", "12-\n 13", "\u2022", "\u0627\u0644\u0639",
		"\x1c", "\u3000", "\u2122", "a-\nb-\nc"}
	text := func() string {
		var b strings.Builder
		for range 60 {
			b.WriteString(pieces[rng.IntN(len(pieces))])
			b.WriteString([]string{" ", "\n", "", "\f"}[rng.IntN(4)])
		}
		return b.String()
	}
	for i := range 12 {
		truth, read := text(), text()
		if i%3 == 0 {
			read = strings.Replace(truth, "word", "ward", 2)
		}
		o := Options{Lenient: i%2 == 0, IgnoreCase: i%4 == 3}
		dir := t.TempDir()
		a, b := filepath.Join(dir, "truth.txt"), filepath.Join(dir, "read.txt")
		for path, s := range map[string]string{a: truth, b: read} {
			if err := os.WriteFile(path, []byte(s), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		args := []string{script, a, b, "--json"}
		if o.Lenient {
			args = append(args, "--lenient")
		}
		if o.IgnoreCase {
			args = append(args, "--ignore-case")
		}
		out, err := exec.CommandContext(t.Context(), "python3", args...).Output()
		if err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		want := map[string]float64{}
		if err := json.Unmarshal(out, &want); err != nil {
			t.Fatal(err)
		}
		got := CompareTexts(truth, read, o)
		for name, v := range map[string]float64{
			"cer": got.CER, "wer": got.WER, "char_edits": float64(got.CharEdits), "truth_chars": float64(got.TruthChars),
			"word_edits": float64(got.WordEdits), "bow_recall": got.Recall, "bow_precision": got.Precision, "bow_f1": got.F1,
		} {
			if math.Abs(v-want[name]) > 1e-9 {
				t.Errorf("case %d, %+v: %s = %v, want %v as the script has it\ntruth %q\nread %q", i, o, name, v, want[name],
					truth, read)
			}
		}
	}
}

func BenchmarkCompare(b *testing.B) {
	rng := rand.New(rand.NewPCG(5, 6))
	runes := make([]rune, 20_000)
	for i := range runes {
		runes[i] = rune("abcdefghijklmnopqrstuvwxyz     "[rng.IntN(31)])
	}
	truth := string(runes)
	for i := range runes {
		if rng.IntN(10) == 0 {
			runes[i] = 'x'
		}
	}
	for b.Loop() {
		CompareTexts(truth, string(runes), Options{})
	}
}
