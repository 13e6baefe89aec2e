package results

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"
	"net/http"
	"time"

	"golang.org/x/image/font"
	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/math/fixed"
	"google.golang.org/genproto/googleapis/api/httpbody"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/access"
	"inkstream.dev/services/gateway/internal/apierror"
	"inkstream.dev/services/gateway/limits"
)

const (
	// PngType is the content type of page images, unless JPEG is asked for.
	PngType  = "image/png"
	jpegType = "image/jpeg"
	// The formats of page images. The quality of JPEG is for thumbnails and for reading.
	pngFormat, jpegFormat = "png", "jpeg"
	jpegQuality           = 80
	// imageTimeout bounds the wait for the render service to draw a page.
	imageTimeout = 30 * time.Second
	// discardTimeout bounds the removal of a drawn page that was answered.
	discardTimeout = 10 * time.Second
	// imageWeight is how many bytes of memory an answer takes for each byte of a drawn page: it is passed from gRPC to
	// REST by copies.
	imageWeight = 4
	// maxImageBytes bounds the drawn page.
	maxImageBytes = 64 << 20
	// maxBoxedPixels bounds a page into which boxes are drawn, which takes eight bytes a pixel: A3 has 17 million at 300
	// dots per inch. maxBoxedImages bounds how many of them there are at once; others wait.
	maxBoxedPixels, maxBoxedImages = 25_000_000, 2
	// maxImageAnswers bounds the drawn pages that are being answered over REST: each is held in memory, of a large page
	// more than ten megabytes, for as long as its client takes to read it. Others wait. Of them spareImageAnswers are for
	// tenants that have few.
	maxImageAnswers, spareImageAnswers = 32, 8
	minImageDPI, defaultDPI            = 18, 100
	boxWidth, labelHeight, labelWidth  = 2, 13, 7
)

// GetPageImage draws a page. The gateway opens no document itself: the render service does, in its sandbox, and
// answers with a blob.
func (s *Service) GetPageImage(ctx context.Context, req *inkstreamv1.GetPageImageRequest) (*httpbody.HttpBody, error) {
	rec, err := s.jobs.LoadRequestedJob(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	n, dpi := int(req.GetNumber()), cmp.Or(int(req.GetDpi()), defaultDPI)
	if dpi < minImageDPI {
		return nil, apierror.InvalidField(fault.InvalidArgument, "dpi", "%d dots per inch, want %d or more", dpi, minImageDPI)
	}
	if err := checkPageNumber(rec, n); err != nil {
		return nil, err
	}
	var page *inkstreamv1.Page
	if req.GetBoxes() {
		// A page that is not through yet says so; one that failed has no boxes.
		if page, err = s.GetPage(ctx, &inkstreamv1.GetPageRequest{Id: req.GetId(), Number: req.GetNumber()}); err != nil {
			return nil, err
		}
	}
	key, kind := newImageKey(rec, n, dpi, req.GetFormat()), PngType
	if key.format == jpegFormat {
		kind = jpegType
	}
	if data, ok := s.images.get(key); ok && page == nil {
		return &httpbody.HttpBody{ContentType: kind, Data: data}, nil
	}
	data, err := s.requestPageImage(ctx, rec, n, dpi)
	if err == nil && page != nil {
		data, err = s.drawLimited(ctx, func() ([]byte, error) { return drawBoxes(data, page) })
	}
	if err == nil && key.format == jpegFormat {
		data, err = s.drawLimited(ctx, func() ([]byte, error) { return encodeJPEG(data) })
	}
	if err != nil {
		return nil, err
	}
	if page == nil {
		s.images.add(key, data)
	}
	return &httpbody.HttpBody{ContentType: kind, Data: data}, nil
}

// encodeJPEG makes a JPEG of a drawn page.
func encodeJPEG(data []byte) ([]byte, error) {
	src, err := decodeDrawnPage(data, "encode as JPEG")
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := jpeg.Encode(&out, src, &jpeg.Options{Quality: jpegQuality}); err != nil {
		return nil, fmt.Errorf("encode page: %w", err)
	}
	return out.Bytes(), nil
}

// decodeDrawnPage decodes a drawn page that is not too large for what is to be done with it.
func decodeDrawnPage(data []byte, what string) (image.Image, error) {
	size, err := png.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("decode drawn page: %w", err)
	}
	if size.Width*size.Height > maxBoxedPixels {
		return nil, apierror.InvalidField(fault.InvalidArgument, "dpi",
			"%d by %d pixels are too many to %s, %d are taken: ask for fewer dots per inch",
			size.Width, size.Height, what, maxBoxedPixels)
	}
	src, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("decode drawn page: %w", err)
	}
	return src, nil
}

// LimitImageAnswers serves what next answers where there is a place for it, and cuts off clients that hardly read it.
func (s *Service) LimitImageAnswers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), imageTimeout)
		release, err := s.imageAnswerSlots.AcquireSlot(ctx, access.TenantFrom(ctx))
		cancel()
		switch {
		case err == nil:
			defer release()
			next.ServeHTTP(&throughputResponse{ResponseWriter: w}, r)
		case r.Context().Err() == nil: // else the client is gone, and gets no answer
			s.errors.WriteError(w, r, "GET image", fault.New(fault.QueueFull,
				"the server has as many drawn pages to hand out as it takes; try later"))
		}
	})
}

// throughputResponse fails once its client is too slow.
type throughputResponse struct {
	http.ResponseWriter
	throughput limits.MinThroughput
}

// Write passes bytes on.
func (p *throughputResponse) Write(data []byte) (int, error) {
	n, err := p.ResponseWriter.Write(data)
	if err == nil {
		err = p.throughput.RecordBytes(n)
	}
	return n, err
}

// Unwrap lets http.ResponseController reach the connection.
func (p *throughputResponse) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// drawLimited draws, for so many pages at once.
func (s *Service) drawLimited(ctx context.Context, draw func() ([]byte, error)) ([]byte, error) {
	select {
	case s.imageSlots <- struct{}{}:
		defer func() { <-s.imageSlots }()
		return draw()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// requestPageImage has the render service draw a page.
func (s *Service) requestPageImage(ctx context.Context, rec *job.Record, n, dpi int) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, imageTimeout)
	defer cancel()
	var at bus.ImageResponse
	err := s.deps.Bus.RequestCall(ctx, bus.ImageCall,
		bus.ImageRequest{Tenant: rec.Tenant, Job: string(rec.ID), Page: n, DPI: float64(dpi)}, &at)
	if err != nil {
		return nil, classifyDrawError(err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), discardTimeout)
		defer cancel()
		// It is temporary: what removes the job's temporary blobs removes this one as well.
		_ = s.deps.Blobs.Delete(ctx, at.Key)
	}()
	attrs, err := s.deps.Blobs.ReadAttributes(ctx, at.Key)
	if err == nil {
		err = s.limits.HoldMemory(ctx, attrs.Size*imageWeight)
	}
	var data []byte
	if err == nil {
		data, err = s.deps.Blobs.ReadBytes(ctx, at.Key, maxImageBytes)
	}
	if errors.Is(err, blob.ErrNotFound) {
		// The job's run ended just now, and its temporary blobs went with it.
		return nil, fault.Wrap(fault.Busy, fault.Unavailable, err)
	}
	return data, err
}

// classifyDrawError makes what the engine says about a page an answer: a fault of the document, not of the server.
func classifyDrawError(err error) error {
	switch c := fault.CodeOf(err); c {
	case fault.PageDamaged, fault.PageGeometry, fault.PageTimeout, fault.EngineCrashed, fault.EngineMemory,
		fault.SourceMissing, fault.WrongPassword,
		fault.Encrypted:
		return &apierror.DetailError{Facts: map[string]string{"pageError": string(c)},
			Err: fault.New(fault.JobFailed, "the page cannot be drawn: %s", c)}
	default:
		return err
	}
}

// boxColours are the colours of the blocks by their types; others are grey.
var boxColours = map[string]color.NRGBA{
	"title": {R: 0xc6, G: 0x28, B: 0x28, A: 0xff}, "heading": {R: 0xd8, G: 0x43, B: 0x15, A: 0xff},
	"paragraph": {R: 0x15, G: 0x65, B: 0xc0, A: 0xff},
	"list_item": {R: 0x2e, G: 0x7d, B: 0x32, A: 0xff}, "table": {R: 0x6a, G: 0x1b, B: 0x9a, A: 0xff},
	"figure": {R: 0x00, G: 0x83, B: 0x8f, A: 0xff}, "caption": {R: 0xad, G: 0x14, B: 0x57, A: 0xff},
	"code": {R: 0x4e, G: 0x34, B: 0x2e, A: 0xff}, "formula": {R: 0x28, G: 0x35, B: 0x93, A: 0xff},
	"footnote": {R: 0x82, G: 0x77, B: 0x17, A: 0xff},
}

var otherColour = color.NRGBA{R: 0x61, G: 0x61, B: 0x61, A: 0xff}

// drawBoxes draws the boxes of a page's blocks over its image, each with its type.
func drawBoxes(data []byte, page *inkstreamv1.Page) ([]byte, error) {
	src, err := decodeDrawnPage(data, "draw boxes into")
	if err != nil {
		return nil, err
	}
	bounds := src.Bounds()
	if page.GetWidth() <= 0 || page.GetHeight() <= 0 {
		return data, nil // a page that failed
	}
	img := image.NewNRGBA(bounds)
	draw.Draw(img, bounds, src, bounds.Min, draw.Src)
	sx, sy := float32(bounds.Dx())/page.GetWidth(), float32(bounds.Dy())/page.GetHeight()
	for _, b := range page.GetBlocks() {
		box := b.GetBbox()
		if len(box) != 4 {
			continue
		}
		c, ok := boxColours[b.GetType()]
		if !ok {
			c = otherColour
		}
		drawLabelledFrame(img, image.Rect(int(box[0]*sx), int(box[1]*sy), int(box[2]*sx+1), int(box[3]*sy+1)), c, b.GetType())
	}
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&out, img); err != nil {
		return nil, fmt.Errorf("encode page: %w", err)
	}
	return out.Bytes(), nil
}

// drawLabelledFrame draws a frame, and a name over its upper left corner.
func drawLabelledFrame(img *image.NRGBA, r image.Rectangle, c color.NRGBA, name string) {
	fill := image.NewUniform(c)
	for _, side := range []image.Rectangle{
		{r.Min, image.Pt(r.Max.X, r.Min.Y+boxWidth)}, {image.Pt(r.Min.X, r.Max.Y-boxWidth), r.Max},
		{r.Min, image.Pt(r.Min.X+boxWidth, r.Max.Y)}, {image.Pt(r.Max.X-boxWidth, r.Min.Y), r.Max},
	} {
		draw.Draw(img, side.Intersect(img.Bounds()), fill, image.Point{}, draw.Src)
	}
	if name == "" {
		return
	}
	label := image.Rect(r.Min.X, r.Min.Y-labelHeight, r.Min.X+len(name)*labelWidth+4, r.Min.Y)
	if label.Min.Y < 0 {
		label = label.Add(image.Pt(0, labelHeight))
	}
	draw.Draw(img, label.Intersect(img.Bounds()), fill, image.Point{}, draw.Src)
	d := font.Drawer{Dst: img, Src: image.White, Face: basicfont.Face7x13, Dot: fixed.P(label.Min.X+2, label.Max.Y-3)}
	d.DrawString(name)
}
