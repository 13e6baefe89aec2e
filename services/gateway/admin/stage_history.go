package admin

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"inkstream.dev/pkg/bus"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

const (
	// historyStep is how often the stages are looked at, and historyLength how many looks make the last hour.
	historyStep   = 10 * time.Second
	historyLength = int(time.Hour / historyStep)
	// processAge is how long a process is listed without a sign of life: it gives one every bus.ProcessInterval.
	processAge = 3 * bus.ProcessInterval
	// maxProcesses bounds the processes that are remembered of a stage.
	maxProcesses = 2000
)

// StageHistory remembers how the stages stood during the last hour, and which processes run them. It knows what this
// gateway has seen since it started. It is safe for concurrent use.
type StageHistory struct {
	bus *bus.Bus
	log *slog.Logger

	mu        sync.Mutex // guards what follows
	looks     map[bus.Stage][]stageLook
	processes map[bus.Stage]map[processKey]seenProcess
}

// stageLook is how a stage stood at a time.
type stageLook struct {
	at    time.Time
	done  uint64
	depth int64
}

type processKey struct {
	host string
	pid  int
}

type seenProcess struct {
	bus.Process
	seen time.Time
}

// NewStageHistory returns a StageHistory that has seen nothing yet.
func NewStageHistory(b *bus.Bus, log *slog.Logger) *StageHistory {
	return &StageHistory{bus: b, log: log, looks: map[bus.Stage][]stageLook{},
		processes: map[bus.Stage]map[processKey]seenProcess{}}
}

// Run looks at the stages, and listens to the processes, until ctx is done.
func (h *StageHistory) Run(ctx context.Context) {
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := h.bus.FollowProcesses(ctx, func(p bus.Process) { h.recordProcess(p, time.Now()) }); err != nil {
			h.log.WarnContext(ctx, "processes are not listed", "error", err)
		}
	})
	defer wg.Wait()
	tick := time.NewTicker(historyStep)
	defer tick.Stop()
	for ctx.Err() == nil {
		look, cancel := context.WithTimeout(ctx, historyStep)
		// What cannot be seen now is left out; /readyz says that the broker is away.
		if stages, err := h.bus.QueryStageStatuses(look); err == nil {
			h.recordStages(stages, time.Now())
		}
		cancel()
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

func (h *StageHistory) recordStages(stages []bus.StageStatus, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, st := range stages {
		depth := st.InFlight
		for _, n := range st.Waiting {
			depth += n
		}
		looks := append(h.looks[st.Stage], stageLook{now, st.Done, depth})
		h.looks[st.Stage] = looks[max(0, len(looks)-historyLength-1):]
	}
}

func (h *StageHistory) recordProcess(p bus.Process, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	known := h.processes[p.Stage]
	if known == nil {
		known = map[processKey]seenProcess{}
		h.processes[p.Stage] = known
	}
	key := processKey{p.Host, p.PID}
	if p.Stopping {
		delete(known, key)
		return
	}
	for k, one := range known {
		if now.Sub(one.seen) > processAge {
			delete(known, k)
		}
	}
	if _, again := known[key]; again || len(known) < maxProcesses {
		known[key] = seenProcess{p, now}
	}
}

// historyToProto returns a stage's last hour; nil before it was looked at twice.
func (h *StageHistory) historyToProto(s bus.Stage) *inkstreamv1.StageHistory {
	h.mu.Lock()
	defer h.mu.Unlock()
	looks := h.looks[s]
	if len(looks) < 2 {
		return nil
	}
	v := &inkstreamv1.StageHistory{EndTime: timestamppb.New(looks[len(looks)-1].at), StepSeconds: historyStep.Seconds()}
	for i, now := range looks[1:] {
		before, rate := looks[i], 0.0
		if took := now.at.Sub(before.at).Seconds(); took > 0 && now.done >= before.done {
			rate = float64(now.done-before.done) / took
		}
		v.Rates, v.Depths = append(v.Rates, rate), append(v.Depths, now.depth)
	}
	return v
}

// processesToProto lists the processes that run a stage, by host.
func (h *StageHistory) processesToProto(s bus.Stage, now time.Time) []*inkstreamv1.StageProcess {
	h.mu.Lock()
	defer h.mu.Unlock()
	var list []*inkstreamv1.StageProcess
	for _, p := range h.processes[s] {
		if now.Sub(p.seen) > processAge {
			continue
		}
		list = append(list, &inkstreamv1.StageProcess{Host: p.Host, Version: p.Version, Pid: int32(p.PID),
			StartTime: timestamppb.New(p.Start), InFlight: int32(p.InFlight), Walls: p.Walls})
	}
	slices.SortFunc(list, func(a, b *inkstreamv1.StageProcess) int {
		return cmp.Or(cmp.Compare(a.GetHost(), b.GetHost()), cmp.Compare(a.GetPid(), b.GetPid()))
	})
	return list
}
