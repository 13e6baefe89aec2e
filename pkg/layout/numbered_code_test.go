package layout

import (
	"fmt"
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// TestNumberedCode reads code whose lines are counted in another font, some of them empty, as code, and a table with
// numbers and text in a font of fixed pitch as a table.
func TestNumberedCode(t *testing.T) {
	t.Parallel()
	code := []string{"func main() {", "", "    fmt.Println(x)", "    for {", "        run(x)", "    }", "}"}
	for _, tt := range []struct {
		name string
		note string // in the text's font, behind each line
		want bool
	}{{"code", "", true}, {"rows", "harbours of stone", false}} {
		var lines []*inkstreamv1.Line
		for i, text := range code {
			line := set(1, at(72, 100+float64(i)*12, 7, fmt.Sprint(i+8)))[0]
			if text != "" {
				indent := 0.0
				for ; text[0] == ' '; text = text[1:] {
					indent += 5
				}
				line.Words = append(line.Words, set(2, at(90+indent, 98+float64(i)*12, 9, text))[0].Words...)
			}
			if tt.note != "" {
				line.Words = append(line.Words, set(1, at(300, 98+float64(i)*12, 9, tt.note))[0].Words...)
			}
			lines = append(lines, line)
		}
		page := pageOf(lines)
		page.Fonts = []*inkstreamv1.Font{{Name: "CMR7"}, {Name: "CMTT9"}}
		ArrangePage(page)
		if got := len(page.Blocks) == 1 && page.Blocks[0].Type == Code && len(page.Blocks[0].Lines) == len(code); got != tt.want {
			t.Errorf("%s: code is %v, want %v: %d blocks\n%s", tt.name, got, tt.want, len(page.Blocks), page.Text)
		}
	}
}
