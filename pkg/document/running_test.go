package document

import (
	"fmt"
	"testing"

	"inkstream.dev/pkg/layout"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// TestNumbersAtTheEndOfColumns leaves numbers that end the text of columns with it, though all pages have some at that height.
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
