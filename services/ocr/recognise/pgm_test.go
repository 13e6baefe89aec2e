package recognise_test

import (
	"os"
	"path/filepath"
	"testing"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/services/ocr/recognise"
)

func newFile(t testing.TB, data []byte) *os.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "raster")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func TestReadSize(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		data string
		want recognise.Size // zero: refused
	}{
		{"plain", "P5\n2 3\n255\nabcdef", recognise.Size{Width: 2, Height: 3, Offset: 11}},
		{"all kinds of blanks", "P5 \t2\r\n3\n\n255 abcdef", recognise.Size{Width: 2, Height: 3, Offset: 14}},
		{"pixels that look like blanks", "P5\n2 1\n255\n\n\n", recognise.Size{Width: 2, Height: 1, Offset: 11}},
		{"empty", "", recognise.Size{}},
		{"colour", "P6\n1 1\n255\nabc", recognise.Size{}},
		{"comment", "P5\n# made by hand\n2 3\n255\nabcdef", recognise.Size{}},
		{"no blank after the magic", "P52 3\n255\nabcdef", recognise.Size{}},
		{"no blank before the pixels", "P5\n2 3\n255", recognise.Size{}},
		{"grey of 15 values", "P5\n2 3\n15\nabcdef", recognise.Size{}},
		{"one byte short", "P5\n2 3\n255\nabcde", recognise.Size{}},
		{"one byte over", "P5\n2 3\n255\nabcdefg", recognise.Size{}},
		{"no width", "P5\n0 3\n255\n", recognise.Size{}},
		{"negative", "P5\n-2 -3\n255\nabcdef", recognise.Size{}},
		{"too many pixels", "P5\n30000 30000\n255\n", recognise.Size{}},
		{"too long for Tesseract", "P5\n32768 1\n255\n" + string(make([]byte, 32768)), recognise.Size{}},
		{"number that overflows", "P5\n18446744073709551618 3\n255\nabcdef", recognise.Size{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := recognise.ReadSize(newFile(t, []byte(tt.data)))
			if got != tt.want {
				t.Errorf("got %+v (%v), want %+v", got, err, tt.want)
			}
			if tt.want == (recognise.Size{}) && fault.CodeOf(err) != fault.PageDamaged {
				t.Errorf("got error %v, want %s", err, fault.PageDamaged)
			}
		})
	}
}

func FuzzReadSize(f *testing.F) {
	f.Add([]byte("P5\n2 3\n255\nabcdef"))
	f.Add([]byte("P5 1 1 255 "))
	f.Add([]byte("P5\n999999999 999999999\n255\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := recognise.ReadSize(newFile(t, data))
		if err == nil && (s.Pixels() < 1 || s.Pixels() > recognise.MaxPixels ||
			s.Offset+int64(s.Pixels()) != int64(len(data))) {
			t.Errorf("got %+v for %d bytes", s, len(data))
		}
	})
}
