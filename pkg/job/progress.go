package job

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/outcome"
)

// pendingLetter stands in Progress.Pages for a page that has no outcome yet.
const pendingLetter = '.'

// Outcome is how a page ended; see pkg/outcome.
type Outcome struct {
	Page int
	Kind string // e.g. outcome.Native
	// Code says why a page failed.
	Code fault.Code
	// HasDoubts says that there are doubts about what was read.
	HasDoubts bool
}

// Progress says which pages of a run have ended, and how. Change it only inside Store.UpdateProgress.
type Progress struct {
	Run int `json:"run"`
	// Pages has one letter a page: n native_text, o ocr, b blank, f failed, s skipped, a dot while the page is under
	// way. A page is counted once because its letter is set once.
	Pages string `json:"pages"`
	// Failed holds page ranges by code, e.g. "3,7-9".
	Failed map[fault.Code]string `json:"failed,omitempty"`
	// Doubtful holds the ranges of pages with doubts.
	Doubtful string `json:"doubtful,omitempty"`
	// Stages holds the times of the stages that work by chunk or page.
	Stages map[string]StageTimes `json:"stages,omitempty"`

	at keyVersion
}

// NewProgress returns the progress of a run in which no page has ended.
func NewProgress(run, pages int) *Progress {
	return &Progress{Run: run, Pages: strings.Repeat(string(pendingLetter), pages)}
}

// ImpliedProgress returns the progress of a run of which none is stored: in the first run of a document that has been cut,
// and of which all pages are wanted, no page has ended then. It is nil for other runs, whose progress scan stores.
func (r *Record) ImpliedProgress() (*Progress, error) {
	if !r.ImpliesProgress() || r.ChunkPages == 0 {
		return nil, nil
	}
	p := NewProgress(r.Run, r.PageCount)
	value, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	p.at.value = value // of no revision, so that its first change creates it
	return p, nil
}

// ImpliesProgress reports whether the run needs no stored progress until its first page ends.
func (r *Record) ImpliesProgress() bool { return r.Run == 1 && r.Options.Pages == "" }

// PagesDone reports whether every page from first to last has an outcome. Pages count from 1.
func (p *Progress) PagesDone(first, last int) bool {
	return first >= 1 && last <= len(p.Pages) && strings.IndexByte(p.Pages[first-1:last], pendingLetter) < 0
}

// AllPagesDone reports whether every page has an outcome.
func (p *Progress) AllPagesDone() bool { return p.PagesDone(1, len(p.Pages)) }

// CountDonePages returns how many pages have an outcome.
func (p *Progress) CountDonePages() int {
	return len(p.Pages) - strings.Count(p.Pages, string(pendingLetter))
}

// PageOutcome returns how a page ended, or "" while it has not.
func (p *Progress) PageOutcome(page int) string {
	if page < 1 || page > len(p.Pages) {
		return ""
	}
	for kind, letter := range outcome.Letters {
		if p.Pages[page-1] == letter {
			return kind
		}
	}
	return ""
}

// PageFaultCode returns why a page failed, or "" where it did not.
func (p *Progress) PageFaultCode(page int) fault.Code {
	for code, ranges := range p.Failed {
		if slices.Contains(ParsePageRanges(ranges), page) {
			return code
		}
	}
	return ""
}

// SetOutcomes records how pages ended and returns how many of them were new. A page that has an outcome keeps it.
func (p *Progress) SetOutcomes(outcomes []Outcome) (int, error) {
	pages := []byte(p.Pages)
	news := 0
	for _, o := range outcomes {
		letter, ok := outcome.Letters[o.Kind]
		if !ok || o.Page < 1 || o.Page > len(pages) {
			return 0, fmt.Errorf("page %d of %d: outcome %q", o.Page, len(pages), o.Kind)
		}
		if pages[o.Page-1] != pendingLetter {
			continue
		}
		pages[o.Page-1] = letter
		news++
		if o.HasDoubts {
			p.Doubtful = addPageToRanges(p.Doubtful, o.Page)
		}
		if o.Kind == outcome.Failed {
			if p.Failed == nil {
				p.Failed = make(map[fault.Code]string)
			}
			p.Failed[o.Code] = addPageToRanges(p.Failed[o.Code], o.Page)
		}
	}
	p.Pages = string(pages)
	return news, nil
}

// RecordStage adds a unit of work to a stage's times.
func (p *Progress) RecordStage(stage string, start, end time.Time) {
	if p.Stages == nil {
		p.Stages = make(map[string]StageTimes)
	}
	p.Stages[stage] = p.Stages[stage].addUnit(start, end)
}

// CountOutcomes returns the number of pages by outcome.
func (p *Progress) CountOutcomes() map[string]int {
	m := make(map[string]int)
	for kind, letter := range outcome.Letters {
		if n := strings.Count(p.Pages, string(letter)); n > 0 {
			m[kind] = n
		}
	}
	return m
}

// addPageToRanges adds a page to a list of ranges such as "3,7-9".
func addPageToRanges(ranges string, page int) string {
	pages := append(ParsePageRanges(ranges), page)
	return FormatPageRanges(pages)
}

// ParsePageRanges returns the pages of a list such as "3,7-9", in order. Parts that do not parse are left out.
func ParsePageRanges(s string) []int {
	var pages []int
	for part := range strings.SplitSeq(s, ",") {
		lo, hi, isRange := strings.Cut(part, "-")
		first, err := strconv.Atoi(lo)
		if err != nil {
			continue
		}
		last := first
		if isRange {
			if last, err = strconv.Atoi(hi); err != nil {
				continue
			}
		}
		for n := first; n <= last; n++ {
			pages = append(pages, n)
		}
	}
	return pages
}
