package vision

import (
	"context"
	"errors"
	"fmt"
	"image"
	"log/slog"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/ocr/internal/vision/answer"
	"inkstream.dev/services/ocr/recognise"
)

// Witness is the engine whose reading the model's is held against.
type Witness interface {
	RecognisePage(ctx context.Context, img recognise.Image, opts recognise.Options) (*inkstreamv1.Page, error)
}

// Engine reads pages with the witness and, where that pays, with a model. It is safe for concurrent use.
type Engine struct {
	witness Witness
	client  *client
	waits   bool
	log     *slog.Logger
}

// New returns an engine. With waits it is not ready while no endpoint can be asked.
func New(cfg Config, witness Witness, waits bool, log *slog.Logger) (*Engine, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Engine{witness: witness, client: newClient(cfg), waits: waits, log: log}, nil
}

// CheckReady fails where no endpoint can be asked and the process is there for pages that wait for one.
func (e *Engine) CheckReady(context.Context) error {
	if !e.waits {
		return nil
	}
	return e.client.balance.checkReady()
}

// CheckEndpoints fails where the canary page says anything against an endpoint. The engine may be of use all the same.
func (e *Engine) CheckEndpoints(context.Context) error { return e.client.balance.checkCanaries() }

// RecognisePage reads the words on a raster, as the interface of package ocr promises.
func (e *Engine) RecognisePage(ctx context.Context, img recognise.Image,
	opts recognise.Options) (*inkstreamv1.Page, error) {
	if opts.Engine == job.EngineVision {
		if err := e.client.balance.checkAway(); err != nil { // before the witness has read the page for nothing
			return nil, fault.Wrap(fault.Busy, fault.Unavailable, err)
		}
	}
	page, err := e.witness.RecognisePage(ctx, img, opts)
	if err != nil || opts.Engine != job.EngineVision && opts.Engine != job.EngineAuto {
		return page, err
	}
	picture, err := readPicture(img, page.GetUprightRotation())
	if err != nil {
		return nil, err
	}
	v := newVerifier(e, img, opts, page, picture)
	reason := v.reasonToAsk()
	if reason == "" {
		return page, nil
	}
	v.readUnread(ctx)
	read, why := e.readVerified(ctx, v, picture)
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("ask a vision model: %w", ctx.Err())
	case read != nil:
		read.Notes = append(read.Notes, "read by a vision model, because "+reason)
		return read, nil
	case errors.Is(why, errAway) && opts.Engine == job.EngineVision:
		return nil, fault.Wrap(fault.Busy, fault.Unavailable, why)
	}
	e.log.WarnContext(ctx, "page stays as the witness reads it", "error", why)
	page.Notes = append(page.Notes, "a vision model was wanted, because "+reason+", but "+describeFailure(why))
	return page, nil
}

func describeFailure(err error) string {
	switch {
	case errors.Is(err, errAway):
		return "none could be asked"
	case errors.Is(err, errBudget):
		return err.Error()
	case errors.Is(err, errLoop):
		return "it repeated itself without end"
	case errors.Is(err, errOtherPage):
		return "what it wrote is not what the page says"
	default:
		return "its answer could not be used"
	}
}

var (
	errLoop      = errors.New("the model repeats itself")
	errOtherPage = errors.New("the model's text is not the page's")
)

// retryTemperature is for the second try: at 0 the same picture gives the same answer.
const retryTemperature = 0.3

// readVerified asks a model, twice if its first answer is a loop or another page's, the second time at another endpoint
// if there is one, and returns the page of its words that hold.
func (e *Engine) readVerified(ctx context.Context, v *verifier, picture *image.Gray) (*inkstreamv1.Page, error) {
	timeout := v.opts.Timeout
	if timeout <= 0 {
		timeout = defaultTimeout
	}
	var why error
	var first *endpoint
	for _, temperature := range []float64{0, retryTemperature} {
		parsed, got, err := e.readAnswer(ctx, v, picture, question{temperature: temperature, timeout: timeout, avoided: first,
			payer: account{tenant: v.opts.Tenant, job: v.opts.Job}})
		if err != nil {
			return nil, err
		}
		page, err := v.verify(ctx, parsed, got)
		if e.client.balance.judge(got.from, err == nil) {
			e.log.WarnContext(ctx, "a vision endpoint's answers are of no use, so that it is left alone for a while",
				"endpoint", got.from.number, "error", err)
		}
		if err == nil {
			return page, nil
		}
		why, first = err, got.from
	}
	return nil, why
}

// readAnswer has a model read the page, whole or block by block as its family does.
func (e *Engine) readAnswer(ctx context.Context, v *verifier, picture *image.Gray, q question) (answer.Answer, reply, error) {
	profile := e.client.profile
	if profile.byBlock {
		return e.readCrops(ctx, v, picture, q)
	}
	got, size, err := e.askShrinking(ctx, picture, q)
	if err != nil {
		return answer.Answer{}, got, err
	}
	scale := answer.Options{ScaleX: profile.scale, ScaleY: profile.scale}
	if profile.scale == pixels {
		scale = answer.Options{ScaleX: float64(size.X), ScaleY: float64(size.Y)}
	}
	return answer.Parse(profile.format, got.text, scale), got, nil
}

// shrinking are the shares of a picture's longest side that are sent, the next one where a server refuses the one before.
var shrinking = []float64{1, 0.7, 0.5}

// askShrinking asks the question about a picture, or a smaller one where the server does not take it so large. It returns
// the size of the one that was taken.
func (e *Engine) askShrinking(ctx context.Context, picture *image.Gray, q question) (reply, image.Point, error) {
	longest := min(e.client.profile.longestSide, max(picture.Rect.Dx(), picture.Rect.Dy()))
	var refusal error
	for _, share := range shrinking {
		data, size, err := encodePicture(picture, int(share*float64(longest)))
		if err != nil {
			return reply{}, image.Point{}, err
		}
		q.png = data
		got, err := e.client.ask(ctx, q)
		if !errors.Is(err, errRefusedPicture) {
			return got, size, err
		}
		refusal = err
	}
	return reply{}, image.Point{}, refusal
}
