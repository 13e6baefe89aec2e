package score

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
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
		{name: "the same", truth: "The quick fish", read: "The quick fish", options: Options{}, f1: 1},
		{name: "white space and ligatures do not count", truth: "The  quick\nbrown \ufb01sh\f",
			read: "The quick brown fish", options: Options{}, f1: 1},
		{name: "one letter", truth: "abcd efgh", read: "abed efgh", options: Options{}, cer: 1. / 9, wer: 0.5,
			f1: 0.5},
		{name: "order is an error of words", truth: "one two three", read: "three one two", options: Options{},
			cer: 11. / 13, wer: 2. / 3, f1: 1},
		{name: "both empty", options: Options{}, f1: 1},
		{name: "nothing there, something read", read: "x", options: Options{}, cer: 1, wer: 1},
		{name: "nothing read", truth: "x", options: Options{}, cer: 1, wer: 1},
		{name: "composed and decomposed", truth: "e\u0301t\u00e9", read: "\u00e9te\u0301", options: Options{},
			f1: 1},
		{name: "a Han character is a word", truth: "\u65e5\u672c\u8a9e", read: "\u65e5\u672c\u4eba",
			options: Options{}, cer: 1. / 3, wer: 1. / 3, f1: 2. / 3},
		{name: "blanks between Han characters do not count", truth: "\u65e5\u672c\n\u8a9e",
			read: "\u65e5 \u672c\u8a9e", options: Options{}, f1: 1},
		{name: "case counts", truth: "A B", read: "a b", options: Options{}, cer: 2. / 3, wer: 1},
		{name: "unless it is ignored", truth: "A B", read: "a b", options: Options{IgnoreCase: true}, f1: 1},
		{name: "lenient folds quotes and joins words", truth: "\u201cinfor-\nmation\u201d",
			read: `"information"`, options: Options{Lenient: true}, f1: 1},
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

func TestWordOrder(t *testing.T) {
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

// referenceCase is what an independent implementation of the same measures, in another language, says of two texts.
type referenceCase struct {
	Truth, Read         string
	Lenient, IgnoreCase bool
	Want                struct {
		CER          float64 `json:"cer"`
		WER          float64 `json:"wer"`
		CharEdits    int     `json:"char_edits"`
		TruthChars   int     `json:"truth_chars"`
		WordEdits    int     `json:"word_edits"`
		BowRecall    float64 `json:"bow_recall"`
		BowPrecision float64 `json:"bow_precision"`
		BowF1        float64 `json:"bow_f1"`
	}
}

// TestAgreesWithReferenceScores scores texts of composed and decomposed characters, scripts without blanks, hyphens at
// line ends, invisible marks and typographic quotes.
func TestAgreesWithReferenceScores(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join("testdata", "reference.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []referenceCase
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 12 {
		t.Errorf("%d cases, want at least 12", len(cases))
	}
	for i, c := range cases {
		o := Options{Lenient: c.Lenient, IgnoreCase: c.IgnoreCase}
		got, want := CompareTexts(c.Truth, c.Read, o), c.Want
		for _, figure := range []struct {
			name      string
			got, want float64
		}{
			{"CER", got.CER, want.CER},
			{"WER", got.WER, want.WER},
			{"edits of characters", float64(got.CharEdits), float64(want.CharEdits)},
			{"characters of the truth", float64(got.TruthChars), float64(want.TruthChars)},
			{"edits of words", float64(got.WordEdits), float64(want.WordEdits)},
			{"recall", got.Recall, want.BowRecall},
			{"precision", got.Precision, want.BowPrecision},
			{"F1", got.F1, want.BowF1},
		} {
			if !near(figure.got, figure.want) {
				t.Errorf("case %d, %+v: %s %v, want %v\ntruth %q\nread %q", i, o, figure.name, figure.got, figure.want, c.Truth,
					c.Read)
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
