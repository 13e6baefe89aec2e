package upload

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/grpc/codes"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	busv1 "inkstream.dev/proto/gen/inkstream/bus/v1"
	"inkstream.dev/services/gateway/access"
	"inkstream.dev/services/gateway/internal/apierror"
	"inkstream.dev/services/gateway/internal/reqctx"
	"inkstream.dev/services/gateway/options"
)

const (
	// rejectionRate and rejectionBurst bound the refusals that the audit trail gets: a client that is refused all day
	// must not flood it.
	rejectionRate, rejectionBurst = 20, 100
	// rejectionTimeout bounds the publishing of one; with the broker away it is dropped.
	rejectionTimeout = 5 * time.Second
	// rejectionGrace is how long a stop waits for what was noted to be published.
	rejectionGrace = time.Second
)

// rejectionAudit tells the audit trail of uploads that came to nothing. The upload does not wait for it.
type rejectionAudit struct {
	publish func(context.Context, *busv1.Event) error
	queue   chan *busv1.Event
	tokens  *rate.Limiter // a token for each refusal that the audit trail may get
}

func newRejectionAudit(publish func(context.Context, *busv1.Event) error) *rejectionAudit {
	return &rejectionAudit{publish: publish, queue: make(chan *busv1.Event, rejectionBurst),
		tokens: rate.NewLimiter(rejectionRate, rejectionBurst)}
}

// publishQueued publishes what was noted, until ctx is done and the rest is published, or a moment later.
func (r *rejectionAudit) publishQueued(ctx context.Context) {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		t := time.AfterFunc(rejectionGrace, cancel)
		context.AfterFunc(late, func() { t.Stop() })
	})()
	for late.Err() == nil {
		select {
		case e := <-r.queue:
			r.publishEvent(late, e)
			continue
		default:
		}
		select {
		case e := <-r.queue:
			r.publishEvent(late, e)
		case <-ctx.Done():
			return
		}
	}
}

func (r *rejectionAudit) publishEvent(ctx context.Context, e *busv1.Event) {
	ctx, cancel := context.WithTimeout(ctx, rejectionTimeout)
	defer cancel()
	// The error has no receiver: the audit trail lacks a refusal then, and the metric of uploads counts it all the same.
	_ = r.publish(ctx, e)
}

// AuditRejection notes in the audit trail that an upload was refused, under an id of its own, and returns the error
// with that id among its facts: as the job, unless the error is about one. The error gets no id where the audit
// trail has too many refusals already, and where the client hung up.
func (s *Service) AuditRejection(ctx context.Context, err error) error {
	st := apierror.StatusOf(err)
	if st.Code() == codes.Canceled || !s.rejections.tokens.Allow() {
		return err
	}
	id := job.NewID()
	e := &busv1.Event{
		Type: "upload_refused", Tenant: access.TenantFrom(ctx), Job: string(id), Code: string(apierror.ReasonOf(st)),
		Attributes: map[string]string{"request": reqctx.RequestIDFrom(ctx)},
	}
	if fe, ok := errors.AsType[*apierror.FieldError](err); ok && slices.Contains(options.KnownFields, fe.Field) {
		e.Attributes["field"] = fe.Field
	}
	select {
	case s.rejections.queue <- e:
	default:
		return err // the broker is slow, or away
	}
	if _, ok := errors.AsType[*fault.Error](err); !ok {
		return err // a status already, which takes no more facts
	}
	facts := map[string]string{apierror.JobFact: string(id)}
	if d, ok := errors.AsType[*apierror.DetailError](err); ok { // it names a job that there is
		facts = maps.Clone(d.Facts)
		facts["refusal"] = string(id)
	}
	return &apierror.DetailError{Facts: facts, Err: err}
}
