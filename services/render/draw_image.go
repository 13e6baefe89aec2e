package render

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/fairshare"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/sandbox"
)

const (
	// imageTimeout bounds the drawing of a page, the wait for an engine included.
	imageTimeout = 30 * time.Second
	// drawTimeout bounds the drawing alone, the first try included. It is shorter, so that the answer to a page that takes
	// too long comes while the caller still waits.
	drawTimeout = 25 * time.Second
	// imageWorkers is how many pages are drawn at once in a first try, and slowImageWorkers how many of those that take
	// longer; of both there is one more for tenants that use little. The engines are there for the jobs first.
	imageWorkers, slowImageWorkers = 2, 1
	// maxImageCalls bounds the calls that wait or are in hand.
	maxImageCalls = 64
	// minSlowTime is how long a page must have been drawn for to be known as one that hangs.
	minSlowTime = 10 * time.Second
)

// answerImages draws pages for the gateway until ctx is done.
func (s *Service) answerImages(ctx context.Context) error {
	return s.deps.Bus.ServeCalls(ctx, bus.ImageCall, maxImageCalls, imageTimeout,
		func(ctx context.Context, question []byte) (any, error) {
			var q bus.ImageRequest
			if err := json.Unmarshal(question, &q); err != nil {
				return nil, fmt.Errorf("decode question: %w", err)
			}
			return s.drawPageImage(ctx, q)
		})
}

var errTooLate = fault.New(fault.PageTimeout, "the page takes too long to draw")

// drawPageImage draws a page into a temporary blob. A page has a short first try. One that takes longer is drawn behind
// others, at the lowest priority, and once it has hung there it is not drawn again for a while.
func (s *Service) drawPageImage(ctx context.Context, q bus.ImageRequest) (*bus.ImageResponse, error) {
	if s.hanging.has(q) {
		return nil, errTooLate
	}
	ctx = sandbox.WithTenant(ctx, q.Tenant)
	answer, err := s.drawInSlot(sandbox.WithFirstTry(sandbox.WithPriority(ctx)), s.draws, q)
	if code := fault.CodeOf(err); code != fault.PageTimeout && code != fault.OpenTimeout || ctx.Err() != nil {
		return answer, err
	}
	return s.drawSlowly(ctx, q)
}

// drawInSlot draws a page when there is a place for it.
func (s *Service) drawInSlot(ctx context.Context, places *fairshare.Slots, q bus.ImageRequest) (*bus.ImageResponse, error) {
	release, err := places.AcquireSlot(ctx, q.Tenant)
	if err != nil {
		return nil, errNoSlot(err)
	}
	defer release()
	return s.drawOnce(ctx, q)
}

func errNoSlot(err error) error {
	return fault.Wrap(fault.Busy, fault.Unavailable, fmt.Errorf("wait for a place to draw: %w", err))
}

// drawSlowly draws a page that takes longer than a first try, as far as there is time and a place for it.
func (s *Service) drawSlowly(ctx context.Context, q bus.ImageRequest) (*bus.ImageResponse, error) {
	slow, cancel := context.WithTimeout(sandbox.WithSlowWork(ctx), max(drawTimeout-s.engine.FirstTry(), minSlowTime))
	defer cancel()
	release, err := s.slowDraws.AcquireSlot(slow, q.Tenant)
	if err != nil {
		return nil, errNoSlot(err)
	}
	defer release()
	begun := time.Now()
	answer, err := s.drawOnce(slow, q)
	if err == nil || slow.Err() == nil || ctx.Err() != nil {
		return answer, err
	}
	if time.Since(begun) >= minSlowTime {
		s.hanging.add(q)
	}
	return nil, errTooLate
}

func (s *Service) drawOnce(ctx context.Context, q bus.ImageRequest) (*bus.ImageResponse, error) {
	rec, err := s.deps.Jobs.LoadRecord(ctx, q.Tenant, job.ID(q.Job))
	if errors.Is(err, job.ErrNotFound) || err == nil && rec.State.IsGone() {
		return nil, fault.New(fault.JobNotFound, "there is no such job")
	}
	if err != nil {
		return nil, err
	}
	f, err := s.deps.OpenSource(ctx, rec, false)
	if err != nil {
		return nil, err
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
		return doc.DrawPage(ctx, q.Page, q.DPI, w)
	})
	if err != nil {
		return nil, err
	}
	return &bus.ImageResponse{Key: key}, nil
}
