// Package failpoint cuts production code at named points, so that tests can show what a crash there leads to.
//
// A point is a call of Hit. No point is armed at the start: a main arms points by ArmFromEnv, a test by ArmPoints.
// Until then a Hit is one atomic load. The points of a handler are named after its stage and the step that has just
// been done, as pkg/stage counts them:
//
//	read ── work ── commit ── next ── publish ── (acknowledged)
//
// e.g. render.work: the pages are read and stored, and the batch, which commits them, is not. The gateway's are named
// after what of an upload is stored: gateway.blob, .claim, .record, .queued.
package failpoint

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

// EnvVariable is the variable that ArmFromEnv reads.
const EnvVariable = "INKSTREAM_FAILPOINTS"

// ErrInjected is what Hit returns at a point that is armed to fail.
var ErrInjected = errors.New("failure injected at a failpoint")

type pointAction string

const (
	// actKill ends the process by SIGKILL: nothing is flushed, nothing is reported.
	actKill pointAction = "kill"
	// actError makes Hit return ErrInjected.
	actError pointAction = "error"
	// actStop stops the process by SIGSTOP, as a machine that sleeps does; it goes on with SIGCONT.
	actStop pointAction = "stop"
)

// armedPoint is what happens at one point.
type armedPoint struct {
	action pointAction
	// first is the hit, counted from 1, at which the action begins, times how often it comes.
	first, times int
	hits         int
}

// armedPoints are those that are armed, by name.
type armedPoints struct {
	mu     sync.Mutex // guards the counts
	byName map[string]*armedPoint
}

var current atomic.Pointer[armedPoints]

// Hit marks a point: where is the part of the system, what the step that has just been done. It returns nil at once
// unless the point is armed.
func Hit(where, what string) error {
	p := current.Load()
	if p == nil {
		return nil
	}
	return p.countHit(where + "." + what)
}

func (p *armedPoints) countHit(name string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	pt := p.byName[name]
	if pt == nil {
		return nil
	}
	pt.hits++
	if pt.hits < pt.first || pt.hits >= pt.first+pt.times {
		return nil
	}
	switch pt.action {
	case actError:
		return fmt.Errorf("%s: %w", name, ErrInjected)
	case actStop:
		stopProcess()
		return nil
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL) // of one's own process: it cannot fail
	select {}                                      // with the lock held, so that no other goroutine gets past a point
}

// stopProcess stops the process, and returns when it goes on: other threads may run on for a moment after the signal,
// but this one goes no further.
func stopProcess() {
	goesOn := make(chan os.Signal, 1)
	signal.Notify(goesOn, syscall.SIGCONT)
	defer signal.Stop(goesOn)
	_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP) // of one's own process: it cannot fail
	<-goesOn
}

// ArmPoints arms the points of a specification, in place of those that were armed, until disarm is called. A
// specification is a list such as
//
//	render.work=kill,ocr.commit=kill@2,index.publish=error@1x3
//
// where @2 begins with the second hit, and x3 means three times in a row; without them it is the first hit, once.
func ArmPoints(spec string) (disarm func(), err error) {
	p := &armedPoints{byName: make(map[string]*armedPoint)}
	for item := range strings.SplitSeq(spec, ",") {
		name, what, ok := strings.Cut(strings.TrimSpace(item), "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("failpoint %q: want name=action", item)
		}
		pt, err := parsePoint(what)
		if err != nil {
			return nil, fmt.Errorf("failpoint %s: %w", name, err)
		}
		p.byName[name] = pt
	}
	current.Store(p)
	return func() { current.CompareAndSwap(p, nil) }, nil
}

// parsePoint reads action[@first[xtimes]].
func parsePoint(s string) (*armedPoint, error) {
	pt := &armedPoint{first: 1, times: 1}
	name, counts, counted := strings.Cut(s, "@")
	pt.action = pointAction(name)
	if pt.action != actKill && pt.action != actError && pt.action != actStop {
		return nil, fmt.Errorf("action %q: want kill, error or stop", name)
	}
	if !counted {
		return pt, nil
	}
	first, times, repeated := strings.Cut(counts, "x")
	var err error
	if pt.first, err = strconv.Atoi(first); err != nil || pt.first < 1 {
		return nil, fmt.Errorf("first hit %q: want a number from 1 on", first)
	}
	if repeated {
		if pt.times, err = strconv.Atoi(times); err != nil || pt.times < 1 {
			return nil, fmt.Errorf("times %q: want a number from 1 on", times)
		}
	}
	return pt, nil
}

// ArmFromEnv arms what the environment asks for, and says so loudly: a process that is meant to die does not belong
// in production. It does nothing where EnvVariable is not set. Only mains call it.
func ArmFromEnv(ctx context.Context, getenv func(string) string, log *slog.Logger) error {
	spec := getenv(EnvVariable)
	if spec == "" {
		return nil
	}
	if _, err := ArmPoints(spec); err != nil {
		return fmt.Errorf("%s: %w", EnvVariable, err)
	}
	log.ErrorContext(ctx, "FAILPOINTS ARE ARMED: this process will fail on purpose, which is for tests only", "spec", spec)
	return nil
}
