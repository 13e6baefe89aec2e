package bus_test

import (
	"context"
	"testing"
	"time"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
)

// A process that runs a stage says so when it begins and when it stops.
func TestProcessesSayWhatTheyRun(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	heard := make(chan bus.Process, 16)
	followed := make(chan error, 1)
	go func() { followed <- b.FollowProcesses(ctx, func(p bus.Process) { heard <- p }) }()
	for {
		run, stop := context.WithCancel(ctx)
		ready := make(chan struct{})
		ended := make(chan error, 1)
		consumer := b.NewConsumer(bus.OCR, bus.ConsumerConfig{Workers: 1, Deadline: time.Second}, nil)
		go func() { ended <- consumer.Run(run, func() { close(ready) }) }()
		<-ready
		stop()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		select {
		case p := <-heard: // of a consumer that began once the subscription was there
			if p.Stage != bus.OCR || p.PID == 0 || p.Host == "" || p.Start.IsZero() {
				t.Errorf("got %+v, want the process", p)
			}
			if !p.Stopping {
				if p = <-heard; !p.Stopping {
					t.Errorf("got %+v, want that it stops", p)
				}
			}
			cancel()
			if err := <-followed; err != nil {
				t.Error(err)
			}
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}
