package job

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// maxPageNumber bounds the page numbers of a selection; no server takes documents as long.
const maxPageNumber = 1_000_000

// maxPageRanges bounds the parts of a selection.
const maxPageRanges = 500

// PageRange is a run of pages, both ends included. The last one of an open range, such as "12-", is math.MaxInt.
type PageRange struct{ First, Last int }

// Pages is a selection of pages: ranges in order that neither overlap nor touch. None of them means all pages.
type Pages []PageRange

// ParsePages reads a selection such as "1-3,7,12-". Pages count from 1; blanks around numbers do not matter; the
// order and repeats do not either. The empty string selects all pages, as does "1-".
func ParsePages(s string) (Pages, error) {
	if strings.TrimSpace(s) == "" {
		return nil, nil
	}
	parts := strings.Split(s, ",")
	if len(parts) > maxPageRanges {
		return nil, fmt.Errorf("%d ranges, want at most %d", len(parts), maxPageRanges)
	}
	var all Pages
	for _, part := range parts {
		r, err := parsePageRange(part)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b PageRange) int { return a.First - b.First })
	normal := all[:1]
	for _, r := range all[1:] {
		last := &normal[len(normal)-1]
		if last.Last == math.MaxInt || r.First <= last.Last+1 {
			last.Last = max(last.Last, r.Last)
		} else {
			normal = append(normal, r)
		}
	}
	if normal[0] == (PageRange{1, math.MaxInt}) {
		return nil, nil
	}
	return normal, nil
}

func parsePageRange(s string) (PageRange, error) {
	first, last, isRange := strings.Cut(s, "-")
	r := PageRange{}
	var err error
	if r.First, err = parsePageNumber(first); err != nil {
		return r, err
	}
	switch {
	case !isRange:
		r.Last = r.First
	case strings.TrimSpace(last) == "":
		r.Last = math.MaxInt
	default:
		if r.Last, err = parsePageNumber(last); err != nil {
			return r, err
		}
	}
	if r.Last < r.First {
		return r, fmt.Errorf("the range %d-%d runs backwards", r.First, r.Last)
	}
	return r, nil
}

var errPageNumber = errors.New("a page is a number from 1 on")

func parsePageNumber(s string) (int, error) {
	s = strings.TrimSpace(s)
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || s[0] == '+' {
		return 0, errPageNumber
	}
	if n > maxPageNumber {
		return 0, fmt.Errorf("page %d, want at most %d", n, maxPageNumber)
	}
	return n, nil
}

// String returns the selection in its normal form, which ParsePages reads; empty for all pages.
func (p Pages) String() string {
	var b strings.Builder
	for i, r := range p {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(r.First))
		switch r.Last {
		case r.First:
		case math.MaxInt:
			b.WriteByte('-')
		default:
			b.WriteByte('-')
			b.WriteString(strconv.Itoa(r.Last))
		}
	}
	return b.String()
}

// ContainsPage reports whether a page is selected.
func (p Pages) ContainsPage(page int) bool {
	if len(p) == 0 {
		return true
	}
	for _, r := range p {
		if r.First <= page && page <= r.Last {
			return true
		}
	}
	return false
}

// CountPages returns how many of a document's pages are selected. What lies beyond the document's last page selects
// nothing.
func (p Pages) CountPages(pages int) int {
	if len(p) == 0 {
		return pages
	}
	n := 0
	for _, r := range p {
		n += max(min(r.Last, pages)-r.First+1, 0)
	}
	return n
}
