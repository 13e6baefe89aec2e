package bus

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"inkstream.dev/pkg/fault"
)

// Call is the name of something that a service is asked and answers at once, unlike a task: nothing is stored, and
// who asks waits.
type Call string

// ImageCall has the render service draw a page.
const ImageCall Call = "render.image"

// ImageRequest asks for a page of a job as an image.
type ImageRequest struct {
	Tenant string  `json:"tenant"`
	Job    string  `json:"job"`
	Page   int     `json:"page"`
	DPI    float64 `json:"dpi"`
}

// ImageResponse says under which key the image is stored. It is a PNG; who asked removes it.
type ImageResponse struct {
	Key string `json:"key"`
}

// callQueueSize bounds the calls that wait at a process until one of its workers is free; a call that finds the queue
// full gets no answer, and its caller gives up in time.
const callQueueSize = 64

// headerCall names a call, so that it can be called off.
const headerCall = "Ink-Call"

func (c Call) callSubject() string { return "ink.call." + string(c) }

// cancelSubject is where a caller that has given up says so, to all processes: one of them has its call.
func (c Call) cancelSubject() string { return "ink.cancel." + string(c) }

// reply is what travels back: the answer, or a fault.
type reply struct {
	Code    fault.Code      `json:"code,omitempty"`
	Message string          `json:"message,omitempty"`
	Answer  json.RawMessage `json:"answer,omitempty"`
}

// callBroker asks other processes, and answers them.
type callBroker struct{ *connection }

// RequestCall makes a call and waits for the answer, no longer than ctx, whose end ends the call as well. The error is
// a fault: the callee's own, or a Busy one where no process answers.
func (b *callBroker) RequestCall(ctx context.Context, c Call, question, answer any) error {
	data, err := json.Marshal(question)
	if err != nil {
		return fmt.Errorf("encode call %s: %w", c, err)
	}
	request := nats.NewMsg(c.callSubject())
	request.Data = data
	request.Header.Set(headerCall, rand.Text())
	msg, err := b.nc.RequestMsgWithContext(ctx, request)
	if err != nil {
		if ctx.Err() != nil {
			// If it gets lost, the call is done for nothing.
			_ = b.nc.Publish(c.cancelSubject(), []byte(request.Header.Get(headerCall)))
		}
		if errors.Is(err, context.Canceled) {
			return err
		}
		return fault.Wrap(fault.Busy, fault.Unavailable, fmt.Errorf("call %s: %w", c, err))
	}
	var r reply
	if err := json.Unmarshal(msg.Data, &r); err != nil {
		return fmt.Errorf("decode answer to call %s: %w", c, err)
	}
	if r.Code != "" {
		return fault.New(r.Code, "%s", r.Message)
	}
	if err := json.Unmarshal(r.Answer, answer); err != nil {
		return fmt.Errorf("decode answer to call %s: %w", c, err)
	}
	return nil
}

// ServeCalls answers calls until ctx is done and those in hand are over: so many at once, each within the timeout, and
// no longer than its caller waits. Of several processes that answer the same call each gets a share.
func (b *callBroker) ServeCalls(ctx context.Context, c Call, workers int, timeout time.Duration,
	handle func(ctx context.Context, question []byte) (any, error)) error {
	calls := make(chan *nats.Msg, callQueueSize)
	sub, err := b.nc.ChanQueueSubscribe(c.callSubject(), string(c), calls)
	if err != nil {
		return fmt.Errorf("answer calls %s: %w", c, err)
	}
	under := &callsUnderWay{cancels: make(map[string]context.CancelFunc)}
	cancels, err := b.nc.Subscribe(c.cancelSubject(), func(msg *nats.Msg) { under.cancelCall(string(msg.Data)) })
	if err != nil {
		_ = sub.Unsubscribe()
		return fmt.Errorf("answer calls %s: %w", c, err)
	}
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case msg := <-calls:
					b.serveCall(ctx, c, under, msg, timeout, handle)
				}
			}
		})
	}
	<-ctx.Done()
	// The connection may be gone, and the subscription with it.
	_ = sub.Unsubscribe()
	wg.Wait()
	_ = cancels.Unsubscribe()
	return nil
}

// callsUnderWay are the calls that a process has in hand.
type callsUnderWay struct {
	mu      sync.Mutex // guards cancels
	cancels map[string]context.CancelFunc
}

// registerCall notes a call, until end is called.
func (u *callsUnderWay) registerCall(id string, cancel context.CancelFunc) (end func()) {
	if id == "" { // of a version before
		return func() {}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.cancels[id] = cancel
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		delete(u.cancels, id)
	}
}

func (u *callsUnderWay) cancelCall(id string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if cancel := u.cancels[id]; cancel != nil {
		cancel()
	}
}

func (b *callBroker) serveCall(ctx context.Context, c Call, under *callsUnderWay, msg *nats.Msg, timeout time.Duration,
	handle func(context.Context, []byte) (any, error)) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	defer under.registerCall(msg.Header.Get(headerCall), cancel)()
	var r reply
	v, err := handleWithRecover(ctx, msg.Data, handle)
	if err == nil {
		r.Answer, err = json.Marshal(v)
	}
	if err != nil {
		r = reply{Code: fault.CodeOf(err), Message: fault.UserMessageOf(err)}
		if r.Code == fault.Internal && !errors.Is(ctx.Err(), context.Canceled) {
			b.log.ErrorContext(ctx, "call failed", "call", string(c), "error", err)
		}
	}
	data, err := json.Marshal(r)
	if err == nil {
		err = msg.Respond(data)
	}
	if err != nil {
		b.log.WarnContext(ctx, "answer to a call got lost", "call", string(c), "error", err)
	}
}

// handleWithRecover turns a panic into an error, which is one caller's trouble alone.
func handleWithRecover(ctx context.Context, question []byte,
	handle func(context.Context, []byte) (any, error)) (v any, err error) {
	defer fault.RecoverPanic(&err)
	return handle(ctx, question)
}
