package layout

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// TestPiecesOfLinesGoBack reads lines whole of which the recogniser made blocks apart, and leaves what stands beside a
// column by itself.
func TestPiecesOfLinesGoBack(t *testing.T) {
	t.Parallel()
	// An entry has a price at the right edge of its column.
	second := []*inkstreamv1.Line{at(40, 62, 10, "Lamps"), at(40, 74, 10, "No. 4711")}
	entry := down(40, 100, 10, "Lamps of glass and brass for rooms and", "for ships, with wicks and two cans of oil,", "made in the works by the river.")
	price := []*inkstreamv1.Line{at(210, 74, 10, "29.41")}
	other := down(300, 62, 10, columnText(8)...)
	newTorn := func() []*inkstreamv1.Line {
		return down(40, 200, 10, "The council met on Tuesday and agreed", "after", "close the bridge for repairs in autumn")
	}
	rest := []*inkstreamv1.Line{at(120, 212, 10, "a debate")}
	// newHoled returns a column whose second line lacks what stands between its words.
	newHoled := func(line *inkstreamv1.Line, x float64, text string) []*inkstreamv1.Line {
		line.Words = append(line.Words, at(x, 212, 10, text).Words...)
		return []*inkstreamv1.Line{at(40, 200, 10, "The council met on Tuesday and agreed"), line,
			at(40, 224, 10, "close the bridge for repairs in autumn")}
	}
	everySecond := newHoled(at(40, 212, 10, "after"), 140, "of")[1:2]
	for _, tt := range []struct {
		name         string
		blocks       [][]*inkstreamv1.Line
		joined, want string
	}{
		{"a price", [][]*inkstreamv1.Line{second, entry, price, other}, "No. 4711 29.41", "brass for rooms"},
		{"the end of a justified line", [][]*inkstreamv1.Line{newTorn(), rest, other}, "after a debate", "close the bridge"},
		{"a half of a line", [][]*inkstreamv1.Line{{at(68, 212, 10, "a debate of three hours")}, newTorn()}, "after a debate of three hours", "close the bridge"},
		{"the middle of a line", [][]*inkstreamv1.Line{newHoled(at(40, 212, 10, "after"), 170, "hours"), rest, other}, "after a debate hours", "close the bridge"},
		{"every second word", [][]*inkstreamv1.Line{newHoled(at(70, 212, 10, "a debate"), 155, "hours"), everySecond, other}, "after a debate of hours", "close the bridge"},
		{"a note beside a column", [][]*inkstreamv1.Line{entry, {at(270, 112, 10, "Note")}, other}, "Note", "cans of oil,\n"},
	} {
		p := recognised(tt.blocks...)
		ArrangePage(p)
		lines := strings.Split(p.GetText(), "\n")
		if !slices.Contains(lines, tt.joined) || !strings.Contains(p.GetText(), tt.want) {
			t.Errorf("%s: got %q, want %q and %q in it", tt.name, p.GetText(), tt.joined, tt.want)
		}
	}
}

// TestLineNumbersPart reads a text without the numbers that count its lines, and leaves those of lists and tables.
func TestLineNumbersPart(t *testing.T) {
	t.Parallel()
	numbered := func(texts []string) (out []*inkstreamv1.Line) {
		for i, text := range texts {
			out = append(out, at(40, 60+20*float64(i), 10, fmt.Sprintf("%d %s", i+1, text)))
		}
		return out
	}
	p := recognised(numbered(columnText(8)))
	ArrangePage(p)
	if text := strings.Join(strings.Fields(p.GetText()), " "); !strings.Contains(text, strings.Join(columnText(8), " ")) {
		t.Errorf("got %q, want the text without numbers between its lines", text)
	}
	for _, items := range [][]string{
		{"Lamps of brass", "Chairs", "Tables and desks", "Shelves", "Doors", "Rugs of wool", "Clocks", "Mirrors"},
		{"lamps of brass 4.50", "chairs 12.00", "desks 80.00", "shelves 7.20", "doors 31.00", "rugs of wool 15.10", "clocks 9.99"},
	} {
		p = recognised(numbered(items))
		ArrangePage(p)
		text := strings.Join(strings.Fields(p.GetText()), " ")
		if !strings.Contains(text, "1 "+items[0]) || !strings.Contains(text, "6 "+items[5]) {
			t.Errorf("got %q, want the items with their numbers", text)
		}
	}
}

// TestTitlesGoBehindTheirNumbers reads the title of a section, which the recogniser took for a block of its own after
// the paragraph below it, behind the number.
func TestTitlesGoBehindTheirNumbers(t *testing.T) {
	t.Parallel()
	blocks := [][]*inkstreamv1.Line{
		{at(40, 60, 10, "3.1")},
		down(40, 80, 10, "The council met on Tuesday and agreed", "after a debate of three hours to close", "the bridge."),
		{at(90, 60, 10, "The duties of the arbiter")},
	}
	for i := range 12 {
		blocks = append(blocks, down(40, 130+40*float64(i), 10, "The mayor, a former teacher, said that", "there were two other ways."))
	}
	p := recognised(blocks...)
	ArrangePage(p)
	if lines := strings.Split(p.GetText(), "\n"); lines[0] != "3.1 The duties of the arbiter" {
		t.Errorf("got %q first", lines[0])
	}
}
