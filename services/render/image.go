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
	// drawTimeout bounds the drawing alone. It is shorter, so that the answer to a page that takes too long comes while the caller still waits.
	drawTimeout = 25 * time.Second
	// imageWorkers is how many pages are drawn at once; the engines are there for the jobs first.
	imageWorkers = 2
)

// answerImages draws pages for the gateway until ctx is done.
func (s *Service) answerImages(ctx context.Context) error {
	return s.env.Bus.Answer(ctx, bus.ImageCall, imageWorkers, imageTimeout, func(ctx context.Context, question []byte) (any, error) {
		var q bus.ImageQuestion
		if err := json.Unmarshal(question, &q); err != nil {
			return nil, fmt.Errorf("decode question: %w", err)
		}
		return s.image(ctx, q)
	})
}

// image draws a page into a temporary blob.
func (s *Service) image(ctx context.Context, q bus.ImageQuestion) (*bus.ImageAnswer, error) {
	rec, err := s.env.Jobs.Load(ctx, q.Tenant, job.ID(q.Job))
	if errors.Is(err, job.ErrNotFound) || err == nil && rec.State.Gone() {
		return nil, fault.New(fault.JobNotFound, "there is no such job")
	}
	if err != nil {
		return nil, err
	}
	f, err := s.env.Blobs.File(ctx, job.SourceKey(rec.Tenant, rec.ID))
	if errors.Is(err, blob.ErrNotFound) {
		return nil, fault.New(fault.SourceMissing, "the stored document is gone")
	}
	if err != nil {
		return nil, fmt.Errorf("open stored document: %w", err)
	}
	defer f.Close()
	password, err := s.env.Password(rec)
	if err != nil {
		return nil, err
	}
	doc, err := s.engine.OpenPages(ctx, f, password)
	if err != nil {
		return nil, err
	}
	defer doc.Close()
	key := job.TempFolder(rec.Tenant, rec.ID, rec.Run) + "image-" + rand.Text() + ".png"
	err = store(ctx, s.env.Blobs, key, "image/png", func(w io.Writer) error {
		return inTime(ctx, func(ctx context.Context) error { return doc.Draw(ctx, q.Page, q.DPI, w) })
	})
	if err != nil {
		return nil, err
	}
	return &bus.ImageAnswer{Key: key}, nil
}

// inTime draws within drawTimeout. A page that takes longer is at fault itself, and would be another time.
func inTime(ctx context.Context, draw func(context.Context) error) error {
	drawing, cancel := context.WithTimeout(ctx, drawTimeout)
	defer cancel()
	err := draw(drawing)
	if err != nil && drawing.Err() != nil && ctx.Err() == nil {
		return fault.New(fault.PageTimeout, "the page took longer to draw than %v", drawTimeout)
	}
	return err
}
