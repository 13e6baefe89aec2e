package pdfium

import (
	"strings"
	"testing"
)

// glyphSheet sets text of which each word is a run of its own; '|' is a line end that PDFium made up.
type glyphSheet struct{ Text }

const em = 10

// addColumn sets words, the first at x, y, each that many ems along and down from the one before. Glyphs are square.
func (s *glyphSheet) addColumn(words string, x, y, along, down float64) *glyphSheet {
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
			s.Chars = append(s.Chars, Char{Rune: r, Run: run,
				Box: Rect{Left: at, Bottom: y, Right: at + width, Top: y + 0.9*em}})
			at += width
		}
		x, y = x+along*em, y-down*em
	}
	return s
}

// addSideways sets a word that lies on its side, as Latin letters do in columns.
func (s *glyphSheet) addSideways(word string, x, top float64) *glyphSheet {
	run := int32(len(s.Runs))
	s.Runs = append(s.Runs, Run{Size: em, DirY: -1})
	for _, r := range word {
		s.Chars = append(s.Chars, Char{Rune: r, Run: run, Box: Rect{Left: x, Bottom: top - em/2, Right: x + em, Top: top}})
		top -= em / 2
	}
	return s
}

// columnText returns the characters of runs that go down.
func (s *glyphSheet) columnText() string {
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
		sheet *glyphSheet
		want  string
	}{
		{"a column", new(glyphSheet).addColumn("必 | ず | 、 | か | の", 100, 200, 0, 1), "必ず、かの"},
		{"two columns", new(glyphSheet).addColumn("必 ず か の |", 100, 200, 0, 1).addColumn("王 を 除 か", 80, 200,
			0, 1), "必ずかの\n王を除か"},
		{"too few", new(glyphSheet).addColumn("必 ず か", 100, 200, 0, 1), ""},
		{"cells of a table", new(glyphSheet).addColumn("月 火 水 木 金", 100, 200, 0, 1.7), ""},
		{"a line", new(glyphSheet).addColumn("必 ず か の 王", 100, 200, 1, 0), ""},
		{"upwards", new(glyphSheet).addColumn("必 ず か の 王", 100, 200, 0, -1), ""},
		{"Latin", new(glyphSheet).addColumn("a b c d e f", 100, 200, 0, 1), ""},
		{"lines", new(glyphSheet).addColumn("必ず かの 王を 除か", 100, 200, 0, 1), ""},
		{"a short end", new(glyphSheet).addColumn("必 ず か の |", 100, 200, 0, 1).addColumn("王 |", 80, 200, 0, 1), "必ずかの\n王\n"},
		{"a line after a column", new(glyphSheet).addColumn("必 ず か の |", 100, 200, 0,
			1).addColumn("王 を 除 く |", 50, 100, 1, 0), "必ずかの\n\n"},
		{"a line of words after a column", new(glyphSheet).addColumn("必 ず か の |", 100, 200, 0,
			1).addColumn("王 を除く |", 50, 100, 1, 0), "必ずかの\n\n"},
		{"a glyph before", new(glyphSheet).addColumn("王 |", 50, 300, 1, 0).addColumn("必 ず か の", 100, 200, 0, 1), "\n必ずかの"},
		{"an upright number", new(glyphSheet).addColumn("昭 和 20 年 | 8 月", 100, 200, 0, 1), "昭和20年8月"},
		{"a long number", new(glyphSheet).addColumn("昭 和 で す 20000 年", 100, 200, 0, 1), "昭和です"},
		{
			"letters on their side", new(glyphSheet).addColumn("必 ず か の |", 100, 200, 0, 1).addSideways("PDF", 100,
				160).addColumn("で", 100, 134, 0, 1).addSideways("a", 100, 130).addColumn("す", 100, 113, 0, 1),
			"必ずかの\nPDFでaす",
		},
		{"letters on their side elsewhere", new(glyphSheet).addSideways("PDF", 100, 160).addColumn("で", 10, 134, 0, 1),
			"PDF"},
		{"none", new(glyphSheet), ""},
	} {
		tt.sheet.turnColumns()
		if got := tt.sheet.columnText(); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}
