package lifecycle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"time"
)

const (
	// checkTimeout bounds a dependency's check; a probe of Kubernetes waits no longer than a few seconds by default.
	checkTimeout = 2 * time.Second
	// checkGrace is how long a check that was cut may take to say what it waited for. One that says nothing by then is
	// hung.
	checkGrace = 250 * time.Millisecond
	// checkInterval is how long the result of the checks is used again, so that clients cannot load the dependencies
	// through /readyz.
	checkInterval = time.Second
	// watchInterval is how often WatchChecks asks.
	watchInterval = 5 * time.Second
	// minDownFailures is how many checks fail, one after the other, before DependencyError says so.
	minDownFailures = 3
)

// Phase is where a unit stands.
type Phase string

// The phases of a unit, in order.
const (
	Waiting  Phase = "waiting"
	Starting Phase = "starting"
	Ready    Phase = "ready"
	Stopping Phase = "stopping"
	Stopped  Phase = "stopped"
)

// Check says whether a dependency answers. It should end with its context; one that does not, as a write to a disk
// that hangs cannot, counts as failed from then on, and is not called again before it returns. Its error is shown at
// /readyz, so it holds no secret.
type Check func(ctx context.Context) error

// Status knows whether the process is ready: all its units are, and every dependency answers that it cannot do
// without. It serves that as /readyz: 200 if ready, else 503, and always a Report as JSON. All of it is safe
// for concurrent use.
type Status struct {
	// Observe, if set, is told the result of every check, for a metric. Set it before the first check.
	Observe func(ctx context.Context, dependency string, up bool)

	mu       sync.Mutex // guards what follows
	units    map[string]Phase
	checks   map[string]*dependencyCheck
	info     map[string]string
	failures map[string]repeatedFailure // by check; those that went well last are not in it

	checkMu sync.Mutex // guards what follows, and lets one caller check while the others wait for its result
	checked time.Time
	results map[string]Dependency
}

// dependencyCheck is a check, of which one call runs at a time.
type dependencyCheck struct {
	check    Check
	optional bool
	busy     chan struct{} // holds a token while a call runs, which may outlive the question that it was made for
}

// repeatedFailure is what is known of a dependency whose last checks failed.
type repeatedFailure struct {
	checks int // one after the other
	last   time.Time
	err    error
}

// Dependency is the result of a check.
type Dependency struct {
	Up     bool    `json:"up"`
	Millis float64 `json:"ms"`
	Error  string  `json:"error,omitempty"`
	// Optional says that the process is ready without it.
	Optional bool `json:"optional,omitempty"`
}

// Report is what /readyz answers.
type Report struct {
	Ready  bool                  `json:"ready"`
	Units  map[string]Phase      `json:"units"`
	Checks map[string]Dependency `json:"checks,omitempty"`
	Info   map[string]string     `json:"info,omitempty"`
}

// NewStatus returns a Status of a process without units, which is not ready.
func NewStatus() *Status {
	return &Status{units: map[string]Phase{}, checks: map[string]*dependencyCheck{}, info: map[string]string{},
		failures: map[string]repeatedFailure{}}
}

// TrackUnits returns the units as Run wants them, changed so that the Status knows how each stands. From this call on
// the process is ready only when they all are.
func (s *Status) TrackUnits(units ...Unit) []Unit {
	tracked := make([]Unit, 0, len(units))
	for _, unit := range units {
		s.setPhase(unit.Name, Waiting)
		tracked = append(tracked, s.trackUnit(unit))
	}
	return tracked
}

func (s *Status) trackUnit(unit Unit) Unit {
	run := unit.Run
	unit.Run = func(ctx context.Context, ready func()) error {
		s.setPhase(unit.Name, Starting)
		defer s.setPhase(unit.Name, Stopped)
		// What still comes in while a unit drains should go to another replica.
		stop := context.AfterFunc(ctx, func() { s.markStopping(unit.Name) })
		defer stop()
		return run(ctx, func() {
			s.markReady(unit.Name)
			ready()
		})
	}
	return unit
}

func (s *Status) setPhase(unit string, phase Phase) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.units[unit] = phase
}

// markReady is for ready calls, which may come late: a unit that is already stopping does not become ready.
func (s *Status) markReady(unit string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.units[unit] == Starting {
		s.units[unit] = Ready
	}
}

// markStopping may come late as well, because context.AfterFunc runs in a goroutine of its own.
func (s *Status) markStopping(unit string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.units[unit] != Stopped {
		s.units[unit] = Stopping
	}
}

// AddCheck makes the process ready only while the dependency of that name answers. A later check of the same name
// replaces it.
func (s *Status) AddCheck(name string, check Check) { s.addCheck(name, check, false) }

// AddOptionalCheck shows whether the dependency of that name answers, like AddCheck, but the process is ready without
// it: it does most of its work without that one.
func (s *Status) AddOptionalCheck(name string, check Check) { s.addCheck(name, check, true) }

func (s *Status) addCheck(name string, check Check, optional bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.checks[name] = &dependencyCheck{check: check, optional: optional, busy: make(chan struct{}, 1)}
}

// SetReportInfo shows a fact at /readyz, such as the durability in force. It has no part in being ready.
func (s *Status) SetReportInfo(key, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.info[key] = value
}

// IsUnitReady says whether the unit of that name is.
func (s *Status) IsUnitReady(unit string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.units[unit] == Ready
}

// BuildReport asks the dependencies, all at once and unless that was done within the last second, and returns how
// everything stands.
func (s *Status) BuildReport(ctx context.Context) Report {
	results := s.runChecks(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	r := Report{Ready: len(s.units) > 0, Units: maps.Clone(s.units), Checks: results, Info: maps.Clone(s.info)}
	for _, phase := range s.units {
		r.Ready = r.Ready && phase == Ready
	}
	for _, d := range results {
		r.Ready = r.Ready && (d.Up || d.Optional)
	}
	return r
}

// DependencyError returns what is wrong with a dependency that is known to be away: its last minDownFailures checks
// failed, and the last of them is not long ago, so that a slow answer or two do not count. It runs no check and does
// not wait.
func (s *Status) DependencyError(dependency string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d := s.failures[dependency]; d.checks >= minDownFailures && time.Since(d.last) < 2*watchInterval+checkTimeout {
		return fmt.Errorf("%s: %w", dependency, d.err)
	}
	return nil
}

// recordResult keeps for DependencyError how a check went.
func (s *Status) recordResult(name string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		delete(s.failures, name)
		return
	}
	s.failures[name] = repeatedFailure{s.failures[name].checks + 1, time.Now(), err}
}

// WatchChecks runs the checks every watchInterval until ctx is done, so that Observe and DependencyError know their
// results also where no client asks for the Report. It is a unit's Run.
func (s *Status) WatchChecks(ctx context.Context, ready func()) error {
	ready()
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	for {
		s.runChecks(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// runChecks returns a result for each check. Callers may not change it.
func (s *Status) runChecks(ctx context.Context) map[string]Dependency {
	s.checkMu.Lock()
	defer s.checkMu.Unlock()
	s.mu.Lock()
	checks := maps.Clone(s.checks)
	s.mu.Unlock()
	if time.Since(s.checked) < checkInterval && len(s.results) == len(checks) {
		return s.results
	}
	// The result is for other callers too, so it must not fail because this one hung up.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), checkTimeout)
	defer cancel()
	results := make(map[string]Dependency, len(checks))
	var mu sync.Mutex // guards results
	var wg sync.WaitGroup
	for name, p := range checks {
		wg.Go(func() {
			d, err := p.callWithGrace(ctx)
			s.recordResult(name, err)
			if s.Observe != nil {
				s.Observe(ctx, name, d.Up)
			}
			mu.Lock()
			defer mu.Unlock()
			results[name] = d
		})
	}
	wg.Wait()
	s.results, s.checked = results, time.Now()
	return results
}

// errCheckHung means that a check has not returned, though its time was over.
var errCheckHung = errors.New("no answer, and none to an earlier check that is still waited for")

// callWithGrace calls the check, and waits for it no longer than ctx and the grace, whatever it does.
func (p *dependencyCheck) callWithGrace(ctx context.Context) (Dependency, error) {
	began := time.Now()
	err := p.callCheck(ctx)
	d := Dependency{Up: err == nil, Millis: float64(time.Since(began).Microseconds()) / 1000, Optional: p.optional}
	if err != nil {
		d.Error = err.Error()
	}
	return d, err
}

func (p *dependencyCheck) callCheck(ctx context.Context) error {
	select {
	case p.busy <- struct{}{}:
	default:
		return errCheckHung
	}
	answer := make(chan error, 1)
	// No caller can wait for a check that hangs, so this goroutine has no owner; there is at most one of each check.
	go func() {
		defer func() { <-p.busy }()
		answer <- p.check(ctx)
	}()
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
	}
	grace := time.NewTimer(checkGrace)
	defer grace.Stop()
	select {
	case err := <-answer:
		return err
	case <-grace.C:
		return fmt.Errorf("no answer: %w", ctx.Err())
	}
}

// ServeHTTP serves /readyz.
func (s *Status) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	report := s.BuildReport(r.Context())
	body, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if !report.Ready {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	// A client that hung up has no use for the rest.
	_, _ = w.Write(append(body, '\n'))
}
