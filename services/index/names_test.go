package index

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

func TestCleanName(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, want string }{
		{"report.xlsx", "report.xlsx"},
		{"../../etc/passwd", "passwd"},
		{`C:\Users\x\a b.txt`, "a_b.txt"},
		{"..", "file"},
		{"", "file"},
		{".hidden", "hidden"},
		{"evil\u202efdp.exe", "evilfdp.exe"},
		{"a\x00b\n.txt", "ab_.txt"},
		{"données.csv", "données.csv"},
		{strings.Repeat("x", 500), strings.Repeat("x", 80)},
		{"\xff\xfe", "file"},
	} {
		if got := cleanName(tt.name); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.name, got, tt.want)
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
