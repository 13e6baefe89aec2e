package vision

import (
	"context"
	"fmt"
	"image"
	"slices"
	"strings"

	"inkstream.dev/pkg/agree"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/ocr/internal/vision/answer"
	"inkstream.dev/services/ocr/recognise"
)

// verifier holds a model's words of one page against the witness's.
type verifier struct {
	engine  *Engine
	img     recognise.Image
	opts    recognise.Options
	witness *inkstreamv1.Page
	ink     *ink
	words   []agree.Word // the witness's, as they stand on the upright page
	lines   []int        // the line of each, in the order of the page
	angles  []int32
	unread  []agree.Box // where there is ink that the witness has no words for
	rereads map[agree.Box]rereading
}

// rereading is what the witness reads when it reads a place again.
type rereading struct {
	text       string
	confidence float32
}

// newVerifier returns a verifier that has all words that the witness finds on the page.
func newVerifier(engine *Engine, img recognise.Image, opts recognise.Options, page *inkstreamv1.Page, picture *image.Gray) *verifier {
	v := &verifier{engine: engine, img: img, opts: opts, witness: page, ink: newInk(picture, img.DPI), rereads: map[agree.Box]rereading{}}
	v.collectWords()
	return v
}

// collectWords puts the witness's words upright.
func (v *verifier) collectWords() {
	line := 0
	for _, b := range v.witness.GetBlocks() {
		for _, l := range b.GetLines() {
			for _, w := range l.GetWords() {
				box := turnBox(agree.Box(w.GetBbox()), v.witness.GetWidth(), v.witness.GetHeight(), v.witness.GetUprightRotation())
				v.words = append(v.words, agree.Word{Text: w.GetText(), Box: box, Confidence: w.GetConfidence()})
				v.lines, v.angles = append(v.lines, line), append(v.angles, l.GetAngle())
			}
			line++
		}
	}
}

// uprightSize returns the page's size when it is turned upright.
func (v *verifier) uprightSize() (width, height float32) {
	if v.witness.GetUprightRotation()%180 == 90 {
		return v.witness.GetHeight(), v.witness.GetWidth()
	}
	return v.witness.GetWidth(), v.witness.GetHeight()
}

// asGiven returns a box of the upright page as it stands on the raster.
func (v *verifier) asGiven(b agree.Box) []float32 {
	width, height := v.uprightSize()
	b = turnBox(b, width, height, (360-v.witness.GetUprightRotation())%360)
	return []float32{b[0], b[1], b[2], b[3]}
}

// verify returns the page of the model's words that hold. It fails where the text is not the page's, or a loop.
func (v *verifier) verify(ctx context.Context, parsed answer.Answer, got reply) (*inkstreamv1.Page, error) {
	var words []agree.Word
	var of []int // the block of each
	var regions []agree.Box
	width, height := v.uprightSize()
	for i, b := range parsed.Blocks {
		region := agree.Box{float32(b.Box[0]) * width, float32(b.Box[1]) * height, float32(b.Box[2]) * width, float32(b.Box[3]) * height}
		regions = append(regions, region)
		if b.Kind == answer.Figure {
			continue
		}
		for _, text := range strings.Fields(b.Text) {
			words, of = append(words, agree.Word{Text: text}), append(of, i)
		}
	}
	if got.looped {
		return nil, errLoop
	}
	result := v.compare(ctx, words, regions, got.cut || parsed.Broken)
	if err := v.refuse(words, result); err != nil {
		return nil, err
	}
	return v.buildPage(parsed, words, of, regions, result), nil
}

// canJudge reports whether the witness reads the page well enough to tell what is wrong in a text of it.
func (v *verifier) canJudge() bool {
	return v.witness.GetQuality() >= agree.MinQuality && len(v.words) > 0
}

// refuse says why a text is not taken at all; nil where it is.
func (v *verifier) refuse(words []agree.Word, result agree.Result) error {
	isReadable := v.witness.GetQuality() >= unreadableQuality && len(v.words) > 0
	switch {
	case isReadable && !result.AgreesWithWitness() || len(words) == 0:
		return errOtherPage
	case result.HasDoubt(agree.Loop):
		return errLoop
	default:
		return nil
	}
}

// maxRereads bounds the places of a page that are read again: each takes a tenth of a second or two.
const maxRereads = 12

// compare holds words against the witness's and against the ink.
func (v *verifier) compare(ctx context.Context, words []agree.Word, regions []agree.Box, cut bool) agree.Result {
	return agree.Align(words, v.words, agree.Options{Regions: regions, InkWidth: v.ink.widthOf, Unread: v.unread, Reread: v.reread(ctx),
		MaxRereads: maxRereads, Cut: cut, WitnessQuality: float64(v.witness.GetQuality())})
}

// Comparison is what holding a text against a page tells.
type Comparison struct {
	agree.Result
	// Refused says that the text is not taken at all, and the page stays as the witness reads it.
	Refused bool
	// CanJudge says that the witness reads the page well enough to tell what is wrong in a text of it. Where it does not,
	// what differs is unverified.
	CanJudge bool
}

// Comparer holds texts against one page as the witness read it, and against its ink, as what a model writes is held.
type Comparer struct{ verifier *verifier }

// NewComparer returns a Comparer. The picture may be closed after it.
func NewComparer(ctx context.Context, witness Witness, img recognise.Image, page *inkstreamv1.Page, opts recognise.Options) (*Comparer, error) {
	picture, err := readPicture(img, page.GetUprightRotation())
	if err != nil {
		return nil, err
	}
	v := newVerifier(&Engine{witness: witness}, img, opts, page, picture)
	v.readUnread(ctx)
	return &Comparer{v}, nil
}

// CompareText holds a text against the page.
func (c *Comparer) CompareText(ctx context.Context, text []string) Comparison {
	v := c.verifier
	words := make([]agree.Word, len(text))
	for i, t := range text {
		words[i].Text = t
	}
	result := v.compare(ctx, words, nil, false)
	return Comparison{Result: result, Refused: v.refuse(words, result) != nil, CanJudge: v.canJudge()}
}

// unreadableQuality is the quality below which the witness does not tell one page from another.
const unreadableQuality = 0.45

// maxNotes bounds the doubts that stand on the page.
const maxNotes = 40

// buildPage makes the page of the words that the page has, in the model's order, with boxes.
func (v *verifier) buildPage(parsed answer.Answer, words []agree.Word, of []int, regions []agree.Box,
	result agree.Result) *inkstreamv1.Page {
	blocks := make([]*inkstreamv1.Block, len(parsed.Blocks))
	lastLine, lastBlock := -1, -1
	for i, m := range result.Words {
		if m.Invented || len(m.Witness) == 0 && !m.Box.Exists() && !v.placeInRegion(&m, regions[of[i]]) {
			continue
		}
		line, angle := lastLine, int32(0)
		if len(m.Witness) > 0 {
			line, angle = v.lines[m.Witness[0]], v.angles[m.Witness[0]]
		}
		b := blocks[of[i]]
		if b == nil {
			b = &inkstreamv1.Block{}
			blocks[of[i]] = b
		}
		if len(b.Lines) == 0 || line != lastLine || lastBlock != of[i] {
			if len(m.Witness) == 0 && len(v.angles) > 0 {
				angle = v.angles[0]
			}
			b.Lines = append(b.Lines, &inkstreamv1.Line{Angle: angle})
		}
		lastLine, lastBlock = line, of[i]
		confidence := v.confidenceOf(m)
		l := b.Lines[len(b.Lines)-1]
		l.Words = append(l.Words, &inkstreamv1.Word{Text: words[i].Text, Bbox: v.asGiven(m.Box), Confidence: &confidence,
			Doubt: string(m.Doubt)})
	}
	page := &inkstreamv1.Page{UprightRotation: v.witness.GetUprightRotation(), Skew: v.witness.GetSkew(),
		Rulings: v.witness.GetRulings(), Language: v.witness.GetLanguage(), Blocks: v.insertDropped(blocks, of, result)}
	size, _ := v.img.CheckHeader() // it was sound when the picture was read
	page = recognise.Sanitize(page, size, v.img.DPI)
	page.Engine = "vision " + v.engine.client.cfg.Profile + " + " + v.witness.GetEngine()
	page.Tags = v.tagsOf(parsed, regions)
	page.Regions = v.regionsOf(parsed, of, regions, result)
	page.Notes = append(page.Notes, v.describeDoubts(words, result)...)
	page.Doubts = append(v.doubtsOf(words, result), v.doubtCharts(page, parsed, regions)...)
	return page
}

// placeInRegion gives a word that the witness lacks the place of its block, where that has ink that the witness has no
// words for.
func (v *verifier) placeInRegion(m *agree.Match, region agree.Box) bool {
	if !region.Exists() || !v.ink.hasInk(region) {
		return false
	}
	for _, w := range v.words {
		if w.Box[0] < region[2] && w.Box[2] > region[0] && w.Box[1] < region[3] && w.Box[3] > region[1] {
			return false
		}
	}
	m.Box = region
	return true
}

func (v *verifier) confidenceOf(m agree.Match) float32 {
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
func (v *verifier) insertDropped(blocks []*inkstreamv1.Block, of []int, result agree.Result) []*inkstreamv1.Block {
	after := map[int][]*inkstreamv1.Block{}
	for _, d := range result.Doubts {
		if d.Kind != agree.Dropped {
			continue
		}
		at := -1
		if d.Model.First > 0 && d.Model.First <= len(of) {
			at = of[d.Model.First-1]
		}
		b, last := &inkstreamv1.Block{}, -1
		for j := d.Witness.First; j < d.Witness.End; j++ {
			if result.WitnessPartner[j] >= 0 {
				continue
			}
			if v.lines[j] != last {
				b.Lines, last = append(b.Lines, &inkstreamv1.Line{Angle: v.angles[j]}), v.lines[j]
			}
			confidence := v.words[j].Confidence
			l := b.Lines[len(b.Lines)-1]
			l.Words = append(l.Words, &inkstreamv1.Word{Text: v.words[j].Text, Bbox: v.asGiven(v.words[j].Box), Confidence: &confidence,
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

func (v *verifier) tagsOf(parsed answer.Answer, regions []agree.Box) []*inkstreamv1.Tag {
	var out []*inkstreamv1.Tag
	for i, b := range parsed.Blocks {
		role := roles[b.Kind]
		if b.Kind == answer.Heading {
			role = fmt.Sprintf("H%d", min(max(b.Level, 1), 6))
		}
		if role != "" && regions[i].Exists() {
			out = append(out, &inkstreamv1.Tag{Role: role, Bbox: v.asGiven(regions[i]), Depth: 1})
		}
	}
	return out
}

// maxLatex bounds the source of a formula, in bytes.
const maxLatex = 4000

// regionsOf returns the tables and formulas of the model's whose words the page has.
func (v *verifier) regionsOf(parsed answer.Answer, of []int, regions []agree.Box, result agree.Result) []*inkstreamv1.Region {
	var out []*inkstreamv1.Region
	next := 0
	for i, b := range parsed.Blocks {
		first := next
		for next < len(of) && of[next] == i {
			next++
		}
		region := &inkstreamv1.Region{Type: string(b.Kind)}
		switch {
		case b.Table != nil && b.Kind == answer.TableBlock:
			region.Table = v.gridOf(b.Table, result.Words[first:next])
		case b.Kind == answer.Formula && len(b.Latex) <= maxLatex:
			invented := 0
			for _, m := range result.Words[first:next] {
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
		if regions[i].Exists() {
			region.Bbox = v.asGiven(regions[i])
		}
		out = append(out, region)
	}
	return out
}

// gridOf returns a table's grid with boxes around the words of each cell; words are all of the table's, cell by cell.
func (v *verifier) gridOf(t *answer.Table, words []agree.Match) *inkstreamv1.Table {
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
				ColumnSpan: int32(c.ColumnSpan), Bbox: v.asGiven(around)})
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

// doubtsOf returns what does not agree, as the page has it.
func (v *verifier) doubtsOf(words []agree.Word, result agree.Result) []*inkstreamv1.Doubt {
	var out []*inkstreamv1.Doubt
	for _, d := range result.Doubts[:min(len(result.Doubts), maxDoubts)] {
		doubt := &inkstreamv1.Doubt{Kind: string(d.Kind), Text: joinWords(words, d.Model), Witness: joinWords(v.words, d.Witness),
			LeftOut: d.Invented}
		if d.Box.Exists() {
			doubt.Bbox = v.asGiven(d.Box)
		}
		out = append(out, doubt)
	}
	return out
}

// minChartWords is how many words of a table that a model made of a figure must be its own for a doubt.
const minChartWords = 4

// doubtCharts returns a doubt for each figure of which the model made a table with words that the figure does not show:
// it reads values off a chart, as well as it can. None of these tables is text of the page.
func (v *verifier) doubtCharts(page *inkstreamv1.Page, parsed answer.Answer, regions []agree.Box) []*inkstreamv1.Doubt {
	var out []*inkstreamv1.Doubt
	for i, b := range parsed.Blocks {
		if b.Kind != answer.Figure || b.Text == "" {
			continue
		}
		shown := map[string]bool{}
		for _, w := range v.words {
			if x, y := (w.Box[0]+w.Box[2])/2, (w.Box[1]+w.Box[3])/2; x > regions[i][0] && x < regions[i][2] && y > regions[i][1] &&
				y < regions[i][3] {
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
		if regions[i].Exists() {
			doubt.Bbox = v.asGiven(regions[i])
		}
		out = append(out, doubt)
		page.Notes = append(page.Notes, fmt.Sprintf("doubt unsupported: a table that the model made of a figure, with %d words that the "+
			"figure does not show, is left out", len(own)))
	}
	return out
}

// describeDoubts says what does not agree, a note each.
func (v *verifier) describeDoubts(words []agree.Word, result agree.Result) []string {
	var out []string
	for _, d := range result.Doubts {
		if len(out) == maxNotes {
			return append(out, "doubt: more of them")
		}
		model, witness := quoteWords(words, d.Model), quoteWords(v.words, d.Witness)
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
