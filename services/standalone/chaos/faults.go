package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// taskRecorder remembers the tasks that go by, and puts copies of them on the streams again.
type taskRecorder struct {
	nc *nats.Conn

	mu   sync.Mutex // guards what follows
	seen []*nats.Msg
	next int // where the next one goes once seen is full
}

// maxRecordedTasks is how many tasks a spy knows; old ones make way.
const maxRecordedTasks = 500

func newTaskRecorder(url string) (*taskRecorder, error) {
	nc, err := nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(200*time.Millisecond), nats.Name("chaos"))
	if err != nil {
		return nil, fmt.Errorf("spy: %w", err)
	}
	s := &taskRecorder{nc: nc}
	for _, lane := range []string{"interactive", "batch"} {
		if _, err := nc.Subscribe("ink.*."+lane+".>", s.recordTask); err != nil {
			nc.Close()
			return nil, fmt.Errorf("spy: %w", err)
		}
	}
	return s, nil
}

func (s *taskRecorder) recordTask(m *nats.Msg) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.seen) < maxRecordedTasks {
		s.seen = append(s.seen, m)
		return
	}
	s.seen[s.next] = m
	s.next = (s.next + 1) % maxRecordedTasks
}

// republishTask publishes a copy of a task that went by, under another id or under none. It reports whether there was
// one.
func (s *taskRecorder) republishTask(r *rand.Rand) func() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.seen) == 0 {
		return func() bool { return false }
	}
	m := s.seen[r.IntN(len(s.seen))]
	twin := nats.NewMsg(m.Subject)
	twin.Data = m.Data
	for k, v := range m.Header {
		twin.Header[k] = v
	}
	id := m.Header.Get(jetstream.MsgIDHeader)
	twin.Header.Del(jetstream.MsgIDHeader)
	if r.IntN(2) == 0 {
		twin.Header.Set(jetstream.MsgIDHeader, id+"#chaos"+strconv.FormatUint(r.Uint64(), 36))
	}
	// The server may be away; then there is no copy this time.
	return func() bool { return s.nc.PublishMsg(twin) == nil }
}

func (s *taskRecorder) closeConn() { s.nc.Close() }

// faultInjector has things go wrong during a run, as chance has it.
type faultInjector struct {
	run  *run
	rand *rand.Rand
	late sync.WaitGroup // tasks that are repeated later
}

// injectFaults does one thing after the other until ctx is done. Every other thing is one that has not been killed
// yet; the rest is chance.
func (f *faultInjector) injectFaults(ctx context.Context) {
	r := f.rand
	defer f.late.Wait()
	// The server, an engine child, and each service.
	once := append([]int{len(Services), len(Services) + 1}, r.Perm(len(Services))...)
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(200+r.IntN(900)) * time.Millisecond):
		}
		if n%2 == 0 && len(once) > 0 {
			switch what := once[0]; what {
			case len(Services):
				f.killNATSServer(ctx)
			case len(Services) + 1:
				f.killRandomEngine()
			default:
				f.killServices(ctx, what)
			}
			once = once[1:]
			continue
		}
		switch n := r.IntN(100); {
		case n < 32:
			f.killServices(ctx, r.IntN(len(Services)))
		case n < 40:
			f.killServices(ctx, r.Perm(len(Services))[:2+r.IntN(3)]...)
		case n < 48:
			f.killRandomEngine()
		case n < 55:
			f.killNATSServer(ctx)
		default:
			for range 1 + r.IntN(4) {
				f.repeatTask(ctx)
			}
		}
	}
}

// pauseRandomly waits at most for limit before something that was killed is started again.
func (f *faultInjector) pauseRandomly(ctx context.Context, limit time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(time.Duration(f.rand.Int64N(int64(limit)))):
	}
}

// killServices kills services, by their place in Services, and starts them again.
func (f *faultInjector) killServices(ctx context.Context, victims ...int) {
	for _, i := range victims {
		p := f.run.services[Services[i]]
		if !p.Kill() {
			continue
		}
		f.run.logAction("killed %s", p.name)
		f.run.report.updateCounts(func(rep *Report) { rep.Killed[p.name]++ })
	}
	f.run.checkOrphans()
	f.pauseRandomly(ctx, 400*time.Millisecond)
	f.run.startStopped()
}

// orphanTimeout is how long the engine children of a service that was killed may stay. They are told by the kernel,
// so it is a matter of milliseconds, but they are also the last to get a processor.
const orphanTimeout = 5 * time.Second

// checkOrphans makes sure that engine children went with their service.
func (w *run) checkOrphans() {
	took, err := AwaitNoOrphans(w.bin, orphanTimeout, w.servicePIDs()...)
	w.report.updateCounts(func(rep *Report) { rep.SlowestOrphan = max(rep.SlowestOrphan, took) })
	if err != nil {
		w.report.addViolation("%v", err)
	}
}

func (w *run) servicePIDs() (pids []int) {
	for _, p := range w.services {
		if p.Running() {
			pids = append(pids, p.PID())
		}
	}
	return pids
}

// engineKill is the time in which an engine child that was killed may have cost a document a try: a machine that is
// busy takes a while to end it, and its parent to notice, and until then the parent may give it another document.
type engineKill struct{ from, to time.Time }

// killRandomEngine kills a random engine child, and waits until its parent has noticed.
func (f *faultInjector) killRandomEngine() {
	all := ListEngineChildren(f.run.bin)
	if len(all) == 0 {
		return
	}
	victim := all[f.rand.IntN(len(all))]
	kill := engineKill{from: time.Now()}
	if syscall.Kill(victim.PID, syscall.SIGKILL) != nil {
		return
	}
	reaped := awaitReaped(victim.PID, orphanTimeout)
	kill.to = time.Now()
	f.run.logAction("killed engine child %d of %d, reaped %t after %s", victim.PID, victim.Parent, reaped,
		kill.to.Sub(kill.from))
	f.run.report.updateCounts(func(rep *Report) { rep.Killed["engine child"]++ })
	f.run.mu.Lock()
	defer f.run.mu.Unlock()
	f.run.engineKills = append(f.run.engineKills, kill)
}

// killNATSServer kills the server, and starts it again on what it has on disk.
func (f *faultInjector) killNATSServer(ctx context.Context) {
	if !f.run.nats.Kill() {
		return
	}
	f.run.logAction("killed %s", f.run.nats.name)
	f.run.report.updateCounts(func(rep *Report) { rep.Killed[f.run.nats.name]++ })
	f.pauseRandomly(ctx, time.Second)
	f.run.startStopped()
}

// repeatTask puts a copy of a task on the streams, at once or later.
func (f *faultInjector) repeatTask(ctx context.Context) {
	send := f.run.recorder.republishTask(f.rand)
	wait := time.Duration(0)
	if f.rand.IntN(2) == 0 {
		wait = time.Duration(f.rand.IntN(8000)) * time.Millisecond
	}
	f.late.Go(func() {
		select {
		case <-ctx.Done(): // what is late comes now, while the last jobs run
		case <-time.After(wait):
		}
		if send() {
			f.run.logAction("repeated a task")
			f.run.report.updateCounts(func(rep *Report) { rep.Repeated++ })
		}
	})
}

// laneOfUpload returns the lane that a load's n-th upload takes.
func laneOfUpload(n int) string {
	if strings.HasSuffix(strconv.Itoa(n), "3") || n%4 == 0 {
		return "batch"
	}
	return "interactive"
}
