// Package lifecycle starts the parts of a process in order, stops them in reverse, and says whether they are ready.
package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"
)

// DefaultDrainTimeout is how long a unit may take to stop unless it says otherwise. It is the grace that Kubernetes
// gives a pod by default.
const DefaultDrainTimeout = 30 * time.Second

// Unit is a part of a process that runs from start to stop: a service, a server, a connection.
type Unit struct {
	// Name tells the unit apart in logs, errors and readiness.
	Name string
	// Run blocks until its context is done, then finishes what it has in hand. It calls ready once it accepts work.
	// Every goroutine that it started has ended when it returns; nil means a clean stop. Returning by itself stops all
	// other units too.
	Run func(ctx context.Context, ready func()) error
	// DrainTimeout bounds the time from the end of the context to Run's return; 0 means DefaultDrainTimeout.
	DrainTimeout time.Duration
	// EndsProcess says that the unit's work comes to an end: when Run returns nil, all units stop cleanly. Without it
	// that is a failure.
	EndsProcess bool
}

// runningUnit is a unit that was started.
type runningUnit struct {
	Unit
	stop  context.CancelFunc
	ready chan struct{} // closed once the unit accepts work
	done  chan struct{} // closed when Run has returned
	err   error         // what Run returned; read it after done
}

// Run starts the units in order, each after the one before it is ready, and returns when all have stopped. They are
// stopped in reverse order, each after the one behind it has stopped, when ctx ends, when one fails, or when an
// EndsProcess one is through. The error names the unit and joins the errors of all; nil means that all stopped
// cleanly. A unit that does not stop in time is left behind and reported.
//
// A unit's context keeps the values of ctx, but it ends only when that unit is to stop. A unit that panics takes the
// process down: its work is safe on the queue, and the state that it left behind is unknown.
func Run(ctx context.Context, log *slog.Logger, units ...Unit) error {
	ended := make(chan *runningUnit, len(units)) // room for all, so that no unit waits to report its end
	started, cause := startAll(ctx, log, units, ended)
	if cause == nil && ctx.Err() == nil && len(units) > 0 {
		select {
		case <-ctx.Done():
		case cause = <-ended:
		}
	}
	var first error
	if cause != nil {
		first = cause.exitError()
	}
	if first != nil {
		log.ErrorContext(ctx, "stopping, because a unit failed", "error", first)
	} else {
		log.InfoContext(ctx, "stopping")
	}
	return errors.Join(first, stopAll(ctx, log, started, cause))
}

// startAll starts the units in order until all are ready or the process is to stop instead. The cause is the unit
// that ended by itself, if that is the reason.
func startAll(ctx context.Context, log *slog.Logger, units []Unit,
	ended chan *runningUnit) (started []*runningUnit, cause *runningUnit) {
	for _, unit := range units {
		if ctx.Err() != nil {
			return started, nil
		}
		began := time.Now()
		r := startUnit(ctx, unit, ended)
		started = append(started, r)
		select {
		case <-ctx.Done():
			return started, nil
		case cause = <-ended:
			return started, cause
		case <-r.ready:
			log.InfoContext(ctx, "unit ready", "unit", unit.Name, "took", time.Since(began))
		}
	}
	return started, nil
}

// startUnit runs the unit in a goroutine. stopAll waits for it.
func startUnit(ctx context.Context, unit Unit, ended chan<- *runningUnit) *runningUnit {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	r := &runningUnit{Unit: unit, stop: stop, ready: make(chan struct{}), done: make(chan struct{})}
	ready := sync.OnceFunc(func() { close(r.ready) })
	go func() {
		r.err = unit.Run(ctx, ready)
		close(r.done)
		ended <- r
	}()
	return r
}

// exitError is the error of a unit that returned without being asked to.
func (r *runningUnit) exitError() error {
	switch {
	case r.err != nil:
		return fmt.Errorf("%s: %w", r.Name, r.err)
	case r.EndsProcess:
		return nil
	default:
		return fmt.Errorf("%s: ended without being asked to", r.Name)
	}
}

// stopAll stops the units in reverse order and returns the errors of those that did not stop cleanly. The error of
// the cause is not among them: Run has it.
func stopAll(ctx context.Context, log *slog.Logger, started []*runningUnit, cause *runningUnit) error {
	var errs []error
	for _, r := range slices.Backward(started) {
		if r == cause {
			r.stop()
			continue
		}
		began := time.Now()
		if err := r.drainUnit(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", r.Name, err))
			continue
		}
		log.InfoContext(ctx, "unit stopped", "unit", r.Name, "took", time.Since(began))
	}
	return errors.Join(errs...)
}

// drainUnit asks the unit to stop and waits until it has.
func (r *runningUnit) drainUnit() error {
	limit := r.DrainTimeout
	if limit <= 0 {
		limit = DefaultDrainTimeout
	}
	r.stop()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-r.done:
	case <-timer.C:
		return fmt.Errorf("did not stop within %s", limit)
	}
	if errors.Is(r.err, context.Canceled) {
		return nil // it only says that it was asked to stop
	}
	return r.err
}

// SignalContext returns a context that ends at the first SIGINT or SIGTERM. From then on these signals have their
// usual effect again, so that a second one kills the process at once. The returned function releases what the first
// one holds.
func SignalContext(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}
