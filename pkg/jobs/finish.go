package jobs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/failpoint"
	"inkstream.dev/pkg/job"
)

// EndJob ends the run that known is of with an error, unless the job has ended already, and removes its temporary
// blobs. The stage that found the error ran since started; zero where that does not count. The caller publishes
// EndEvent. The error is job.ErrSuperseded where the job was restarted.
func (s Service) EndJob(ctx context.Context, known *job.Record, state job.State, f *job.Fault,
	started time.Time) (*job.Record, error) {
	ended := false
	rec, err := s.records.UpdateRunRecord(ctx, known, func(r *job.Record) error {
		ended = false
		if r.State.HasEnded() {
			return job.ErrUnchanged
		}
		r.Error = f
		if !started.IsZero() {
			r.RecordStage(f.Stage, started, time.Now())
		}
		ended = true
		return r.Transition(state, time.Now())
	})
	if err != nil {
		return nil, err
	}
	if ended {
		s.metrics.CountEndedJob(ctx, string(rec.State))
		s.log.InfoContext(ctx, "job ended", "job", rec.ID, "state", rec.State, "code", rec.Error.Code, "stage",
			rec.Error.Stage)
	}
	if err := failpoint.Hit(f.Stage, "end"); err != nil {
		return nil, err
	}
	if err := s.RemoveTempBlobs(ctx, rec, rec.Run); err != nil {
		return nil, err
	}
	if err := s.OnJobEnd(ctx, rec); err != nil {
		return nil, err
	}
	return rec, nil
}

// CompleteRun ends a run whose pages are all in: SUCCEEDED, PARTIAL or FAILED, which job.Record.FinishRun decides by
// their outcomes. The run yielded so many artifacts; they were assembled since started. A job that has ended stays as it
// is.
func (s Service) CompleteRun(ctx context.Context, known *job.Record, p *job.Progress, artifacts int,
	started time.Time) (*job.Record, error) {
	now := time.Now()
	ended := false
	rec, err := s.records.UpdateRunRecord(ctx, known, func(r *job.Record) error {
		if ended = !r.State.HasEnded(); !ended {
			return job.ErrUnchanged
		}
		err := r.FinishRun(p, now)
		if r.ResultRun == r.Run {
			r.Artifacts = artifacts
		}
		r.RecordStage(string(bus.Index), started, now) // after the units' times, which FinishRun brings along
		return err
	})
	if err != nil {
		return nil, err
	}
	if ended {
		s.metrics.CountEndedJob(ctx, string(rec.State))
		s.log.InfoContext(ctx, "job ended", "job", rec.ID, "state", rec.State, "pages", rec.PageCount,
			"took", rec.EndTime.Sub(rec.CreateTime))
	}
	return rec, nil
}

// FinishAsDuplicate ends the job as the one did whose results it has taken over since started. A job that has ended, or
// does the work itself by now, stays as it is.
func (s Service) FinishAsDuplicate(ctx context.Context, known, from *job.Record,
	started time.Time) (*job.Record, error) {
	ended := false
	now := time.Now()
	rec, err := s.records.UpdateRunRecord(ctx, known, func(r *job.Record) error {
		if ended = !r.State.HasEnded() && r.DuplicateOf == from.ID; !ended {
			return job.ErrUnchanged
		}
		r.PageCount, r.Document, r.Findings, r.ChunkPages, r.Window = from.PageCount, from.Document, from.Findings,
			from.ChunkPages, from.Window
		r.Outcomes, r.ResultRun, r.BaseRun, r.Artifacts = maps.Clone(from.Outcomes), r.Run, 0, from.Artifacts
		r.DoubtfulPages = from.DoubtfulPages
		r.RecordStage(string(bus.Index), started, now)
		return r.Transition(job.Succeeded, now)
	})
	if err != nil {
		return nil, err
	}
	if ended {
		s.metrics.CountEndedJob(ctx, string(rec.State))
		s.log.InfoContext(ctx, "job ended", "job", rec.ID, "state", rec.State, "pages", rec.PageCount, "duplicate",
			from.ID,
			"took", rec.EndTime.Sub(rec.CreateTime))
	}
	return rec, nil
}

// OnJobEnd does what follows the end of a job, whatever it ended as: its claim on its content is given up unless it
// has results to share, and the jobs that wait for its end are queued again. It is idempotent: a caller that repeats
// an end repeats this, and the reconciler repeats it where a crash cut it.
func (s Service) OnJobEnd(ctx context.Context, r *job.Record) error {
	if !r.State.HasEnded() || r.IsTombstone() {
		return nil
	}
	// First, so that the jobs that are queued again find no job to wait for.
	if r.State != job.Succeeded && r.CanDeduplicate() {
		if err := s.records.ReleaseContent(ctx, r); err != nil {
			return err
		}
	}
	return s.requeueFollowers(ctx, r)
}

// requeueFollowers queues the jobs again that wait for the end of this one. They check again what there is to take
// over.
func (s Service) requeueFollowers(ctx context.Context, r *job.Record) error {
	var messages []bus.Message
	for _, id := range r.Followers {
		f, err := s.records.LoadRecord(ctx, r.Tenant, id)
		if errors.Is(err, job.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if !f.State.HasEnded() && f.PageCount == 0 {
			// The same number at every repeat; another one than that of the task which found it had to wait.
			messages = append(messages, FirstMessage(f, int(r.EndTime.Unix())))
		}
	}
	if err := s.bus.PublishAll(ctx, messages, nil); err != nil {
		return fmt.Errorf("wake the jobs that wait for %s: %w", r.ID, err)
	}
	return nil
}
