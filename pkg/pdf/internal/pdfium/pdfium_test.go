package pdfium

import (
	"bytes"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"testing"

	"inkstream.dev/pkg/pdftest"
)

func newInstance(t *testing.T, memory int64) *Instance {
	t.Helper()
	rt, err := NewRuntime(Config{MemoryLimit: memory})
	if err != nil {
		t.Fatal(err)
	}
	in, err := rt.NewInstance()
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func openFile(t *testing.T, in *Instance, f pdftest.File) *Document {
	t.Helper()
	d, err := in.OpenDocument(bytes.NewReader(f.PDF), int64(len(f.PDF)), f.Password)
	if err != nil {
		t.Fatalf("open %s: %v", f.Name, err)
	}
	return d
}

func TestLoadErrors(t *testing.T) {
	t.Parallel()
	in := newInstance(t, 256<<20)
	locked := pdftest.EncryptedFile(pdftest.RC4)
	for _, tt := range []struct {
		name     string
		pdf      []byte
		password string
		want     LoadError
	}{
		{"no password", locked.PDF, "", ErrPassword},
		{"wrong password", locked.PDF, "wrong", ErrPassword},
		{"no PDF", []byte("plain text, and nothing but"), "", ErrFormat},
		{"no bytes", nil, "", ErrFile},
	} {
		_, err := in.OpenDocument(bytes.NewReader(tt.pdf), int64(len(tt.pdf)), tt.password)
		if reason, ok := errors.AsType[LoadError](err); !ok || reason != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, err, tt.want)
		}
	}
	openFile(t, in, locked).Close() // a refusal leaves nothing behind
}

func TestDocumentFacts(t *testing.T) {
	t.Parallel()
	d := openFile(t, newInstance(t, 256<<20), pdftest.BornDigital(3))
	if got := d.PageCount(); got != 3 {
		t.Errorf("pages: got %d, want 3", got)
	}
	if d.IsEncrypted() || d.HeaderVersion() < 10 || d.AttachmentCount() != 0 || d.SignatureCount() != 0 {
		t.Errorf("got encrypted %t, version %d, %d attachments, %d signatures", d.IsEncrypted(), d.HeaderVersion(),
			d.AttachmentCount(), d.SignatureCount())
	}
	if _, _, ok := d.PageSize(7); ok {
		t.Error("a page that is not there has a size")
	}
	if _, ok := d.LoadPage(7); ok {
		t.Error("a page that is not there loads")
	}
}

func TestDecryptedCopyOpensWithoutPassword(t *testing.T) {
	t.Parallel()
	in := newInstance(t, 256<<20)
	d := openFile(t, in, pdftest.EncryptedFile(pdftest.AES))
	var copied bytes.Buffer
	if err := d.SaveDecrypted(&copied); err != nil {
		t.Fatal(err)
	}
	if err := d.SaveDecrypted(failingWriter{}); err == nil {
		t.Error("a writer that fails: got no error")
	}
	d.Close()
	if got := openFile(t, in, pdftest.File{Name: "copy", PDF: copied.Bytes()}); got.PageCount() != 3 || got.IsEncrypted() {
		t.Errorf("copy: got %d pages, encrypted %t", got.PageCount(), got.IsEncrypted())
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errors.New("full") }

func TestWindowsReadTheSame(t *testing.T) {
	t.Parallel()
	data := make([]byte, 5*windowSize+777)
	rnd := rand.New(rand.NewPCG(5, 6))
	for i := range data {
		data[i] = byte(rnd.Uint32())
	}
	w := newWindowedReader(bytes.NewReader(data), int64(len(data)))
	for range 2000 {
		off := rnd.IntN(len(data))
		buf := make([]byte, 1+rnd.IntN(3*windowSize/2))
		n, err := w.ReadAt(buf, int64(off))
		want := data[off:min(len(data), off+len(buf))]
		if !bytes.Equal(buf[:n], want) {
			t.Fatalf("%d bytes from %d: got %d other ones", len(buf), off, n)
		}
		if (err != nil) != (n < len(buf)) {
			t.Fatalf("%d of %d bytes from %d: error %v", n, len(buf), off, err)
		}
	}
	if _, err := w.ReadAt(make([]byte, 1), int64(len(data))); !errors.Is(err, io.EOF) {
		t.Errorf("beyond the end: got %v, want EOF", err)
	}
}

func TestMatrix(t *testing.T) {
	t.Parallel()
	turn := Matrix{A: 0, B: 2, C: -2, D: 0, E: 10, F: 20} // doubled, a quarter turn to the left, moved
	if x, y := turn.MapPoint(1, 0); x != 10 || y != 22 {
		t.Errorf("got %v,%v, want 10,22", x, y)
	}
	if got, want := turn.MapRect(Rect{0, 0, 3, 1}), (Rect{8, 20, 10, 26}); got != want {
		t.Errorf("bounds: got %v, want %v", got, want)
	}
	x, y := turn.Concatenate(Matrix{A: 1, D: 1, E: 5, F: 5}).MapPoint(1, 0)
	if x != 15 || y != 27 {
		t.Errorf("then: got %v,%v, want 15,27", x, y)
	}
	if (Matrix{A: math.NaN()}).IsFinite() || (Matrix{E: math.Inf(1)}).IsFinite() || (Matrix{E: 1e30}).IsFinite() ||
		!Identity.IsFinite() {
		t.Error("what is finite is told wrong")
	}
}

func TestDisplayTurnsThePage(t *testing.T) {
	t.Parallel()
	for turns, want := range [][2]float64{{2, 37}, {3, 2}, {18, 3}, {37, 18}} {
		for _, unit := range []float64{1, 2} {
			p := Page{Box: Rect{Left: 10, Bottom: 20, Right: 30, Top: 60}, Turns: turns, Width: 20, Height: 40, Unit: 1}
			p.SetUserUnit(unit)
			if x, y := p.UserToDisplay(12, 23); x != unit*want[0] || y != unit*want[1] || p.Width != unit*20 ||
				p.Height != unit*40 {
				t.Errorf("%d quarter turns, units of %v points: got %v,%v on %v x %v, want %v times that", turns, unit, x, y,
					p.Width, p.Height, want)
			}
		}
	}
}

func TestOneDocumentAtATime(t *testing.T) {
	t.Parallel()
	in := newInstance(t, 256<<20)
	openFile(t, in, pdftest.BornDigital(2))
	if _, err := in.OpenDocument(bytes.NewReader([]byte("x")), 1, ""); err == nil {
		t.Error("a second document at a time was opened")
	}
}
