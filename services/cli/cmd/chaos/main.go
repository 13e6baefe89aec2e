// Command chaos runs the pipeline as separate processes under a mixed load, kills services, engines and the NATS
// server at random, repeats and delays messages, and at the end holds what is left against what was promised. It ends
// with 1 where anything is not as it should be.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"
	"time"

	"inkstream.dev/services/standalone/chaos"
)

func main() {
	chaos.Main()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ok, err := runChaos(ctx)
	stop()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(2)
	case !ok:
		os.Exit(1)
	}
}

func runChaos(ctx context.Context) (ok bool, err error) {
	cfg := chaos.Config{Log: os.Stderr}
	flag.DurationVar(&cfg.Duration, "duration", 3*time.Minute, "how long things are killed")
	flag.Uint64Var(&cfg.Seed, "seed", 0, "repeat the choices of an earlier run; 0 for new ones")
	flag.IntVar(&cfg.Jobs, "jobs", 300, "uploads")
	flag.BoolVar(&cfg.Small, "small", false, "leave out the documents that take long")
	flag.BoolVar(&cfg.Sync, "sync", true, "wait for the disk, as in production")
	flag.StringVar(&cfg.Bin, "bin", "",
		"`folder` of the services' programs, which no other run uses meanwhile; empty to build them")
	root := flag.String("root", ".", "`folder` of the repository, to build from")
	keep := flag.Bool("keep", false, "keep the data and logs")
	flag.Parse()
	if cfg.Jobs < 1 || cfg.Duration < time.Second {
		return false, fmt.Errorf("%d jobs in %s: want at least one, and a second", cfg.Jobs, cfg.Duration)
	}
	if cfg.Seed == 0 {
		cfg.Seed = rand.Uint64N(1_000_000) + 1
	}
	fmt.Printf("seed %d (repeat with -seed %[1]d)\n", cfg.Seed)
	if cfg.Dir, err = os.MkdirTemp("", "inkstream-chaos-*"); err != nil {
		return false, err
	}
	defer func() {
		if *keep || !ok {
			fmt.Fprintln(os.Stderr, "data and logs are kept in", cfg.Dir)
			return
		}
		_ = os.RemoveAll(cfg.Dir) // nothing depends on it
	}()
	if cfg.Bin == "" {
		cfg.Bin = cfg.Dir + "/bin"
		if err := chaos.BuildServices(*root, cfg.Bin); err != nil {
			return false, err
		}
	}
	report, err := chaos.Run(ctx, cfg)
	if err != nil {
		return false, err
	}
	report.PrintTo(os.Stdout)
	return len(report.Violations) == 0, nil
}
