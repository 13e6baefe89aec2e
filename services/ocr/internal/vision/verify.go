package vision

import (
	"context"
	"image"
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
	words   witnessWords
	unread  []agree.Box // where there is ink that the witness has no words for
	places  placeReader
}

// newVerifier returns a verifier that has all words that the witness finds on the page.
func newVerifier(engine *Engine, img recognise.Image, opts recognise.Options, page *inkstreamv1.Page, picture *image.Gray) *verifier {
	ink := newInk(picture, img.DPI)
	return &verifier{engine: engine, img: img, opts: opts, witness: page, ink: ink, words: newWitnessWords(page),
		places: placeReader{witness: engine.witness, img: img, opts: opts, ink: ink, known: map[agree.Box]rereading{}}}
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
	b := pageBuilder{v: v, answer: parsed, words: words, of: of, regions: regions, result: result}
	return b.buildPage(), nil
}

// canJudge reports whether the witness reads the page well enough to tell what is wrong in a text of it.
func (v *verifier) canJudge() bool {
	return v.witness.GetQuality() >= agree.MinQuality && len(v.words.all) > 0
}

// refuse says why a text is not taken at all; nil where it is.
func (v *verifier) refuse(words []agree.Word, result agree.Result) error {
	isReadable := v.witness.GetQuality() >= unreadableQuality && len(v.words.all) > 0
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
	return agree.Align(words, v.words.all, agree.Options{Regions: regions, InkWidth: v.ink.widthOf, Unread: v.unread, Reread: v.places.rereadWord(ctx),
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
