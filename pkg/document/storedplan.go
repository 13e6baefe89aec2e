package document

import (
	"errors"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// planVersion changes with the form below.
const planVersion = 1

var errPlan = errors.New("the stored plan of a document is damaged")

// Encode returns the plan's decisions about pages as they are stored, a few dozen bytes a page, so that whoever reads a single stored page can
// carry them out as well: see [ApplyStored].
func (p *Plan) Encode(pageCount int) []byte {
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
		body := uvarints(nil, len(plan.blocks), len(decided))
		for _, i := range decided {
			d := plan.blocks[i]
			goesOn := 0
			if d.continued {
				goesOn = 1
			}
			body = uvarints(body, i, int(d.kind), d.level, goesOn)
		}
		body = uvarints(body, len(plan.lines))
		for _, l := range plan.lines {
			body = uvarints(body, l.block, l.line, int(l.kind))
		}
		b = append(uvarints(b, n, len(body)), body...)
	}
	return b
}

// ApplyStored carries the decisions of a stored plan out on one page, as [Plan.Apply] does.
func ApplyStored(data []byte, page *inkstreamv1.Page) error {
	if len(data) == 0 || data[0] != planVersion {
		return errPlan
	}
	u := unpacker{b: data[1:]}
	for len(u.b) > 0 {
		n := u.int()
		body := u.bytes(u.int())
		if u.err != nil {
			return errPlan
		}
		if n != int(page.GetNumber()) {
			continue
		}
		plan, err := unpackPage(body)
		if err != nil {
			return err
		}
		one := &Plan{pages: map[int]*pagePlan{n: plan}}
		one.Apply(page)
		return nil
	}
	return nil
}

func unpackPage(body []byte) (*pagePlan, error) {
	const mostBlocks = 1 << 22
	u := unpacker{b: body}
	blocks := u.int()
	if blocks > mostBlocks {
		return nil, errPlan
	}
	p := &pagePlan{blocks: make([]blockPlan, blocks)}
	for range u.count(4) {
		i, kind, level, goesOn := u.int(), u.int(), u.int(), u.int()
		if i >= blocks || kind >= len(types) {
			return nil, errPlan
		}
		p.blocks[i] = blockPlan{byte(kind), level, goesOn != 0}
	}
	for range u.count(3) {
		block, line, kind := u.int(), u.int(), u.int()
		if kind >= len(types) {
			return nil, errPlan
		}
		p.lines = append(p.lines, linePlan{block, line, byte(kind)})
	}
	return p, u.err
}
