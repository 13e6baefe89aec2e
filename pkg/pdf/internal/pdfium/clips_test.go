package pdfium

import (
	"fmt"
	"math"
	"testing"

	"inkstream.dev/pkg/pdftest"
)

// TestRulingsEndWhereTheyAreClipped leaves out what clipping paths hide of lines, on the page and in a form, and keeps
// lines along the edge of a clip and those of other clips as they are.
func TestRulingsEndWhereTheyAreClipped(t *testing.T) {
	t.Parallel()
	in := newInstance(t, 256<<20)
	const grid = "10 100 m 290 100 l S 10 20 m 290 20 l S "
	for _, tt := range []struct {
		name, content string
		form          string
		want          []Rect // each edge within the width of a line
	}{
		{"no clip", grid, "", []Rect{{10, 100, 290, 100}, {10, 20, 290, 20}}},
		{"a rectangle", "q 50 60 100 100 re W n " + grid + "Q", "", []Rect{{50, 100, 150, 100}}},
		{"a clip within a clip", "q 50 60 100 100 re W n 100 0 200 200 re W n " + grid + "Q", "", []Rect{{100, 100, 150, 100}}},
		{"clips apart from each other", "q 50 60 40 100 re W n 200 0 90 200 re W n " + grid + "Q", "", nil},
		{"after the clip", "q 50 60 100 100 re W n 60 80 m 90 80 l S Q " + grid, "", []Rect{{60, 80, 90, 80}, {10, 100, 290, 100}, {10, 20, 290, 20}}},
		{"one path of two lines", "q 50 60 100 100 re W n 10 100 m 290 100 l 10 20 m 290 20 l S Q", "", []Rect{{50, 100, 150, 100}}},
		{"along its edge", "q 10 100 280 100 re W n 10 100 m 290 100 l S Q", "", []Rect{{10, 100, 290, 100}}},
		{"a form under a clip", "q 50 60 100 100 re W n /X Do Q", grid, []Rect{{50, 100, 150, 100}}},
		{"a clip in a form that is moved", "q 1 0 0 1 5 7 cm /X Do Q", "50 60 100 100 re W n " + grid, []Rect{{55, 107, 155, 107}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pdf := "%PDF-1.4\n1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj\n2 0 obj << /Type /Pages /Kids [3 0 R] /Count 1 >> endobj\n" +
				"3 0 obj << /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents 4 0 R /Resources << /XObject << /X 5 0 R >> >> >> endobj\n"
			pdf += fmt.Sprintf("4 0 obj << /Length %d >> stream\n%s\nendstream endobj\n", len(tt.content), tt.content)
			pdf += fmt.Sprintf("5 0 obj << /Type /XObject /Subtype /Form /BBox [0 0 300 200] /Length %d >> stream\n%s\nendstream endobj\n"+
				"trailer << /Root 1 0 R >>\n", len(tt.form), tt.form)
			d := openFile(t, in, pdftest.File{Name: tt.name, PDF: []byte(pdf)})
			defer d.Close()
			p, ok := d.LoadPage(0)
			if !ok {
				t.Fatal("the page does not load")
			}
			defer p.Close()
			got := p.ReadObjects(ObjectLimits{Objects: 100, Rulings: 100, Depth: 2}).Rulings
			if len(got) != len(tt.want) {
				t.Fatalf("got %v, want %v", got, tt.want)
			}
			for i, r := range got {
				w := tt.want[i]
				for _, off := range []float64{r.Left - w.Left, r.Bottom - w.Bottom, r.Right - w.Right, r.Top - w.Top} {
					if math.Abs(off) > rulingThickness {
						t.Errorf("got %v, want %v", got, tt.want)
					}
				}
			}
		})
	}
}
