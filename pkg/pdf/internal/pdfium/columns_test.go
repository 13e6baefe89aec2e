package pdfium

import (
	"strings"
	"testing"
)

// sheet sets text of which each word is a run of its own; '|' is a line end that PDFium made up.
type sheet struct{ Text }

const em = 10

// set sets words, the first at x, y, each that many ems along and down from the one before. Glyphs are square.
func (s *sheet) set(words string, x, y, along, down float64) *sheet {
	for word := range strings.FieldsSeq(words) {
		if word == "|" {
			s.Chars = append(s.Chars, Char{Rune: '\n', Generated: true, Run: int32(len(s.Runs)) - 1})
			continue
		}
		run := int32(len(s.Runs))
		s.Runs = append(s.Runs, Run{Size: em, DirX: 1})
		at := x
		for _, r := range word {
			width := em * 0.9
			if r < firstOfColumns {
				width = em * 0.5
			}
			s.Chars = append(s.Chars, Char{Rune: r, Run: run, Box: Rect{Left: at, Bottom: y, Right: at + width, Top: y + 0.9*em}})
			at += width
		}
		x, y = x+along*em, y-down*em
	}
	return s
}

// aside sets a word that lies on its side, as Latin letters do in columns.
func (s *sheet) aside(word string, x, top float64) *sheet {
	run := int32(len(s.Runs))
	s.Runs = append(s.Runs, Run{Size: em, DirY: -1})
	for _, r := range word {
		s.Chars = append(s.Chars, Char{Rune: r, Run: run, Box: Rect{Left: x, Bottom: top - em/2, Right: x + em, Top: top}})
		top -= em / 2
	}
	return s
}

// down returns the characters of runs that go down.
func (s *sheet) down() string {
	var b strings.Builder
	for _, c := range s.Chars {
		if r := s.Runs[c.Run]; r.DirX == 0 && r.DirY == -1 || c.Generated {
			b.WriteRune(c.Rune)
		}
	}
	return b.String()
}

func TestColumnsOfGlyphs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		sheet *sheet
		want  string
	}{
		{"a column", new(sheet).set("必 | ず | 、 | か | の", 100, 200, 0, 1), "必ず、かの"},
		{"two columns", new(sheet).set("必 ず か の |", 100, 200, 0, 1).set("王 を 除 か", 80, 200, 0, 1), "必ずかの\n王を除か"},
		{"too few", new(sheet).set("必 ず か", 100, 200, 0, 1), ""},
		{"cells of a table", new(sheet).set("月 火 水 木 金", 100, 200, 0, 1.7), ""},
		{"a line", new(sheet).set("必 ず か の 王", 100, 200, 1, 0), ""},
		{"upwards", new(sheet).set("必 ず か の 王", 100, 200, 0, -1), ""},
		{"Latin", new(sheet).set("a b c d e f", 100, 200, 0, 1), ""},
		{"lines", new(sheet).set("必ず かの 王を 除か", 100, 200, 0, 1), ""},
		{"a short end", new(sheet).set("必 ず か の |", 100, 200, 0, 1).set("王 |", 80, 200, 0, 1), "必ずかの\n王\n"},
		{"a line after a column", new(sheet).set("必 ず か の |", 100, 200, 0, 1).set("王 を 除 く |", 50, 100, 1, 0), "必ずかの\n\n"},
		{"a line of words after a column", new(sheet).set("必 ず か の |", 100, 200, 0, 1).set("王 を除く |", 50, 100, 1, 0), "必ずかの\n\n"},
		{"a glyph before", new(sheet).set("王 |", 50, 300, 1, 0).set("必 ず か の", 100, 200, 0, 1), "\n必ずかの"},
		{"an upright number", new(sheet).set("昭 和 20 年 | 8 月", 100, 200, 0, 1), "昭和20年8月"},
		{"a long number", new(sheet).set("昭 和 で す 20000 年", 100, 200, 0, 1), "昭和です"},
		{
			"letters on their side", new(sheet).set("必 ず か の |", 100, 200, 0, 1).aside("PDF", 100, 160).set("で", 100, 134, 0, 1).aside("a", 100, 130).set("す", 100, 113, 0, 1),
			"必ずかの\nPDFでaす",
		},
		{"letters on their side elsewhere", new(sheet).aside("PDF", 100, 160).set("で", 10, 134, 0, 1), "PDF"},
		{"none", new(sheet), ""},
	} {
		tt.sheet.turnColumns()
		if got := tt.sheet.down(); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}
