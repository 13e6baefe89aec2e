package gatewaytest

import (
	"bytes"
	"context"
	"encoding/json"
	"image"
	"image/png"
	"strings"
	"sync/atomic"
	"time"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/document"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/outcome"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/results"
)

// StorePageFor stores the result of page 1 of a job.
func (b *Backend) StorePageFor(rec *job.Record) {
	b.t.Helper()
	data, err := document.EncodePage(&inkstreamv1.Page{
		Number: 1, Width: 100, Height: 200, Outcome: outcome.Native, Text: strings.Repeat("Rechnung ", 200),
		Blocks: []*inkstreamv1.Block{{Type: "title", Bbox: []float32{10, 20, 90, 60}, Lines: []*inkstreamv1.Line{{
			Bbox: []float32{10, 20, 90, 60}, Words: []*inkstreamv1.Word{
				{Text: "Rechnung", Bbox: []float32{10, 20, 50, 60}}, {Text: "17", Bbox: []float32{60, 20, 90, 60}},
			},
		}}}},
	}, &document.Evidence{})
	if err != nil {
		b.t.Fatal(err)
	}
	b.PutBlob(job.PageKey(rec.Tenant, rec.ID, rec.Run, 1), string(data))
}

// AnswerPageImages answers calls for images with a white page, as the render service does.
func (b *Backend) AnswerPageImages() { b.CountPageImages() }

// CountPageImages is AnswerPageImages, and counts the pages that are drawn.
func (b *Backend) CountPageImages() *atomic.Int64 {
	drawn := &atomic.Int64{}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- b.Deps.Bus.ServeCalls(ctx, bus.ImageCall, 1, time.Second,
			func(ctx context.Context, question []byte) (any, error) {
				var q bus.ImageRequest
				if err := json.Unmarshal(question, &q); err != nil {
					return nil, err
				}
				if q.Page == 2 {
					return nil, fault.New(fault.PageDamaged, "the page cannot be loaded")
				}
				drawn.Add(1)
				img := image.NewNRGBA(image.Rect(0, 0, 2*int(q.DPI), 4*int(q.DPI)))
				for i := range img.Pix {
					img.Pix[i] = 0xff
				}
				var file bytes.Buffer
				if err := png.Encode(&file, img); err != nil {
					return nil, err
				}
				key := job.TempFolder(q.Tenant, job.ID(q.Job), 1) + "image.png"
				return bus.ImageResponse{Key: key}, b.Deps.Blobs.PutBytes(ctx, key, file.Bytes(), results.PngType)
			})
	}()
	b.t.Cleanup(func() {
		cancel()
		<-done
	})
	return drawn
}
