package layout

import (
	"slices"
	"strings"
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// TestNarrowGutter reads two columns whose lines stand on common baselines, with a gutter hardly wider than a blank, as
// a recogniser gives them that takes each pair of lines for one.
func TestNarrowGutter(t *testing.T) {
	t.Parallel()
	left := []string{"The council met on Tuesday and", "agreed after a long debate to", "close the bridge for repairs in",
		"autumn, when fewer farmers use", "it for their carts. The mayor, a", "former teacher, said that there"}
	right := []string{"Prices of grain rose again last", "month in all markets of eastern", "provinces, and merchants expect",
		"that they will go on rising until", "the harvest has been brought in", "and ships can leave the harbour"}
	reach := 0.0
	for _, text := range left {
		reach = max(reach, boundingBox(at(72, 72, 10, text).GetWords()).x1)
	}
	var lines []*inkstreamv1.Line
	for i := range left {
		a := at(72, 72+12*float64(i), 10, left[i])
		b := at(reach+6, 72+12*float64(i), 10, right[i])
		lines = append(lines, &inkstreamv1.Line{Words: append(a.Words, b.Words...)})
	}
	page := pageOf(lines)
	ArrangePage(page)
	want := strings.Join(left, "\n") + "\n\n" + strings.Join(right, "\n") + "\n"
	if page.GetText() != want {
		t.Errorf("got:\n%s\nwant:\n%s", page.GetText(), want)
	}
}

// TestNumberedLinesTwoUp reads a transcript two pages to a sheet, each with its lines numbered.
func TestNumberedLinesTwoUp(t *testing.T) {
	t.Parallel()
	texts := [2][]string{
		{"Q. Where were you on that night?", "A. At home, as I have said before,", "with my sister and her children.", "Q. Did you leave the house later on?",
			"A. I went out once to look after the", "horses, which had been restless.", "Q. What time was that, to the best of", "your recollection? A. About eleven."},
		{"Q. And you saw nobody in the yard?", "A. There was a lamp burning by the", "gate, but I did not see who held it.", "Q. Thank you. Let us turn to the letter",
			"that you received on Monday. A. Yes.", "Q. Do you know the hand that wrote", "it? A. It looks like my brother's, but", "he has been at sea since the spring."},
	}
	var lines [2][]*inkstreamv1.Line
	for side := range lines {
		x := 40 + 280*float64(side)
		for i, text := range texts[side] {
			y := 80 + 14*float64(i)
			lines[side] = append(lines[side], at(x, y, 9, string(rune('1'+i))), at(x+22, y, 9, text))
		}
	}
	page := pageOf(lines[0], lines[1])
	ArrangePage(page)
	for side, text := range texts {
		for i := 1; i < len(text); i++ {
			if !containsRun(page, text[i-1], text[i]) {
				t.Errorf("side %d: %q is not followed by %q in\n%s", side, text[i-1], text[i], page.GetText())
			}
		}
	}
	if n := countTables(page); n > 0 {
		t.Errorf("got %d tables, want none", n)
	}
}

// containsRun reports whether the second line follows the first in the text of the page.
func containsRun(page *inkstreamv1.Page, first, second string) bool {
	last := ""
	for _, block := range page.GetBlocks() {
		for _, line := range block.GetLines() {
			text := ""
			for i, w := range line.GetWords() {
				if i > 0 {
					text += " "
				}
				text += w.GetText()
			}
			if last == first && text == second {
				return true
			}
			last = text
		}
	}
	return false
}

func countTables(page *inkstreamv1.Page) int {
	n := 0
	for _, block := range page.GetBlocks() {
		if block.GetTable() != nil {
			n++
		}
	}
	return n
}

func TestFiguresOfRows(t *testing.T) {
	t.Parallel()
	side := func(x float64, texts ...string) []sideLine {
		var segments []segment
		for _, line := range down(x, 72, 10, texts...) {
			segments = append(segments, newSegment(line.GetWords(), 0))
		}
		return buildSide(segments, 10)
	}
	labels := side(72, "Early years", "Pears", "Plums of all kinds", "Quinces", "Apples")
	if !areFiguresOfRows(side(300, "775 394", "460 463", "– 516", "63 370", "928 483"), labels, 10) {
		t.Error("figures beside labels are no table's")
	}
	if areFiguresOfRows(side(300, "1", "2", "3", "4", "5"), labels, 10) {
		t.Error("numbers of lines are a table's figures")
	}
	p := pageOf(down(60, 72, 10, "Marsh, Anna", "Marsh, David", "Norris, Ulrich", "Novak, Esther", "Novak, Greta"),
		down(160, 72, 10, "250 2379", "389 3751", "803 2158", "814 2954", "528 9620"),
		down(230, 72, 10, "Novak, Leo", "Okafor, Clara", "Okafor, Irene", "Okafor, Nils", "Okafor, Rosa"),
		down(330, 72, 10, "479 8773", "983 4495", "553 0556", "772 2552", "849 0330"))
	ArrangePage(p)
	if got := tablesOf(p); len(got) == 1 && got[0].GetColumns() > 2 {
		t.Errorf("two columns of a directory are one table: %q", p.GetText())
	}
	if areFiguresOfRows(side(300, "text of a", "column 12", "that has 7", "lines and", "is read on"), labels, 10) {
		t.Error("text is a table's figures")
	}
}

func TestNumberedLinesBegin(t *testing.T) {
	t.Parallel()
	side := func(x float64, texts ...string) []sideLine {
		var segments []segment
		for _, line := range down(x, 72, 10, texts...) {
			segments = append(segments, newSegment(line.GetWords(), 0))
		}
		return buildSide(segments, 10)
	}
	text := side(72, slices.Repeat([]string{"a line of text that goes on"}, 9)...)
	numbers := side(300, "1", "2", "3", "4", "5", "6", "7", "8", "9")
	if !beginsNumberedLines(text, numbers) {
		t.Error("the numbers of a second page's lines are part of the first")
	}
	if beginsNumberedLines(text, side(300, "4", "7", "1", "12", "5", "3", "3", "8", "2")) {
		t.Error("figures count lines")
	}
	if beginsNumberedLines(side(72, slices.Repeat([]string{"Pears"}, 9)...), numbers) {
		t.Error("the numbers of a table's rows begin a page")
	}
}

func TestFramedRows(t *testing.T) {
	t.Parallel()
	side := func(x float64, texts ...string) []sideLine {
		var segments []segment
		for _, line := range down(x, 72, 10, texts...) {
			segments = append(segments, newSegment(line.GetWords(), 0))
		}
		return buildSide(segments, 10)
	}
	left, right := side(72, "Coast", "Statement", "Quiet river", "Sentence"), side(250, "member", "report", "exhibition", "payment")
	gap := span{130, 250}
	framed := gutterJudge{em: 10, rulings: rulingSet{across: []ruling{{at: 68, from: 70, to: 330}, {at: 125, from: 70, to: 330}}}}
	if !framed.isWithinFramedRows(left, right, gap) {
		t.Error("words in rows between two lines are no table's")
	}
	for name, across := range map[string][]ruling{"none": nil, "one": {{at: 68, from: 70, to: 330}}, "two short ones": {{at: 68, from: 70, to: 120}, {at: 125, from: 70, to: 120}}} {
		if j := (&gutterJudge{em: 10, rulings: rulingSet{across: across}}); j.isWithinFramedRows(left, right, gap) {
			t.Errorf("lines: %s: the rows are a table's", name)
		}
	}
	text := side(72, "a line of text goes on", "and on and on until it", "ends in a column that is", "between two rules as well")
	if framed.isWithinFramedRows(text, side(250, "a line of text goes on", "and on and on until it", "ends in a column that is", "between two rules as well"), gap) {
		t.Error("columns between two lines are a table's")
	}
}
