package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"inkstream.dev/pkg/bus"
)

const (
	// giveUpAfter is how long a call is tried again.
	giveUpAfter = 24 * time.Hour
	// minTries is how often a call is made at least before it is given up.
	minTries = 2
	// minRetryDelay and maxRetryDelay bound the waits between tries, which double.
	minRetryDelay, maxRetryDelay = 5 * time.Second, time.Hour
	// maxAnswerBytes is how much of an answer is read, so that its connection can be used again.
	maxAnswerBytes = 64 << 10
)

// delivery is a call to be made. It refers to what is called; addresses may hold secrets, and stay where they are kept.
type delivery struct {
	Tenant string `json:"tenant"`
	Job    string `json:"job"`
	Run    int    `json:"run"`
	// Hook is the webhook's id, or "job" for the address that the job came with.
	Hook string `json:"hook"`
}

// deliveryID names the call; receivers tell repeats by it.
func (t delivery) deliveryID() string { return t.Job + "." + strconv.Itoa(t.Run) + "." + t.Hook }

// assignDelivery puts a call into its receiver's queue.
func (d *Dispatcher) assignDelivery(ctx context.Context, msg jetstream.Msg) error {
	var to delivery
	if err := json.Unmarshal(msg.Data(), &to); err != nil {
		return errors.Join(err, msg.Term())
	}
	wait := d.queues.add(waitingCall{msg, to, time.Now()}, func(c waitingCall) {
		if time.Since(c.since) > maxWait {
			// The broker may give it to another process while it is made.
			if err := c.msg.Nak(); err != nil {
				d.log.WarnContext(ctx, "webhook", "error", err)
			}
			return
		}
		if err := d.handleDelivery(ctx, c.msg, c.to); err != nil {
			d.log.WarnContext(ctx, "webhook", "error", err)
		}
	})
	if wait > 0 {
		return msg.NakWithDelay(wait)
	}
	return nil
}

// handleDelivery makes a call and settles it by the answer.
func (d *Dispatcher) handleDelivery(ctx context.Context, msg jetstream.Msg, to delivery) error {
	meta, err := msg.Metadata()
	if err != nil {
		return fmt.Errorf("call: %w", err)
	}
	start := time.Now()
	status, err := d.callWebhook(ctx, to)
	if errors.Is(err, ErrNoJob) || errors.Is(err, ErrNoHook) {
		return msg.Ack()
	}
	if open, ok := errors.AsType[*openCircuitError](err); ok && time.Since(meta.Timestamp) < d.cfg.GiveUpAfter {
		return msg.NakWithDelay(open.wait) // no attempt was made
	}
	wait := retryDelay(d.cfg.MinRetryDelay, time.Since(meta.Timestamp), meta.NumDelivered)
	// What waited for long because no gateway ran has another chance all the same.
	again := err != nil && !errors.Is(err, ErrForbidden) &&
		(meta.NumDelivered < minTries || time.Since(meta.Timestamp)+wait < d.cfg.GiveUpAfter)
	if to.Hook != jobHook {
		a := Attempt{Delivery: to.deliveryID(), Job: to.Job, Run: to.Run, Time: start.UTC(), Number: int(meta.NumDelivered),
			Status: status, Took: time.Since(start)}
		if err != nil {
			a.Error = err.Error()
		}
		if again {
			a.RetryTime = time.Now().Add(wait).UTC()
		}
		if err := d.hooks.recordAttempt(ctx, to.Tenant, to.Hook, a); err != nil {
			d.log.WarnContext(ctx, "attempt is not kept", "webhook", to.Hook, "error", err)
		}
	}
	if err == nil {
		return msg.Ack()
	}
	if again {
		d.log.InfoContext(ctx, "call failed, will be made again", "job", to.Job, "webhook", to.Hook, "tries",
			meta.NumDelivered, "delay", wait)
		return msg.NakWithDelay(wait)
	}
	d.log.WarnContext(ctx, "call given up", "job", to.Job, "webhook", to.Hook, "tries", meta.NumDelivered)
	if err := d.storeDeadLetter(ctx, msg, meta, to, err); err != nil {
		return errors.Join(err, msg.NakWithDelay(wait))
	}
	return msg.Term()
}

// retryDelay returns the wait before the next try of a call that is so old: as long as it has waited so far, so that
// the waits double, up to an hour, spread by a quarter. Deliveries are no measure, for a call that finds no place is
// put back. The first wait does not depend on how long the call was in the queue.
func retryDelay(first, age time.Duration, deliveries uint64) time.Duration {
	wait := first
	if deliveries > 1 {
		wait = max(first, min(age, maxRetryDelay))
	}
	return wait - rand.N(wait/4+1)
}

// callWebhook makes one call, and returns the receiver's status, 0 where there is none. Its error tells nothing of
// the address but what became of it.
func (d *Dispatcher) callWebhook(ctx context.Context, to delivery) (status int, err error) {
	job, err := d.loadJob(ctx, to.Tenant, to.Job)
	if err != nil {
		return 0, err
	}
	url, secret := job.URL, d.cfg.Secret
	if to.Hook != jobHook {
		hook, err := d.hooks.Get(ctx, to.Tenant, to.Hook)
		if err != nil {
			return 0, err
		}
		url, secret = hook.URL, hook.Secret
	}
	if err := d.cfg.Policy.CheckURL(url); err != nil {
		return 0, err
	}
	receiver := receiverKey(to.Tenant, url)
	if wait := d.circuit.check(receiver, time.Now()); wait > 0 {
		return 0, &openCircuitError{wait: wait}
	}
	started := time.Now()
	defer func() { d.circuit.record(receiver, time.Since(started), err, time.Now()) }()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(job.Body))
	if err != nil {
		return 0, ErrForbidden
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "inkstream-webhook/1")
	if err := signRequest(req.Header, secret, to.deliveryID(), time.Now(), job.Body); err != nil {
		return 0, err
	}
	resp, err := d.client.Do(req)
	switch {
	case errors.Is(err, ErrForbidden):
		return 0, ErrForbidden
	case err != nil:
		return 0, errors.New("the receiver cannot be reached")
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, maxAnswerBytes) // what it says does not matter
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return resp.StatusCode, fmt.Errorf("the receiver answered with status %d", resp.StatusCode)
	}
	return resp.StatusCode, nil
}

func (d *Dispatcher) storeDeadLetter(ctx context.Context, msg jetstream.Msg, meta *jetstream.MsgMetadata, to delivery,
	cause error) error {
	dead := nats.NewMsg("ink.dlq." + Stage + "." + to.Tenant + "." + to.Job)
	dead.Data = msg.Data()
	dead.Header.Set(bus.HeaderClass, "permanent")
	dead.Header.Set(bus.HeaderReason, "WEBHOOK_FAILED")
	dead.Header.Set(bus.HeaderError, cause.Error())
	dead.Header.Set(bus.HeaderAttempts, strconv.FormatUint(meta.NumDelivered, 10))
	dead.Header.Set(bus.HeaderSubject, msg.Subject())
	dead.Header.Set(bus.HeaderMsgID, to.deliveryID())
	dead.Header.Set(bus.HeaderRun, strconv.Itoa(to.Run))
	dead.Header.Set(bus.HeaderTime, time.Now().UTC().Format(time.RFC3339Nano))
	_, err := d.js.PublishMsg(ctx, dead, jetstream.WithMsgID(fmt.Sprintf("dlq.%s.%d", bus.WebhookStream,
		meta.Sequence.Stream)))
	if err != nil {
		return wrapUnavailable("store dead letter", err)
	}
	return nil
}
