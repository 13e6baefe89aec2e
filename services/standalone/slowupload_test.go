package standalone_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/pdf"
	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/reconcile"
	"inkstream.dev/pkg/stage"
	"inkstream.dev/pkg/telemetry"
	"inkstream.dev/services/standalone"
	"inkstream.dev/services/standalone/chaos"
)

// A gateway sleeps in the middle of an upload, like the machine that it runs on, until the reconciler has discarded
// the document. When it goes on, its client may be refused, but not be told that there is a job which has lost its
// document; and its key ends at one job, whether the client repeats the upload at another gateway before that, or
// afterwards.
func TestGatewaySleepsDuringAnUpload(t *testing.T) {
	t.Parallel()
	l := newCrashHarness(t, openEngines(t, func(*pdf.Config) {}), "gateway", func(*standalone.Config) {})
	f := native()
	l.begin(t, "")
	want := l.awaitEvidence(t, l.submit(t, "undisturbed", f), f)
	l.victim.Kill()
	other, others := l.otherGateway(t)
	for _, point := range []string{"gateway.blob", "gateway.claim"} {
		for _, repeat := range []string{"no key", "afterwards", "before"} {
			t.Run(point+", "+repeat, func(t *testing.T) {
				l.sleep(t, point, repeat, f, want, other, others)
			})
		}
	}
	l.checkRecords(t)
}

// otherGateway returns a second gateway that does not run yet, and its client.
func (l *crashHarness) otherGateway(t *testing.T) (*chaos.Process, *chaos.Client) {
	t.Helper()
	http := freeAddr(t)
	p := chaos.NewProcess(filepath.Join(l.bin, "gateway"), slices.Concat(l.args, []string{"--gateway.http", http}),
		l.victimOutput)
	t.Cleanup(func() { p.Kill() })
	return p, chaos.NewClient("http://" + http)
}

// sleep has the gateway sleep at a point of an upload until its document is gone, and looks at what the client is told.
func (l *crashHarness) sleep(t *testing.T, point, repeat string, f pdftest.File, want chaos.Evidence,
	other *chaos.Process, others *chaos.Client) {
	t.Helper()
	key := ""
	if repeat != "no key" {
		key = fmt.Sprintf("%s, %s", point, repeat)
	}
	if point == "gateway.claim" && key == "" {
		t.Skip("nothing is claimed without a key")
	}
	l.begin(t, point+"=stop")
	defer l.victim.Kill()
	if err := l.client.AwaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	known := l.folders(t)
	type answer struct {
		job chaos.Job
		err error
	}
	slow := make(chan answer, 1)
	go func() {
		j, err := l.client.UploadOnce(ctx, key, f.PDF, chaos.WithoutDedupe())
		slow <- answer{j, err}
	}()
	bustest.EventuallyWithin(t, 20*time.Second, "the document is stored",
		func() bool { return len(l.folders(t)) > len(known) })
	l.discardStray(t, known)
	first := ""
	if repeat == "before" {
		if err := other.Start(); err != nil {
			t.Fatal(err)
		}
		defer other.Kill()
		j, _, err := others.UploadUntilAcknowledged(ctx, key, f.PDF, chaos.WithoutDedupe())
		if err != nil {
			t.Fatalf("repeat while the gateway sleeps: %v", err)
		}
		l.jobs++
		first = j.ID
	}
	if err := syscall.Kill(l.victim.PID(), syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	told := <-slow
	acknowledged := told.err == nil
	if acknowledged && first == "" { // then it is a job like any other
		l.jobs++
		first = told.job.ID
	}
	if acknowledged && told.job.ID != first {
		t.Errorf("acknowledged as %s, while the key stands for %s", told.job.ID, first)
	}
	if !acknowledged && key != "" {
		id := l.submit(t, key, f)
		if first != "" {
			l.jobs-- // it is the one that is there
			if id != first {
				t.Errorf("the key stands for job %s, then for %s", first, id)
			}
		}
		first = id
	}
	if first == "" {
		return
	}
	if diffs := l.awaitEvidence(t, first, f).DiffFrom(want); len(diffs) > 0 {
		t.Error(report("the job of an upload that slept at "+point, diffs))
	}
}

// discardStray passes over all blobs, as a reconciler does that has just started, until only those of the known jobs
// are left.
func (l *crashHarness) discardStray(t *testing.T, known map[job.ID]bool) {
	t.Helper()
	cfg := reconcile.DefaultConfig()
	cfg.OrphanAge = time.Second
	tel := telemetry.NewDiscard()
	env := stage.Deps{Bus: l.Bus, Jobs: l.Jobs, Blobs: l.Blobs, Tel: tel, Log: tel.Log}
	bustest.EventuallyWithin(t, 20*time.Second, "the document of the sleeper is gone", func() bool {
		r, err := reconcile.New(cfg, env, l.Index)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = r.RunPass(t.Context()) // what it did shows in the folders
		return len(l.folders(t)) == len(known)
	})
}

// folders returns the jobs that have blobs.
func (l *crashHarness) folders(t *testing.T) map[job.ID]bool {
	t.Helper()
	seen := map[job.ID]bool{}
	for entry, err := range l.Blobs.ListBlobs(t.Context(), job.DefaultTenant+"/") {
		if err != nil {
			t.Fatal(err)
		}
		if parts := strings.Split(entry.Key, "/"); len(parts) > 2 {
			seen[job.ID(parts[1])] = true
		}
	}
	return seen
}
