package main

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"inkstream.dev/pkg/processtest"
	"inkstream.dev/services/standalone/chaos"
)

// point is the memory of a process when so many jobs, or pages of the long document, were queued or done.
type point struct{ x, mb float64 }

// series is the memory of one process from its start to its end.
type series struct {
	name   string
	pid    int
	phase  string
	points []point
}

// sampler looks at the memory of every process each second.
type sampler struct {
	stop func()
	done chan struct{}

	mu    sync.Mutex // guards what follows
	phase string     // empty: nothing is noted
	x     float64
	all   []*series
}

func newSampler(tb *testbed) *sampler {
	ctx, stop := context.WithCancel(context.Background())
	s := &sampler{stop: stop, done: make(chan struct{})}
	go func() {
		defer close(s.done)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				s.note(tb)
			}
		}
	}()
	return s
}

func (s *sampler) close() { s.stop(); <-s.done }

// set says what goes on, and how far it is.
func (s *sampler) set(phase string, x int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.phase, s.x = phase, float64(x)
}

// processes returns everything that runs, by name.
func (tb *testbed) processes() map[string]*chaos.Process {
	all := map[string]*chaos.Process{"s3": tb.s3, "clickhouse": tb.ch}
	for i, p := range tb.nats.Servers {
		all[fmt.Sprintf("nats %d", i)] = p
	}
	for name, p := range tb.services {
		all[name] = p
	}
	return all
}

func (s *sampler) note(tb *testbed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.phase == "" {
		return
	}
	for name, p := range tb.processes() {
		if p == nil || !p.Running() {
			continue
		}
		if n, err := processtest.Memory(p.PID(), "RssAnon"); err == nil { // else it has just ended
			s.add(name, p.PID(), n)
		}
	}
	total := int64(0)
	for _, e := range chaos.ListEngineChildren(filepath.Join(tb.dir, "bin")) {
		if n, err := processtest.Memory(e.PID, "RssAnon"); err == nil {
			total += n
		}
	}
	s.add("engine children", 0, total)
}

func (s *sampler) add(name string, pid int, bytes int64) {
	at := slices.IndexFunc(s.all, func(o *series) bool { return o.name == name && o.pid == pid && o.phase == s.phase })
	if at < 0 {
		at, s.all = len(s.all), append(s.all, &series{name: name, pid: pid, phase: s.phase})
	}
	s.all[at].points = append(s.all[at].points, point{s.x, float64(bytes) / 1e6})
}

// of returns the longest series of a process in a phase, without its first quarter, in which it warms up.
func (s *sampler) of(name, phase string) (points []point) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.all {
		if o.name == name && o.phase == phase && len(o.points) > len(points) {
			points = o.points
		}
	}
	return points[len(points)/4:]
}

// slope fits a line, and returns how much it rises for each x, and the standard error of that.
func slope(points []point) (rise, deviation float64) {
	n := float64(len(points))
	var sx, sy float64
	for _, p := range points {
		sx, sy = sx+p.x, sy+p.mb
	}
	var sxx, sxy float64
	for _, p := range points {
		sxx, sxy = sxx+(p.x-sx/n)*(p.x-sx/n), sxy+(p.x-sx/n)*(p.mb-sy/n)
	}
	if sxx == 0 || n < 3 {
		return math.NaN(), math.NaN()
	}
	rise = sxy / sxx
	var rest float64
	for _, p := range points {
		off := p.mb - sy/n - rise*(p.x-sx/n)
		rest += off * off
	}
	return rise, math.Sqrt(rest / (n - 2) / sxx)
}
