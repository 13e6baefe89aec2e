// Command scale runs the six services as processes of their own against three NATS servers, an S3 server and
// ClickHouse, with a deep queue of one-page jobs and a long document, and prints what the depth costs: memory,
// throughput, waits, start times. It restarts every NATS server and every service in the middle of it, and then
// accounts for every job. Work with an empty queue is measured before it and after it. It ends with 1 where a job is lost.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

// config says what is run.
type config struct {
	jobs, pages, window int
	finish, keep        bool
	root                string
}

// errLost says that the account at the end is not as it should be.
var errLost = errors.New("not every job is accounted for")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	var cfg config
	flag.IntVar(&cfg.jobs, "jobs", 100_000, "one-page jobs in the queue")
	flag.IntVar(&cfg.pages, "pages", 10_000, "pages of the long document")
	flag.IntVar(&cfg.window, "window", 0,
		"jobs over which throughput is measured (default: a fiftieth of -jobs, 200 at least)")
	flag.BoolVar(&cfg.finish, "finish", false, "process the whole queue, instead of a share of it")
	flag.BoolVar(&cfg.keep, "keep", false, "keep the data and logs")
	flag.StringVar(&cfg.root, "root", ".", "`folder` of the repository, to build from")
	flag.Parse()
	if cfg.window == 0 {
		cfg.window = max(cfg.jobs/50, 200)
	}
	if cfg.jobs < 2*cfg.window || cfg.pages < 1 {
		return fmt.Errorf("%d jobs and %d pages: want at least two windows of %d jobs, and a page", cfg.jobs,
			cfg.pages, cfg.window)
	}
	dir, err := os.MkdirTemp("", "inkstream-scale-*")
	if err != nil {
		return err
	}
	h := &rehearsal{testbed: &testbed{cfg: cfg, dir: dir}, report: newReport(os.Stdout)}
	defer func() {
		h.close()
		if cfg.keep || err != nil {
			fmt.Fprintln(os.Stderr, "data and logs are kept in", dir)
			return
		}
		_ = os.RemoveAll(dir) // nothing depends on it
	}()
	fmt.Printf("%d one-page jobs and a document of %d pages, %d cores, %s\n", cfg.jobs, cfg.pages, runtime.NumCPU(),
		time.Now().Format(time.DateOnly))
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"start", h.start},
		{"costs", h.measureCosts},
		{"empty queue", h.measureEmpty},
		{"fill the queue", h.fill},
		{"deep queue", h.measureDeep},
		{"long document and rolling restart", h.disturb},
		{"account", h.account},
		{"empty queue again", h.measureEmptyAgain},
	} {
		start := time.Now()
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		fmt.Fprintf(os.Stderr, "%s: %s\n", step.name, time.Since(start).Round(time.Second))
	}
	h.report.print(h)
	if h.report.lost {
		return errLost
	}
	return nil
}
