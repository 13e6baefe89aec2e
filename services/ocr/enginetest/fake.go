package enginetest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"inkstream.dev/pkg/fault"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/ocr/recognise"
)

// EngineFunc makes a function an engine.
type EngineFunc func(ctx context.Context, img recognise.Image, opts recognise.Options) (*inkstreamv1.Page, error)

// RecognisePage calls f.
func (f EngineFunc) RecognisePage(ctx context.Context, img recognise.Image,
	opts recognise.Options) (*inkstreamv1.Page, error) {
	return f(ctx, img, opts)
}

// FakeEngine is an engine that passes the suite because it knows its sheets. Any other raster is a blank page to it.
type FakeEngine struct {
	samples map[[sha256.Size]byte]SampleImage
}

// NewFakeEngine returns a FakeEngine that knows the suite's sheets and those given.
func NewFakeEngine(t testing.TB, more ...SampleImage) *FakeEngine {
	t.Helper()
	f := &FakeEngine{samples: map[[sha256.Size]byte]SampleImage{}}
	for _, s := range append(SampleImages(t), more...) {
		f.samples[s.pgmDigest()] = s
	}
	return f
}

// RecognisePage answers with the words of the sheet.
func (f *FakeEngine) RecognisePage(ctx context.Context, img recognise.Image,
	opts recognise.Options) (*inkstreamv1.Page, error) {
	size, err := img.CheckHeader()
	if err != nil {
		return nil, err
	}
	for l := range strings.SplitSeq(opts.Languages, "+") {
		if l != "eng" {
			return nil, fault.New(fault.InvalidOption, "language %q is not installed; these are: eng", l)
		}
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("recognise: %w", ctx.Err())
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(img.File, 0, math.MaxInt64)); err != nil {
		return nil, fmt.Errorf("read raster: %w", err)
	}
	return recognise.Sanitize(f.samples[[sha256.Size]byte(h.Sum(nil))].expectedPage(), size, img.DPI), nil
}

// expectedPage is what a perfect recogniser would answer: one block, and a line for each line.
func (s SampleImage) expectedPage() *inkstreamv1.Page {
	block := &inkstreamv1.Block{}
	words := s.Words
	for _, text := range sampleLines {
		n := min(len(strings.Fields(text)), len(words))
		line := &inkstreamv1.Line{Angle: int32(s.Turn)}
		for _, w := range words[:n] {
			confidence := float32(0.95)
			line.Words = append(line.Words, &inkstreamv1.Word{Text: w.Text, Bbox: w.Box[:], Confidence: &confidence})
		}
		words = words[n:]
		block.Lines = append(block.Lines, line)
	}
	return &inkstreamv1.Page{UprightRotation: int32(360-s.Turn) % 360, Blocks: []*inkstreamv1.Block{block}}
}

// FailingEngine returns an engine whose every page ends with the given code, as a dead child's would: ENGINE_CRASHED,
// ENGINE_MEMORY, PAGE_TIMEOUT.
func FailingEngine(code fault.Code) EngineFunc {
	return func(context.Context, recognise.Image, recognise.Options) (*inkstreamv1.Page, error) {
		return nil, fault.New(code, "the engine was told to fail")
	}
}

// HangingEngine returns an engine that ends only with its context, or after the time that the caller gives it, with
// PAGE_TIMEOUT.
func HangingEngine() EngineFunc {
	return func(ctx context.Context, _ recognise.Image, opts recognise.Options) (*inkstreamv1.Page, error) {
		late, cancel := context.WithTimeout(ctx, opts.Timeout)
		defer cancel()
		<-late.Done()
		if ctx.Err() != nil {
			return nil, fmt.Errorf("recognise: %w", ctx.Err())
		}
		return nil, fault.New(fault.PageTimeout, "the engine was told to hang")
	}
}

// FlakyEngine returns an engine that fails with the code until it has been asked n times about any page, and then
// asks next.
func FlakyEngine(n int, code fault.Code, next EngineFunc) EngineFunc {
	asked := make(chan struct{}, n)
	return func(ctx context.Context, img recognise.Image, opts recognise.Options) (*inkstreamv1.Page, error) {
		select {
		case asked <- struct{}{}:
			return nil, fault.New(code, "the engine was told to fail at first")
		default:
			return next(ctx, img, opts)
		}
	}
}

// NonsenseEngine returns an engine that answers nonsense, made sane as a client of an engine must do.
func NonsenseEngine() EngineFunc {
	return func(_ context.Context, img recognise.Image, _ recognise.Options) (*inkstreamv1.Page, error) {
		size, err := img.CheckHeader()
		if err != nil {
			return nil, err
		}
		return recognise.Sanitize(NonsensePage(), size, img.DPI), nil
	}
}

// NonsensePage is an answer with everything that no engine should say: bad UTF-8, control characters, boxes that are
// none or lie elsewhere, impossible confidences and angles, missing parts, a word of a megabyte. One word of it is
// good.
func NonsensePage() *inkstreamv1.Page {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	good := []float32{1, 1, 2, 2}
	word := func(text string, confidence float32, box ...float32) *inkstreamv1.Word {
		return &inkstreamv1.Word{Text: text, Confidence: &confidence, Bbox: box, Font: -7, Size: nan}
	}
	return &inkstreamv1.Page{
		Number: -1, Width: inf, Height: nan, Confidence: 17, Dpi: -3, UprightRotation: 45, Rotation: 91,
		Outcome: "native_text", Text: "\xff\xfe", Notes: []string{"\xff", strings.Repeat("n", 1<<20)},
		Blocks: []*inkstreamv1.Block{
			nil, {Type: "<script>", Bbox: []float32{nan}}, {Lines: []*inkstreamv1.Line{nil, {Angle: 1 << 30}}},
			{Type: "table", Lines: []*inkstreamv1.Line{{Bbox: []float32{inf, inf, inf, inf}, Angle: 33,
				Words: []*inkstreamv1.Word{
					nil,
					word("good", 0.5, good...),
					word("b\xc3\x28d", 2, good...),
					word("con\x00trol\n", -1, good...),
					word(" \t ", nan, good...),
					word("nan", nan, nan, 0, 1, 1),
					word("inf", inf, 0, 0, inf, 1),
					word("swapped", 1, 2, 2, 1, 1),
					word("outside", 1, -5, -5, -1, -1),
					word("far", 1, 1e30, 1e30, 2e30, 2e30),
					word("over", 1, -1e30, -1e30, 1e30, 1e30),
					word("flat", 1, 1, 1, 1, 2),
					word("short", 1, 1, 2),
					word("none", 1),
					word(strings.Repeat("long", 1<<18), 1, good...),
				}}}},
		},
	}
}

// WordFloodPage is an answer of n words.
func WordFloodPage(n int) *inkstreamv1.Page {
	confidence := float32(1)
	line := &inkstreamv1.Line{Words: make([]*inkstreamv1.Word, n)}
	for i := range line.Words {
		line.Words[i] = &inkstreamv1.Word{Text: "w", Bbox: []float32{0, 0, 1, 1}, Confidence: &confidence}
	}
	return &inkstreamv1.Page{Blocks: []*inkstreamv1.Block{{Lines: []*inkstreamv1.Line{line}}}}
}
