package document

import (
	"inkstream.dev/pkg/layout"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// Plan is what the document as a whole tells about the blocks of its pages.
type Plan struct {
	// Title says whether a title was found: headings then stand one level below it in markdown.
	Title bool
	// Merges are the tables that go on over page breaks.
	Merges []Merge
	// Languages counts words by language, Words all of them.
	Languages map[string]int
	Words     int

	pages map[int]*pagePlan
}

// Merge says that tables which follow each other on pages or in columns are one. It changes nothing by itself: the
// tables stand as they are.
type Merge struct {
	Tables []TableRef `json:"tables"`
	// HeaderRows is how many rows at the head of each table but the first repeat those of the first.
	HeaderRows int `json:"headerRows,omitempty"`
}

// TableRef names a table as its file does: tables/<page>-<n>.csv.
type TableRef struct {
	Page  int `json:"page"`
	Table int `json:"table"`
}

// pagePlan holds the decisions about one page.
type pagePlan struct {
	blocks []blockPlan
	lines  []linePlan
}

// blockPlan is the decision about a block; type 0 leaves it as it is.
type blockPlan struct {
	kind      byte
	level     int
	continued bool
}

// linePlan takes a line out of its block.
type linePlan struct {
	block, line int
	kind        byte
}

// NewPlan decides about a document by the evidence of its pages, in their order, and its outline. Pages without
// evidence may be missing.
func NewPlan(pages []*Evidence, outline []*inkstreamv1.OutlineEntry) *Plan {
	p := &Plan{pages: make(map[int]*pagePlan, len(pages)), Languages: map[string]int{}}
	for _, e := range pages {
		p.pages[e.Number] = &pagePlan{blocks: make([]blockPlan, len(e.Blocks))}
		p.Words += e.Words
		for name, n := range e.Language {
			p.Languages[name] += n
		}
	}
	p.findRunningLines(pages)
	p.findHeadings(pages, outline)
	p.linkContinuations(pages)
	p.mergeTables(pages)
	return p
}

// Language returns the language of most of the document's words; empty where there is no telling.
func (p *Plan) Language() string {
	best, most := "", 0
	for name, n := range p.Languages {
		if n > most || n == most && name < best {
			best, most = name, n
		}
	}
	return best
}

// whole reports whether a whole block is decided to be a running head, foot or page number.
func (p *pagePlan) isRunningBlock(block int) bool {
	switch blockTypes[p.blocks[block].kind] {
	case layout.Header, layout.Footer, layout.PageNumber:
		return true
	}
	return false
}

// ApplyTo carries the decisions out on a page, in place: it sets types, levels and continuations, and takes running
// heads out of the blocks that they were read with. It reports whether that changed the page. A page that it was
// applied to before is left as it is.
func (p *Plan) ApplyTo(page *inkstreamv1.Page) bool {
	plan := p.pages[int(page.GetNumber())]
	if plan == nil || len(plan.blocks) != len(page.GetBlocks()) {
		return false // what is stored is not what was observed: as it stands it is no worse than without a plan
	}
	changed := false
	for i, b := range page.GetBlocks() {
		d := plan.blocks[i]
		if d.kind != 0 && (b.GetType() != blockTypes[d.kind] || b.GetLevel() != int32(d.level)) {
			b.Type, b.Level, b.Marker = blockTypes[d.kind], int32(d.level), ""
			changed = true
		}
		changed = changed || b.GetContinued() != d.continued
		b.Continued = d.continued
	}
	if len(plan.lines) > 0 {
		page.Blocks, changed = plan.splitLines(page.GetBlocks()), true
	}
	return changed
}

// splitLines takes lines out of their blocks: each becomes a block of its own.
func (p *pagePlan) splitLines(blocks []*inkstreamv1.Block) []*inkstreamv1.Block {
	out := make([]*inkstreamv1.Block, 0, len(blocks)+len(p.lines))
	for i, b := range blocks {
		var taken []linePlan
		for _, l := range p.lines {
			if l.block == i && l.line < len(b.GetLines()) {
				taken = append(taken, l)
			}
		}
		if len(taken) == 0 {
			out = append(out, b)
			continue
		}
		var before, after, rest []*inkstreamv1.Line
		var kindBefore, kindAfter byte
		for j, line := range b.GetLines() {
			kind := byte(0)
			for _, l := range taken {
				if l.line == j {
					kind = l.kind
				}
			}
			switch {
			case kind == 0:
				rest = append(rest, line)
			case len(rest) == 0:
				before, kindBefore = append(before, line), kind
			default:
				after, kindAfter = append(after, line), kind
			}
		}
		if len(before) > 0 {
			out = append(out, &inkstreamv1.Block{Type: blockTypes[kindBefore], Lines: before, Bbox: boundingBox(before),
				Language: b.GetLanguage()})
		}
		if b.Lines = rest; len(rest) > 0 {
			b.Bbox = boundingBox(rest)
			out = append(out, b)
		}
		if len(after) > 0 {
			out = append(out, &inkstreamv1.Block{Type: blockTypes[kindAfter], Lines: after, Bbox: boundingBox(after),
				Language: b.GetLanguage()})
		}
	}
	return out
}

// boundingBox returns the box around lines.
func boundingBox(lines []*inkstreamv1.Line) []float32 {
	var out []float32
	for _, l := range lines {
		box := l.GetBbox()
		if len(box) != 4 {
			continue
		}
		if out == nil {
			out = append(out, box...)
			continue
		}
		out[0], out[1], out[2], out[3] = min(out[0], box[0]), min(out[1], box[1]), max(out[2], box[2]), max(out[3], box[3])
	}
	return out
}
