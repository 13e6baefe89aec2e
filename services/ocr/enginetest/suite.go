package enginetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"inkstream.dev/pkg/fault"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/ocr"
)

// timeout is generous: what it bounds takes a second on an idle machine.
const timeout = time.Minute

var english = ocr.RecogniseOptions{Languages: "eng", Timeout: timeout, Deskew: true, Rotate: true}

// Run holds an engine to what the interface promises. open is called once; the engine must know English.
func Run(t *testing.T, open func(t *testing.T) ocr.Engine) {
	engine := open(t)
	for _, s := range SampleImages(t) {
		t.Run(s.Name, func(t *testing.T) { testReadsSample(t, engine, s) })
	}
	t.Run("reads a page the same after another", func(t *testing.T) { testReadsSameTwice(t, engine) })
	t.Run("reads several pages at once", func(t *testing.T) { testReadsConcurrently(t, engine) })
	t.Run("leaves the file's offset alone", func(t *testing.T) { testLeavesOffset(t, engine) })
	t.Run("refuses", func(t *testing.T) { testRefusesInvalid(t, engine) })
	t.Run("ends with its context", func(t *testing.T) { testEndsWithContext(t, engine) })
}

func testReadsSample(t *testing.T, engine ocr.Engine, s SampleImage) {
	page, err := engine.RecognisePage(t.Context(), s.OpenImage(t), english)
	if err != nil {
		t.Fatalf("Recognise: %v", err)
	}
	CheckPage(t, page)
	if w, h := float32(s.Width)*72/s.DPI, float32(s.Height)*72/s.DPI; !isWithin(page.GetWidth(), w, 0.01) ||
		!isWithin(page.GetHeight(), h, 0.01) {
		t.Errorf("size: got %v x %v points, want %v x %v", page.GetWidth(), page.GetHeight(), w, h)
	}
	if page.GetDpi() != s.DPI {
		t.Errorf("dpi: got %v, want %v", page.GetDpi(), s.DPI)
	}
	got := angledWords(page)
	if len(s.Words) == 0 {
		if len(got) > 0 || page.GetText() != "" || page.GetConfidence() != 0 {
			t.Errorf("blank sheet: got %d words %q, confidence %v", len(got), page.GetText(), page.GetConfidence())
		}
		return
	}
	if want := int32(360-s.Turn) % 360; page.GetUprightRotation() != want {
		t.Errorf("upright rotation: got %d, want %d", page.GetUprightRotation(), want)
	}
	if page.GetConfidence() < 0.8 {
		t.Errorf("confidence: got %v, want at least 0.8", page.GetConfidence())
	}
	compareWords(t, got, s)
}

// angledWord is a word with the angle of its line.
type angledWord struct {
	*inkstreamv1.Word
	angle int32
}

func angledWords(page *inkstreamv1.Page) []angledWord {
	var out []angledWord
	for _, b := range page.GetBlocks() {
		for _, l := range b.GetLines() {
			for _, w := range l.GetWords() {
				out = append(out, angledWord{w, l.GetAngle()})
			}
		}
	}
	return out
}

// boxSlack is how far, in points, an edge may be off: the blur of a letter's edge, and a recogniser's idea of it.
const boxSlack = 2.5

func compareWords(t *testing.T, got []angledWord, s SampleImage) {
	t.Helper()
	var texts, want []string
	for _, w := range got {
		texts = append(texts, w.GetText())
	}
	for _, w := range s.Words {
		want = append(want, w.Text)
	}
	if g, w := strings.Join(texts, " "), strings.Join(want, " "); g != w {
		t.Fatalf("text:\n got %q\nwant %q", g, w)
	}
	for i, w := range s.Words {
		for side := range 4 {
			if !isWithin(got[i].GetBbox()[side], w.Box[side], boxSlack) {
				t.Errorf("box of %q: got %v, want %v", w.Text, got[i].GetBbox(), w.Box)
				break
			}
		}
		if got[i].angle != int32(s.Turn) {
			t.Errorf("angle of the line of %q: got %d, want %d", w.Text, got[i].angle, s.Turn)
		}
	}
}

func isWithin(a, b, slack float32) bool { return math.Abs(float64(a-b)) <= float64(slack) }

func testReadsSameTwice(t *testing.T, engine ocr.Engine) {
	a, b := newTextSample(t, 0), newTextSample(t, 180)
	var texts []string
	for _, s := range []SampleImage{a, b, a} {
		page, err := engine.RecognisePage(t.Context(), s.OpenImage(t), english)
		if err != nil {
			t.Fatalf("Recognise: %v", err)
		}
		texts = append(texts, fmt.Sprint(page))
	}
	if texts[0] != texts[2] {
		t.Errorf("the third page:\n got %s\nwant %s", texts[2], texts[0])
	}
}

func testReadsConcurrently(t *testing.T, engine ocr.Engine) {
	s := newTextSample(t, 0)
	img := s.OpenImage(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			page, err := engine.RecognisePage(t.Context(), img, english)
			if err != nil {
				t.Errorf("Recognise: %v", err)
			} else if n := len(angledWords(page)); n != len(s.Words) {
				t.Errorf("words: got %d, want %d", n, len(s.Words))
			}
		})
	}
	wg.Wait()
}

func testLeavesOffset(t *testing.T, engine ocr.Engine) {
	img := newTextSample(t, 0).OpenImage(t)
	const at = 7
	if _, err := img.File.Seek(at, 0); err != nil {
		t.Fatalf("seek: %v", err)
	}
	if _, err := engine.RecognisePage(t.Context(), img, english); err != nil {
		t.Fatalf("Recognise: %v", err)
	}
	if got, err := img.File.Seek(0, 1); err != nil || got != at {
		t.Errorf("offset: got %d (%v), want %d", got, err, at)
	}
}

func testRefusesInvalid(t *testing.T, engine ocr.Engine) {
	good := NewBlankSample(10, 10, 300).EncodePGM()
	for _, tt := range []struct {
		name      string
		data      []byte
		dpi       float32
		languages string
		want      fault.Code
	}{
		{"an empty file", nil, 300, "eng", fault.PageDamaged},
		{"another format", []byte("%PDF-1.7 and so on"), 300, "eng", fault.PageDamaged},
		{"a PGM in text", []byte("P2\n1 1\n255\n0\n"), 300, "eng", fault.PageDamaged},
		{"a header without an end", []byte("P5\n10"), 300, "eng", fault.PageDamaged},
		{"16-bit grey", append([]byte("P5\n5 10\n65535\n"), good[len(good)-100:]...), 300, "eng", fault.PageDamaged},
		{"too few pixels", good[:len(good)-1], 300, "eng", fault.PageDamaged},
		{"too many pixels", append(good[:len(good):len(good)], 0), 300, "eng", fault.PageDamaged},
		{"no pixels", []byte("P5\n0 10\n255\n"), 300, "eng", fault.PageDamaged},
		{"a huge claimed size", []byte("P5\n20000 20000\n255\n"), 300, "eng", fault.PageDamaged},
		{"an overflowing size", []byte("P5\n4294967297 4294967297\n255\n0"), 300, "eng", fault.PageDamaged},
		{"a negative size", []byte("P5\n-1 -1\n255\n0"), 300, "eng", fault.PageDamaged},
		{"no resolution", good, 0, "eng", fault.PageDamaged},
		{"a resolution that is no number", good, float32(math.NaN()), "eng", fault.PageDamaged},
		{"an unknown language", good, 300, "eng+klingon", fault.InvalidOption},
		{"a language that is a path", good, 300, "../../etc/passwd", fault.InvalidOption},
		{"no language", good, 300, "", fault.InvalidOption},
	} {
		t.Run(tt.name, func(t *testing.T) {
			img := ocr.Image{File: NewTempFile(t, tt.data), DPI: tt.dpi}
			opts := english
			opts.Languages = tt.languages
			page, err := engine.RecognisePage(t.Context(), img, opts)
			if fault.CodeOf(err) != tt.want || fault.KindOf(err) != fault.Permanent {
				t.Errorf("got page %v, error %v (%v); want %v, permanent", page, err, fault.KindOf(err), tt.want)
			}
			if tt.want == fault.InvalidOption && err != nil && !strings.Contains(err.Error(), "eng") {
				t.Errorf("got %q, want the installed languages to be named", err)
			}
		})
	}
}

func testEndsWithContext(t *testing.T, engine ocr.Engine) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := engine.RecognisePage(ctx, newTextSample(t, 0).OpenImage(t), english); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

func newTextSample(t *testing.T, turn int) SampleImage {
	t.Helper()
	s, err := NewTextSample(300, turn)
	if err != nil {
		t.Fatalf("draw a sheet: %v", err)
	}
	return s
}

// CheckPage fails the test if a page breaks what every engine promises whatever it was shown.
func CheckPage(t testing.TB, page *inkstreamv1.Page) {
	t.Helper()
	for _, w := range angledWords(page) {
		if w.GetText() == "" || strings.ContainsAny(w.GetText(), " \t\r\n\x00") ||
			strings.ToValidUTF8(w.GetText(), "") != w.GetText() {
			t.Errorf("text of a word: got %q", w.GetText())
		}
		if c := w.GetConfidence(); !(c >= 0 && c <= 1) {
			t.Errorf("confidence: got %v, want 0 to 1", c)
		}
		checkBoxOnPage(t, page, w.GetBbox())
	}
	for _, b := range page.GetBlocks() {
		checkBoxOnPage(t, page, b.GetBbox())
		for _, l := range b.GetLines() {
			checkBoxOnPage(t, page, l.GetBbox())
			if a := l.GetAngle(); a != 0 && a != 90 && a != 180 && a != 270 {
				t.Errorf("angle: got %d", a)
			}
		}
	}
	if c := page.GetConfidence(); !(c >= 0 && c <= 1) {
		t.Errorf("confidence of the page: got %v, want 0 to 1", c)
	}
}

func checkBoxOnPage(t testing.TB, page *inkstreamv1.Page, b []float32) {
	t.Helper()
	if len(b) != 4 || !(b[0] >= 0 && b[0] < b[2] && b[2] <= page.GetWidth() && b[1] >= 0 && b[1] < b[3] &&
		b[3] <= page.GetHeight()) {
		t.Errorf("box: got %v on a page of %v x %v points", b, page.GetWidth(), page.GetHeight())
	}
}
