package index

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"inkstream.dev/pkg/blob"
)

func TestCleanName(t *testing.T) {
	t.Parallel()
	blobs, err := blob.Open(t.Context(), "mem://")
	if err != nil {
		t.Fatal(err)
	}
	defer blobs.Close()
	for _, tt := range []struct{ name, want string }{
		{"report.xlsx", "report.xlsx"},
		{"../../etc/passwd", "passwd"},
		{`C:\Users\x\a b.txt`, "a_b.txt"},
		{"..", "file"},
		{"", "file"},
		{".hidden", "hidden"},
		{"evil\u202efdp.exe", "evilfdp.exe"},
		{"a\x00b\n.txt", "ab_.txt"},
		{"données.csv", "donn_es.csv"},
		{"報告 2026.pdf", "___2026.pdf"},
		{strings.Repeat("x", 500), strings.Repeat("x", 80)},
		{"\xff\xfe", "file"},
	} {
		got := cleanName(tt.name)
		if got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.name, got, tt.want)
		}
		if err := blobs.PutBytes(t.Context(), "t/j/attachments/1-"+got, nil, ""); err != nil {
			t.Errorf("%q: the store does not take %q: %v", tt.name, got, err)
		}
	}
}

func TestImageName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"images/1-1.png": true, "": false, "images/../x": false, "images/a/b": false, "document.json": false} {
		if got := imageName(name); got != want {
			t.Errorf("%q: got %v, want %v", name, got, want)
		}
	}
}

func TestLimited(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	l := limited{w: &b, left: 5}
	if _, err := l.Write([]byte("four")); err != nil {
		t.Errorf("within the bound: %v", err)
	}
	if _, err := l.Write([]byte("more")); !errors.Is(err, errTooMuch) {
		t.Errorf("beyond the bound: got %v, want errTooMuch", err)
	}
	if b.String() != "four" {
		t.Errorf("wrote %q, want what fits", b.String())
	}
}
