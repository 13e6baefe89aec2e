package pdf

import (
	"fmt"
	"strings"
	"testing"

	"inkstream.dev/pkg/pdftest"
)

// formWith returns a document of a page with a heading and form fields, the first of which has number 8; the numbers
// of those on the page are given.
func formWith(acroForm, page string, shown []int, fields ...string) pdftest.File {
	var refs strings.Builder
	for _, n := range shown {
		fmt.Fprintf(&refs, "%d 0 R ", n)
	}
	content := "BT /F1 12 Tf 60 740 Td (Application for a permit) Tj ET"
	stream := func(dict, data string) string {
		return fmt.Sprintf("<< %s /Length %d >>\nstream\n%s\nendstream", dict, len(data), data)
	}
	look := "/Type /XObject /Subtype /Form /BBox [0 0 200 20] /Resources << /Font << /F1 7 0 R >> >>"
	return pdftest.File{Name: "form.pdf", Pages: make([]pdftest.Page, 1), PDF: pdftest.PDFFromObjects(append([]string{
		fmt.Sprintf("<< /Type /Catalog /Pages 2 0 R /AcroForm << /Fields [%s] /DR << /Font << /Helv 7 0 R >> >> %s >>"+
			" /OpenAction << /S /JavaScript /JS (for (;;) {}) >> >>", refs.String(), acroForm),
		"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 7 0 R >> >> /Contents 4 0 R /Annots [%s] %s >>", refs.String(), page),
		stream("", content),
		stream(look, "BT /F1 10 Tf 4 6 Td (drawn before) Tj ET"), // 5 0 R
		stream(look, "/Tx BMC EMC"),                              // 6 0 R
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
	}, fields...)...)}
}

// Form fields that a program filled in without drawing them are read.
func TestFilledInFields(t *testing.T) {
	t.Parallel()
	const at = "/Type /Annot /Subtype /Widget /Rect [60 600 260 620] "
	const text = at + "/FT /Tx /T (a) /F 4 /DA (/Helv 10 Tf 0 g) "
	for _, tt := range []struct {
		name, form string
		shown      []int
		fields     []string
		want       string // besides the heading
	}{
		{name: "a text", fields: []string{"<< " + text + "/V (Ada Lovelace) >>"}, want: "Ada Lovelace"},
		{name: "in a document that asks for looks", form: "/NeedAppearances true",
			fields: []string{"<< " + text + "/V (Ada Lovelace) >>"}, want: "Ada Lovelace"},
		{name: "of a field with several places", shown: []int{9}, fields: []string{
			"<< /FT /Tx /T (a) /V (Ada Lovelace) /Kids [9 0 R] >>", "<< " + at + "/Parent 8 0 R >>",
		}, want: "Ada Lovelace"},
		{name: "in UTF-16", fields: []string{"<< " + text + "/V <FEFF0410043404300020041B> >>"},
			want: "Ада Л"},
		{name: "in UTF-8", fields: []string{"<< " + text + "/V <EFBBBFC5BB6F> >>"}, want: "Żo"},
		{name: "in the usual encoding", fields: []string{"<< " + text + "/V <93785Fa03130> >>"},
			want: "ﬁx_€10"},
		{name: "as a stream",
			fields: []string{"<< " + text + "/V 9 0 R >>", "<< /Length 5 >>\nstream\nAda L\nendstream"},
			want:   "Ada L"},
		{name: "with a script", fields: []string{"<< " + text +
			"/V (Ada) /AA << /F << /S /JavaScript /JS (event.value = 'Eve') >> >> >>"}, want: "Ada"},
		{name: "lines", fields: []string{"<< " + text + "/Ff 4096 /V (First line\rand the next) >>"},
			want: "First line / and the next"},
		{name: "lines that the field breaks",
			fields: []string{"<< " + text + "/Ff 4096 /Rect [60 600 130 660] /V (Deliver to the back door) >>"},
			want:   "Deliver to the / back door"},
		{name: "a cell for each character",
			fields: []string{"<< " + text + "/Ff 16777216 /MaxLen 10 /V (4711 08) >>"}, want: "4711 08"},
		{name: "a choice", fields: []string{"<< " + at +
			"/FT /Ch /T (a) /Ff 131072 /Opt [[(de) (Germany)] [(fr) (France)]] /V (fr) >>"}, want: "France"},
		{name: "several choices", fields: []string{"<< " + at +
			"/FT /Ch /T (a) /Ff 2097152 /Opt [(red) (green) (blue)] /V [(red) (blue)] >>"}, want: "red / blue"},
		{name: "what is drawn is not read twice",
			fields: []string{"<< " + text + "/V (Ada Lovelace) /AP << /N 5 0 R >> >>"}, want: "drawn before"},
		{name: "nor where looks are asked for", form: "/NeedAppearances true",
			fields: []string{"<< " + text + "/V (drawn before) /AP << /N 5 0 R >> >>"}, want: "drawn before"},
		{name: "an empty look is outdated", form: "/NeedAppearances true",
			fields: []string{"<< " + text + "/V (Ada Lovelace) /AP << /N 6 0 R >> >>"}, want: "Ada Lovelace"},
		{name: "an empty look is meant so", fields: []string{"<< " + text + "/V (0) /AP << /N 6 0 R >> >>"}},
		{name: "hidden", form: "/NeedAppearances true", fields: []string{"<< " + text + "/F 2 /V (secret) >>"}},
		{name: "not to be seen", fields: []string{"<< " + text + "/F 36 /V (secret) >>"}},
		{name: "a password", form: "/NeedAppearances true",
			fields: []string{"<< " + text + "/Ff 8192 /V (secret) >>"}},
		{name: "a password by what is above", shown: []int{9},
			fields: []string{"<< /FT /Tx /T (a) /Ff 8192 /V (secret) /Kids [9 0 R] >>", "<< " + at + "/Parent 8 0 R >>"}},
		{name: "a tick box", fields: []string{"<< " + at + "/FT /Btn /T (a) /V /Yes /AS /Yes >>"}},
		{name: "a button", fields: []string{"<< " + at + "/FT /Btn /Ff 65536 /T (a) /MK << /CA (Send) >> >>"}},
		{name: "no extent", fields: []string{"<< " + text + "/Rect [60 600 60 600] /V (secret) >>"}},
		{name: "nodes in a circle", fields: []string{"<< " + at + "/T (a) /Parent 8 0 R >>"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.shown == nil {
				tt.shown = []int{8}
			}
			page := readPage(t, openDocument(t, sharedEngine(t), formWith(tt.form, "", tt.shown, tt.fields...)), 1).Page
			_, got, _ := strings.Cut(textOf(page), "Application for a permit \n")
			got = strings.TrimSpace(strings.ReplaceAll(got, " \n", " / "))
			if got = strings.TrimSpace(strings.TrimSuffix(got, "/")); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			for _, w := range pageWords(page)[4:] {
				const x0, y0, x1, y1 = 60, 842 - 660, 260, 842 - 600
				if b := w.GetBbox(); b[0] < x0 || b[1] < y0 || b[2] > x1 || b[3] > y1 || b[2] <= b[0] || b[3] <= b[1] {
					t.Errorf("%s: got %v, want a box within %v", w.GetText(), b, []int{x0, y0, x1, y1})
				}
			}
		})
	}
}

// What is filled in on a page that is displayed turned stands upright where its field is.
func TestFilledInFieldOfTurnedPage(t *testing.T) {
	t.Parallel()
	for turns, want := range [][4]float32{{60, 222, 260, 242}, {600, 60, 620, 260}, {335, 600, 535, 620},
		{222, 335, 242, 535}} {
		f := formWith("", fmt.Sprintf("/Rotate %d", 90*turns), []int{8}, fmt.Sprintf(
			"<< /Type /Annot /Subtype /Widget /Rect [60 600 260 620] /FT /Tx /T (a) /MK << /R %d >> /V (Ada Lovelace) >>",
			90*turns))
		result, _, _ := drawAndRead(t, f, 72)
		page, found := result.Page, false
		for _, b := range page.GetBlocks() {
			for _, l := range b.GetLines() {
				if l.GetWords()[0].GetText() != "Ada" {
					continue
				}
				found = true
				if box := l.GetBbox(); l.GetAngle() != 0 || box[0] < want[0] || box[1] < want[1] || box[2] > want[2] ||
					box[3] > want[3] {
					t.Errorf("%d quarter turns: got %v at %d degrees, want it upright within %v", turns, box, l.GetAngle(), want)
				}
			}
		}
		if !found {
			t.Errorf("%d quarter turns: got %q, want the field's text", turns, textOf(page))
		}
	}
}
