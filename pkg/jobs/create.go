package jobs

import (
	"context"
	"strconv"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/job"
	busv1 "inkstream.dev/proto/gen/inkstream/bus/v1"
)

// CreateJob stores the record of a new job, PENDING in its first run. From then on the job exists: should its first
// message get lost, the reconciler queues it. The error is job.ErrExists where there is a job of that id.
func (s Service) CreateJob(ctx context.Context, rec *job.Record) error {
	rec.Run, rec.State = 1, job.Pending
	return s.records.CreateRecord(ctx, rec)
}

// EnqueueJob queues the first task of a job that was created.
func (s Service) EnqueueJob(ctx context.Context, rec *job.Record) error {
	return s.bus.PublishAll(ctx, []bus.Message{FirstMessage(rec, 0)}, nil)
}

// PublishFirstEvent adds to the audit trail what a job's present run began with.
func (s Service) PublishFirstEvent(ctx context.Context, rec *job.Record) error {
	return s.bus.PublishAll(ctx, nil, []*busv1.Event{FirstEvent(rec)})
}

// RecreateJob stores a job that the bucket of jobs has lost, and queues it. The error is job.ErrExists where another
// process was faster; created tells whether the record is stored, also with an error about what follows it.
func (s Service) RecreateJob(ctx context.Context, rec *job.Record, from string) (created bool, err error) {
	if err := s.CreateJob(ctx, rec); err != nil {
		return false, err
	}
	s.log.WarnContext(ctx, "lost job made anew", "job", rec.ID, "bytes", rec.Size, "from", from)
	event := NewEvent(rec, "uploaded", "", "bytes", strconv.FormatUint(uint64(rec.Size), 10), "recovered", "true")
	// If this fails the job stands still, and is found as such.
	return true, s.bus.PublishAll(ctx, []bus.Message{FirstMessage(rec, 0)}, []*busv1.Event{event})
}
