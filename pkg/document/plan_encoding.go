package document

import (
	"errors"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// planVersion changes with the form below.
const planVersion = 1

var errCorruptPlan = errors.New("the stored plan of a document is damaged")

// EncodePages returns the plan's decisions about pages as they are stored, a few dozen bytes a page, so that a
// reader of a single stored page can carry them out as well: see [ApplyEncodedPlan].
func (p *Plan) EncodePages(pageCount int) []byte {
	b := []byte{planVersion}
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

// ApplyEncodedPlan carries the decisions of a stored plan out on one page, as [Plan.ApplyTo] does.
func ApplyEncodedPlan(data []byte, page *inkstreamv1.Page) error {
	if len(data) == 0 || data[0] != planVersion {
		return errCorruptPlan
	}
	u := evidenceDecoder{b: data[1:]}
	for len(u.b) > 0 {
		n := u.readInt()
		body := u.readBytes(u.readInt())
		if u.err != nil {
			return errCorruptPlan
		}
		if n != int(page.GetNumber()) {
			continue
		}
		plan, err := decodePagePlan(body)
		if err != nil {
			return err
		}
		one := &Plan{pages: map[int]*pagePlan{n: plan}}
		one.ApplyTo(page)
		return nil
	}
	return nil
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
