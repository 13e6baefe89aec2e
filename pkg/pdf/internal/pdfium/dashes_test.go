package pdfium

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"inkstream.dev/pkg/pdftest"
)

// TestDashesAreRulings gathers dots and dashes that are painted one by one into lines, and no others.
func TestDashesAreRulings(t *testing.T) {
	t.Parallel()
	in := newInstance(t, 256<<20)
	run := func(count int, place func(i float64) [4]float64) string {
		var b strings.Builder
		for i := range count {
			r := place(float64(i)) // x, y, width and height
			fmt.Fprintf(&b, "%g %g %g %g re f\n", r[0], r[1], r[2], r[3])
		}
		return b.String()
	}
	dots := func(x, y float64) string {
		return run(30, func(i float64) [4]float64 { return [4]float64{x + 2*i, y, 1, 1} })
	}
	for _, tt := range []struct {
		name, content string
		want          []Rect
	}{
		{"dots", dots(20, 100), []Rect{{20, 100, 79, 101}}},
		{"two lines of dots", dots(20, 100) + dots(20, 120), []Rect{{20, 100, 79, 101}, {20, 120, 79, 121}}},
		{"dots on one line with room between them", dots(20, 100) + dots(90, 100),
			[]Rect{{20, 100, 79, 101}, {90, 100, 149, 101}}},
		{"dashes from right to left", run(10, func(i float64) [4]float64 { return [4]float64{100 - 5*i, 50, 3, 0.5} }),
			[]Rect{{55, 50, 103, 50.5}}},
		{"dots down the page", run(10, func(i float64) [4]float64 { return [4]float64{50, 20 + 2*i, 1, 1} }),
			[]Rect{{50, 20, 51, 39}}},
		{"few dots", run(5, func(i float64) [4]float64 { return [4]float64{20 + 4*i, 100, 1, 1} }), nil},
		{"dots at uneven distances", run(12, func(i float64) [4]float64 {
			return [4]float64{20 + 3.4*i + math.Mod(i, 2), 100, 1, 1}
		}), nil},
		{"dots that rise", run(12, func(i float64) [4]float64 { return [4]float64{20 + 2*i, 100 + i, 1, 1} }), nil},
		{"squares", run(12, func(i float64) [4]float64 { return [4]float64{20 + 7*i, 100, 5, 5} }), nil},
	} {
		d := openFile(t, in, pdftest.WithoutFonts(tt.content))
		p, ok := d.LoadPage(0)
		if !ok {
			t.Fatal("the page does not load")
		}
		got := p.ReadObjects(ObjectLimits{Objects: 1000, Depth: 2, Rulings: 100}).Rulings
		same := len(got) == len(tt.want)
		for i := 0; same && i < len(got); i++ {
			g, w := got[i], tt.want[i]
			same = math.Abs(g.Left-w.Left)+math.Abs(g.Bottom-w.Bottom)+math.Abs(g.Right-w.Right)+math.Abs(g.Top-w.Top) < 0.1
		}
		if !same {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
		p.Close()
		d.Close()
	}
}
