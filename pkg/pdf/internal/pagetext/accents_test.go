package pagetext

import "testing"

// place moves the last characters to where each begins, in points.
func (s *textSetter) place(xs ...float64) *textSetter {
	chars := s.text.Chars[len(s.text.Chars)-len(xs):]
	for i := range chars {
		width := chars[i].Box.Right - chars[i].Box.Left
		chars[i].Box.Left, chars[i].Box.Right = xs[i], xs[i]+width
	}
	return s
}

// TestAccents puts accents that are characters of their own on the letters that they are drawn over.
func TestAccents(t *testing.T) {
	t.Parallel()
	line := func() *textSetter { return new(textSetter) }
	for _, tt := range []struct {
		name string
		text *textSetter
		want string
	}{
		{"before its letter", line().addRun(50, 700, "m´as").place(50, 56, 56, 62), "más"},
		{"behind its letter", line().addRun(50, 700, "ma´s").place(50, 56, 56, 62), "más"},
		{"two of one letter", line().addRun(50, 700, "ˆe´").place(50, 50, 50), "ế"},
		{"without a dot below", line().addRun(50, 700, "´ı").place(50, 50), "í"},
		{"below its letter", line().addRun(50, 700, "¸c").place(50, 50), "ç"},
		{"beside its letter", line().addRun(50, 700, "x^a~b"), "x^a~b"},
		{"on what takes none", line().addRun(50, 700, "´7").place(50, 50), "´7"},
		{"a made-up blank before it", line().addRun(50, 700, "f").addGenerated(' ').addRun(56, 700, "¨ur").place(55.5, 55.5, 61), "für"},
		{"a blank before it", line().addRun(50, 700, "f").addGenerated(' ').addRun(60, 700, "¨ur").place(59.5, 59.5, 65), "f ür"},
		{"listed behind its word", line().addRun(50, 700, "Ubung").addGenerated(' ').addRun(50, 701, "¨").addGenerated(' ').addRun(84, 700, "eins"),
			"Übung eins"},
		{"listed within another word", line().addRun(50, 700, "un").place(50, 56).addGenerated(' ').addRun(50, 701, "¨").addGenerated(' ').addRun(
			61.5, 700, "do"), "ündo"},
		{"over the line below", line().addRun(50, 700, "cite\x02").addRun(50, 688, "´a").place(50, 50), "cite-/á"},
	} {
		if got := formatText(BuildText(tt.text.text, upright)); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}
