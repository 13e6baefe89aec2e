package standalone_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/pdf"
	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/services/standalone"
	"inkstream.dev/services/standalone/chaos"
)

// crashPoint is a place at which a victim is killed, and the document that gets it there. After "then" comes the
// place at which the next one is killed.
type crashPoint struct {
	point string
	file  func() pdftest.File
}

func native() pdftest.File   { return pdftest.BornDigital(2) }
func twoChunk() pdftest.File { return pdftest.BornDigital(17) }
func locked() pdftest.File   { return pdftest.EncryptedFile(pdftest.AES) }
func bomb() pdftest.File     { return pdftest.ContentBomb(600, false) }
func scanned() pdftest.File  { return scans(1) }

// renderOnePageAtATime is render as a victim whose chunks give way after every page. Undisturbed they do not.
const renderOnePageAtATime = "render, in turns"

// crashPoints are all the places, by victim. What follows the handler's own steps: the task or event that was
// published first or second, and "end", where a job was refused but its trail does not know yet.
func crashPoints() map[string][]crashPoint {
	return map[string][]crashPoint{
		"ingest": {
			{"ingest.read", native}, {"ingest.begin", native}, {"ingest.work", native}, {"ingest.commit", native},
			{"ingest.next", native}, {"bus.task", native},
			{"bus.event", native}, {"ingest.publish", native}, {"ingest.end", locked},
		},
		"scan": {
			{"scan.read", native}, {"scan.work", native}, {"scan.progress", native}, {"scan.commit", native},
			{"scan.next", native},
			{"bus.task", native}, {"bus.event", native}, {"scan.publish", native}, {"scan.end", bomb},
		},
		"render": {
			{"render.read", scanned}, {"render.work", scanned}, {"render.commit", scanned}, {"render.next", scanned},
			{"bus.task", scanned},
			{"render.publish", scanned},
		},
		renderOnePageAtATime: {
			{"render.part", smallMixed}, {"render.part=kill@2", smallMixed}, {"render.commit", smallMixed},
			{"render.publish=kill@5", smallMixed},
			{"render.work", twoChunk}, {"render.part=kill@9", twoChunk},
		},
		"ocr": {
			{"ocr.read", scanned}, {"ocr.work", scanned}, {"ocr.commit", scanned}, {"ocr.next", scanned}, {"bus.task", scanned},
			{"ocr.publish", scanned},
		},
		"index": {
			{"index.read", scanned}, {"index.work", twoChunk}, {"index.commit", twoChunk}, {"index.next", twoChunk},
			{"bus.event", twoChunk}, {"index.publish", twoChunk}, {"index.publish=kill@2", twoChunk},
		},
		"index, at the end": {
			{"bus.event", native}, {"finalise.work", native}, {"finalise.commit", native},
			{"index.commit", scanned},
			{"index.next", native}, {"bus.event=kill@2", native}, {"index.publish", native},
			// The end becomes a task of its own.
			{"finalise.begin", native}, {"finalise.begin then bus.task", native}, {"finalise.begin then index.read", native},
			{"finalise.begin then finalise.commit", native}, {"finalise.begin then index.publish=kill@2", native},
		},
	}
}

// Each step of each handler is cut once, by a SIGKILL of the service's own process. The job must end as if nothing
// had happened: the same bytes, one row a page, one event of each kind, nothing counted as a failure, nothing left
// behind.
func TestCrashBetweenAnyTwoSteps(t *testing.T) {
	t.Parallel()
	engines := openEngines(t, func(*pdf.Config) {})
	// All run at once, whatever the number of processors: most of the time they wait for the broker to give a task to
	// another process.
	var victims sync.WaitGroup
	defer victims.Wait()
	for name, cuts := range crashPoints() {
		victims.Go(func() {
			t.Run(name, func(t *testing.T) {
				victim, _, _ := strings.Cut(name, ",")
				l := newCrashHarness(t, engines, victim, func(*standalone.Config) {})
				undisturbed := make(map[string]chaos.Evidence)
				l.begin(t, "")
				for _, c := range cuts {
					if f := c.file(); undisturbed[f.Name].State == "" {
						undisturbed[f.Name] = l.awaitEvidence(t, l.submit(t, c.point+" undisturbed", f), f)
					}
				}
				l.victim.Kill()
				if name == renderOnePageAtATime {
					l.victim = l.process(victim, "--render.turn", "1ns")
				}
				for _, c := range cuts {
					l.crash(t, c, undisturbed[c.file().Name])
				}
				l.checkRecords(t)
			})
		})
	}
}

// crash takes a document through a pipeline whose victim is killed at a point, and started again without it.
func (l *crashHarness) crash(t *testing.T, c crashPoint, want chaos.Evidence) {
	t.Helper()
	f := c.file()
	var id string
	for i, point := range strings.Split(c.point, " then ") {
		if !strings.Contains(point, "=") {
			point += "=kill"
		}
		l.begin(t, point)
		if i == 0 {
			id = l.submit(t, c.point, f)
		}
		l.awaitDeath(t)
	}
	l.begin(t, "")
	got := l.awaitEvidence(t, id, f)
	l.victim.Kill()
	if diffs := got.DiffFrom(want); len(diffs) > 0 {
		t.Error(report("after a crash at "+c.point+" the job", diffs))
	}
}

// The gateway is cut between any two of the things that it stores for an upload. A client that got no answer repeats the
// upload under the same key: one job comes of it, and only one. One that got its answer has a job that is done.
func TestGatewayCrashesDuringAnUpload(t *testing.T) {
	t.Parallel()
	l := newCrashHarness(t, openEngines(t, func(*pdf.Config) {}), "gateway", func(*standalone.Config) {})
	f := native()
	l.begin(t, "")
	want := l.awaitEvidence(t, l.submit(t, "undisturbed", f), f)
	l.victim.Kill()
	for _, point := range []string{"gateway.blob", "gateway.claim", "gateway.record", "bus.task", "bus.event"} {
		l.begin(t, point+"=kill")
		answered := make(chan string, 1)
		go func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			j, tries, err := l.client.UploadUntilAcknowledged(ctx, point, f.PDF, chaos.WithoutDedupe())
			leastTries := 2 // one fails, and another succeeds
			if strings.HasPrefix(point, "bus.") {
				leastTries = 1 // the job is acknowledged once its record is durable: the client may have its answer
			}
			if err != nil || tries < leastTries {
				t.Errorf("%s: %v after %d tries, want %d at least", point, err, tries, leastTries)
			}
			answered <- j.ID
		}()
		l.awaitDeath(t)
		l.begin(t, "")
		id := <-answered
		l.jobs++
		if again := l.submit(t, point, f); again != id {
			t.Errorf("%s: the key stands for job %s, then for %s", point, id, again)
		}
		l.jobs-- // it was the same one
		got := l.awaitEvidence(t, id, f)
		if diffs := got.DiffFrom(want); len(diffs) > 0 {
			t.Error(report("after a crash at "+point+" the job", diffs))
		}
		l.victim.Kill()
	}
	l.checkRecords(t)
	l.giveUp(t, f, want)
}

// giveUp is about clients that never come back: what was complete becomes a job, what was not leaves nothing.
func (l *crashHarness) giveUp(t *testing.T, f pdftest.File, want chaos.Evidence) {
	t.Helper()
	known := map[string]bool{}
	list := func(each func(id string)) {
		if _, err := l.Jobs.ScanChanges(t.Context(), 0, func(c job.Change) {
			if !c.NeverCreated() { // the tombstone of what was not complete
				each(string(c.ID))
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
	list(func(id string) { known[id] = true })
	for point, jobs := range map[string]int{"gateway.blob": 0, "gateway.record": 1} {
		l.begin(t, point+"=kill")
		if err := l.client.AwaitReady(t.Context()); err != nil {
			t.Fatal(err)
		}
		if j, err := l.client.UploadOnce(t.Context(), "", f.PDF, chaos.WithoutDedupe()); err == nil {
			t.Errorf("%s: the upload was acknowledged as %s", point, j.ID)
		}
		l.awaitDeath(t)
		l.jobs += jobs
		l.checkRecords(t)
		var fresh []string
		list(func(id string) {
			if !known[id] {
				fresh, known[id] = append(fresh, id), true
			}
		})
		if len(fresh) != jobs {
			t.Errorf("%s: %d jobs came of it, want %d", point, len(fresh), jobs)
		}
		for _, id := range fresh {
			if diffs := l.awaitEvidence(t, id, f).DiffFrom(want); len(diffs) > 0 {
				t.Error(report("the job of a client that gave up at "+point, diffs))
			}
		}
	}
}
