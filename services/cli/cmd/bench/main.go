// Command bench measures the pipeline's speed and memory and prints a table. It runs the real binary on real files:
// those of the corpus that pdftest.FindCorpus finds, and documents that it makes for what that corpus lacks.
// Peers run on the same pages in the same run, and what is compared is the ratio.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"inkstream.dev/pkg/pdf"
	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/sandbox"
)

// row is a measured figure.
type row struct {
	what, value, target, how string
}

// measurement measures one thing and returns its rows.
type measurement struct {
	name string
	run  func(ctx context.Context, b *benchmark) ([]row, error)
}

var measurements = []measurement{
	{"ocr", measureOCR},
	{"celery", measureCelery},
	{"scanned", measureScanned},
	{"vision", measureVision},
	{"endpoints", measureEndpoints},
	{"native", measureNative},
	{"kept", measureKept},
	{"small", measureSmall},
	{"growth", measureGrowth},
	{"upload", measureUpload},
	{"answers", measureAnswers},
	{"memory", measureMemory},
	{"processes", measureAllMemory},
	{"start", measureStart},
	{"restart", measureRestart},
	{"redo", measureRecovery},
	{"fairness", measureFairness},
	{"hostile", measureHostile},
	{"search", measureSearch},
	{"status", measureStatus},
	{"watches", measureWatchMemory},
}

func main() {
	sandbox.Main(pdf.Program())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := runMeasurements(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func runMeasurements(ctx context.Context) error {
	binary := flag.String("binary", "bin/inkstream", "the inkstream binary to measure")
	only := flag.String("only", "", "measure only this; "+measurementNames())
	rounds := flag.Int("rounds", 2, "rounds of each comparison; the median ratio counts")
	growthJobs := flag.Int("growth-jobs", 1000, "compare what a job costs among so many at most")
	endpointPages := flag.Int("endpoint-pages", 100, "take so many pages through three vision endpoints that fail; 1000 take minutes")
	growthSVG := flag.String("growth-svg", "", "draw the growth of costs into this file")
	flag.Parse()
	if !slices.ContainsFunc(measurements, func(m measurement) bool { return *only == "" || *only == m.name }) {
		return fmt.Errorf("-only %s: want one of %s", *only, measurementNames())
	}
	dir, err := os.MkdirTemp("", "inkstream-bench-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &benchmark{binary: *binary, dir: dir, rounds: *rounds, growthJobs: *growthJobs, endpointPages: *endpointPages, growthSVG: *growthSVG}
	if b.corpus, err = pdftest.FindCorpus(); err != nil {
		return err
	}
	fmt.Printf("%d cores, %s, %s\n\n", runtime.NumCPU(), cpuModel(), time.Now().Format(time.DateOnly))
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "WHAT\tMEASURED\tTARGET\tHOW")
	var failed error // what could be measured is shown all the same
	for _, m := range measurements {
		if *only != "" && *only != m.name {
			continue
		}
		fmt.Fprintln(os.Stderr, "measuring", m.name)
		rows, err := m.run(ctx, b)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", m.name, err))
			if ctx.Err() != nil {
				break
			}
		}
		for _, r := range rows {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", r.what, r.value, r.target, r.how)
		}
	}
	return errors.Join(table.Flush(), failed)
}

// measurementNames lists the measurements.
func measurementNames() string {
	var all []string
	for _, m := range measurements {
		all = append(all, m.name)
	}
	return strings.Join(all, ", ")
}
