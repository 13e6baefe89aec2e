package admin

import (
	"context"
	"errors"
	"strconv"

	"google.golang.org/protobuf/types/known/emptypb"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/jobs"
	"inkstream.dev/pkg/stage"
	busv1 "inkstream.dev/proto/gen/inkstream/bus/v1"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/access"
	"inkstream.dev/services/gateway/internal/apierror"
	"inkstream.dev/services/gateway/jobview"
	"inkstream.dev/services/gateway/webhook"
)

// DeadLetters does what clients have done to tasks that were given up. It is safe for concurrent use.
type DeadLetters struct {
	deps       stage.Deps
	jobs       *jobview.Service
	control    *Service
	dispatcher *webhook.Dispatcher
}

// NewDeadLetters returns DeadLetters that start jobs again by the control, and call webhooks by the dispatcher.
func NewDeadLetters(control *Service, dispatcher *webhook.Dispatcher) *DeadLetters {
	return &DeadLetters{deps: control.deps, jobs: control.jobs, control: control, dispatcher: dispatcher}
}

// ListDeadLetters answers the tasks that were given up.
func (s *DeadLetters) ListDeadLetters(ctx context.Context,
	req *inkstreamv1.ListDeadLettersRequest) (*inkstreamv1.ListDeadLettersResponse, error) {
	after, limit, err := jobview.ParsePageRequest(req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	filter := letterFilter{stage: req.GetStage(), code: req.GetCode(), job: req.GetJob()}
	res := &inkstreamv1.ListDeadLettersResponse{}
	err = s.scanDeadLetters(ctx, after, func(l bus.DeadLetter) bool {
		if !filter.matches(l) {
			return true
		}
		if len(res.GetDeadLetters()) == limit { // there is another one
			res.NextPageToken = res.GetDeadLetters()[limit-1].GetId()
			return false
		}
		res.DeadLetters = append(res.DeadLetters, deadLetterToProto(l))
		return true
	})
	if err != nil {
		return nil, err
	}
	return res, nil
}

// GetDeadLetter answers one task that was given up.
func (s *DeadLetters) GetDeadLetter(ctx context.Context,
	req *inkstreamv1.GetDeadLetterRequest) (*inkstreamv1.DeadLetter, error) {
	l, err := s.loadDeadLetter(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	return deadLetterToProto(l), nil
}

// RetryDeadLetter has the work done that was given up.
//
//	the job        what is done
//	runs           the task is queued again under a new id, unless a later run does its work anyway
//	ended          another run takes over every page that has a result; the other tasks of the old run were dropped when it ended, so that
//	               the one task alone would not finish it
//	was deleted    only its removal can be retried
//
// A call to a webhook is made again whatever the job's state is, but not of a job that is gone.
func (s *DeadLetters) RetryDeadLetter(ctx context.Context,
	req *inkstreamv1.RetryDeadLetterRequest) (*inkstreamv1.Job, error) {
	l, err := s.loadDeadLetter(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	ref, err := jobview.ParseRef(ctx, l.Job)
	if err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx)
	rec, err := s.jobs.LoadAnyRecord(ctx, ref)
	if err != nil {
		return nil, err
	}
	if l.Stage == webhook.Stage {
		return s.retryWebhookCall(ctx, rec, l)
	}
	msg, err := jobs.ReplayMessage(l)
	if err != nil {
		return nil, err
	}
	_, removal := msg.Task.(*busv1.RemoveTask)
	replayed := s.newDeadLetterEvent(rec, "replayed", l)
	switch {
	case removal:
		err = s.deps.Bus.Publish(ctx, msg)
	case rec.State.IsGone():
		err = jobview.ErrJobGone(rec)
	case rec.State.HasEnded():
		if !jobs.CanRetry(rec, job.ScopeMissing) {
			return nil, s.control.errNotRetryable(ctx, ref, job.ScopeMissing)
		}
		// These events come before what the replay leads to, so that the audit trail has them in this order.
		if err = s.deps.JobService().PublishEnd(ctx, rec); err == nil {
			err = s.deps.Bus.PublishEvent(ctx, replayed)
		}
		if err == nil {
			_, err = s.control.startNextRun(ctx, ref, job.ScopeMissing)
		}
	case rec.Run == int(msg.Task.GetUnit().GetRun()):
		if err = s.deps.Bus.PublishEvent(ctx, replayed); err == nil {
			err = s.deps.Bus.Publish(ctx, msg)
		}
	}
	if err != nil {
		return nil, err
	}
	return s.dropRetriedLetter(ctx, ref, l)
}

// retryWebhookCall has a webhook called again that was given up.
func (s *DeadLetters) retryWebhookCall(ctx context.Context, rec *job.Record, l bus.DeadLetter) (*inkstreamv1.Job, error) {
	if rec.State.IsGone() {
		return nil, jobview.ErrJobGone(rec)
	}
	err := s.deps.Bus.PublishEvent(ctx, s.newDeadLetterEvent(rec, "replayed", l))
	if err == nil {
		err = s.dispatcher.ReplayDelivery(ctx, l.Payload)
	}
	if err != nil {
		return nil, err
	}
	return s.dropRetriedLetter(ctx, jobview.Ref{Tenant: rec.Tenant, ID: rec.ID}, l)
}

// dropRetriedLetter drops a dead letter whose work is queued, and returns its job.
func (s *DeadLetters) dropRetriedLetter(ctx context.Context, ref jobview.Ref, l bus.DeadLetter) (*inkstreamv1.Job, error) {
	// Last, so that nothing is lost if this fails: a second try would find the same id queued, or the job running.
	if err := s.deps.Bus.DeleteDeadLetter(ctx, l.Sequence); err != nil && !errors.Is(err, bus.ErrNoDeadLetter) {
		return nil, err
	}
	rec, err := s.jobs.LoadAnyRecord(ctx, ref)
	if err != nil {
		return nil, err
	}
	p, err := s.jobs.LoadProgress(ctx, rec)
	if err != nil {
		return nil, err
	}
	return jobview.ToProto(rec, p), nil
}

// DropDeadLetter removes a dead letter.
func (s *DeadLetters) DropDeadLetter(ctx context.Context, req *inkstreamv1.DropDeadLetterRequest) (*emptypb.Empty, error) {
	l, err := s.loadDeadLetter(ctx, req.GetId())
	if err == nil {
		err = s.deps.Bus.DeleteDeadLetter(ctx, l.Sequence)
	}
	if err == nil {
		err = s.publishDropped(ctx, l)
	}
	if errors.Is(err, bus.ErrNoDeadLetter) {
		err = errNoDeadLetter()
	}
	if err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, nil
}

// publishDropped adds to the audit trail that a dead letter was removed. The record of its job may be long gone.
func (s *DeadLetters) publishDropped(ctx context.Context, l bus.DeadLetter) error {
	rec, err := s.deps.Jobs.LoadRecord(ctx, access.TenantFrom(ctx), job.ID(l.Job))
	switch {
	case errors.Is(err, job.ErrNotFound):
	case err != nil:
		return err
	case rec.Run == l.Run && rec.State.HasEnded() && !rec.State.IsGone():
		if err := s.deps.JobService().PublishEnd(ctx, rec); err != nil {
			return err
		}
	}
	rec = &job.Record{ID: job.ID(l.Job), Tenant: access.TenantFrom(ctx), Run: l.Run}
	return s.deps.Bus.PublishEvent(ctx, s.newDeadLetterEvent(rec, "dead_letter_dropped", l))
}

// newDeadLetterEvent says what became of a dead letter.
func (*DeadLetters) newDeadLetterEvent(r *job.Record, kind string, l bus.DeadLetter) *busv1.Event {
	return jobs.NewEvent(r, kind, string(l.Stage), "unit", "deadletter-"+jobview.EncodeToken(l.Sequence), "code", l.Code)
}

// loadDeadLetter returns the tenant's dead letter of that id.
func (s *DeadLetters) loadDeadLetter(ctx context.Context, id string) (bus.DeadLetter, error) {
	seq, err := strconv.ParseUint(id, 10, 64)
	if err != nil || seq == 0 {
		return bus.DeadLetter{}, errNoDeadLetter()
	}
	l, err := s.deps.Bus.FindDeadLetter(ctx, access.TenantFrom(ctx), seq)
	if errors.Is(err, bus.ErrNoDeadLetter) {
		return l, errNoDeadLetter()
	}
	return l, err
}

func errNoDeadLetter() error {
	return fault.New(apierror.DeadLetterNotFound, "there is no such dead letter")
}

func deadLetterToProto(l bus.DeadLetter) *inkstreamv1.DeadLetter {
	return &inkstreamv1.DeadLetter{
		Id: jobview.EncodeToken(l.Sequence), Stage: string(l.Stage), Job: l.Job, Run: int32(l.Run), Class: l.Class, Code: l.Code,
		Error:    l.Error,
		Attempts: int32(l.Attempts), Time: jobview.TimeToProto(l.Time), Subject: l.Subject, MessageId: l.MsgID,
		Payload: string(l.Payload),
		TraceId: l.Trace,
	}
}
