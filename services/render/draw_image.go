package render

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
)

const (
	// imageTimeout bounds the drawing of a page, the wait for an engine included.
	imageTimeout = 30 * time.Second
	// drawTimeout bounds the drawing alone. It is shorter, so that the answer to a page that takes too long comes while
	// the caller still waits.
	drawTimeout = 25 * time.Second
	// imageWorkers is how many pages are drawn at once; the engines are there for the jobs first.
	imageWorkers = 2
)

// answerImages draws pages for the gateway until ctx is done.
func (s *Service) answerImages(ctx context.Context) error {
	return s.deps.Bus.ServeCalls(ctx, bus.ImageCall, imageWorkers, imageTimeout,
		func(ctx context.Context, question []byte) (any, error) {
			var q bus.ImageRequest
			if err := json.Unmarshal(question, &q); err != nil {
				return nil, fmt.Errorf("decode question: %w", err)
			}
			return s.drawPageImage(ctx, q)
		})
}

// drawPageImage draws a page into a temporary blob.
func (s *Service) drawPageImage(ctx context.Context, q bus.ImageRequest) (*bus.ImageResponse, error) {
	rec, err := s.deps.Jobs.LoadRecord(ctx, q.Tenant, job.ID(q.Job))
	if errors.Is(err, job.ErrNotFound) || err == nil && rec.State.IsGone() {
		return nil, fault.New(fault.JobNotFound, "there is no such job")
	}
	if err != nil {
		return nil, err
	}
	f, err := s.deps.Blobs.OpenFile(ctx, job.SourceKey(rec.Tenant, rec.ID))
	if errors.Is(err, blob.ErrNotFound) {
		return nil, fault.New(fault.SourceMissing, "the stored document is gone")
	}
	if err != nil {
		return nil, fmt.Errorf("open stored document: %w", err)
	}
	defer f.Close()
	password, err := s.deps.DocumentPassword(rec)
	if err != nil {
		return nil, err
	}
	doc, err := s.engine.OpenPages(ctx, f, password)
	if err != nil {
		return nil, err
	}
	defer doc.Close()
	key := job.TempFolder(rec.Tenant, rec.ID, rec.Run) + "image-" + rand.Text() + ".png"
	err = storeTempBlob(ctx, s.deps.Blobs, key, "image/png", func(w io.Writer) error {
		return drawWithTimeout(ctx, func(ctx context.Context) error { return doc.DrawPage(ctx, q.Page, q.DPI, w) })
	})
	if err != nil {
		return nil, err
	}
	return &bus.ImageResponse{Key: key}, nil
}

// drawWithTimeout draws within drawTimeout. A page that takes longer is at fault itself, and would be another time.
func drawWithTimeout(ctx context.Context, draw func(context.Context) error) error {
	drawing, cancel := context.WithTimeout(ctx, drawTimeout)
	defer cancel()
	err := draw(drawing)
	if err != nil && drawing.Err() != nil && ctx.Err() == nil {
		return fault.New(fault.PageTimeout, "the page took longer to draw than %v", drawTimeout)
	}
	return err
}
