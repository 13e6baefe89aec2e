package chaos

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"inkstream.dev/pkg/job"
)

// settle waits until every job has ended and nothing is left on the way.
func (w *world) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, settlePatience)
	defer cancel()
	for _, u := range w.uploads {
		if _, err := w.client.Finish(ctx, u.id); err != nil {
			w.report.violate("%s: %v", u.doc.Name, err)
		}
	}
	for _, id := range w.cancelled {
		if _, err := w.client.Finish(ctx, id); err != nil {
			w.report.violate("a cancelled job: %v", err)
		}
	}
	w.say("all jobs have ended")
	for {
		left, err := w.Residue(ctx)
		if err == nil && len(left) == 0 {
			break
		}
		select {
		case <-ctx.Done():
			w.report.violate("left behind: %s (%v)", strings.Join(left[:min(len(left), 5)], ", "), err)
			return
		case <-time.After(retryPause):
		}
	}
	// Uploads whose gateway died are looked after when they are a minute old. Here is somebody who does not wait so long.
	swept, err := w.Sweep(ctx)
	if err != nil {
		w.report.violate("sweep: %v", err)
	}
	w.report.count(func(rep *Report) { rep.Discarded, rep.Adopted = swept.Discarded, swept.Recreated })
}

// check holds what is there against what was promised.
func (w *world) check(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	for _, u := range w.uploads {
		w.checkJob(ctx, u)
	}
	for _, id := range w.cancelled {
		w.checkCancelled(ctx, id)
	}
	w.checkBooks(ctx)
	w.checkDeadLetters(ctx)
}

// checkCancelled makes sure that a job was cancelled, unless its end came first, and that its trail says so once.
func (w *world) checkCancelled(ctx context.Context, id string) {
	rec, err := w.Jobs.Load(ctx, job.DefaultTenant, job.ID(id))
	if err != nil {
		w.report.violate("cancelled job: %v", err)
		return
	}
	if rec.State == job.Cancelled {
		w.report.count(func(rep *Report) { rep.Stopped++ })
	}
	events, err := w.events(ctx, id)
	if err != nil || events["ended"] != 1 {
		w.report.violate("cancelled job %s is %s: events %v, %v, want one end", id, rec.State, events, err)
	}
}

// checkJob compares a job with the undisturbed one of its document.
func (w *world) checkJob(ctx context.Context, u upload) {
	rec, err := w.Jobs.Load(ctx, job.DefaultTenant, job.ID(u.id))
	if err != nil {
		w.report.violate("acknowledged job: %v", err)
		return
	}
	sum := 0
	for _, n := range rec.Outcomes {
		sum += n
	}
	w.report.count(func(rep *Report) {
		rep.States[string(rec.State)]++
		rep.Pages += sum
		for _, n := range rec.Failures {
			rep.Failures += n
		}
	})
	if (rec.State == job.Succeeded || rec.State == job.Partial) && sum != rec.PageCount {
		w.report.violate("job %s of %s: outcomes %v sum to %d, want %d", u.id, u.doc.Name, rec.Outcomes, sum, rec.PageCount)
	}
	got, err := w.Evidence(ctx, u.id, u.doc.File)
	if err != nil {
		w.report.violate("job %s: %v", u.id, err)
		return
	}
	diffs := got.Diff(u.doc.want)
	if len(diffs) == 0 {
		return
	}
	if w.crashedTwice(u, rec) {
		w.report.count(func(rep *Report) { rep.Explained++ })
		return
	}
	w.report.violate("job %s of %s differs from the undisturbed run:\n    %s", u.id, u.doc.Name, strings.Join(diffs, "\n    "))
}

// crashedTwice reports whether a job's difference is the truth: an engine was killed twice while it ran, which may cost a page or the document; or
// once, which is counted as a failure of its task and otherwise leaves no trace.
func (w *world) crashedTwice(u upload, rec *job.Record) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	kills := 0
	for _, k := range w.engineKills {
		if k.to.After(u.start) && k.from.Before(rec.EndTime.Add(time.Second)) {
			kills++
		}
	}
	failed := 0
	for _, n := range rec.Failures {
		failed += n
	}
	if string(rec.State) == u.doc.want.State && fmt.Sprint(rec.Outcomes) == fmt.Sprint(u.doc.want.Outcomes) {
		return failed > 0 && failed <= kills && w.sameButFailures(u)
	}
	crash := rec.Error != nil && rec.Error.Code == "ENGINE_CRASHED" || rec.FailedPages["ENGINE_CRASHED"] != ""
	return crash && kills >= 2
}

func (w *world) sameButFailures(u upload) bool {
	got, err := w.Evidence(context.Background(), u.id, u.doc.File)
	if err != nil {
		return false
	}
	got.Failures = u.doc.want.Failures
	return len(got.Diff(u.doc.want)) == 0
}

// checkBooks makes sure that there are no more and no fewer jobs than acknowledged uploads, in the records and in the blob store.
func (w *world) checkBooks(ctx context.Context) {
	known := make(map[string]string) // what a job is called in the report
	for _, id := range w.report.uploads {
		known[id] = "undisturbed"
	}
	for _, u := range w.uploads {
		if other, twice := known[u.id]; twice {
			w.report.violate("job %s stands for %s and for %s", u.id, other, u.key)
		}
		known[u.id] = u.key
	}
	for _, id := range w.cancelled {
		known[id] = "cancelled"
	}
	records := make(map[string]bool)
	_, err := w.Jobs.Changes(ctx, 0, func(c job.Change) {
		if c.State != "" && !c.Void() {
			records[string(c.ID)] = true
		}
	})
	if err != nil {
		w.report.violate("read the records: %v", err)
		return
	}
	folders := make(map[string]bool)
	for entry, err := range w.Blobs.List(ctx, "") {
		if err != nil {
			w.report.violate("list blobs: %v", err)
			return
		}
		if parts := strings.Split(entry.Key, "/"); len(parts) > 2 {
			folders[parts[1]] = true
		}
	}
	for id := range records {
		if known[id] == "" {
			w.report.violate("job %s was never acknowledged", id)
		}
	}
	for id := range folders {
		if known[id] == "" {
			w.report.violate("the blobs of %s belong to no job", id)
		}
	}
	for id, what := range known {
		if !records[id] || !folders[id] {
			w.report.violate("job %s (%s): record %t, blobs %t, want both", id, what, records[id], folders[id])
		}
	}
}

// checkDeadLetters makes sure that nothing was given up but what an engine that was killed again and again explains.
func (w *world) checkDeadLetters(ctx context.Context) {
	letters, _, err := w.Bus.DeadLetters(ctx, job.DefaultTenant, 0, 1000)
	if err != nil {
		w.report.violate("read the dead letters: %v", err)
		return
	}
	for _, l := range letters {
		w.report.count(func(rep *Report) { rep.DeadLetters++ })
		at := slices.IndexFunc(w.uploads, func(u upload) bool { return u.id == l.Job })
		if at >= 0 && l.Code == "ENGINE_CRASHED" {
			if rec, err := w.Jobs.Load(ctx, l.Tenant, job.ID(l.Job)); err == nil && w.crashedTwice(w.uploads[at], rec) {
				continue
			}
		}
		w.report.violate("dead letter of %s, job %s: %s %s", l.Stage, l.Job, l.Class, l.Code)
	}
}
