package jobs

import (
	"context"
	"strconv"
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	busv1 "inkstream.dev/proto/gen/inkstream/bus/v1"
)

// NewEvent returns an event of the job's audit trail. Attributes come in pairs; one named unit sets apart events of
// one type.
func NewEvent(r *job.Record, kind, stage string, attributes ...string) *busv1.Event {
	e := &busv1.Event{Type: kind, Tenant: r.Tenant, Job: string(r.ID), Run: int32(r.Run), Stage: stage}
	for i := 0; i+1 < len(attributes); i += 2 {
		if e.Attributes == nil {
			e.Attributes = make(map[string]string)
		}
		e.Attributes[attributes[i]] = attributes[i+1]
	}
	return e
}

// FirstEvent returns the event that a job's present run began with.
func FirstEvent(r *job.Record) *busv1.Event {
	if r.Run > 1 {
		return newRetriedEvent(r, r.ChunkPages == 0)
	}
	e := NewEvent(r, "uploaded", "", "bytes", strconv.FormatUint(uint64(r.Size), 10))
	e.Time = timestamppb.New(r.CreateTime)
	return e
}

func newRetriedEvent(r *job.Record, all bool) *busv1.Event {
	if r.RedoDoubtful {
		return NewEvent(r, "retried", "", "all", "false", "doubts", "true")
	}
	return NewEvent(r, "retried", "", "all", strconv.FormatBool(all))
}

// EndEvent returns the last event of a job's run.
func EndEvent(r *job.Record) *busv1.Event {
	e := NewEvent(r, "ended", "", "state", string(r.State))
	if r.Error != nil {
		e.Code, e.Stage = string(r.Error.Code), r.Error.Stage
	}
	return e
}

// DeadLetterEvent says that a task of the job was given up; the task's message id ends with its unit and which replay
// of it the task was.
func DeadLetterEvent(r *job.Record, stage bus.Stage, messageID, class string, code fault.Code) *busv1.Event {
	e := NewEvent(r, "dead_lettered", string(stage), "unit", messageID[strings.LastIndexByte(messageID, '.')+1:], "class",
		class)
	e.Code = string(code)
	return e
}

// PublishEnd adds to the audit trail that a job's run has ended, unless it is there. A caller that adds something to
// the audit trail of a job that has ended calls it first, for the process that ended the job may not have published
// that yet. PublishEnd reads the audit trail first, because the broker absorbs repeats for some minutes only, and
// webhooks are called for each; repeats within one moment are left to the broker.
func (s Service) PublishEnd(ctx context.Context, rec *job.Record) error {
	if told, err := s.bus.HasEndEvent(ctx, rec.Tenant, string(rec.ID), rec.Run); err == nil && told {
		return nil
	}
	events := []*busv1.Event{EndEvent(rec)}
	if rec.State == job.Cancelled {
		events = []*busv1.Event{NewEvent(rec, "cancelled", ""), EndEvent(rec)}
	}
	for _, event := range events { // one after the other, so that the audit trail has them in this order
		if err := s.bus.PublishEvent(ctx, event); err != nil {
			return err
		}
	}
	return nil
}

// RepublishEvents publishes the event again that a process may have died before publishing, after it started or ended
// a job on a user's behalf: the broker does not repeat that, as it repeats a stage's task. What the audit trail has
// already is absorbed. The progress may be nil.
func (s Service) RepublishEvents(ctx context.Context, r *job.Record, p *job.Progress) error {
	switch {
	case r.State == job.Cancelled:
		return s.PublishEnd(ctx, r)
	case r.State.HasEnded():
	case r.PageCount == 0, r.ChunkPages == 0, r.Run > 1 && (p == nil || p.Run < r.Run): // the run has not got far
		return s.bus.PublishEvent(ctx, FirstEvent(r))
	}
	return nil
}
