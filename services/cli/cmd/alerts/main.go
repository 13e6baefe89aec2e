// Command alerts is a drill: it runs the services against three NATS servers, under a real Prometheus with the rules of
// deploy/observability, and makes each alert fire by causing what it is about. It looks that the alert does not fire
// before, and that it ends when the cause is gone. It asks the Prometheus every query of the dashboards, and follows a
// job's trace through a real OpenTelemetry collector. It ends with 1 where anything is not as it should be.
//
// The rules are used as they are, but that a minute is a second in them: "5m" becomes "5s", and "10 * 60" becomes "10 *
// 1".
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"inkstream.dev/services/standalone/chaos"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == noLandlockArg {
		exit(runWithoutLandlock(os.Args[2:]))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	exit(err)
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "alerts:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func run(ctx context.Context) (err error) {
	root := flag.String("root", ".", "`folder` of the repository")
	keep := flag.Bool("keep", false, "keep the data and logs")
	bin := flag.String("bin", "", "`folder` of the services' programs; empty to build them")
	flag.Parse()
	dir, err := os.MkdirTemp("", "inkstream-alerts-*")
	if err != nil {
		return err
	}
	defer func() {
		if *keep || err != nil {
			fmt.Println("data and logs are kept in", dir)
			return
		}
		_ = os.RemoveAll(dir) // nothing depends on it
	}()
	if *bin == "" {
		*bin = filepath.Join(dir, "bin")
		if err := chaos.BuildServices(*root, *bin); err != nil {
			return err
		}
	}
	tb := &testbed{root: *root, dir: dir, bin: *bin}
	defer tb.close()
	if err := tb.open(ctx); err != nil {
		return err
	}
	return errors.Join(tb.hang(ctx), tb.drill(ctx), tb.checkTrace(ctx), tb.checkDashboards(ctx))
}

// drill makes each alert fire, one cause after the other.
func (tb *testbed) drill(ctx context.Context) error {
	left := map[string]bool{}
	for _, name := range tb.alerts {
		left[name] = true
	}
	var errs []error
	for _, c := range tb.causes() {
		err := tb.try(ctx, c)
		for _, name := range c.alerts {
			delete(left, name)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", c.what, err))
			fmt.Printf("FAILED  %s: %v\n", c.what, err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	for name := range left {
		errs = append(errs, fmt.Errorf("nothing here makes the alert %s fire", name))
	}
	return errors.Join(errs...)
}

// patience bounds how long an alert may take to begin, and to end, on a machine that is busy with other things.
const patience = 5 * time.Minute

// try makes a cause, waits for its alerts, undoes it, and waits for their end.
func (tb *testbed) try(ctx context.Context, c cause) (err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	firing, err := tb.prometheus.firing(ctx)
	if err != nil {
		return err
	}
	for _, name := range c.alerts {
		if firing[name] {
			return fmt.Errorf("%s fires before anything was done", name)
		}
	}
	start := time.Now()
	if err := c.make(ctx); err != nil {
		return err
	}
	fired := tb.await(ctx, c.alerts, true)
	took := time.Since(start)
	start = time.Now()
	if err := errors.Join(fired, c.undo(ctx)); err != nil {
		return err
	}
	if err := tb.await(ctx, c.alerts, false); err != nil {
		return err
	}
	for _, name := range c.alerts {
		fmt.Printf("%-30s fired after %5.1f s, ended after %5.1f s: %s\n",
			name, took.Seconds(), time.Since(start).Seconds(), c.what)
	}
	return nil
}

// await waits until all of the alerts fire, or none does.
func (tb *testbed) await(ctx context.Context, alerts []string, fire bool) error {
	var last map[string]bool
	err := poll(ctx, patience, func() (bool, error) {
		firing, err := tb.prometheus.firing(ctx)
		last = firing
		for _, name := range alerts {
			if firing[name] != fire {
				return false, err
			}
		}
		return err == nil, err
	})
	if err != nil {
		return fmt.Errorf("want %v firing: %t, now fire %v: %w", alerts, fire, last, err)
	}
	return nil
}

// poll asks until done says so. The error is the last one where that takes too long.
func poll(ctx context.Context, patience time.Duration, done func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, err := done()
		if ok {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-tick.C:
		}
	}
}
