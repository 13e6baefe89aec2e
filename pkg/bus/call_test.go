package bus_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/fault"
)

func TestServiceCall(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	question := bus.ImageRequest{Tenant: "acme", Job: "j", Page: 3, DPI: 72}
	ask := func() (string, error) {
		var got bus.ImageResponse
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		err := b.RequestCall(ctx, bus.ImageCall, question, &got)
		return got.Key, err
	}
	if _, err := ask(); fault.KindOf(err) != fault.Busy || fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("nobody answers: got %v, want a busy fault", err)
	}
	done := make(chan error, 1)
	go func() {
		done <- b.ServeCalls(ctx, bus.ImageCall, 2, time.Second, func(_ context.Context, data []byte) (any, error) {
			var q bus.ImageRequest
			if err := json.Unmarshal(data, &q); err != nil {
				return nil, err
			}
			switch q.Page {
			case 1:
				return nil, fault.New(fault.PageDamaged, "page 1")
			case 2:
				panic("page 2")
			case 4:
				return nil, errors.New("a secret of the server")
			}
			return bus.ImageResponse{Key: q.Tenant + "/" + q.Job}, nil
		})
	}()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		key, err := ask()
		if err == nil && key == "acme/j" {
			break
		}
		if fault.CodeOf(err) != fault.Unavailable { // it is about to listen
			t.Fatalf("got %q, %v", key, err)
		}
		<-tick.C
	}
	for page, want := range map[int]fault.Code{1: fault.PageDamaged, 2: fault.Internal, 4: fault.Internal} {
		question.Page = page
		if _, err := ask(); fault.CodeOf(err) != want || err.Error() == "" {
			t.Errorf("page %d: got %v, want %s", page, err, want)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Answer: %v", err)
	}
}

// What is done for a call ends when its caller gives up.
func TestCallEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	begun, ended := make(chan struct{}, 1), make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- b.ServeCalls(ctx, bus.ImageCall, 1, time.Hour, func(ctx context.Context, _ []byte) (any, error) {
			begun <- struct{}{}
			<-ctx.Done()
			close(ended)
			return nil, ctx.Err()
		})
	}()
	for { // until it listens
		asking, giveUp := context.WithCancel(t.Context())
		asked := make(chan error, 1)
		go func() { asked <- b.RequestCall(asking, bus.ImageCall, bus.ImageRequest{}, nil) }()
		select {
		case <-begun:
			giveUp()
			if err := <-asked; !errors.Is(err, context.Canceled) {
				t.Errorf("the caller that gave up has %v, want context.Canceled", err)
			}
		case <-asked:
			giveUp()
			continue
		}
		break
	}
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Error("the work goes on when its caller is gone")
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
