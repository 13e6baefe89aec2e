package document

import (
	"fmt"
	"testing"

	"inkstream.dev/pkg/layout"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// TestNumbersAtTheEndOfColumns leaves numbers that end the text of columns with it, though all pages have some at that
// height.
func TestNumbersAtTheEndOfColumns(t *testing.T) {
	t.Parallel()
	var pages []*inkstreamv1.Page
	for n := int32(1); n <= 6; n++ {
		pages = append(pages, page(n, prose(200), text(layout.Paragraph, 72, 770, 9, 1, "Pears Lane", fmt.Sprint(831+97*n%400)),
			text(layout.Paragraph, 300, 770, 9, 1, "Plums Road", fmt.Sprint(204+50*n%300))))
	}
	planned(t, nil, pages...)
	for i, p := range pages {
		if got, want := kinds(p), "paragraph paragraph paragraph"; got != want {
			t.Errorf("page %d: got %q, want %q", i+1, got, want)
		}
	}
}

// TestTitleBesideLineNumbers keeps a title beside the number of a page's first line, which stands there on all pages.
func TestTitleBesideLineNumbers(t *testing.T) {
	t.Parallel()
	var pages []*inkstreamv1.Page
	for i, first := range []string{"Reply Brief", "The harbour was closed", "Nobody came to see it", "Since then it is open"} {
		size := float32(10)
		if i == 0 {
			size = 14
		}
		pages = append(pages, page(int32(i+1), text(layout.Paragraph, 200, 57, size, 1, first),
			text(layout.Paragraph, 40, 60, 10, 1, "1"), prose(200)))
	}
	planned(t, nil, pages...)
	if got, want := kinds(pages[0]), "title paragraph paragraph"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestRepeatedTitles keeps the titles that some slides or parts share, in large type, as headings; a name in large type
// on most pages, and the same words in the body's type, are running heads.
func TestRepeatedTitles(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		size   float32
		titled int // pages
		want   string
	}{
		{"titles of slides", 16, 4, "heading1 paragraph"},
		{"a letterhead", 16, 10, "header paragraph"},
		{"running heads of a chapter", 10, 4, "header paragraph"},
	} {
		var pages []*inkstreamv1.Page
		for i := range 10 {
			title := fmt.Sprintf("%c Other Matter", 'A'+i)
			if i < tt.titled {
				title = "Objectives of the Session"
			}
			pages = append(pages, page(int32(i+1), text(layout.Paragraph, 200, 40, tt.size, 1, title), prose(200)))
		}
		planned(t, nil, pages...)
		if got := kinds(pages[2]); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestHeadOfLonePage takes a line with a page's number for a running head where a document has no other pages, if the
// text goes on from a page before or on another. A word without a place stands at no edge.
func TestHeadOfLonePage(t *testing.T) {
	t.Parallel()
	body := func(first, last string) *inkstreamv1.Block {
		return text(layout.Paragraph, 72, 100, 10, 1, first, "of the land that was seen from there on both sides of the river",
			"and of the people who lived on it in those days and afterwards", last)
	}
	whole := "They went on from there in the morning of the next day."
	for _, tt := range []struct {
		name  string
		head  []string
		first string
		last  string
		want  string
	}{
		{"a page that begins in a sentence", []string{"400", "British Husbandry"}, "any had been very small in those years", whole, "header paragraph"},
		{"a page that ends in a word", []string{"Of Bones", "17"}, "There was more to be said about it", "and nobody could have known how much of it was impor-", "header paragraph"},
		{"a page that is whole", []string{"Order", "1042"}, "There was more to be said about it", whole, "paragraph paragraph"},
		{"a number that does not stand apart", []string{"Chapter 400"}, "any had been very small in those years", whole, "paragraph paragraph"},
	} {
		head := text(layout.Paragraph, 72, 40, 10, 1, tt.head...)
		line := head.GetLines()[0]
		for _, l := range head.GetLines()[1:] { // beside the first
			for _, w := range l.GetWords() {
				w.Bbox[0], w.Bbox[1], w.Bbox[2], w.Bbox[3] = w.Bbox[0]+300, line.Bbox[1], w.Bbox[2]+300, line.Bbox[3]
				line.Words = append(line.Words, w)
			}
			line.Bbox[2] = l.GetBbox()[2] + 300
		}
		head.Lines = head.Lines[:1]
		head.Bbox = boundingBox(head.Lines)
		nowhere := text(layout.Paragraph, 0, 0, 10, 1, "—") // as where most of it is off the page
		for _, l := range nowhere.GetLines() {
			l.Bbox, l.Words[0].Bbox = []float32{0, 0, 0, 0}, []float32{0, 0, 0, 0}
		}
		nowhere.Bbox = []float32{0, 0, 0, 0}
		p := page(1, nowhere, head, body(tt.first, tt.last))
		planned(t, nil, p)
		if got := kinds(p); got != "paragraph "+tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestNumberBelowShortPage takes a number in the middle of the page below its last text for the page's, however high up
// that is.
func TestNumberBelowShortPage(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		blocks []*inkstreamv1.Block
		want   string
	}{
		{"a number", []*inkstreamv1.Block{prose(100), prose(150), text(layout.Paragraph, 292, 420, 10, 1, "62")},
			"paragraph paragraph page_number"},
		{"other text", []*inkstreamv1.Block{prose(100), prose(150), text(layout.Paragraph, 250, 420, 10, 1, "The end of it all")},
			"paragraph paragraph paragraph"},
		{"a year", []*inkstreamv1.Block{prose(100), prose(150), text(layout.Paragraph, 287, 420, 10, 1, "2024")},
			"paragraph paragraph paragraph"},
		{"a title page", []*inkstreamv1.Block{text(layout.Paragraph, 250, 200, 10, 1, "The second part,"),
			text(layout.Paragraph, 295, 420, 10, 1, "2")}, "paragraph paragraph"},
	} {
		p := page(1, tt.blocks...)
		planned(t, nil, p)
		if got := kinds(p); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestMirroredHeads finds running heads whose number stands outside, left on one page and right on the next, and at a
// height that the page's skew changes.
func TestMirroredHeads(t *testing.T) {
	t.Parallel()
	left := page(1, read(text(layout.Paragraph, 72, 40, 10, 0, "24 Of Pears and Plums")), read(prose(200)), read(prose(230)))
	right := page(2, read(text(layout.Paragraph, 400, 40, 10, 0, "Of Pears and Plums 25")), read(prose(200)), read(prose(230)))
	right.Skew = 2
	for _, b := range right.GetBlocks()[:1] {
		for _, line := range b.GetLines() {
			line.Bbox[1], line.Bbox[3] = line.Bbox[1]-7, line.Bbox[3]-7
		}
	}
	planned(t, nil, left, right)
	for _, p := range []*inkstreamv1.Page{left, right} {
		if got, want := kinds(p), "header paragraph paragraph"; got != want {
			t.Errorf("page %d: got %q, want %q", p.GetNumber(), got, want)
		}
	}
}
