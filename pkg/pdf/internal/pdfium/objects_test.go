package pdfium

import (
	"math"
	"slices"
	"strings"
	"testing"

	"inkstream.dev/pkg/pdftest"
)

// column, line and single say "watakushi": as a column, as a line, and as characters that are set one by one.
const (
	line   = "BT /H 10 Tf 20 250 Td <0398036803580360> Tj ET\n"
	column = "BT /V 10 Tf 200 280 Td <0398036803580360> Tj ET\n"
	single = "BT /H 10 Tf 20 200 Td <0398> Tj 10 0 Td <0368> Tj 10 0 Td <0358> Tj 10 0 Td <0360> Tj ET\n"
)

func TestTextWithoutExtentIsRead(t *testing.T) {
	t.Parallel()
	in := newInstance(t, 256<<20)
	for _, tt := range []struct {
		name, content, want string
		down, invisible     bool
	}{
		{name: "a column", content: column, want: "わたくし", down: true},
		{name: "hairlines in force", content: "0 w " + column, want: "わたくし", down: true},
		{name: "an invisible column", content: "3 Tr " + column, want: "わたくし", down: true, invisible: true},
		{name: "many dashes", content: "0 w [" + strings.Repeat("1 ", 40) + "] 0 d " + column},
		{name: "many dashes, unused", content: "[" + strings.Repeat("1 ", 40) + "] 0 d " + column, want: "わたくし", down: true},
		{name: "Latin in a column", content: "BT /V 10 Tf 200 280 Td <002200230024> Tj ET", want: "ABC"},
		{name: "a line", content: line, want: "わたくし"},
		{name: "characters one by one", content: single, want: "わたくし"},
		{
			name: "a column, one by one", want: "わたくし", down: true,
			content: "BT /H 10 Tf 20 200 Td <0398> Tj 0 -10 Td <0368> Tj 0 -10 Td <0358> Tj 0 -10 Td <0360> Tj ET",
		},
		{name: "squeezed to a line", content: "0 0 0 1 20 0 cm " + column},
		{
			name: "blanks", want: "onetwo",
			content: "BT /F 10 Tf 20 200 Td (one) Tj 20 0 Td ( ) Tj 5 0 Td (two) Tj 20 0 Td ( ) Tj 5 0 Td ( ) Tj 5 0 Td ( ) Tj ET",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := openFile(t, in, pdftest.WithoutFonts(tt.content))
			defer d.Close()
			p, ok := d.LoadPage(0)
			if !ok {
				t.Fatal("the page does not load")
			}
			defer p.Close()
			p.WidenFlatText(p.ReadObjects(ObjectLimits{Objects: 100, Depth: 2}))
			var got []rune
			text := p.ReadText(100)
			for _, c := range text.Chars {
				if !c.Generated {
					got = append(got, c.Rune)
					if c.Rune != ' ' && c.Box.IsEmpty() {
						t.Errorf("%c has no place", c.Rune)
					}
				}
			}
			if string(got) != tt.want {
				t.Errorf("got %q, want %q", string(got), tt.want)
			}
			for _, r := range text.Runs {
				if down := r.DirX == 0 && r.DirY == -1; down != tt.down || r.Invisible != tt.invisible {
					t.Errorf("got a run downwards %t and invisible %t, want %t and %t", down, r.Invisible, tt.down, tt.invisible)
				}
			}
		})
	}
}

func TestWideningPaintsNothing(t *testing.T) {
	t.Parallel()
	in := newInstance(t, 256<<20)
	d := openFile(t, in, pdftest.WithoutFonts("0 w "+column+single+
		"BT /F 40 Tf 20 100 Td (Text) Tj ET 5 w 20 50 m 200 50 l S"))
	p, ok := d.LoadPage(0)
	if !ok {
		t.Fatal("the page does not load")
	}
	draw := func() []byte {
		b, ok := p.RenderGrey(300, 300)
		if !ok {
			t.Fatal("the page is not drawn")
		}
		defer b.Close()
		return slices.Clone(b.Pixels())
	}
	before := draw()
	o := p.ReadObjects(ObjectLimits{Objects: 100, Depth: 2})
	if len(o.flat) != 1 || len(o.points) != 4 {
		t.Fatalf("got %d flat texts and %d without extent, want 1 and 4", len(o.flat), len(o.points))
	}
	p.WidenFlatText(o)
	if !slices.Equal(draw(), before) {
		t.Error("the page looks different")
	}
	for _, object := range slices.Concat(o.flat, o.points) {
		if mode := in.callInt(fnTextObjRenderMode, object); mode != 0 {
			t.Errorf("render mode: got %d, want 0 as before", mode)
		}
		if !in.callBool(fnObjStrokeWidth, object, in.scratch) || in.readUint32(0) != 0 {
			t.Errorf("stroke width: got %v, want 0 as before", math.Float32frombits(in.readUint32(0)))
		}
	}
	if again := p.ReadObjects(ObjectLimits{Objects: 100, Depth: 2}); len(again.flat) != 0 || len(again.points) != 0 {
		t.Errorf("got %d flat texts and %d without extent, want none", len(again.flat), len(again.points))
	}
}
