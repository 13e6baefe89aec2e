package layout

import (
	"strings"
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// TestMeasuredPitch sets the same program in fonts that do not say what they are: code is what is set in letters of
// one width.
func TestMeasuredPitch(t *testing.T) {
	t.Parallel()
	program := []string{
		"create mask masters.customers as customer", "   return case", "when verify (session, teller) then customer.number",
		"when verify (session, printer) then concat", "   else nothing", "end enable mask until further notice follows",
		"alter table masters.customers", "   activate column access control", "   activate masks everywhere from now onwards",
	}
	narrow := func(s string) float64 {
		return float64(strings.Count(s, "t")+strings.Count(s, "i")+strings.Count(s, "l")) * 2.5
	}
	for _, tt := range []struct {
		name  string
		lines []string
		width func(word string) float64 // what a word lacks
		want  string
	}{
		{"all letters as wide", program, func(string) float64 { return 0 }, Code},
		{"room beside the letters at the ends", program, func(w string) float64 { return float64(len(w)%3) * 1.5 }, Code},
		{"some letters narrow", program, narrow, Paragraph},
		{"few words", program[:3], func(string) float64 { return 0 }, Paragraph},
		{"text of another script in the same font", append([]string{"設定 ファイル"}, program...),
			func(string) float64 { return 0 }, Paragraph},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			lines := set(1, down(72, 72, 10, tt.lines...)...)
			for _, l := range lines {
				for _, w := range l.Words {
					w.Bbox[2] -= float32(tt.width(w.GetText()))
				}
			}
			page := withFonts(pageOf(lines), &inkstreamv1.Font{Name: "Unheard-Of"})
			ArrangePage(page)
			for _, b := range page.GetBlocks() {
				if b.GetType() != tt.want {
					t.Errorf("a block is %s, want %s: %q", b.GetType(), tt.want, b.GetLines()[0])
				}
			}
		})
	}
}
