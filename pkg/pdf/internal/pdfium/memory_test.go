package pdfium

import (
	"bytes"
	"strings"
	"testing"

	"inkstream.dev/pkg/pdftest"
)

// An instance that was used has the memory of a new one: nothing of a document is there for the next.
func TestUsedInstanceIsAsNew(t *testing.T) {
	t.Parallel()
	in := newInstance(t, 256<<20)
	first := bytes.Clone(in.limit.buf[:in.limit.accessible])
	if !in.limit.hasSnapshot {
		t.Fatal("the memory of a new instance was not kept")
	}
	for round := range 2 {
		d := openFile(t, in, pdftest.BornDigital(3))
		page, ok := d.LoadPage(0)
		if !ok || len(page.ReadText(1e6).Runs) == 0 {
			t.Fatal("no text was read")
		}
		page.Close()
		d.Close()
		// More than there is room for, so that the memory grows, written to its end, and not given back.
		const size = 40 << 20
		p := in.allocate(size)
		mark := in.memoryView(p, size)
		for i := range mark {
			mark[i] = 0xA5
		}
		if err := in.Close(); err != nil {
			t.Fatal(err)
		}
		again, err := in.runtime.NewInstance(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if again != in {
			t.Fatal("a used instance was not used again")
		}
		if now := in.limit.buf[:in.limit.accessible]; len(now) <= len(first) || !bytes.Equal(now[:len(first)], first) {
			t.Fatalf("round %d: the memory is not what it was at first", round)
		}
		for i, b := range in.limit.buf[len(first):in.limit.accessible] {
			if b != 0 {
				t.Fatalf("round %d: byte %d behind the first memory: got %d, want 0", round, i, b)
			}
		}
	}
}

// An instance whose stack is not where it was at first is none that can be used again.
func TestUnevenStackEndsAnInstance(t *testing.T) {
	t.Parallel()
	in := newInstance(t, 256<<20)
	in.stackTop -= 16
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := in.runtime.NewInstance(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if again == in {
		t.Error("an instance with an uneven stack was used again")
	}
	openFile(t, again, pdftest.BornDigital(1)).Close()
}

// The document that warms an instance up is one that PDFium reads: it has its word in every font.
func TestFontProbeDocument(t *testing.T) {
	t.Parallel()
	d := openFile(t, newInstance(t, 256<<20), pdftest.File{Name: "warm.pdf", PDF: []byte(fontProbeDocument())})
	page, ok := d.LoadPage(0)
	if !ok {
		t.Fatal("the page was not loaded")
	}
	var word []rune
	for _, c := range page.ReadText(100).Chars {
		word = append(word, c.Rune)
	}
	if got, want := string(word), strings.Repeat("fonts", 13)+"φοντσ❆❏■▼▲"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
