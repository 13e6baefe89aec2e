package pdfium

import "testing"

// TestOverdrawnBlanks drops a written blank that the next letter steps back over, as drivers write kerned pairs, and
// keeps those that part words, however narrow, and those of a text layer.
func TestOverdrawnBlanks(t *testing.T) {
	t.Parallel()
	in := newInstance(t, 256<<20)
	for _, tt := range []struct{ name, content, want string }{
		{"stepped back over", "[(la la la la confer )252(ma)] TJ", "la la la la conferma"},
		{"stepped back over to a kerned letter", "[(la la la la rappor )270(to)] TJ", "la la la la rapporto"},
		{"all of them are, of a font with wrong widths", "[(la )252(la )252(la )252(la )252(confer )252(ma)] TJ", "la la la la confer ma"},
		{"squeezed", "[(la la la la confer )170(ma)] TJ", "la la la la confer ma"},
		{"as wide as it is", "(confer ma) Tj", "confer ma"},
		{"of letters that overlap", "[(la la la la confer )450(ma)] TJ", "la la la la confer ma"},
		{"of letters set closer", "-.8 Tc (confer ma) Tj", "confer ma"},
		{"of words placed one by one", "(confer ) Tj 33 0 Td (ma) Tj", "confer ma"},
		{"in a text layer", "3 Tr [(la la la la confer )252(ma)] TJ", "la la la la confer ma"},
	} {
		if got := shownText(t, in, "", "/F 11 Tf 20 100 Td "+tt.content); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}
