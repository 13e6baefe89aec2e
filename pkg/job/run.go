package job

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"inkstream.dev/pkg/outcome"
)

// TombstoneTTL is how long a tombstone stays at least: as long as it stays, a client that asks for the job is told
// that it is gone.
const TombstoneTTL = 30 * 24 * time.Hour

// ErrNoRestart means that a job in its state cannot have another run.
var ErrNoRestart = errors.New("the job cannot run again")

// Scope says which pages another run of a job does.
type Scope string

// The scopes. ScopeDoubtful is for jobs with DoubtfulPages alone, and has the pages without a result too.
const (
	ScopeMissing  Scope = "" // pages without a result
	ScopeDoubtful Scope = "doubts"
	ScopeAll      Scope = "all"
)

// canRestart reports whether a job in that state has pages in the scope.
func (r *Record) canRestart(scope Scope) bool {
	switch r.State {
	case Partial, Failed, Cancelled:
		return scope != ScopeDoubtful || r.DoubtfulPages != ""
	case Succeeded:
		return scope == ScopeAll || scope == ScopeDoubtful && r.DoubtfulPages != ""
	default:
		return false
	}
}

// RestartRun begins another run of a job that has ended. A run of everything begins at scan, where the policy is applied
// again, and so does that of a job which took its results over; a document that was never opened begins at ingest.
// Results of the last run that had some stay until this one's replace them.
func (r *Record) RestartRun(scope Scope, now time.Time) error {
	if !r.canRestart(scope) {
		return fmt.Errorf("job %s: %w: it is %s", r.ID, ErrNoRestart, r.State)
	}
	if r.Protected && (r.Document == nil || r.Document.Encrypted) {
		return fmt.Errorf("job %s: %w: its password is gone", r.ID, ErrNoRestart)
	}
	if r.BaseRun == 0 {
		r.BaseRun = r.Run
	}
	r.Run++
	r.State = Running
	if r.PageCount == 0 {
		r.State = Pending
	}
	r.StartTime, r.EndTime, r.Idle, r.SlowPageTime, r.SlowPages = now, time.Time{}, 0, 0, nil
	r.Outcomes, r.FailedPages, r.Error, r.Failures = nil, nil, nil, nil
	r.DoubtfulPages, r.RedoDoubtful = "", scope == ScopeDoubtful
	r.DuplicateOf, r.Follows, r.Followers = "", "", nil
	if scope == ScopeAll {
		r.ChunkPages, r.Findings = 0, nil
	}
	// Of the stages, those keep their times that have no work in this run.
	again := map[string]bool{"ingest": r.PageCount == 0, "scan": r.ChunkPages == 0, "render": true, "ocr": true,
		"index": true}
	maps.DeleteFunc(r.Stages, func(stage string, _ StageTimes) bool { return again[stage] })
	return nil
}

// ArtifactsRun returns the run whose artifacts answer: the last one that ended with results, else the present one.
func (r *Record) ArtifactsRun() int {
	if r.ResultRun > 0 {
		return r.ResultRun
	}
	return r.Run
}

// PageRuns returns the runs that may hold a page's result, the newest first. The newest that does is the one that
// counts.
func (r *Record) PageRuns() []int {
	runs := []int{r.Run}
	if r.BaseRun > 0 {
		for run := r.Run - 1; run >= r.BaseRun; run-- {
			runs = append(runs, run)
		}
	}
	return runs
}

// Tombstone leaves of the record only that there was such a job and what became of it: EXPIRED or DELETED. ExpireTime
// is when the tombstone may go as well.
func (r *Record) Tombstone(s State, now time.Time) error {
	if !s.IsGone() {
		return fmt.Errorf("job %s: no tombstone says %s", r.ID, s)
	}
	if err := r.Transition(s, now); err != nil {
		return err
	}
	*r = Record{
		ID: r.ID, Tenant: r.Tenant, Run: r.Run, State: s, Options: Options{Lane: r.Options.Lane}, CreateTime: r.CreateTime,
		EndTime:    now,
		ExpireTime: now.Add(TombstoneTTL), at: r.at,
	}
	return nil
}

// IsTombstone reports whether the record is a tombstone.
func (r *Record) IsTombstone() bool { return r.State.IsGone() && r.SHA256 == "" }

// carryOver returns the progress of a later run that takes over what this one has of results: all pages that did not
// fail, or, with redoDoubtful, those of them without doubts.
func (p *Progress) carryOver(run, pages int, redoDoubtful bool) *Progress {
	next := NewProgress(run, pages)
	if len(p.Pages) != pages {
		return next // never cut before, or another document
	}
	next.Pages = strings.ReplaceAll(p.Pages, string(outcome.Letters[outcome.Failed]), string(pendingLetter))
	if !redoDoubtful {
		next.Doubtful = p.Doubtful
		return next
	}
	letters := []byte(next.Pages)
	for _, n := range ParsePageRanges(p.Doubtful) {
		if n >= 1 && n <= pages {
			letters[n-1] = pendingLetter
		}
	}
	next.Pages = string(letters)
	return next
}

// CarryProgress puts the progress of a record's run in the place of an earlier one's that is stored; pages that the run
// does not do again keep their outcome. Progress of the same run or a later one stays as it is. It returns what is
// stored then.
func (s *Store) CarryProgress(ctx context.Context, r *Record) (*Progress, error) {
	tenant, id, run, pages := r.Tenant, r.ID, r.Run, r.PageCount
	p, err := s.UpdateProgress(ctx, tenant, id, func(old *Progress) error {
		if old.Run >= run {
			return ErrUnchanged
		}
		*old = *old.carryOver(run, pages, r.RedoDoubtful)
		return nil
	})
	if !errors.Is(err, ErrNotFound) {
		return p, err
	}
	if err := s.CreateProgress(ctx, tenant, id, NewProgress(run, pages)); err != nil {
		return nil, err
	}
	return s.LoadProgress(ctx, tenant, id)
}

// purgeMarkerTTL is how long the mark stays that a purged key leaves: long enough for every watcher to see it.
const purgeMarkerTTL = time.Hour

// DeleteProgress removes a job's page progress. To have none is no error.
func (s *Store) DeleteProgress(ctx context.Context, tenant string, id ID) error {
	if err := s.kv.Purge(ctx, progressKey(tenant, id), jetstream.PurgeTTL(purgeMarkerTTL)); err != nil {
		return markBrokerError("drop progress of job "+string(id), err)
	}
	return nil
}

// PurgeRecord removes a job's tombstone, or the whole record: nothing then shows that there was such a job.
func (s *Store) PurgeRecord(ctx context.Context, tenant string, id ID) error {
	if err := s.kv.Purge(ctx, recordKey(tenant, id), jetstream.PurgeTTL(purgeMarkerTTL)); err != nil {
		return markBrokerError("forget job "+string(id), err)
	}
	return nil
}
