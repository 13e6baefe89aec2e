package bus_test

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
)

// goroutineName returns what a stack trace calls the goroutine that asks.
func goroutineName() string {
	stack := make([]byte, 64)
	name, _, _ := bytes.Cut(stack[:runtime.Stack(stack, false)], []byte(" ["))
	return string(name)
}

// A consumer has as many goroutines for its handlers as slots, however many tasks there are.
func TestHandlersShareGoroutines(t *testing.T) {
	t.Parallel()
	const workers, tasks = 2, 20
	b := bustest.New(t)
	var mu sync.Mutex // guards names
	names := map[string]int{}
	r := newRecorder(func(context.Context, int, *bus.Delivery) error {
		mu.Lock()
		defer mu.Unlock()
		names[goroutineName()]++
		return nil
	})
	stop := start(t, b, bus.ConsumerConfig{Workers: workers}, r)
	for i := range tasks {
		publish(t, b, message(fmt.Sprint("page-", i), bus.Interactive))
	}
	for range tasks {
		<-r.seenCh
	}
	stop()
	if len(names) > workers {
		t.Errorf("%d goroutines handled %d tasks (%v), want at most %d", len(names), tasks, names, workers)
	}
}
