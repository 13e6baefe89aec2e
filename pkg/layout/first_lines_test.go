package layout

import (
	"fmt"
	"math"
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// columnLine is a line of a column that begins at 72 points and is 232 points wide: how far from its left edge the line
// begins, how far below the line before it stands, whether it is full, and what it says.
type columnLine struct {
	indent, step float64
	full         bool
	text         string
}

// columnPage sets lines of a column, from 72 points down the page.
func columnPage(lines ...columnLine) *inkstreamv1.Page {
	const width = 232.0
	var out []*inkstreamv1.Line
	y := 72.0
	for i, l := range lines {
		if i > 0 {
			y += l.step
		}
		line := at(72+l.indent, y, 10, l.text)
		if last := line.Words[len(line.Words)-1]; l.full {
			last.Bbox[0], last.Bbox[2] = last.Bbox[0]+72+width-last.Bbox[2], 72+width
		}
		out = append(out, line)
	}
	return pageOf(out)
}

// TestParagraphsOfAColumn parts the lines of a column where paragraphs, entries and items begin, and nowhere else.
func TestParagraphsOfAColumn(t *testing.T) {
	t.Parallel()
	const on = "the harbour was closed for all of the winter"
	goesOn, ends := columnLine{0, 12, true, on}, columnLine{0, 12, true, "and nobody came to see what became of it."}
	for _, tt := range []struct {
		name  string
		lines []columnLine
		want  int
	}{
		{"verses that room parts", []columnLine{{0, 0, false, "1. The winter"}, {0, 12, false, "Closed the harbour"}, {0, 12, false, "Again"},
			{0, 18, false, "2. The summer"}, {0, 12, false, "Opened the mole"}, {0, 18, false, "3. The autumn"}, {0, 12, false, "Saw them all go to the islands of the sea"}}, 3},
		{"a justified line that ends short", []columnLine{goesOn, goesOn, goesOn, {0, 12, false, "nobody came there until the spring."},
			{0, 12, true, "Neighbourhoods of it and of the sea were"}, goesOn, goesOn}, 2},
		{"a first line that no other bears out", []columnLine{goesOn, goesOn, {0, 12, true, "and nobody came to see what became of it."},
			{14, 12, true, "The mole was of stone and of oak of"}, {0, 12, false, "the north."}}, 2},
		{"a paragraph of one line above another", []columnLine{{14, 0, true, "The harbour had been closed before."},
			{14, 12, true, "The mole was of stone and of oak of"}, {0, 12, false, "the north."}}, 2},
		{"lines in the middle", []columnLine{{30, 0, false, "The harbour was closed for"}, {14, 12, false, "the winter, and nobody came there."},
			{20, 12, false, "The mole was of stone and then"}, {2, 12, false, "of the oak of all the north that was cut."}, {60, 12, false, "It is gone."}}, 1},
		{"a signature", []columnLine{goesOn, ends, {152, 12, true, "Clara Radley"}}, 2},
		{"two lines at the right edge", []columnLine{{140, 0, true, "Given at Harwick."}, {152, 12, true, "Clara Radley"}, goesOn, goesOn, ends}, 2},
		{"the same room below a full line", []columnLine{goesOn, goesOn, {0, 12, false, "Mole Street"}, {0, 15, true, "Barlow and sons; " + on[:28]}, goesOn, {0, 12, false, "Oak Lane"},
			{0, 15, true, "Carver and sons; " + on[:28]}, goesOn, {0, 12, false, "Elm Lane"}, {0, 15, true, "Ellery and sons; " + on[:28]}, goesOn,
			{0, 12, true, "Harwick Road 12, Millbrook, 277 919 45"}, {0, 15, true, "Garrick and sons; " + on[:27]}, {0, 12, false, "Ash Lane"}}, 5},
		{"meanings counted in the line", []columnLine{{0, 0, true, "mole n. 1. a wall in the sea, of stone or of"},
			{8, 12, false, "wood, that keeps waves away."}, {8, 12, false, "2. a beast; a spot; the sum of things."}}, 1},
		{"a dash in an answer", []columnLine{{30, 0, true, "Q. Had the harbour been closed before the"}, {0, 12, true, "winter of that year, as the keeper said it"}, {0, 12, false, "– and nobody else?"},
			{30, 12, true, "A. It had been closed in the spring as all"}, {0, 12, false, "of them knew."}, {30, 12, true, "Q. And then?"}}, 3},
		{"a number in the middle above text", []columnLine{{86, 0, false, "No. 35 of 1989"}, {0, 12, true, "The harbour was closed for all of the winter"}, ends}, 2},
		{"an answer in ragged text", []columnLine{{30, 0, false, "Q. Had the harbour been closed before"}, {0, 12, false, "the winter of that year as the keeper says it?"},
			{30, 12, false, "A. It had been closed in the spring."}, {0, 12, false, "and nobody came there."}, {0, 12, false, "Nobody was asked to."},
			{30, 12, false, "Q. Who then opened it again"}, {0, 12, false, "to all of them?"}}, 3},
		{"paragraphs of one line", []columnLine{{14, 0, true, "The mole was of stone and of oak of"}, {0, 12, false, "the north."}, {14, 12, true, "The harbour had been closed before."}, {14, 12, true, "The tower was of stone and of wood of"},
			{0, 12, false, "the isles."}, {14, 12, true, "The quay was of stone, of oak and of"}, {0, 12, false, "old wood."}}, 4},
		{"a first line as far from both edges", []columnLine{{14, 0, false, "The harbour of the north was closed after it"}, goesOn, goesOn, ends,
			{14, 12, false, "Neighbours of it saw the quays and the moles"}, goesOn, ends}, 2},
		{"items below a full line", []columnLine{goesOn, ends, {3, 12, true, "1. The mole was of stone, and of old oak too."}, {3, 12, true, "2. The tower was of wood, and of stone."}}, 3},
		{"a number that none counts on", []columnLine{goesOn, ends, {3, 12, true, "1. The mole was of stone, and of old oak too."}, goesOn}, 1},
		{"steps with a label", []columnLine{{0, 0, true, "Step 3: Open the harbour to all who come here."}, {0, 12, true, "Step 4: Close the mole to the ships of all the"}, {0, 12, true, "islands. Step 5: Wait."},
			{0, 12, true, "Step 7: And for all that nobody came to see it"}}, 2},
		{"steps that count", []columnLine{{0, 0, true, "3 Open the harbour to all who come by the sea."}, {0, 12, true, "4 Close the mole again to all others and to the"}, {0, 12, false, "ships."}}, 2},
	} {
		page := columnPage(tt.lines...)
		if ArrangePage(page); len(page.Blocks) != tt.want {
			t.Errorf("%s: got %d blocks, want %d:\n%s", tt.name, len(page.Blocks), tt.want, page.Text)
		}
	}
}

// TestEntriesOfANarrowColumn keeps entries whole that hang in a column of a few words' width, whose lines end sentences.
func TestEntriesOfANarrowColumn(t *testing.T) {
	t.Parallel()
	var lines []*inkstreamv1.Line
	for k, name := range []string{"Abbott,", "Adler,", "Barlow,"} {
		y := 72 + 80*float64(k)
		lines = append(lines, at(50, y, 10, name))
		lines = append(lines, down(60, y+12, 10, "Hanna, 194", "Ravensbourne", "Avenues,", "Forden.", "Tel. 946 49")...)
	}
	page := pageOf(lines)
	if ArrangePage(page); len(page.Blocks) != 3 {
		t.Errorf("got %d blocks, want 3:\n%s", len(page.Blocks), page.Text)
	}
}

// TestRaisedMarks keeps lines together of which one stands lower because of a raised mark in it.
func TestRaisedMarks(t *testing.T) {
	t.Parallel()
	const on, ends = "the harbour was closed for all of the winter", "and nobody came to see what became of it."
	page := columnPage(columnLine{0, 0, true, on}, columnLine{0, 12, true, on}, columnLine{0, 12, true, ends}, columnLine{0, 15, true, "The mole 4was of stone and of oak of the"}, columnLine{0, 12, true, on},
		columnLine{0, 12, true, ends}, columnLine{0, 15, true, "The quay 5was of stone and of oak of the"}, columnLine{0, 12, true, on})
	for _, b := range page.Blocks {
		for _, line := range b.Lines {
			if text := line.Words[min(2, len(line.Words)-1)]; text.Text == "4was" || text.Text == "5was" {
				text.Bbox[1] -= 4
			}
		}
	}
	if ArrangePage(page); len(page.Blocks) != 1 {
		t.Errorf("got %d blocks, want 1:\n%s", len(page.Blocks), page.Text)
	}
}

// TestPitchOfRows takes no pitch from lines that stand side by side.
func TestPitchOfRows(t *testing.T) {
	t.Parallel()
	var shapes []lineShape
	for i, y := range []float64{100, 106, 112, 118, 124, 130, 150, 162, 174} {
		shapes = append(shapes, lineShape{baseline: y, x0: 72 + 100*float64(i%2), style: lineStyle{size: 10}})
	}
	if got := usualLinePitch(shapes, 10); got != 12 {
		t.Errorf("got a pitch of %v, want 12", got)
	}
}

// TestBoldLinesBetween parts a question of several bold lines from the answer above it, which ends near the edge.
func TestBoldLinesBetween(t *testing.T) {
	t.Parallel()
	const on, ends = "the harbour was closed for all of the winter", "and nobody came to see what became of it."
	page := columnPage(columnLine{0, 0, true, on}, columnLine{0, 12, true, on}, columnLine{0, 12, true, ends}, columnLine{0, 12, true, "Who kept the keys of the old tower of all"},
		columnLine{0, 12, true, "those that stand there by the sea, and why?"})
	for i, line := range page.Blocks[0].Lines {
		set(int32(1+i/3), line)
	}
	page.Fonts = []*inkstreamv1.Font{{Name: "Times"}, {Name: "Times-Bold"}}
	if ArrangePage(page); len(page.Blocks) != 2 {
		t.Errorf("got %d blocks, want 2:\n%s", len(page.Blocks), page.Text)
	}
}

// TestColumnWidth measures the edges of a column without the heading that is set farther out, and without the number of
// the page.
func TestColumnWidth(t *testing.T) {
	t.Parallel()
	shape := func(x0, x1, size float64, counter int) lineShape {
		return lineShape{x0: x0, x1: x1, style: lineStyle{size: size}, counter: counter}
	}
	p := textColumn{left: math.Inf(1), right: math.Inf(-1), shapes: []lineShape{shape(480, 495, 10, 128), shape(60, 120, 14, 0), shape(72, 300, 10, 0), shape(84, 250, 10, 0)}}
	if measureWidth(&p); p.left != 72 || p.right != 300 {
		t.Errorf("got a column from %v to %v, want one from 72 to 300", p.left, p.right)
	}
}

// TestPitchOfCode keeps the lines of text together that stand farther apart than those of the code above and below them.
func TestPitchOfCode(t *testing.T) {
	t.Parallel()
	var lines []*inkstreamv1.Line
	for k := range 2 {
		y := 72 + 250*float64(k)
		for i := range 9 {
			lines = append(lines, set(2, at(72, y+11*float64(i), 10, "open the harbour := range mole"))...)
		}
		for i, text := range []string{"The harbour was closed for the whole of the winter, and", "nobody came to see what had become of it, as the", "ice was", "of no use to them."} {
			lines = append(lines, set(1, at(72, y+120+18*float64(i), 10, text))...)
		}
	}
	page := pageOf(lines)
	page.Fonts = []*inkstreamv1.Font{{Name: "Times"}, {Name: "Courier", FixedPitch: true}}
	if ArrangePage(page); len(page.Blocks) != 4 {
		t.Errorf("got %d blocks, want 4:\n%s", len(page.Blocks), page.Text)
	}
}

// TestBaselineOfFewWords takes the baseline of a line to be where a word ends that has no letters below it, though most
// words of the line have some.
func TestBaselineOfFewWords(t *testing.T) {
	t.Parallel()
	line := at(72, 100, 10, "keeping in every bay,")
	line.Words[1].Bbox[3] -= 2
	if got := measureExtent(line.Words, 0).baseline; math.Abs(got-107) > 0.01 {
		t.Errorf("got a baseline at %v, want 107", got)
	}
}

// TestWrappedNumbers reads the name of an entry before its number where both go on in the next row, as other entries tell
// that have their number in one row.
func TestWrappedNumbers(t *testing.T) {
	t.Parallel()
	entry := func(y float64, name, number string) []*inkstreamv1.Line {
		return []*inkstreamv1.Line{at(72, y, 10, name), at(190, y, 10, number)}
	}
	page := pageOf(entry(72, "Adler A 4 Mole", "734 2205"), entry(84, "Barlow B 7 Mole", "734 1186"), entry(96, "Carver C 9 Quay", "712 4430"), entry(108, "Drummond D 14", "755"),
		entry(120, "Ravensbourne", "6120"), entry(132, "Ellery E 2 Quay", "731 9914"), entry(144, "Garrick G 31", "440"), entry(156, "Oak Lane 19", "4410 2"))
	ArrangePage(page)
	followEachOther(t, page, "Drummond D 14 Ravensbourne", "755", "6120", "Ellery")
	followEachOther(t, page, "Garrick G 31", "440", "Oak Lane")

	var entries [][]*inkstreamv1.Line
	for i, name := range []string{"Adler A 4", "Barlow B 7", "Carver C 9", "Drummond D 14", "Ellery E 2"} {
		entries = append(entries, entry(72+24*float64(i), name, fmt.Sprint(734+i)), entry(84+24*float64(i), "Quay Lane", fmt.Sprint(2205+i)))
	}
	all := pageOf(entries...)
	ArrangePage(all)
	followEachOther(t, all, "Adler A 4 Quay Lane", "734", "2205", "Barlow B 7 Quay Lane", "735", "Ellery E 2 Quay Lane")
	if n := countTables(all); n > 0 {
		t.Errorf("got %d tables, want none", n)
	}
}
