package gateway

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	busv1 "inkstream.dev/proto/gen/inkstream/bus/v1"
)

const (
	// refusalRate and refusalBurst bound the refusals that the audit trail hears of: somebody who is refused all day must not flood it.
	refusalRate, refusalBurst = 20, 100
	// refusalTimeout bounds the publishing of one; with the broker away it is dropped.
	refusalTimeout = 5 * time.Second
	// refusalGrace is how long a stop waits for what was noted to be published.
	refusalGrace = time.Second
)

// refusals tells the audit trail of uploads that came to nothing. The upload does not wait for it.
type refusals struct {
	publish func(context.Context, *busv1.Event) error
	queue   chan *busv1.Event

	mu     sync.Mutex // guards all below
	tokens float64
	filled time.Time
}

func newRefusals(publish func(context.Context, *busv1.Event) error) *refusals {
	return &refusals{publish: publish, queue: make(chan *busv1.Event, refusalBurst), tokens: refusalBurst, filled: time.Now()}
}

// take reports whether the trail may hear of one more.
func (r *refusals) take() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	r.tokens = min(r.tokens+now.Sub(r.filled).Seconds()*refusalRate, refusalBurst)
	r.filled = now
	if r.tokens < 1 {
		return false
	}
	r.tokens--
	return true
}

// run publishes what was noted, until ctx is done and the rest is published, or a moment later.
func (r *refusals) run(ctx context.Context) {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		t := time.AfterFunc(refusalGrace, cancel)
		context.AfterFunc(late, func() { t.Stop() })
	})()
	for late.Err() == nil {
		select {
		case e := <-r.queue:
			r.tell(late, e)
			continue
		default:
		}
		select {
		case e := <-r.queue:
			r.tell(late, e)
		case <-ctx.Done():
			return
		}
	}
}

func (r *refusals) tell(ctx context.Context, e *busv1.Event) {
	ctx, cancel := context.WithTimeout(ctx, refusalTimeout)
	defer cancel()
	// There is nobody to tell that the trail lacks a refusal; the metric of uploads counts it all the same.
	_ = r.publish(ctx, e)
}

// jobFact is the fact of an error that names a job, or what has events as a job has.
const jobFact = "job"

// refused notes in the audit trail that an upload was refused, under an id of its own, and returns the error with that id among its facts: as the
// job, unless the error is about one. The error goes without where the trail has heard of too many, and where the client hung up.
func (s *Service) refused(ctx context.Context, err error) error {
	st := statusOf(err)
	if st.Code() == codes.Canceled || !s.refusals.take() {
		return err
	}
	id := job.NewID()
	e := &busv1.Event{
		Type: "upload_refused", Tenant: tenant(ctx), Job: string(id), Code: string(reasonOf(st)),
		Attributes: map[string]string{"request": requestID(ctx)},
	}
	if fe, ok := errors.AsType[*fieldError](err); ok && slices.Contains(known, fe.field) {
		e.Attributes["field"] = fe.field
	}
	select {
	case s.refusals.queue <- e:
	default:
		return err // the broker is slow, or away
	}
	if _, ok := errors.AsType[*fault.Error](err); !ok {
		return err // a status already, which takes no more facts
	}
	facts := map[string]string{jobFact: string(id)}
	if d, ok := errors.AsType[*detailError](err); ok { // it names a job that there is
		facts = maps.Clone(d.facts)
		facts["refusal"] = string(id)
	}
	return &detailError{facts: facts, err: err}
}
