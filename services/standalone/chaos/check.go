package chaos

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"inkstream.dev/pkg/job"
)

// awaitAllEnded waits until every job has ended and nothing is left on the way.
func (w *run) awaitAllEnded(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	for _, u := range w.uploads {
		if _, err := w.client.AwaitJobEnd(ctx, u.id); err != nil {
			w.report.addViolation("%s: %v", u.doc.Name, err)
		}
	}
	for _, id := range w.cancelled {
		if _, err := w.client.AwaitJobEnd(ctx, id); err != nil {
			w.report.addViolation("a cancelled job: %v", err)
		}
	}
	w.logProgress("all jobs have ended")
	for {
		left, err := w.FindResidue(ctx)
		if err == nil && len(left) == 0 {
			break
		}
		select {
		case <-ctx.Done():
			w.report.addViolation("left behind: %s (%v)", strings.Join(left[:min(len(left), 5)], ", "), err)
			return
		case <-time.After(retryPause):
		}
	}
	// The services look after uploads whose gateway died when these are a minute old. This sweep does not wait so long.
	swept, err := w.SweepUploads(ctx)
	if err != nil {
		w.report.addViolation("sweep: %v", err)
	}
	w.report.updateCounts(func(rep *Report) { rep.Discarded, rep.Adopted = swept.Discarded, swept.Recreated })
}

// checkGuarantees holds what is there against what was promised.
func (w *run) checkGuarantees(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	for _, u := range w.uploads {
		w.checkJob(ctx, u)
	}
	for _, id := range w.cancelled {
		w.checkCancelled(ctx, id)
	}
	w.checkJobCounts(ctx)
	w.checkDeadLetters(ctx)
}

// checkCancelled makes sure that a job was cancelled, unless its end came first, and that its trail says so once.
func (w *run) checkCancelled(ctx context.Context, id string) {
	rec, err := w.Jobs.LoadRecord(ctx, job.DefaultTenant, job.ID(id))
	if err != nil {
		w.report.addViolation("cancelled job: %v", err)
		return
	}
	if rec.State == job.Cancelled {
		w.report.updateCounts(func(rep *Report) { rep.Stopped++ })
	}
	events, err := w.countEvents(ctx, id)
	if err != nil || events["ended"] != 1 {
		w.report.addViolation("cancelled job %s is %s: events %v, %v, want one end", id, rec.State, events, err)
	}
}

// checkJob compares a job with the undisturbed one of its document.
func (w *run) checkJob(ctx context.Context, u acknowledgedUpload) {
	rec, err := w.Jobs.LoadRecord(ctx, job.DefaultTenant, job.ID(u.id))
	if err != nil {
		w.report.addViolation("acknowledged job: %v", err)
		return
	}
	sum := 0
	for _, n := range rec.Outcomes {
		sum += n
	}
	w.report.updateCounts(func(rep *Report) {
		rep.States[string(rec.State)]++
		rep.Pages += sum
		for _, n := range rec.Failures {
			rep.Failures += n
		}
	})
	if (rec.State == job.Succeeded || rec.State == job.Partial) && sum != rec.PageCount {
		w.report.addViolation("job %s of %s: outcomes %v sum to %d, want %d", u.id, u.doc.Name, rec.Outcomes, sum,
			rec.PageCount)
	}
	got, err := w.CollectEvidence(ctx, u.id, u.doc.File)
	if err != nil {
		w.report.addViolation("job %s: %v", u.id, err)
		return
	}
	diffs := got.DiffFrom(u.doc.baseline)
	if len(diffs) == 0 {
		return
	}
	if w.isExplainedByCrash(u, rec) {
		w.report.updateCounts(func(rep *Report) { rep.Explained++ })
		return
	}
	w.report.addViolation("job %s of %s differs from the undisturbed run:\n    %s", u.id, u.doc.Name,
		strings.Join(diffs, "\n    "))
}

// isExplainedByCrash reports whether a job's difference is the truth: an engine was killed twice while it ran, which
// may cost a page or the document; or once, which is counted as a failure of its task and otherwise leaves no trace.
func (w *run) isExplainedByCrash(u acknowledgedUpload, rec *job.Record) bool {
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
	if string(rec.State) == u.doc.baseline.State && fmt.Sprint(rec.Outcomes) == fmt.Sprint(u.doc.baseline.Outcomes) {
		return failed > 0 && failed <= kills && w.matchesExceptFailures(u)
	}
	crash := rec.Error != nil && rec.Error.Code == "ENGINE_CRASHED" || rec.FailedPages["ENGINE_CRASHED"] != ""
	return crash && kills >= 2
}

func (w *run) matchesExceptFailures(u acknowledgedUpload) bool {
	got, err := w.CollectEvidence(context.Background(), u.id, u.doc.File)
	if err != nil {
		return false
	}
	got.Failures = u.doc.baseline.Failures
	return len(got.DiffFrom(u.doc.baseline)) == 0
}

// checkJobCounts makes sure that there are no more and no fewer jobs than acknowledged uploads, in the records and in
// the blob store.
func (w *run) checkJobCounts(ctx context.Context) {
	known := make(map[string]string) // what a job is called in the report
	for _, id := range w.report.uploads {
		known[id] = "undisturbed"
	}
	for _, u := range w.uploads {
		if other, twice := known[u.id]; twice {
			w.report.addViolation("job %s stands for %s and for %s", u.id, other, u.key)
		}
		known[u.id] = u.key
	}
	for _, id := range w.cancelled {
		known[id] = "cancelled"
	}
	records := make(map[string]bool)
	_, err := w.Jobs.ScanChanges(ctx, 0, func(c job.Change) {
		if c.State != "" && !c.NeverCreated() {
			records[string(c.ID)] = true
		}
	})
	if err != nil {
		w.report.addViolation("read the records: %v", err)
		return
	}
	folders := make(map[string]bool)
	for entry, err := range w.Blobs.ListBlobs(ctx, "") {
		if err != nil {
			w.report.addViolation("list blobs: %v", err)
			return
		}
		if parts := strings.Split(entry.Key, "/"); len(parts) > 2 {
			folders[parts[1]] = true
		}
	}
	for id := range records {
		if known[id] == "" {
			w.report.addViolation("job %s was never acknowledged", id)
		}
	}
	for id := range folders {
		if known[id] == "" {
			w.report.addViolation("the blobs of %s belong to no job", id)
		}
	}
	for id, what := range known {
		if !records[id] || !folders[id] {
			w.report.addViolation("job %s (%s): record %t, blobs %t, want both", id, what, records[id], folders[id])
		}
	}
}

// checkDeadLetters makes sure that nothing was given up but what an engine that was killed again and again explains.
func (w *run) checkDeadLetters(ctx context.Context) {
	letters, _, err := w.Bus.ListDeadLetters(ctx, job.DefaultTenant, 0, 1000)
	if err != nil {
		w.report.addViolation("read the dead letters: %v", err)
		return
	}
	for _, l := range letters {
		w.report.updateCounts(func(rep *Report) { rep.DeadLetters++ })
		at := slices.IndexFunc(w.uploads, func(u acknowledgedUpload) bool { return u.id == l.Job })
		if at >= 0 && l.Code == "ENGINE_CRASHED" {
			if rec, err := w.Jobs.LoadRecord(ctx, l.Tenant, job.ID(l.Job)); err == nil &&
				w.isExplainedByCrash(w.uploads[at], rec) {
				continue
			}
		}
		w.report.addViolation("dead letter of %s, job %s: %s %s", l.Stage, l.Job, l.Class, l.Code)
	}
}
