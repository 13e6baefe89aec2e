package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/services/standalone/chaos"
)

// state is what was measured with the queue empty, or deep.
type state struct {
	rate                     float64
	processor                []time.Duration // what the same computation takes, see measureProcessor
	list, search, own, other []time.Duration
	starts                   map[string]time.Duration
}

// report is what a run found.
type report struct {
	out            io.Writer
	costs          []named
	empty, deep    state
	again          state // with the queue empty again, after all else
	depth          map[bus.Stage]uint64
	filled         time.Duration
	caughtUp       time.Duration // the index, with the records and events of the whole queue
	natsStart      time.Duration
	rolled         []time.Duration
	rolledServices map[string]time.Duration
	long           chaos.Job
	states         map[string]int
	submitted      int
	waiting        int // jobs that have not ended
	without        int // those of them of which no queue has a task
	letters        int
	lost           bool
}

func newReport(out io.Writer) *report { return &report{out: out, states: make(map[string]int)} }

func ms(d time.Duration) string { return fmt.Sprintf("%.0f ms", float64(d.Microseconds())/1000) }

// print prints the tables.
func (r *report) print(h *rehearsal) {
	t := tabwriter.NewWriter(r.out, 0, 0, 2, ' ', 0)
	r.printComparison(t)
	r.printMemory(t, h)
	r.printCosts(t)
	_ = t.Flush() // stdout
	fmt.Fprintf(r.out, "\nJOBS  %d submitted: %v; %d not ended, %d of them without a task; %d dead letters\n",
		r.submitted, r.states, r.waiting, r.without, r.letters)
	fmt.Fprintf(r.out, "long document: %s with %d of %d pages\n", r.long.State, r.long.PagesDone, r.long.PageCount)
	if r.lost {
		fmt.Fprintln(r.out, "LOST: these do not add up")
	} else {
		fmt.Fprintln(r.out, "every job has succeeded, or waits with its task")
	}
	fmt.Fprintf(r.out,
		"\nWHAT WAS RUN  the %d jobs were written as the gateway writes them, by %d writers in %s with NATS not waiting for the disk;\n",
		h.cfg.jobs, seeders, r.filled.Round(time.Second))
	fmt.Fprintln(r.out, "all else with sync_interval: always. The services behind the gateway were stopped meanwhile.")
	fmt.Fprintf(r.out,
		"Stages stop at %d tasks of the next one (production: 50,000), so that each does in a window what the last one does.\n", stageMark)
	if r.waiting > 0 {
		fmt.Fprintf(r.out,
			"Of the queue %d jobs were processed and %d were left. At %.1f jobs a second the rest would take %s: extrapolated, not run.\n",
			r.states["SUCCEEDED"], r.waiting, r.deep.rate,
			(time.Duration(float64(r.waiting)/r.deep.rate) * time.Second).Round(time.Minute))
	}
}

// printComparison compares the deep queue with the empty one: with the mean of before and after where both were measured.
func (r *report) printComparison(t io.Writer) {
	row := func(what string, empty, deep, again time.Duration) {
		after, mean := "-", empty
		if again > 0 {
			after, mean = ms(again), (empty+again)/2
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%.2f\n", what, ms(empty), ms(deep), after, deep.Seconds()/mean.Seconds())
	}
	total := uint64(0)
	for _, n := range r.depth {
		total += n
	}
	fmt.Fprintf(t, "\nWHAT\tEMPTY QUEUE\t%d QUEUED\tEMPTY AGAIN\tRATIO\n", total)
	fmt.Fprintf(t, "one-page jobs a second\t%.1f\t%.1f\t%.1f\t%.2f\n", r.empty.rate, r.deep.rate, r.again.rate,
		2*r.deep.rate/(r.empty.rate+r.again.rate))
	row("SHA-256 of 64 MB meanwhile, processor time", median(r.empty.processor), median(r.deep.processor),
		median(r.again.processor))
	row("one page of the same tenant, until it is done (deep: beside the long document)", median(r.empty.own),
		median(r.deep.own), 0)
	row("one page of another tenant, the same", median(r.empty.other), median(r.deep.other), 0)
	row("list of 50 jobs, while all work", median(r.empty.list), median(r.deep.list), median(r.again.list))
	row("search, while all work", median(r.empty.search), median(r.deep.search), median(r.again.search))
	for _, name := range slices.Sorted(maps.Keys(r.empty.starts)) {
		row("start of "+name, r.empty.starts[name], r.deep.starts[name], 0)
	}
	alone := func(what string, took time.Duration) { fmt.Fprintf(t, "%s\t-\t%s\t-\t\n", what, ms(took)) }
	alone("index service: until it knows all jobs that were queued while it was away", r.caughtUp)
	alone("start of all NATS servers", r.natsStart)
	for i, d := range r.rolled {
		alone(fmt.Sprintf("rolling restart: NATS server %d, until it has caught up", i), d)
	}
	for _, name := range slices.Sorted(maps.Keys(r.rolledServices)) {
		alone("rolling restart: start of "+name, r.rolledServices[name])
	}
}

func (r *report) printMemory(t io.Writer, h *rehearsal) {
	for _, phase := range []string{filling, working} {
		fmt.Fprintf(t, "\nMEMORY (RssAnon), MB\tFIRST\tLAST\tMOST\tSLOPE PER 10,000 %s\n", phase)
		names := slices.Sorted(maps.Keys(h.processes()))
		for _, name := range append(names, "engine children") {
			points := h.sampler.of(name, phase)
			if len(points) == 0 {
				continue
			}
			most := 0.0
			for _, p := range points {
				most = max(most, p.mb)
			}
			rise, deviation := slope(points)
			text := "too few samples"
			if finite(rise) && finite(deviation) {
				text = fmt.Sprintf("%+.1f ± %.1f", rise*10_000, deviation*10_000)
			}
			fmt.Fprintf(t, "%s\t%.0f\t%.0f\t%.0f\t%s\n", name, points[0].mb, points[len(points)-1].mb, most, text)
		}
	}
}

func (r *report) printCosts(t io.Writer) {
	fmt.Fprint(t, "\nCOSTS")
	for _, c := range r.costs {
		fmt.Fprintf(t, "\t%s", c.name)
	}
	fmt.Fprintln(t)
	for i, name := range costNames {
		fmt.Fprint(t, name)
		for _, c := range r.costs {
			fmt.Fprintf(t, "\t%.2f", c.cost[i])
		}
		fmt.Fprintln(t)
	}
}
