package document

import (
	"strings"
	"testing"

	"inkstream.dev/pkg/layout"
)

// The dots of a table of contents are no part of a passage, nor words of it. The page itself keeps them.
func TestPassagesLeaveLeadersOut(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		line, want string
		words      int
	}{
		{"Introduction ........ 7", "Introduction 7", 2},
		{"Introduction........7", "Introduction 7", 2},
		{"Introduction .... 7", "Introduction 7", 2},
		{"2.1 Data . . . . . . . . . . . . 12", "2.1 Data 12", 3},
		{"without RCAC. . . . . . . . . A-24", "without RCAC A-24", 3},
		{"Preface ········ iv", "Preface iv", 2},
		{"Preface ………… 4", "Preface 4", 2},
		{"Name: ....................", "Name:", 1},
		{"目次 ・・・・・・ 12", "目次 12", 3},
		{"He paid. . . . Then he left in 1914", "He paid. . . . Then he left in 1914", 10},
		{"1, 2, . . . , n", "1, 2, . . . , n", 7},
		{"他说……好", "他说……好", 3},
		{"version 1.2.3.4.5.6", "version 1.2.3.4.5.6", 2},
		{"and so on ... 7", "and so on ... 7", 5},
	} {
		p := page(1, text(layout.ListItem, 72, 100, 10, 0, tt.line))
		before := p.String()
		got := passages(t, 300, p)
		if len(got) != 1 || got[0].Text != tt.want || got[0].Words != tt.words {
			t.Errorf("%q: got %+v, want %q of %d words", tt.line, got, tt.want, tt.words)
		}
		if p.String() != before {
			t.Errorf("%q: the page was changed", tt.line)
		}
	}
	if got := passages(t, 300, page(1, text(layout.Paragraph, 72, 100, 10, 0, ". . . . . . . ."))); len(got) != 0 {
		t.Errorf("dots alone: got %+v, want no passage", got)
	}
	if got := passages(t, 300, page(1, text(layout.Code, 72, 100, 10, 0, "ls ........ 7"))); len(got) != 1 ||
		!strings.Contains(got[0].Text, "ls ........ 7") {
		t.Errorf("code: got %+v, want it as it is", got)
	}
	if got := passages(t, 300, page(1, table(72, 300, 100, []string{"Revenue . . . . . .", "12"},
		[]string{"Costs ..........", "......"}))); len(got) != 1 ||
		got[0].Text != "| Revenue | 12 |\n| --- | --- |\n| Costs | ...... |" {
		t.Errorf("table: got %+v, want it without dots", got)
	}
}
