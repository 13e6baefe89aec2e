package gateway

import (
	"context"
	"errors"
	"strconv"
	"time"

	"google.golang.org/protobuf/types/known/emptypb"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/stage"
	busv1 "inkstream.dev/proto/gen/inkstream/bus/v1"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/webhook"
)

// ListDeadLetters answers the tasks that were given up.
func (s *Service) ListDeadLetters(ctx context.Context, req *inkstreamv1.ListDeadLettersRequest) (*inkstreamv1.ListDeadLettersResponse, error) {
	after, limit, err := pageOf(req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	letters, more, err := s.env.Bus.DeadLetters(ctx, tenant(ctx), after, limit)
	if err != nil {
		return nil, err
	}
	res := &inkstreamv1.ListDeadLettersResponse{}
	for _, l := range letters {
		res.DeadLetters = append(res.DeadLetters, viewLetter(l))
	}
	if more {
		res.NextPageToken = tokenOf(letters[len(letters)-1].Sequence)
	}
	return res, nil
}

// GetDeadLetter answers one task that was given up.
func (s *Service) GetDeadLetter(ctx context.Context, req *inkstreamv1.GetDeadLetterRequest) (*inkstreamv1.DeadLetter, error) {
	l, err := s.letter(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	return viewLetter(l), nil
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
func (s *Service) RetryDeadLetter(ctx context.Context, req *inkstreamv1.RetryDeadLetterRequest) (*inkstreamv1.Job, error) {
	l, err := s.letter(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	ref, err := refOf(ctx, l.Job)
	if err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx)
	rec, err := s.anyRecord(ctx, ref)
	if err != nil {
		return nil, err
	}
	if l.Stage == webhook.Stage {
		return s.retryCall(ctx, rec, l)
	}
	msg, err := l.Message()
	if err != nil {
		return nil, err
	}
	task, _ := msg.Task.(*busv1.IndexTask)
	replayed := s.letterEvent(rec, "replayed", l)
	switch {
	case task.GetRemove():
		err = s.env.Bus.Publish(ctx, msg)
	case rec.State.Gone():
		err = errGone(rec)
	case rec.State.Final():
		probe := *rec
		if probe.Restart(false, time.Now()) != nil {
			return nil, s.errNoRetry(ctx, ref)
		}
		// Ahead of what it leads to, so that the trail has them in this order.
		if err = s.env.TellEnd(ctx, rec); err == nil {
			err = s.env.Bus.Event(ctx, replayed)
		}
		if err == nil {
			_, err = s.retry(ctx, ref, false)
		}
	case rec.Run == int(msg.Task.GetUnit().GetRun()):
		if err = s.env.Bus.Event(ctx, replayed); err == nil {
			err = s.env.Bus.Publish(ctx, msg)
		}
	}
	if err != nil {
		return nil, err
	}
	return s.afterRetry(ctx, ref, l)
}

// retryCall has a webhook called again that was given up.
func (s *Service) retryCall(ctx context.Context, rec *job.Record, l bus.DeadLetter) (*inkstreamv1.Job, error) {
	if rec.State.Gone() {
		return nil, errGone(rec)
	}
	err := s.env.Bus.Event(ctx, s.letterEvent(rec, "replayed", l))
	if err == nil {
		err = s.dispatcher.Replay(ctx, l.Payload)
	}
	if err != nil {
		return nil, err
	}
	return s.afterRetry(ctx, jobRef{rec.Tenant, rec.ID}, l)
}

// afterRetry drops a dead letter whose work is queued, and returns its job.
func (s *Service) afterRetry(ctx context.Context, ref jobRef, l bus.DeadLetter) (*inkstreamv1.Job, error) {
	// Last, so that nothing is lost if this fails: a second try would find the same id queued, or the job running.
	if err := s.env.Bus.DropDeadLetter(ctx, l.Sequence); err != nil && !errors.Is(err, bus.ErrNoDeadLetter) {
		return nil, err
	}
	rec, err := s.anyRecord(ctx, ref)
	if err != nil {
		return nil, err
	}
	p, err := s.progress(ctx, rec)
	if err != nil {
		return nil, err
	}
	return viewOf(rec, p), nil
}

// DropDeadLetter removes a dead letter.
func (s *Service) DropDeadLetter(ctx context.Context, req *inkstreamv1.DropDeadLetterRequest) (*emptypb.Empty, error) {
	l, err := s.letter(ctx, req.GetId())
	if err == nil {
		err = s.env.Bus.DropDeadLetter(ctx, l.Sequence)
	}
	if err == nil {
		err = s.tellDropped(ctx, l)
	}
	if errors.Is(err, bus.ErrNoDeadLetter) {
		err = errNoLetter()
	}
	if err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, nil
}

// tellDropped adds to the trail that a dead letter was removed. Its job may be long forgotten.
func (s *Service) tellDropped(ctx context.Context, l bus.DeadLetter) error {
	rec, err := s.env.Jobs.Load(ctx, tenant(ctx), job.ID(l.Job))
	switch {
	case errors.Is(err, job.ErrNotFound):
	case err != nil:
		return err
	case rec.Run == l.Run && rec.State.Final() && !rec.State.Gone():
		if err := s.env.TellEnd(ctx, rec); err != nil {
			return err
		}
	}
	rec = &job.Record{ID: job.ID(l.Job), Tenant: tenant(ctx), Run: l.Run}
	return s.env.Bus.Event(ctx, s.letterEvent(rec, "dead_letter_dropped", l))
}

// letterEvent says what became of a dead letter.
func (*Service) letterEvent(r *job.Record, kind string, l bus.DeadLetter) *busv1.Event {
	return stage.NewEvent(r, kind, string(l.Stage), "unit", "deadletter-"+tokenOf(l.Sequence), "code", l.Code)
}

// letter returns the tenant's dead letter of that id.
func (s *Service) letter(ctx context.Context, id string) (bus.DeadLetter, error) {
	seq, err := strconv.ParseUint(id, 10, 64)
	if err != nil || seq == 0 {
		return bus.DeadLetter{}, errNoLetter()
	}
	l, err := s.env.Bus.DeadLetter(ctx, tenant(ctx), seq)
	if errors.Is(err, bus.ErrNoDeadLetter) {
		return l, errNoLetter()
	}
	return l, err
}

func errNoLetter() error { return fault.New(noDeadLetter, "there is no such dead letter") }

func viewLetter(l bus.DeadLetter) *inkstreamv1.DeadLetter {
	return &inkstreamv1.DeadLetter{
		Id: tokenOf(l.Sequence), Stage: string(l.Stage), Job: l.Job, Run: int32(l.Run), Class: l.Class, Code: l.Code, Error: l.Error,
		Attempts: int32(l.Attempts), Time: timestamp(l.Time), Subject: l.Subject, MessageId: l.MsgID, Payload: string(l.Payload),
		TraceId: l.Trace,
	}
}
