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
	// checkGrace is how long a check that was cut may take to say what it waited for. One that says nothing by then is hung.
	checkGrace = 250 * time.Millisecond
	// checkEvery is how long the result of the checks is used again, so that nobody can load the dependencies through /readyz.
	checkEvery = time.Second
	// watchEvery is how often Watch asks.
	watchEvery = 5 * time.Second
	// downAfter is how many checks fail, one after the other, before Down says so.
	downAfter = 3
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

// Check says whether a dependency answers. It should end with its context; one that does not, as a write to a disk that hangs cannot, counts as failed from
// then on, and is not called again before it returns. Its error is shown at /readyz, so it holds no secret.
type Check func(ctx context.Context) error

// Status knows whether the process is ready: all its units are, and every dependency answers that it cannot do without. It serves that as /readyz: 200 if ready,
// else 503, and always a Report as JSON. All of it is safe for concurrent use.
type Status struct {
	// Observe, if set, is told the result of every check, for a metric. Set it before the first check.
	Observe func(ctx context.Context, dependency string, up bool)

	mu     sync.Mutex // guards what follows
	units  map[string]Phase
	checks map[string]*probe
	info   map[string]string
	down   map[string]failing // by check; those that went well last are not in it

	checkMu sync.Mutex // guards what follows, and lets one caller check while the others wait for its result
	checked time.Time
	results map[string]Dependency
}

// probe is a check, of which one call runs at a time.
type probe struct {
	check    Check
	optional bool
	busy     chan struct{} // holds a token while a call runs, which may outlive the question that it was made for
}

// failing is what is known of a dependency whose last checks failed.
type failing struct {
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
	return &Status{units: map[string]Phase{}, checks: map[string]*probe{}, info: map[string]string{}, down: map[string]failing{}}
}

// Track returns the units as Run wants them, changed so that the Status knows how each stands. From this call on the process is ready only
// when they all are.
func (s *Status) Track(units ...Unit) []Unit {
	tracked := make([]Unit, 0, len(units))
	for _, unit := range units {
		s.set(unit.Name, Waiting)
		tracked = append(tracked, s.track(unit))
	}
	return tracked
}

func (s *Status) track(unit Unit) Unit {
	run := unit.Run
	unit.Run = func(ctx context.Context, ready func()) error {
		s.set(unit.Name, Starting)
		defer s.set(unit.Name, Stopped)
		// What still comes in while a unit drains should go to another replica.
		stop := context.AfterFunc(ctx, func() { s.stopping(unit.Name) })
		defer stop()
		return run(ctx, func() {
			s.becameReady(unit.Name)
			ready()
		})
	}
	return unit
}

func (s *Status) set(unit string, phase Phase) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.units[unit] = phase
}

// becameReady is for ready calls, which may come late: a unit that is already stopping does not become ready.
func (s *Status) becameReady(unit string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.units[unit] == Starting {
		s.units[unit] = Ready
	}
}

// stopping may come late as well, because context.AfterFunc runs in a goroutine of its own.
func (s *Status) stopping(unit string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.units[unit] != Stopped {
		s.units[unit] = Stopping
	}
}

// AddCheck makes the process ready only while the dependency of that name answers. A later check of the same name replaces it.
func (s *Status) AddCheck(name string, check Check) { s.add(name, check, false) }

// AddOptional shows whether the dependency of that name answers, like AddCheck, but the process is ready without it: it does most of its work
// without that one.
func (s *Status) AddOptional(name string, check Check) { s.add(name, check, true) }

func (s *Status) add(name string, check Check, optional bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.checks[name] = &probe{check: check, optional: optional, busy: make(chan struct{}, 1)}
}

// SetInfo shows a fact at /readyz, such as the durability in force. It has no part in being ready.
func (s *Status) SetInfo(key, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.info[key] = value
}

// Ready says whether the unit of that name is.
func (s *Status) Ready(unit string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.units[unit] == Ready
}

// Report asks the dependencies, all at once and unless that was done within the last second, and returns how everything stands.
func (s *Status) Report(ctx context.Context) Report {
	results := s.check(ctx)
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

// Down returns what is wrong with a dependency that is known to be away: its last downAfter checks failed, and the last of them is not long ago, so
// that a slow answer or two do not count. It asks nobody and does not wait.
func (s *Status) Down(dependency string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d := s.down[dependency]; d.checks >= downAfter && time.Since(d.last) < 2*watchEvery+checkTimeout {
		return fmt.Errorf("%s: %w", dependency, d.err)
	}
	return nil
}

// note keeps for Down how a check went.
func (s *Status) note(name string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		delete(s.down, name)
		return
	}
	s.down[name] = failing{s.down[name].checks + 1, time.Now(), err}
}

// Watch asks the dependencies again and again until ctx is done, so that Observe and Down hear of them also where nobody asks for the Report. It
// is a unit's Run.
func (s *Status) Watch(ctx context.Context, ready func()) error {
	ready()
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		s.check(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// check returns a result for each check. Callers may not change it.
func (s *Status) check(ctx context.Context) map[string]Dependency {
	s.checkMu.Lock()
	defer s.checkMu.Unlock()
	s.mu.Lock()
	checks := maps.Clone(s.checks)
	s.mu.Unlock()
	if time.Since(s.checked) < checkEvery && len(s.results) == len(checks) {
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
			d, err := p.ask(ctx)
			s.note(name, err)
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

// errHung means that a check has not returned, though its time was over.
var errHung = errors.New("no answer, and none to an earlier check that is still waited for")

// ask calls the check, and waits for it no longer than ctx and the grace, whatever it does.
func (p *probe) ask(ctx context.Context) (Dependency, error) {
	began := time.Now()
	err := p.call(ctx)
	d := Dependency{Up: err == nil, Millis: float64(time.Since(began).Microseconds()) / 1000, Optional: p.optional}
	if err != nil {
		d.Error = err.Error()
	}
	return d, err
}

func (p *probe) call(ctx context.Context) error {
	select {
	case p.busy <- struct{}{}:
	default:
		return errHung
	}
	answer := make(chan error, 1)
	// Nobody can wait for what hangs, so nobody owns this goroutine; there is at most one of each check.
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
	report := s.Report(r.Context())
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
