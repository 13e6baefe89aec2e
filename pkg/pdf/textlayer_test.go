package pdf

import (
	"bytes"
	"fmt"
	"maps"
	"strings"
	"testing"
	"unicode"

	"google.golang.org/protobuf/proto"

	"inkstream.dev/pkg/pdftest"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// readWords counts the words that pdftotext reads in a file, marks of direction left out.
func readWords(t *testing.T, file pdftest.File, args ...string) map[string]int {
	t.Helper()
	said, _ := runTool(t, "pdftotext", append(args, "-enc", "UTF-8", file.WriteFile(t), "-")...)
	said = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, said)
	out := map[string]int{}
	for word := range strings.FieldsSeq(said) {
		out[word]++
	}
	return out
}

// addLayer writes a text layer on the only page of a file.
func addLayer(t *testing.T, file pdftest.File, page *inkstreamv1.Page) pdftest.File {
	t.Helper()
	var out bytes.Buffer
	if err := sharedEngine(t).WriteTextLayer(t.Context(), file.OpenFile(t), "", sequence([]*inkstreamv1.Page{page}),
		&out); err != nil {
		t.Fatal(err)
	}
	file.PDF = out.Bytes()
	return file
}

// A page whose own text is of no use keeps it, and pdftotext reads both: words of neither are joined with words of
// the other, or cut in two.
func TestTextLayerOverTextOfThePage(t *testing.T) {
	t.Parallel()
	requireTools(t, "pdftotext", "qpdf", "pdftoppm")
	d, err := sharedEngine(t).OpenDocument(t.Context(), pdftest.ScanWithTextLayer(true).OpenFile(t), "")
	if err != nil {
		t.Fatal(err)
	}
	page := recognise(t, d, 1, nil)
	d.Close()
	for _, file := range []pdftest.File{pdftest.ScanWithTextLayer(false), pdftest.ScanWithTextLayer(true)} {
		t.Run(file.Name, func(t *testing.T) {
			t.Parallel()
			done := addLayer(t, file, page)
			for _, args := range [][]string{nil, {"-raw"}} {
				want := readWords(t, file, args...)
				for _, w := range wordsOf(page) {
					want[w.GetText()]++
				}
				got := readWords(t, done, args...)
				for word := range maps.Keys(want) {
					if got[word] != want[word] {
						t.Errorf("%v: %s: got %d, want %d", args, word, got[word], want[word])
					}
				}
				for word := range maps.Keys(got) {
					if want[word] == 0 {
						t.Errorf("%v: %s is read, which nobody wrote", args, word)
					}
				}
			}
			l := &layeredDocument{unit: 1, name: file.Name, original: file.WriteFile(t), path: done.WriteFile(t),
				pages: []*inkstreamv1.Page{page}}
			l.checkAll(t)
		})
	}
}

// Words much taller than the text that they lie on, or over each other, as recognition sees them in ornaments, come
// back as well.
func TestTextLayerOfTallWords(t *testing.T) {
	t.Parallel()
	requireTools(t, "pdftotext")
	const content = "BT /F 18 Tf 40 300 Td (a line which the page has of its own) Tj ET"
	file := pdftest.File{Name: "line.pdf", PDF: pdftest.PDFFromObjects("<</Type/Catalog/Pages 2 0 R>>",
		"<</Type/Pages/Kids[3 0 R]/Count 1>>",
		"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 400]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>",
		fmt.Sprintf("<</Length %d>>stream\n%s\nendstream", len(content), content),
		"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>")}
	page := &inkstreamv1.Page{Number: 1,
		Blocks: []*inkstreamv1.Block{{Lines: []*inkstreamv1.Line{{Words: []*inkstreamv1.Word{
			{Text: "within", Bbox: []float32{40, 84, 300, 104}}, {Text: "Eg", Bbox: []float32{115, 76, 145, 116}},
			{Text: "Os", Bbox: []float32{160, 76, 200, 116}},
		}}, {Words: []*inkstreamv1.Word{
			{Text: "large", Bbox: []float32{40, 200, 140, 260}}, {Text: "LSI", Bbox: []float32{134, 200, 240, 260}},
		}}}}}}
	for _, w := range wordsOf(page) {
		w.Confidence = proto.Float32(0.1)
	}
	done := addLayer(t, file, page)
	for _, args := range [][]string{nil, {"-raw"}} {
		want := readWords(t, file, args...)
		for _, w := range wordsOf(page) {
			want[w.GetText()]++
		}
		if got := readWords(t, done, args...); !maps.Equal(got, want) {
			t.Errorf("%v: got %v, want %v", args, got, want)
		}
	}
}

// row is a recognised line: the height at which it stands, and its words in the order in which they are read.
type row struct {
	y     float32
	words []at
}

// at is a word of a row, and where it begins. It is as long as its letters.
type at struct {
	text string
	x    float32
}

// recognisedPage lays lines of words out.
func recognisedPage(rows []row) *inkstreamv1.Page {
	block := &inkstreamv1.Block{}
	for _, r := range rows {
		line := &inkstreamv1.Line{}
		for _, w := range r.words {
			box := []float32{w.x, r.y, w.x + 6*float32(len([]rune(w.text))), r.y + 10}
			line.Words = append(line.Words, &inkstreamv1.Word{Text: w.text, Bbox: box, Confidence: proto.Float32(1)})
		}
		block.Lines = append(block.Lines, line)
	}
	return &inkstreamv1.Page{Number: 1, Blocks: []*inkstreamv1.Block{block}}
}

func TestTextLayerKeepsWordsApart(t *testing.T) {
	t.Parallel()
	requireTools(t, "pdftotext")
	for _, tt := range []struct {
		name string
		rows []row
		want string
	}{
		{"words that overlap", []row{{100, []at{{"Zephits", 60}, {"de", 98}, {"chantans", 108}}}}, "Zephits de chantans"},
		{"lines side by side", []row{{100, []at{{"300", 60}}}, {100, []at{{"7", 78}}},
			{140, []at{{"200", 60}, {"more", 90}}}}, "300 7 200 more"},
		{"runs in lines of another direction", []row{
			{100, []at{{"נכתב", 300}, {"\u200eMBR", 100}, {"(Master", 130}, {"Record)-?\u200f", 180}}},
			{140, []at{{"הדואר", 300}, {"Alt", 200}, {"35", 222}, {"שלום", 150}}},
			{180, []at{{"GMT", 100}, {"refers", 130}, {"west", 180}, {"('UTC-6')", 220}}},
			{220, []at{{"הבאה", 300}, {"לצרכל", 250}, {"וכדי", 200}, {"החדשות", 150}, {"העברה", 100}}},
		}, "נכתב MBR (Master Record)-? הדואר Alt 35 שלום GMT refers west ('UTC-6') הבאה לצרכל וכדי החדשות העברה"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			done := addLayer(t, pdftest.BlankPages(1), recognisedPage(tt.rows))
			want := map[string]int{}
			for word := range strings.FieldsSeq(tt.want) {
				want[word]++
			}
			for _, args := range [][]string{nil, {"-raw"}} {
				if got := readWords(t, done, args...); !maps.Equal(got, want) {
					t.Errorf("%v: got %v, want %v", args, got, want)
				}
			}
		})
	}
}
