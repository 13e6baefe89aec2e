package chaos

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

// Report is what a run has done and found.
type Report struct {
	Seed uint64
	// Storm is how long things were killed, Settled how long the last jobs took afterwards.
	Storm, Settled time.Duration
	// Jobs is the number of acknowledged uploads, Tries of how many tries they came, Pages of how many pages they are.
	Jobs, Tries, Pages int
	// Cancels is the number of jobs beside them that were to be cancelled, Stopped of those that had not ended before.
	Cancels, Stopped int
	States           map[string]int
	// Killed counts what was killed, UnexpectedExits what ended by itself, Repeated the copies of tasks that were put on
	// the streams.
	Killed, UnexpectedExits map[string]int
	Repeated                int
	// SlowestOrphan is the longest that an engine child outlived its service.
	SlowestOrphan time.Duration
	// Discarded counts the uploads whose leftovers were removed at the end, Adopted those that became jobs then.
	Discarded, Adopted int
	// Failures are tries that the records count, DeadLetters what was given up, Explained the jobs that differ because
	// their engine was killed.
	Failures, DeadLetters, Explained int
	// Violations say what is not as promised.
	Violations []string

	mu      sync.Mutex // guards all of the above while the run goes on
	uploads []string   // the jobs of the undisturbed run
}

func newReport(cfg Config) *Report {
	return &Report{Seed: cfg.Seed, States: make(map[string]int), Killed: make(map[string]int),
		UnexpectedExits: make(map[string]int)}
}

func (r *Report) updateCounts(change func(*Report)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(r)
}

func (r *Report) addViolation(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Violations = append(r.Violations, fmt.Sprintf(format, args...))
}

// PrintTo writes the report as a table.
func (r *Report) PrintTo(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(what, format string, args ...any) { fmt.Fprintf(t, "%s\t%s\n", what, fmt.Sprintf(format, args...)) }
	row("seed", "%d", r.Seed)
	row("storm, then calm until the last job had ended", "%s, %s", r.Storm, r.Settled)
	row("uploads acknowledged", "%d, in %d tries", r.Jobs, r.Tries)
	row("jobs cancelled beside them", "%d, %d of them before their end", r.Cancels, r.Stopped)
	row("jobs by state", "%s", formatCounts(r.States))
	row("pages with an outcome", "%d", r.Pages)
	row("killed", "%s", formatCounts(r.Killed))
	row("ended by themselves", "%s", formatCounts(r.UnexpectedExits))
	row("tasks repeated", "%d", r.Repeated)
	row("engine children outlived their service by at most", "%s", r.SlowestOrphan.Round(time.Millisecond))
	row("uploads cut: leftovers removed, jobs made at the end", "%d, %d", r.Discarded, r.Adopted)
	row("failed tries counted, dead letters", "%d, %d", r.Failures, r.DeadLetters)
	row("jobs that differ because their engine was killed", "%d", r.Explained)
	row("violations", "%d", len(r.Violations))
	_ = t.Flush() // a reader of the report sees that it is cut
	for _, v := range r.Violations {
		fmt.Fprintln(w, "  VIOLATION:", v)
	}
}

func formatCounts(m map[string]int) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%s %d", k, m[k]))
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}
