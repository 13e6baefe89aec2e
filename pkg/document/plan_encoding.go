package document

import "errors"

// planVersion changes with the form below.
const planVersion = 1

var errCorruptPlan = errors.New("the stored plan of a document is damaged")

// titleEntry is the entry that stands first where the document has a title: no page has its number, so that a reader
// of the version before passes it over.
const titleEntry = 0

// EncodePages returns the plan's decisions about pages as they are stored, a few dozen bytes a page, so that a
// reader of a single stored page can carry them out as well: see [DecodePlanOfPage].
func (p *Plan) EncodePages(pageCount int) []byte {
	b := []byte{planVersion}
	if p.Title {
		b = appendUvarints(b, titleEntry, 0)
	}
	for n := 1; n <= pageCount; n++ {
		plan := p.pages[n]
		if plan == nil {
			continue
		}
		var decided []int
		for i, d := range plan.blocks {
			if d != (blockPlan{}) {
				decided = append(decided, i)
			}
		}
		if len(decided)+len(plan.lines) == 0 {
			continue
		}
		body := appendUvarints(nil, len(plan.blocks), len(decided))
		for _, i := range decided {
			d := plan.blocks[i]
			goesOn := 0
			if d.continued {
				goesOn = 1
			}
			body = appendUvarints(body, i, int(d.kind), d.level, goesOn)
		}
		body = appendUvarints(body, len(plan.lines))
		for _, l := range plan.lines {
			body = appendUvarints(body, l.block, l.line, int(l.kind))
		}
		b = append(appendUvarints(b, n, len(body)), body...)
	}
	return b
}

// DecodePlanOfPage returns what a stored plan says of one page and of the document's headings: enough to apply it to
// that page, and to write the page by itself.
func DecodePlanOfPage(data []byte, page int) (*Plan, error) { return decodePlan(data, page) }

// DecodePlan returns what a stored plan says of all pages and of the document's headings.
func DecodePlan(data []byte) (*Plan, error) { return decodePlan(data, allPages) }

// allPages stands for a page's number where all are meant.
const allPages = 0

func decodePlan(data []byte, page int) (*Plan, error) {
	if len(data) == 0 || data[0] != planVersion {
		return nil, errCorruptPlan
	}
	p := &Plan{pages: map[int]*pagePlan{}}
	u := evidenceDecoder{b: data[1:]}
	for len(u.b) > 0 && (page == allPages || p.pages[page] == nil) {
		n := u.readInt()
		body := u.readBytes(u.readInt())
		if u.err != nil {
			return nil, errCorruptPlan
		}
		switch {
		case n == titleEntry:
			p.Title = true
		case n == page, page == allPages:
			plan, err := decodePagePlan(body)
			if err != nil {
				return nil, err
			}
			p.pages[n] = plan
		}
	}
	return p, nil
}

func decodePagePlan(body []byte) (*pagePlan, error) {
	const mostBlocks = 1 << 22
	u := evidenceDecoder{b: body}
	blocks := u.readInt()
	if blocks > mostBlocks {
		return nil, errCorruptPlan
	}
	p := &pagePlan{blocks: make([]blockPlan, blocks)}
	for range u.readCount(4) {
		i, kind, level, goesOn := u.readInt(), u.readInt(), u.readInt(), u.readInt()
		if i >= blocks || kind >= len(blockTypes) {
			return nil, errCorruptPlan
		}
		p.blocks[i] = blockPlan{byte(kind), level, goesOn != 0}
	}
	for range u.readCount(3) {
		block, line, kind := u.readInt(), u.readInt(), u.readInt()
		if kind >= len(blockTypes) {
			return nil, errCorruptPlan
		}
		p.lines = append(p.lines, linePlan{block, line, byte(kind)})
	}
	return p, u.err
}
