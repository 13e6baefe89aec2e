package upload

import (
	"strings"
	"testing"
)

func TestCleanFilename(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, want string }{
		{"a.pdf", "a.pdf"},
		{"", ""},
		{"/etc/passwd", "passwd"},
		{`C:\Users\x\a.pdf`, "a.pdf"},
		{"..", ""},
		{"../..", ""},
		{"a/", ""},
		{" a\x00\r\n\tb.pdf ", "ab.pdf"},
		{"\xff\xfe.pdf", "\uFFFD.pdf"},
		{"exe.\u202Efdp.pdf", "exe.fdp.pdf"},
		{"日本語.pdf", "日本語.pdf"},
		{strings.Repeat("ä", 200), strings.Repeat("ä", 127)},
	} {
		if got := cleanFilename(tt.in); got != tt.want {
			t.Errorf("cleanFilename(%q): got %q, want %q", tt.in, got, tt.want)
		}
	}
}
