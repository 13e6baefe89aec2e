package vision

import (
	"context"
	"errors"
	"image"
	"image/draw"

	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"

	"inkstream.dev/pkg/agree"
	"inkstream.dev/pkg/layout"
	"inkstream.dev/services/ocr/internal/vision/answer"
)

const (
	// maxCrops bounds the requests of one page. Forms and newspapers have some 100 blocks.
	maxCrops = 200
	// cropsAtOnce is how many blocks of a page are asked for at once.
	cropsAtOnce = 4
	// cropMargin is the paper that is left around a block, in points.
	cropMargin = 4
)

// errManyBlocks means that a page has more blocks than a model is asked about, or none.
var errManyBlocks = errors.New("the page has no blocks that a model can be shown, or too many of them")

// part is a block of the upright page that a model is shown by itself, in points.
type part struct {
	kind  answer.Kind
	level int
	box   agree.Box
}

// findParts returns the blocks of the page as the witness reads it, in their order.
func (v *verifier) findParts() []part {
	page := proto.CloneOf(v.witness)
	layout.ArrangePage(page)
	var out []part
	for _, b := range page.GetBlocks() {
		if len(b.GetBbox()) == 4 && len(b.GetLines())+len(b.GetTable().GetCells()) > 0 {
			box := turnBox(agree.Box(b.GetBbox()), page.GetWidth(), page.GetHeight(), page.GetUprightRotation())
			out = append(out, part{kind: answer.Kind(b.GetType()), level: int(b.GetLevel()), box: box})
		}
	}
	return out
}

// promptFor returns what a family is asked about a block of a kind.
func (p profile) promptFor(kind answer.Kind) string {
	switch {
	case kind == answer.TableBlock && p.tablePrompt != "":
		return p.tablePrompt
	case kind == answer.Formula && p.formulaPrompt != "":
		return p.formulaPrompt
	default:
		return p.prompt
	}
}

// readCrops has models read a page block by block. What a model repeats without end is left out of the answer, so that
// the block stays as the witness reads it.
func (e *Engine) readCrops(ctx context.Context, v *verifier, picture *image.Gray, q question) (answer.Answer, reply, error) {
	crops := v.findParts()
	if len(crops) == 0 || len(crops) > maxCrops {
		return answer.Answer{}, reply{}, errManyBlocks
	}
	ctx, cancel := context.WithTimeout(ctx, q.timeout)
	defer cancel()
	parts, replies := make([]answer.Answer, len(crops)), make([]reply, len(crops))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(cropsAtOnce)
	for i, c := range crops {
		g.Go(func() (err error) {
			parts[i], replies[i], err = e.readCrop(gctx, cutPicture(picture, v.ink.pixelsOf(c.box, cropMargin)), c, q)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return answer.Answer{}, reply{}, err
	}
	whole, got := answer.Answer{}, reply{}
	width, height := v.uprightSize()
	for i, part := range parts {
		for _, b := range part.Blocks {
			box := crops[i].box
			b.Box = answer.Box{float64(box[0] / width), float64(box[1] / height), float64(box[2] / width), float64(box[3] / height)}
			whole.Blocks = append(whole.Blocks, b)
		}
		got.cut = got.cut || replies[i].cut
		got.from = replies[i].from
	}
	return whole, got, nil
}

// readCrop has a model read one block, twice if it loops.
func (e *Engine) readCrop(ctx context.Context, picture *image.Gray, c part, q question) (answer.Answer, reply, error) {
	q.prompt = e.client.profile.promptFor(c.kind)
	var got reply
	for _, temperature := range []float64{q.temperature, retryTemperature} {
		var err error
		q.temperature = temperature
		if got, _, err = e.askShrinking(ctx, picture, q); err != nil {
			return answer.Answer{}, got, err
		}
		if !got.looped {
			return answer.ParsePart(c.kind, c.level, got.text), got, nil
		}
		q.avoided = got.from
	}
	return answer.Answer{}, got, nil
}

// cutPicture returns a part of a picture.
func cutPicture(in *image.Gray, part image.Rectangle) *image.Gray {
	out := image.NewGray(image.Rect(0, 0, max(1, part.Dx()), max(1, part.Dy())))
	draw.Draw(out, out.Rect, in, part.Min, draw.Src)
	return out
}
