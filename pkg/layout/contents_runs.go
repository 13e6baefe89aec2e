package layout

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// contentsFinder finds tables of contents whose entries have no dots to their pages, among lines of other text: the
// numbers of their sections count on, or their titles are links into the document, and the numbers of their pages stand
// below each other at the right, and rise. Some of the titles, as that of a preface, may have neither.
type contentsFinder struct {
	style *styles
	lines [][]*inkstreamv1.Word
}

// contentsEntry is where an entry begins and ends among the lines, and what it says.
type contentsEntry struct {
	end     int
	section string // "" for a title without a number
	linked  bool
	page    int // 0 for the Roman number of a page
	right   float64
}

// findRun returns the first run of entries from line i on. Without one, end is 0.
func (f contentsFinder) findRun(i int) (first, end int) {
	const fewest, fewestLinked, fewestCounted = 4, 3, 3
	const mostOthers = 32 // that stand without a section for one with it: the rows of a table may be very many
	for ; i < len(f.lines); i++ {
		entries, counted, linked, linkedEnd := 0, 0, 0, 0
		at, before, headed := i, contentsEntry{right: math.NaN()}, f.hasHeadAbove(i)
		for linked == entries || entries-2*counted <= mostOthers {
			e, ok := f.entryAt(at, before)
			if !ok || headed && !e.linked {
				break
			}
			if e.linked && linked == entries {
				linked, linkedEnd = linked+1, e.end
			}
			if e.section != before.section {
				counted++
			}
			at, entries, before = e.end, entries+1, e
		}
		if !headed && entries >= fewest && counted >= fewestCounted && 2*counted >= entries {
			return i, at
		}
		if linked >= fewestLinked {
			return i, linkedEnd
		}
	}
	return 0, 0
}

// entryAt returns the entry that begins with line i, right below another; it may take several lines.
func (f contentsFinder) entryAt(i int, before contentsEntry) (contentsEntry, bool) {
	const most, near = 3, 0.6 // lines, ems
	if i >= len(f.lines) {
		return contentsEntry{}, false
	}
	e := contentsEntry{linked: f.isLinkedInside(f.lines[i])}
	if words := f.lines[i]; len(words) > 1 && (isSectionNumber(words[0].GetText()) || countsSections(words[0].GetText(), before.section)) {
		e.section = words[0].GetText()
	}
	lines := min(most, len(f.lines)-i)
	switch {
	case e.section != "" && before.section != "" && !countsSections(e.section, before.section):
		return e, false
	case e.section == "" && !e.linked:
		lines = 1
		if !f.hasGap(f.lines[i][max(0, len(f.lines[i])-2):]) {
			return e, false
		}
	}
	for j := i; j < i+lines; j++ {
		words := f.lines[j]
		if j > i && (isSectionNumber(words[0].GetText()) || f.isLinkedInside(words) != e.linked) {
			break
		}
		last := words[len(words)-1]
		right := f.style.rotation.rotateRect(rectFromBox(last.GetBbox())).x1
		page, ok := parseEntryPage(last.GetText())
		if ok && len(words) > 1 && (page == 0 || page >= before.page) && !(math.Abs(right-before.right) > near*f.style.em) {
			e.end, e.page, e.right = j+1, max(page, before.page), right
			if e.section == "" {
				e.section = before.section
			}
			return e, true
		}
	}
	return e, false
}

// isLinkedInside reports whether a line begins with a link to a page of the document, which most of it belongs to.
func (f contentsFinder) isLinkedInside(words []*inkstreamv1.Word) bool {
	leads := func(w *inkstreamv1.Word) bool {
		n := int(w.GetLink())
		return n > 0 && n <= len(f.style.links) && f.style.links[n-1].GetPage() > 0
	}
	if isSectionNumber(words[0].GetText()) && len(words) > 1 {
		words = words[1:]
	}
	linked := 0
	for _, w := range words {
		if leads(w) {
			linked++
		}
	}
	return leads(words[0]) && linked >= len(words)-1 // the page may be none
}

// hasHeadAbove reports whether the line above has text in several places, as the head of a table has.
func (f contentsFinder) hasHeadAbove(i int) bool {
	const below = 3 // ems
	if i == 0 {
		return false
	}
	head, first := f.lines[i-1], measureExtent(f.lines[i], f.style.rotation)
	if first.baseline-measureExtent(head, f.style.rotation).baseline > below*f.style.em {
		return false
	}
	return f.hasGap(head)
}

// hasGap reports whether some of the words stand apart.
func (f contentsFinder) hasGap(words []*inkstreamv1.Word) bool {
	const apart = 2 // ems
	for j, w := range words[1:] {
		before, box := f.style.rotation.rotateRect(rectFromBox(words[j].GetBbox())), f.style.rotation.rotateRect(rectFromBox(w.GetBbox()))
		if box.x0-before.x1 > apart*f.style.em {
			return true
		}
	}
	return false
}

// countsSections reports whether the number of a section, or the letter of an appendix, comes right behind another.
func countsSections(number, before string) bool {
	if len(number) == 1 && number >= "A" && number <= "Z" {
		return number == "A" && isSectionNumber(before) || len(before) == 1 && number[0] == before[0]+1
	}
	if followsSection(number, before) {
		return true
	}
	a, errA := strconv.Atoi(before)
	b, errB := strconv.Atoi(number)
	return errA == nil && errB == nil && b == a+1
}

// parseEntryPage returns the number of the page at the end of an entry, 0 for a Roman one.
func parseEntryPage(text string) (page int, ok bool) {
	page, ok = ParsePageNumber(text)
	if !isNumeric(text) {
		page = 0
	}
	return page, ok
}

// splitAtContents parts the lines of a column into blocks: tables of contents and indexes into their entries, and what
// stands between by itself.
func splitAtContents(lines []*inkstreamv1.Line, shapes []lineShape, em float64, st *styles) []*inkstreamv1.Block {
	if isContentsColumn(shapes) {
		first, end := contentsEntries(shapes, em)
		return slices.Concat(splitColumn(lines[:first:first], shapes[:first], em, st, false),
			splitColumn(lines[first:end:end], shapes[first:end], em, st, true),
			splitColumn(lines[end:], shapes[end:], em, st, false))
	}
	if isIndexColumn(lines) {
		for i, l := range lines {
			shapes[i].endsWithPageNumber, shapes[i].startsLower = endsIndexEntry(l.GetWords()), false
		}
		return splitColumn(lines, shapes, em, st, true)
	}
	var blocks []*inkstreamv1.Block
	find, start := contentsFinder{style: st}, 0
	for _, l := range lines {
		find.lines = append(find.lines, l.GetWords())
	}
	for first, end := find.findRun(0); end > 0; first, end = find.findRun(end) {
		for i := first; i < end; i++ {
			_, shapes[i].endsWithPageNumber = parseEntryPage(lines[i].Words[len(lines[i].Words)-1].GetText())
		}
		blocks = slices.Concat(blocks, splitColumn(lines[start:first:first], shapes[start:first], em, st, false),
			splitColumn(lines[first:end:end], shapes[first:end], em, st, true))
		start = end
	}
	return slices.Concat(blocks, splitColumn(lines[start:], shapes[start:], em, st, false))
}

// isIndexColumn reports whether lines are those of an index: most are a term, and behind a comma the numbers of pages.
func isIndexColumn(lines []*inkstreamv1.Line) bool {
	const fewest, share = 8, 0.6
	entries := 0
	for _, l := range lines {
		if endsIndexEntry(l.GetWords()) && slices.ContainsFunc(l.GetWords()[:len(l.GetWords())-1], func(w *inkstreamv1.Word) bool {
			return strings.HasSuffix(w.GetText(), ",") && strings.ContainsFunc(w.GetText(), unicode.IsLetter)
		}) {
			entries++
		}
	}
	return entries >= fewest && float64(entries) >= share*float64(len(lines))
}

// endsIndexEntry reports whether a line ends with the number of a page or a range of them.
func endsIndexEntry(words []*inkstreamv1.Word) bool {
	for part := range strings.FieldsFuncSeq(words[len(words)-1].GetText(), func(r rune) bool { return strings.ContainsRune("-–—", r) }) {
		if _, ok := parseEntryPage(part); !ok {
			return false
		}
	}
	return len(words) > 1
}
