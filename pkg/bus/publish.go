package bus

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"inkstream.dev/pkg/failpoint"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/telemetry"
	busv1 "inkstream.dev/proto/gen/inkstream/bus/v1"
)

// publishPatience is how long a publish is tried again. The longest stall measured on a three-node cluster that loses
// its leader was 6.8 s.
const publishPatience = 30 * time.Second

// Task is a message that a stage consumes: any of busv1's tasks.
type Task interface {
	proto.Message
	GetUnit() *busv1.Unit
}

// Message is a task on its way to a stage.
type Message struct {
	Stage Stage
	Lane  Lane
	// Unit names the piece of work within the job's run, e.g. chunk-3 or page-12. The same unit always has the same
	// message id.
	Unit string
	// Replay sets a message apart from an earlier one of the same unit, whose id the broker may still block; 0 for the
	// first.
	Replay int
	// Slow marks the task as one that takes long, as ErrTakesLong does. It belongs into the batch lane.
	Slow bool
	Task Task
}

// MessageID returns the message id, <job>.<run>.<stage>.<unit>, which the broker absorbs repeats by.
func (m Message) MessageID() string {
	u := m.Task.GetUnit()
	id := u.GetJob() + "." + strconv.Itoa(int(u.GetRun())) + "." + string(m.Stage) + "." + m.Unit
	if m.Replay > 0 {
		id += "#r" + strconv.Itoa(m.Replay)
	}
	return id
}

// publisher publishes tasks and events.
type publisher struct {
	*connection
	writeProbe *writeProbe // what it remembers of answers
}

// Publish stores a task in its stage's stream, and returns when the stream has it on disk. A repeat of a message that
// the stream still knows is no error. It is tried again for 30 s; a full queue is reported at once, as
// fault.QueueFull.
func (b *publisher) Publish(ctx context.Context, m Message) error {
	_, err := b.publishTask(ctx, m)
	return err
}

func (b *publisher) publishTask(ctx context.Context, m Message) (repeat bool, err error) {
	u := m.Task.GetUnit()
	msg, err := encodeMessage(taskSubject(m.Stage, m.Lane, u.GetTenant(), u.GetJob()), m.Task)
	if err != nil {
		return false, err
	}
	msg.Header.Set(HeaderRun, strconv.Itoa(int(u.GetRun())))
	msg.Header.Set(jetstream.MsgIDHeader, m.MessageID())
	if m.Slow {
		msg.Header.Set(HeaderSlow, "1")
	}
	telemetry.InjectContext(ctx, msg.Header)
	return b.publishMessage(ctx, msg)
}

// PublishAll publishes events in their order, and then messages side by side. The events go first, so that the audit
// trail has things in the order in which they happen: what the messages lead to comes after them. It returns the
// first error.
func (b *publisher) PublishAll(ctx context.Context, msgs []Message, events []*busv1.Event) error {
	_, err := b.PublishNext(ctx, msgs, events)
	return err
}

// PublishNext is PublishAll, and tells whether the broker absorbed any of the messages as a repeat.
func (b *publisher) PublishNext(ctx context.Context, msgs []Message, events []*busv1.Event) (repeat bool, err error) {
	for _, e := range events {
		if err := b.PublishEvent(ctx, e); err != nil {
			return false, err
		}
		if err := failpoint.Hit("bus", "event"); err != nil {
			return false, err
		}
	}
	var repeated atomic.Bool
	publish := func(ctx context.Context, m Message) error {
		repeat, err := b.publishTask(ctx, m)
		if err != nil {
			return err
		}
		if repeat {
			repeated.Store(true)
		}
		return failpoint.Hit("bus", "task")
	}
	if len(msgs) == 1 { // no goroutine, whose stack would have to grow
		err = publish(ctx, msgs[0])
		return repeated.Load(), err
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(32)
	for _, m := range msgs {
		g.Go(func() error { return publish(gctx, m) })
	}
	err = g.Wait()
	return repeated.Load(), err
}

// PublishEvent adds to a job's audit trail. A repeat of the same event, by job, run, type and page, is absorbed. The
// time is set where it is missing.
func (b *publisher) PublishEvent(ctx context.Context, e *busv1.Event) error {
	if e.GetTime() == nil {
		e.Time = timestamppb.Now()
	}
	msg, err := encodeMessage(eventSubject(e.GetTenant(), e.GetJob(), e.GetType()), e)
	if err != nil {
		return err
	}
	id := fmt.Sprintf("%s.%d.event.%s.%s.%d.%s", e.GetJob(), e.GetRun(), e.GetType(), e.GetStage(), e.GetPage(),
		e.GetAttributes()["unit"])
	msg.Header.Set(jetstream.MsgIDHeader, id)
	telemetry.InjectContext(ctx, msg.Header)
	_, err = b.publishMessage(ctx, msg)
	return err
}

func encodeMessage(subject string, m proto.Message) (*nats.Msg, error) {
	data, err := protojson.Marshal(m)
	if err != nil {
		return nil, fault.Wrap(fault.Permanent, fault.Internal, fmt.Errorf("encode %s: %w", schemaName(m), err))
	}
	msg := nats.NewMsg(subject)
	msg.Data = data
	msg.Header.Set(HeaderSchema, schemaName(m))
	return msg, nil
}

// publishMessage stores a message. It reports whether the stream knew it already, also from an earlier try whose
// answer was lost.
func (b *publisher) publishMessage(ctx context.Context, msg *nats.Msg) (repeat bool, err error) {
	deadline := time.Now().Add(publishPatience)
	waits := newRetryWaits()
	waits.RandomizationFactor = 1. / 3 // publishers that failed together do not come back together
	for {
		try, cancel := context.WithTimeout(ctx, 5*time.Second)
		ack, err := b.js.PublishMsg(try, msg)
		unanswered := err != nil && errors.Is(try.Err(), context.DeadlineExceeded) && ctx.Err() == nil && b.nc.IsConnected()
		cancel()
		if err == nil || unanswered {
			b.writeProbe.recordAnswer(msg.Subject, err == nil)
		}
		switch {
		case err == nil:
			return ack.Duplicate, nil
		case IsQueueFull(err):
			return false, &fault.Error{Kind: fault.Busy, Code: fault.QueueFull, Err: err}
		case ctx.Err() != nil:
			return false, fault.Wrap(fault.Busy, fault.Unavailable, fmt.Errorf("publish to %s: %w", msg.Subject, ctx.Err()))
		case time.Now().After(deadline):
			return false, fault.Wrap(fault.Busy, fault.Unavailable, fmt.Errorf("publish to %s: %w", msg.Subject, err))
		}
		select {
		case <-ctx.Done():
		case <-time.After(waits.NextBackOff()):
		}
	}
}

// newRetryWaits returns the growing waits between tries of what the broker did not answer.
func newRetryWaits() *backoff.ExponentialBackOff {
	return &backoff.ExponentialBackOff{InitialInterval: 50 * time.Millisecond, Multiplier: 2, MaxInterval: 2 * time.Second}
}

// IsQueueFull reports whether the broker refused a message because the stream has reached its bound. The broker has
// one code (10077) for that and for disk errors, so the description tells.
func IsQueueFull(err error) bool {
	api, ok := errors.AsType[*jetstream.APIError](err)
	if !ok {
		return false
	}
	for _, s := range []string{"maximum messages exceeded", "maximum bytes exceeded",
		"maximum messages per subject exceeded"} {
		if strings.Contains(api.Description, s) {
			return true
		}
	}
	return false
}
