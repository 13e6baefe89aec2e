package score

import (
	"strings"
	"testing"
)

// TestIsOneBlock reads a paragraph out of Markdown that keeps it, and that parts, joins, or fences it.
func TestIsOneBlock(t *testing.T) {
	t.Parallel()
	const (
		paragraph = "the harbour company of the old town bought four new ships in the spring of that year"
		other     = "nobody knows today who paid for them and why the books say nothing of the price"
	)
	first, rest, _ := strings.Cut(paragraph, " four ")
	for _, tt := range []struct {
		name, markdown string
		one, judged    bool
	}{
		{"whole", other + "\n\n" + paragraph, true, true},
		{"broken into lines", strings.ReplaceAll(paragraph, " new ", "\nnew ") + "\n\n" + other, true, true},
		{"of a list", "- " + other + "\n- " + paragraph, true, true},
		{"parted", first + " four\n\n" + rest, false, true},
		{"joined with another", paragraph + " " + other, false, true},
		{"fenced", "```\n" + paragraph + "\n```", false, true},
		{"a word misread", strings.ReplaceAll(paragraph, "spring", "sprlng"), true, true},
		{"not read", other, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			one, judged := NewBlockIndex(ParseMarkdown(tt.markdown).Blocks).IsOneBlock(paragraph)
			if one != tt.one || judged != tt.judged {
				t.Errorf("got %t, judged %t; want %t, %t", one, judged, tt.one, tt.judged)
			}
		})
	}
}
