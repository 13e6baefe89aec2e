package render

import (
	"strconv"
	"testing"

	"inkstream.dev/pkg/outcome"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// pageOf returns a page of blocks of lines of so many words.
func pageOf(blocks ...[]int) *inkstreamv1.Page {
	p := &inkstreamv1.Page{}
	for _, lines := range blocks {
		b := &inkstreamv1.Block{}
		for _, words := range lines {
			l := &inkstreamv1.Line{}
			for i := range words {
				l.Words = append(l.Words, &inkstreamv1.Word{Text: strconv.Itoa(i)})
			}
			b.Lines = append(b.Lines, l)
		}
		p.Blocks = append(p.Blocks, b)
	}
	return p
}

func count(p *inkstreamv1.Page) int {
	n := 0
	for _, b := range p.GetBlocks() {
		for _, l := range b.GetLines() {
			n += len(l.GetWords())
		}
	}
	return n
}

func TestTruncateWords(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		page       *inkstreamv1.Page
		most, want int
		noted      bool
	}{
		{"empty", pageOf(), 5, 0, false},
		{"nothing left, nothing to cut", pageOf([]int{0}), 0, 0, false},
		{"fits", pageOf([]int{2, 1}, []int{2}), 6, 5, false},
		{"fits exactly", pageOf([]int{2, 1}, []int{2}), 5, 5, false},
		{"within a line", pageOf([]int{2, 3}, []int{2}), 4, 4, true},
		{"between blocks", pageOf([]int{2, 3}, []int{2}), 5, 5, true},
		{"nothing left", pageOf([]int{2}), 0, 0, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := truncateWords(tt.page, tt.most)
			if got != tt.want || count(tt.page) != tt.want {
				t.Errorf("truncateWords = %d and left %d, want %d", got, count(tt.page), tt.want)
			}
			if noted := len(tt.page.GetNotes()) > 0; noted != tt.noted {
				t.Errorf("noted = %t, want %t", noted, tt.noted)
			}
		})
	}
}

func TestPageWithoutWordsLeftFails(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		page    *inkstreamv1.Page
		outcome string
		most    int
		want    string
	}{
		{"all cut", pageOf([]int{2}), outcome.Native, 0, outcome.Failed},
		{"some cut", pageOf([]int{2}), outcome.Native, 1, outcome.Native},
		{"none there", pageOf([]int{0}), outcome.Native, 0, outcome.Native},
		{"to be recognised", pageOf([]int{2}), outcome.OCR, 0, outcome.OCR},
	} {
		tt.page.Outcome, tt.page.Number = tt.outcome, 7
		page, _ := limitPageWords(tt.page, tt.most)
		if page.GetOutcome() != tt.want || page.GetNumber() != 7 {
			t.Errorf("%s: page %d is %s, want %s", tt.name, page.GetNumber(), page.GetOutcome(), tt.want)
		}
	}
}
