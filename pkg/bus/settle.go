package bus

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/telemetry"
)

// retryDelays are the waits before the tries after a transient failure; the failure after the last one is permanent.
var retryDelays = []time.Duration{
	time.Second, 5 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute,
}

const (
	// busyRetryDelay is the wait before a task is tried again whose resources were busy or away.
	busyRetryDelay = 2 * time.Second
	// waitIDSuffix marks the ids of tasks that were queued again because they wait, slowIDSuffix those of tasks that
	// were because they take long.
	waitIDSuffix, slowIDSuffix = "#w", "#s"
	// settleTimeout bounds each exchange with the broker about the fate of a message, and settlePatience all tries of
	// one: beyond it the broker gives the message to another anyway.
	settleTimeout  = 10 * time.Second
	settlePatience = ackWait
)

// ErrTakesLong is what a handler fails with that has broken off a task because it takes longer than a first try may.
// The task is queued again, in the batch lane and marked as Slow, behind what others wait for: then it may have all of
// its time. It is no failure of the task.
var ErrTakesLong = fault.Wrap(fault.Busy, fault.Unavailable, errors.New("the task takes longer than a first try may"))

// handleDelivery runs the handler on one task under its deadline and settles the message by the outcome.
func (c *Consumer) handleDelivery(ctx context.Context, d *Delivery) {
	defer d.stopHeartbeat()
	d.boundHeartbeat()
	tel := c.bus.tel
	start := time.Now()
	ctx = telemetry.ExtractContext(ctx, d.msg.Headers())
	ctx, span := tel.Tracer.Start(ctx, string(c.stage), trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(
		attribute.String("job", d.Job), attribute.String("tenant", d.Tenant), attribute.String("lane", string(d.Lane)),
		attribute.Int64("delivered", int64(d.Delivered))))
	defer span.End()
	if !d.Queued.IsZero() {
		tel.Metrics.RecordQueueWait(ctx, string(c.stage), string(d.Lane), start.Sub(d.Queued))
	}
	if d.Delivered > 1 {
		tel.Metrics.CountRedelivery(ctx, string(c.stage))
	}

	work, cancel := context.WithTimeout(ctx, c.cfg.Deadline)
	err := c.runHandler(work, d)
	cancel()
	result := "ok"
	if err != nil {
		result = fault.KindOf(err).String()
		span.SetStatus(codes.Error, string(fault.CodeOf(err)))
	}
	tel.Metrics.RecordStageDuration(ctx, string(c.stage), string(d.Lane), result, time.Since(start))

	// The message is settled even when the service is stopping.
	d.drainDone = ctx.Done()
	ctx = context.WithoutCancel(ctx)
	if serr := c.settleDelivery(ctx, d, err); serr != nil {
		// Nothing is lost: the broker delivers the message again after AckWait, and the handler finds what is done.
		c.bus.log.WarnContext(ctx, "settle task", "stage", c.stage, "job", d.Job, "error", serr)
	}
}

// runHandler runs the handler. A panic is an engine's crash: the task is tried once more, and then given up, and other
// tasks go on.
func (c *Consumer) runHandler(ctx context.Context, d *Delivery) (err error) {
	defer fault.RecoverPanic(&err)
	return c.handler.HandleTask(ctx, d)
}

// settleDelivery tells JetStream what a handler's error means. Nothing else does.
func (c *Consumer) settleDelivery(ctx context.Context, d *Delivery, err error) error {
	if err == nil {
		return d.ackAndWait(ctx)
	}
	if errors.Is(err, ErrTakesLong) && !d.Slow {
		c.bus.log.InfoContext(ctx, "task takes long, and goes behind others", "stage", c.stage, "job", d.Job, "task", d.ID)
		return c.requeueTask(ctx, d, slowIDSuffix)
	}
	kind := fault.KindOf(err)
	log := c.bus.log.With("stage", c.stage, "job", d.Job, "task", d.ID, "kind", kind, "code", fault.CodeOf(err), "error",
		err)
	switch kind {
	case fault.Busy:
		log.InfoContext(ctx, "task waits")
		return c.returnTask(ctx, d, addJitter(busyRetryDelay))
	case fault.Transient, fault.EngineCrash:
		if errors.Is(err, context.Canceled) {
			// The service is stopping: no failure of the task.
			return d.nakWithDelay(addJitter(100 * time.Millisecond))
		}
		failures, ferr := c.handler.CountFailure(ctx, d, err)
		if ferr != nil {
			log.WarnContext(ctx, "count failure", "cause", ferr)
			return d.nakWithDelay(addJitter(busyRetryDelay))
		}
		if delay, again := retryDelay(kind, failures); again {
			log.WarnContext(ctx, "task failed, will be tried again", "failures", failures, "delay", delay)
			return d.nakWithDelay(delay)
		}
		return c.giveUpTask(ctx, d, err, failures)
	default:
		return c.giveUpTask(ctx, d, err, 1)
	}
}

// returnTask hands a task back that waits for something.
func (c *Consumer) returnTask(ctx context.Context, d *Delivery, delay time.Duration) error {
	if c.maxDeliver > 0 && d.Delivered >= uint64(max(c.maxDeliver/2, 1)) {
		return c.requeueTask(ctx, d, waitIDSuffix)
	}
	return d.nakWithDelay(delay)
}

// requeueTask queues a copy of a task that waits for something for long: its returns were no crashes, but the broker
// counts them as such, and would leave it orphaned in the end. The copy has an id of its own; a crash between the
// copy and the ack leaves both, and the handler finds what is done. The mark says what it waits for.
func (c *Consumer) requeueTask(ctx context.Context, d *Delivery, mark string) error {
	meta, err := d.msg.Metadata()
	if err != nil {
		return errors.Join(err, d.nakWithDelay(addJitter(busyRetryDelay)))
	}
	if err := c.bus.publishTaskCopy(ctx, d.msg, mark, meta); err != nil {
		return errors.Join(err, d.nakWithDelay(addJitter(busyRetryDelay)))
	}
	return d.ackAndWait(ctx)
}

// publishTaskCopy queues a copy of a task under an id of its own: that of the task with a mark and its sequence, in
// the place of an earlier mark of the kind. The copy tells how long the task has been there, because a handler that
// waits for something decides by that.
func (b *publisher) publishTaskCopy(ctx context.Context, task jetstream.Msg, mark string, meta *jetstream.MsgMetadata) error {
	msg := nats.NewMsg(task.Subject())
	msg.Data = task.Data()
	maps.Copy(msg.Header, task.Headers())
	id, _, _ := strings.Cut(task.Headers().Get(jetstream.MsgIDHeader), mark)
	msg.Header.Set(jetstream.MsgIDHeader, id+mark+strconv.FormatUint(meta.Sequence.Stream, 10))
	if mark == slowIDSuffix {
		tenant, job := parseTaskSubject(task.Subject())
		stage, _, _ := strings.Cut(strings.TrimPrefix(task.Subject(), "ink."), ".")
		msg.Subject = taskSubject(Stage(stage), Batch, tenant, job)
		msg.Header.Set(HeaderSlow, "1")
	}
	if at := firstQueuedAt(task, meta); !at.IsZero() {
		msg.Header.Set(HeaderQueued, at.UTC().Format(time.RFC3339Nano))
	}
	_, err := b.publishMessage(ctx, msg)
	return err
}

// retryDelay returns how long a task waits after its n-th failure, and whether it is tried again at all.
func retryDelay(kind fault.Kind, n int) (time.Duration, bool) {
	if kind == fault.EngineCrash {
		return addJitter(200 * time.Millisecond), n < fault.MaxCrashTries
	}
	if n < 1 || n > len(retryDelays) {
		return 0, n < 1
	}
	return addJitter(retryDelays[n-1]), true
}

// giveUpTask stores the dead letter, records the job's fate, and only then terminates the message, because
// terminating deletes it.
func (c *Consumer) giveUpTask(ctx context.Context, d *Delivery, err error, attempts int) error {
	c.bus.log.ErrorContext(ctx, "task given up", "stage", c.stage, "job", d.Job, "task", d.ID, "code", fault.CodeOf(err),
		"attempts", attempts, "error", err)
	if derr := c.bus.publishDeadLetter(ctx, d, err, attempts); derr != nil {
		return errors.Join(derr, d.nakWithDelay(addJitter(busyRetryDelay)))
	}
	if gerr := c.handler.RecordGiveUp(ctx, d, err); gerr != nil {
		return errors.Join(gerr, d.nakWithDelay(addJitter(busyRetryDelay)))
	}
	c.bus.tel.Metrics.CountDeadLetter(ctx, string(c.stage))
	return d.settleWithRetry(func() error {
		return d.msg.TermWithReason(fault.KindOf(err).String() + " " + string(fault.CodeOf(err)))
	})
}

func (b *publisher) publishDeadLetter(ctx context.Context, d *Delivery, err error, attempts int) error {
	msg := nats.NewMsg(deadLetterSubject(d.Stage, orUnknown(d.Tenant), orUnknown(d.Job)))
	msg.Data = d.msg.Data()
	maps.Copy(msg.Header, d.msg.Headers()) // the message id is replaced below
	msg.Header.Set(HeaderClass, fault.KindOf(err).String())
	msg.Header.Set(HeaderReason, string(fault.CodeOf(err)))
	msg.Header.Set(HeaderError, fault.UserMessageOf(err))
	msg.Header.Set(HeaderAttempts, strconv.Itoa(attempts))
	msg.Header.Set(HeaderSubject, d.msg.Subject())
	msg.Header.Set(HeaderMsgID, d.ID)
	msg.Header.Set(HeaderTime, time.Now().UTC().Format(time.RFC3339Nano))
	id := "dlq." + d.ID
	if meta, merr := d.msg.Metadata(); merr == nil {
		msg.Header.Set(HeaderStream, meta.Stream)
		msg.Header.Set(HeaderSequence, strconv.FormatUint(meta.Sequence.Stream, 10))
		id = fmt.Sprintf("dlq.%s.%d", meta.Stream, meta.Sequence.Stream)
	}
	msg.Header.Set(jetstream.MsgIDHeader, id)
	_, err = b.publishMessage(ctx, msg)
	return err
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

// ackAndWait acknowledges and waits until the broker has removed the message, because a lost ack repeats the whole
// task.
func (d *Delivery) ackAndWait(ctx context.Context) error {
	err := d.settleWithRetry(func() error {
		try, cancel := context.WithTimeout(ctx, settleTimeout)
		defer cancel()
		return d.msg.DoubleAck(try)
	})
	if err != nil {
		return fmt.Errorf("ack: %w", err)
	}
	return nil
}

// nakWithDelay hands the message back, to be delivered again after the delay.
func (d *Delivery) nakWithDelay(delay time.Duration) error {
	return d.settleWithRetry(func() error { return d.msg.NakWithDelay(delay) })
}

// settleWithRetry tells the broker the fate of a message, and repeats that until it gets through: while the broker is
// away, a fate that does not reach it would cost the message the whole AckWait. When the service's drain is over
// there is no more time for that.
func (d *Delivery) settleWithRetry(say func() error) error {
	deadline := time.Now().Add(settlePatience)
	for waits := newRetryWaits(); ; {
		err := say()
		if err == nil || errors.Is(err, jetstream.ErrMsgAlreadyAckd) {
			return nil
		}
		if time.Now().After(deadline) {
			return err
		}
		select {
		case <-d.drainDone:
			return err
		case <-time.After(waits.NextBackOff()):
		}
	}
}

// addJitter spreads d over its upper half, so that tasks that failed together do not come back together.
func addJitter(d time.Duration) time.Duration { return d/2 + rand.N(d/2+1) }
