package vision

import (
	"fmt"
	"slices"
	"strings"

	"inkstream.dev/pkg/agree"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/ocr/internal/vision/answer"
	"inkstream.dev/services/ocr/recognise"
)

// pageBuilder makes a page of those of a model's words that hold.
type pageBuilder struct {
	v       *verifier
	answer  answer.Answer
	regions []agree.Box // of the answer's blocks, on the upright page
	words   []agree.Word
	of      []int        // the block of each word
	result  agree.Result // of the words against the witness's
}

// maxNotes bounds the doubts that stand on the page.
const maxNotes = 40

// buildPage makes the page of the words that the page has, in the model's order, with boxes.
func (p *pageBuilder) buildPage() *inkstreamv1.Page {
	blocks := make([]*inkstreamv1.Block, len(p.answer.Blocks))
	lastLine, lastBlock := -1, -1
	for i, m := range p.result.Words {
		if m.Invented || len(m.Witness) == 0 && !m.Box.Exists() && !p.placeInRegion(&m, p.regions[p.of[i]]) {
			continue
		}
		line, angle := lastLine, int32(0)
		if len(m.Witness) > 0 {
			line, angle = p.v.words.lines[m.Witness[0]], p.v.words.angles[m.Witness[0]]
		}
		b := blocks[p.of[i]]
		if b == nil {
			b = &inkstreamv1.Block{}
			blocks[p.of[i]] = b
		}
		if len(b.Lines) == 0 || line != lastLine || lastBlock != p.of[i] {
			if len(m.Witness) == 0 && len(p.v.words.angles) > 0 {
				angle = p.v.words.angles[0]
			}
			b.Lines = append(b.Lines, &inkstreamv1.Line{Angle: angle})
		}
		lastLine, lastBlock = line, p.of[i]
		confidence := confidenceOf(m)
		l := b.Lines[len(b.Lines)-1]
		l.Words = append(l.Words, &inkstreamv1.Word{Text: p.words[i].Text, Bbox: p.v.asGiven(m.Box), Confidence: &confidence,
			Doubt: string(m.Doubt)})
	}
	page := &inkstreamv1.Page{UprightRotation: p.v.witness.GetUprightRotation(), Skew: p.v.witness.GetSkew(),
		Bend:    p.v.witness.GetBend(),
		Rulings: p.v.witness.GetRulings(), Language: p.v.witness.GetLanguage(), Blocks: p.insertDropped(blocks)}
	size, _ := p.v.img.CheckHeader() // it was sound when the picture was read
	page = recognise.Sanitize(page, size, p.v.img.DPI)
	page.Engine = "vision " + p.v.engine.client.cfg.Profile + " + " + p.v.witness.GetEngine()
	page.Tags = p.makeTags()
	page.Regions = p.makeRegions()
	page.Notes = append(page.Notes, p.describeDoubts()...)
	page.Doubts = append(p.makeDoubts(), p.doubtCharts(page)...)
	return page
}

// placeInRegion gives a word that the witness lacks the place of its block, where that has ink that the witness has no
// words for.
func (p *pageBuilder) placeInRegion(m *agree.Match, region agree.Box) bool {
	if !region.Exists() || !p.v.ink.hasInk(region) {
		return false
	}
	for _, w := range p.v.words.all {
		if w.Box[0] < region[2] && w.Box[2] > region[0] && w.Box[1] < region[3] && w.Box[3] > region[1] {
			return false
		}
	}
	m.Box = region
	return true
}

func confidenceOf(m agree.Match) float32 {
	if len(m.Witness) == 0 {
		return 0.5
	}
	if m.Similarity == 1 && m.Doubt == "" {
		return 0.99
	}
	return float32(0.4 + 0.5*m.Similarity)
}

// insertDropped puts the runs of words that the model left out behind the block that they follow, so that no text of
// the page is lost.
func (p *pageBuilder) insertDropped(blocks []*inkstreamv1.Block) []*inkstreamv1.Block {
	after := map[int][]*inkstreamv1.Block{}
	for _, d := range p.result.Doubts {
		if d.Kind != agree.Dropped {
			continue
		}
		at := -1
		if d.Model.First > 0 && d.Model.First <= len(p.of) {
			at = p.of[d.Model.First-1]
		}
		b, last := &inkstreamv1.Block{}, -1
		for j := d.Witness.First; j < d.Witness.End; j++ {
			if p.result.WitnessPartner[j] >= 0 {
				continue
			}
			if p.v.words.lines[j] != last {
				b.Lines, last = append(b.Lines, &inkstreamv1.Line{Angle: p.v.words.angles[j]}), p.v.words.lines[j]
			}
			confidence := p.v.words.all[j].Confidence
			l := b.Lines[len(b.Lines)-1]
			l.Words = append(l.Words, &inkstreamv1.Word{Text: p.v.words.all[j].Text, Bbox: p.v.asGiven(p.v.words.all[j].Box), Confidence: &confidence,
				Doubt: string(agree.Dropped)})
		}
		after[at] = append(after[at], b)
	}
	out := slices.Clone(after[-1])
	for i, b := range blocks {
		if b != nil {
			out = append(out, b)
		}
		out = append(out, after[i]...)
	}
	return out
}

// roles are the standard types of tagged PDFs that the kinds stand for.
var roles = map[answer.Kind]string{answer.Title: "Title", answer.Paragraph: "P", answer.ListItem: "LI", answer.Caption: "Caption",
	answer.TableBlock: "Table", answer.Figure: "Figure", answer.Formula: "Formula", answer.Code: "Code", answer.Footnote: "Note"}

func (p *pageBuilder) makeTags() []*inkstreamv1.Tag {
	var out []*inkstreamv1.Tag
	for i, b := range p.answer.Blocks {
		role := roles[b.Kind]
		if b.Kind == answer.Heading {
			role = fmt.Sprintf("H%d", min(max(b.Level, 1), 6))
		}
		if role != "" && p.regions[i].Exists() {
			out = append(out, &inkstreamv1.Tag{Role: role, Bbox: p.v.asGiven(p.regions[i]), Depth: 1})
		}
	}
	return out
}

// maxLatex bounds the source of a formula, in bytes.
const maxLatex = 4000

// makeRegions returns the tables and formulas of the model's whose words the page has.
func (p *pageBuilder) makeRegions() []*inkstreamv1.Region {
	var out []*inkstreamv1.Region
	next := 0
	for i, b := range p.answer.Blocks {
		first := next
		for next < len(p.of) && p.of[next] == i {
			next++
		}
		region := &inkstreamv1.Region{Type: string(b.Kind)}
		switch {
		case b.Table != nil && b.Kind == answer.TableBlock:
			region.Table = p.makeGrid(b.Table, p.result.Words[first:next])
		case b.Kind == answer.Formula && len(b.Latex) <= maxLatex:
			invented := 0
			for _, m := range p.result.Words[first:next] {
				if m.Invented {
					invented++
				}
			}
			if 2*invented <= next-first {
				region.Latex = b.Latex
			}
		}
		if region.GetTable() == nil && region.GetLatex() == "" {
			continue
		}
		if p.regions[i].Exists() {
			region.Bbox = p.v.asGiven(p.regions[i])
		}
		out = append(out, region)
	}
	return out
}

// makeGrid returns a table's grid with boxes around the words of each cell; words are all of the table's, cell by cell.
func (p *pageBuilder) makeGrid(t *answer.Table, words []agree.Match) *inkstreamv1.Table {
	out := &inkstreamv1.Table{Rows: int32(t.Rows), Columns: int32(t.Columns), HeaderRows: int32(t.HeaderRows)}
	at := 0
	for _, c := range t.Cells {
		var around agree.Box
		for range strings.Fields(c.Text) {
			if at == len(words) {
				return nil // the text is not that of the cells
			}
			if m := words[at]; !m.Invented && m.Box.Exists() && len(m.Witness) > 0 {
				around = uniteBoxes(around, m.Box)
			}
			at++
		}
		if around.Exists() {
			out.Cells = append(out.Cells, &inkstreamv1.Cell{Row: int32(c.Row), Column: int32(c.Column), RowSpan: int32(c.RowSpan),
				ColumnSpan: int32(c.ColumnSpan), Bbox: p.v.asGiven(around)})
		}
	}
	if at < len(words) || len(out.Cells) < 2 {
		return nil
	}
	return out
}

func uniteBoxes(a, b agree.Box) agree.Box {
	if !a.Exists() {
		return b
	}
	return agree.Box{min(a[0], b[0]), min(a[1], b[1]), max(a[2], b[2]), max(a[3], b[3])}
}

// maxDoubts bounds the doubts of a page. One with more of them is doubtful as a whole.
const maxDoubts = 500

// makeDoubts returns what does not agree, as the page has it.
func (p *pageBuilder) makeDoubts() []*inkstreamv1.Doubt {
	var out []*inkstreamv1.Doubt
	for _, d := range p.result.Doubts[:min(len(p.result.Doubts), maxDoubts)] {
		doubt := &inkstreamv1.Doubt{Kind: string(d.Kind), Text: joinWords(p.words, d.Model), Witness: joinWords(p.v.words.all, d.Witness),
			LeftOut: d.Invented}
		if d.Box.Exists() {
			doubt.Bbox = p.v.asGiven(d.Box)
		}
		out = append(out, doubt)
	}
	return out
}

// minChartWords is how many words of a table that a model made of a figure must be its own for a doubt.
const minChartWords = 4

// doubtCharts returns a doubt for each figure of which the model made a table with words that the figure does not show:
// it reads values off a chart, as well as it can. None of these tables is text of the page.
func (p *pageBuilder) doubtCharts(page *inkstreamv1.Page) []*inkstreamv1.Doubt {
	var out []*inkstreamv1.Doubt
	for i, b := range p.answer.Blocks {
		if b.Kind != answer.Figure || b.Text == "" {
			continue
		}
		shown := map[string]bool{}
		for _, w := range p.v.words.all {
			if x, y := (w.Box[0]+w.Box[2])/2, (w.Box[1]+w.Box[3])/2; x > p.regions[i][0] && x < p.regions[i][2] && y > p.regions[i][1] &&
				y < p.regions[i][3] {
				shown[agree.NormaliseWord(w.Text)] = true
			}
		}
		var own []agree.Word
		for _, text := range strings.Fields(b.Text) {
			if word := agree.NormaliseWord(text); word != "" && !shown[word] {
				own = append(own, agree.Word{Text: text})
			}
		}
		if len(own) < minChartWords {
			continue
		}
		doubt := &inkstreamv1.Doubt{Kind: string(agree.Unsupported), Text: joinWords(own, agree.Range{End: len(own)}), LeftOut: true}
		if p.regions[i].Exists() {
			doubt.Bbox = p.v.asGiven(p.regions[i])
		}
		out = append(out, doubt)
		page.Notes = append(page.Notes, fmt.Sprintf("doubt unsupported: a table that the model made of a figure, with %d words that the "+
			"figure does not show, is left out", len(own)))
	}
	return out
}

// describeDoubts says what does not agree, a note each.
func (p *pageBuilder) describeDoubts() []string {
	var out []string
	for _, d := range p.result.Doubts {
		if len(out) == maxNotes {
			return append(out, "doubt: more of them")
		}
		model, witness := quoteWords(p.words, d.Model), quoteWords(p.v.words.all, d.Witness)
		note := "doubt " + string(d.Kind) + ": " + model
		switch {
		case d.Kind == agree.Dropped:
			note = "doubt dropped: the model left out " + witness + ", which stands here as the witness reads it"
		case d.Invented:
			note += ", which is left out, as the page has no room or ink for it"
		case witness != "":
			note += ", which the witness reads as " + witness
		}
		out = append(out, note)
	}
	return out
}

// maxQuotedWords is how many words of a doubt are repeated.
const maxQuotedWords = 12

func joinWords(words []agree.Word, r agree.Range) string {
	if r.First >= r.End || r.End > len(words) {
		return ""
	}
	var texts []string
	for _, w := range words[r.First:min(r.End, r.First+maxQuotedWords)] {
		texts = append(texts, w.Text)
	}
	return strings.Join(texts, " ")
}

func quoteWords(words []agree.Word, r agree.Range) string {
	text := joinWords(words, r)
	if text == "" {
		return ""
	}
	return fmt.Sprintf("%q", text)
}
