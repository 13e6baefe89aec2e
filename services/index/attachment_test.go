package index

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"inkstream.dev/pkg/blob"
)

func TestCleanAttachmentName(t *testing.T) {
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
		got := cleanAttachmentName(tt.name)
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
	for name, want := range map[string]bool{"images/1-1.png": true, "": false, "images/../x": false, "images/a/b": false,
		"document.json": false} {
		if got := isImageName(name); got != want {
			t.Errorf("%q: got %v, want %v", name, got, want)
		}
	}
}

func TestLimitedWriter(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	l := limitedWriter{w: &b, left: 5}
	if _, err := l.Write([]byte("four")); err != nil {
		t.Errorf("within the bound: %v", err)
	}
	if _, err := l.Write([]byte("more")); !errors.Is(err, errAttachmentTooLarge) {
		t.Errorf("beyond the bound: got %v, want errAttachmentTooLarge", err)
	}
	if b.String() != "four" {
		t.Errorf("wrote %q, want what fits", b.String())
	}
}

// Each attachment that does not fit was inflated before that was known, so that few of them are tried.
func TestAttachmentsOverLimit(t *testing.T) {
	t.Parallel()
	const size = 100 << 20
	for _, tt := range []struct {
		name        string
		size        int64
		broken      int // how many of the first cannot be read
		tried, kept int
	}{
		{"small ones", 10, 0, 200, 200},
		{"unreadable ones before small ones", 10, 100, 200, 100},
		{"large ones", size, 0, maxAttachedBytes/size + maxTooLarge, maxAttachedBytes / size},
		{"ones too large by themselves", maxAttachedBytes + 1, 0, maxTooLarge, 0},
	} {
		tried, kept := 0, 0
		err := extractWithinLimit(200, func(n int, left int64) (int64, error) {
			tried++
			switch {
			case n <= tt.broken:
				return 0, errAttachmentSkipped
			case tt.size > left:
				return 0, errAttachmentTooLarge
			}
			kept++
			return tt.size, nil
		})
		if err != nil || tried != tt.tried || kept != tt.kept {
			t.Errorf("%s: tried %d and kept %d, error %v, want %d and %d", tt.name, tried, kept, err, tt.tried, tt.kept)
		}
	}
}
