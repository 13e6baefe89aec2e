package vision

import (
	"context"
	"time"

	"inkstream.dev/pkg/agree"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/ocr/recognise"
)

// rereading is what the witness reads when it reads a place again.
type rereading struct {
	text       string
	confidence float32
}

// placeReader has the witness read places of a page by themselves, enlarged.
type placeReader struct {
	witness Witness
	img     recognise.Image
	opts    recognise.Options
	ink     *ink
	known   map[agree.Box]rereading // what was read
}

// rereadWord returns what reads a word again, enlarged.
func (r *placeReader) rereadWord(ctx context.Context) func(agree.Box) (string, float32) {
	return func(b agree.Box) (string, float32) {
		read, known := r.known[b]
		if !known {
			read = r.readPlace(ctx, b)
			r.known[b] = read
		}
		return read.text, read.confidence
	}
}

// readPlace reads a place by itself, or, where that yields nothing as with short numbers, several times in a row, or
// with its neighbours on the line.
func (r *placeReader) readPlace(ctx context.Context, b agree.Box) rereading {
	const copies = 3 // enough for a line
	for _, read := range [...]func() rereading{
		func() rereading { return r.readCopies(ctx, b, 1) },
		func() rereading { return r.readCopies(ctx, b, copies) },
		func() rereading { return r.readInLine(ctx, b) },
	} {
		if read := read(); read.text != "" {
			return read
		}
	}
	return rereading{}
}

// besidePlace is how much of a line is read to either side of a place, in heights of the line.
const besidePlace = 6

// readInLine reads a place with its neighbours, and returns what is read in the place.
func (r *placeReader) readInLine(ctx context.Context, place agree.Box) rereading {
	beside := besidePlace * (place[3] - place[1])
	page, crop, err := r.readCrop(ctx, agree.Box{place[0] - beside, place[1], place[2] + beside, place[3]}, nil, 1)
	if err != nil {
		return rereading{} // it stays as it is without a second look
	}
	return joinRead(page, func(x float32) bool { return x+crop.x > place[0] && x+crop.x < place[2] })
}

// joinRead returns the words of a page whose middle is wanted, as one.
func joinRead(page *inkstreamv1.Page, isWanted func(x float32) bool) rereading {
	var out rereading
	for _, b := range page.GetBlocks() {
		for _, l := range b.GetLines() {
			for _, w := range l.GetWords() {
				if box := w.GetBbox(); len(box) != 4 || !isWanted((box[0]+box[2])/2) {
					continue
				}
				if out.text == "" || w.GetConfidence() < out.confidence {
					out.confidence = w.GetConfidence()
				}
				out.text += w.GetText()
			}
		}
	}
	return out
}

// readCopies reads a place of the page, enlarged, that is drawn several times in a row, and returns what most copies say.
func (r *placeReader) readCopies(ctx context.Context, place agree.Box, copies int) rereading {
	page, crop, err := r.readCrop(ctx, place, nil, copies)
	if err != nil {
		return rereading{} // it stays as it is without a second look
	}
	read := make([]rereading, copies)
	for n := range read {
		read[n] = joinRead(page, func(x float32) bool { return crop.copyAt(x, copies) == n })
	}
	votes := map[string]int{}
	best := rereading{}
	for _, one := range read {
		if votes[one.text]++; one.text != "" && (votes[one.text] > votes[best.text] || best.text == "") {
			best = one
		}
	}
	if copies > 1 && 2*votes[best.text] <= copies {
		return rereading{}
	}
	return best
}

// readCrop has the witness read a part of the page, as writeCrop writes it; the part stands upright.
func (r *placeReader) readCrop(ctx context.Context, b agree.Box, without []agree.Word, copies int) (*inkstreamv1.Page, crop, error) {
	f, at, err := r.ink.writeCrop(b, without, copies)
	if err != nil {
		return nil, at, err
	}
	defer f.Close()
	opts := r.opts
	opts.Rotate, opts.Deskew, opts.Timeout = false, false, 20*time.Second
	page, err := r.witness.RecognisePage(ctx, recognise.Image{File: f, DPI: enlarged * r.img.DPI}, opts)
	return page, at, err
}
