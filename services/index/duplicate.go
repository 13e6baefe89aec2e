package index

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/document"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/jobs"
	"inkstream.dev/pkg/search"
	"inkstream.dev/pkg/stage"
	busv1 "inkstream.dev/proto/gen/inkstream/bus/v1"
)

// errResultsGone means that the results which were to be taken over are not there, or not all of them.
var errResultsGone = errors.New("the results to take over are gone")

// takeOverResults ends a job with the results of another one that had the same bytes and options: its blobs are
// copied, so that either job can be deleted without the other, and its pages are indexed once more. Where the other
// job has no results any more, this one does the work itself.
func (st *steps) takeOverResults(ctx context.Context, s *stage.Snapshot) error {
	from, err := st.deps.Jobs.LoadRecord(ctx, s.Job.Tenant, s.Job.DuplicateOf)
	switch {
	case errors.Is(err, job.ErrNotFound) || err == nil && !hasShareableResults(from):
		return st.abandonTakeOver(ctx, s)
	case err != nil:
		return err
	}
	err = st.copyResults(ctx, s, from)
	if err == nil {
		// A job that goes is marked before anything of it goes: so what was copied is whole if it was not marked by now.
		var now *job.Record
		if now, err = st.deps.Jobs.LoadRecord(ctx, from.Tenant, from.ID); err == nil &&
			(!hasShareableResults(now) || now.ResultRun != from.ResultRun) {
			err = errResultsGone
		}
	}
	if errors.Is(err, blob.ErrNotFound) {
		// A job that has lost a part of its results is no source to take over from: without its claim ingest does not send
		// this job here again.
		claim := st.deps.Jobs.ReplaceContent(ctx, s.Job, from.ID)
		if claim != nil && !errors.Is(claim, job.ErrExists) && !errors.Is(claim, job.ErrNotFound) {
			return claim
		}
		return st.abandonTakeOver(ctx, s)
	}
	if errors.Is(err, errResultsGone) || errors.Is(err, job.ErrNotFound) {
		return st.abandonTakeOver(ctx, s)
	}
	if err != nil {
		return err
	}
	// Ahead of the end, so that the audit trail has them in this order.
	if err := st.deps.Bus.PublishEvent(ctx,
		jobs.NewEvent(s.Job, "deduplicated", string(bus.Index), "job", string(from.ID))); err != nil {
		return err
	}
	return st.endAsDuplicate(ctx, s, from)
}

// hasShareableResults reports whether a job has results that another one may have as well.
func hasShareableResults(r *job.Record) bool {
	return r.State == job.Succeeded && r.ResultRun > 0 && r.PageCount > 0
}

// endAsDuplicate ends the job as the one that it has taken over from did.
func (st *steps) endAsDuplicate(ctx context.Context, s *stage.Snapshot, from *job.Record) error {
	rec, err := st.deps.JobService().FinishAsDuplicate(ctx, s.Job, from, s.Started)
	if err != nil {
		return err
	}
	s.Job = rec
	if !rec.State.HasEnded() {
		return nil // another handler found nothing to take over, and the job does the work itself
	}
	return st.cleanUpAfterEnd(ctx, rec)
}

// abandonTakeOver has the job do the work itself after all. What was copied so far goes: the work writes under the
// same keys. Another handler of the task may have been faster, so that there are results by now, or the work is under
// way; then nothing is to go.
func (st *steps) abandonTakeOver(ctx context.Context, s *stage.Snapshot) error {
	leader := s.Job.DuplicateOf
	waits := false
	// Written as it is, because that tells for certain, and a read may be of a replica that lags.
	rec, err := st.deps.Jobs.UpdateRunRecord(ctx, s.Job, func(r *job.Record) error {
		if waits = !r.State.HasEnded() && r.DuplicateOf == leader; !waits {
			return job.ErrUnchanged
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.Job = rec
	if !waits {
		return nil
	}
	if err := st.deps.Blobs.DeletePrefix(ctx, job.RunFolder(rec.Tenant, rec.ID, rec.Run)); err != nil {
		return fmt.Errorf("remove what was taken over: %w", err)
	}
	rec, err = st.deps.Jobs.UpdateRunRecord(ctx, rec, func(r *job.Record) error {
		if r.State.HasEnded() || r.DuplicateOf != leader {
			return job.ErrUnchanged
		}
		r.DuplicateOf = ""
		return nil
	})
	if err != nil {
		return err
	}
	st.deps.Log.InfoContext(ctx, "nothing left to take over; the job does the work itself", "job", rec.ID, "from", leader)
	s.Job = rec
	return nil
}

// checkUnfinished makes sure that there is nothing to do about a task that is to end a run whose pages are not all in.
// It was queued to take over another job's results, and came late, or once more: that came to nothing, and the handler
// that counts the last page of the job's own work ends it. What was read may be older than the pages, on a replica that
// lags; so it is written as it is, which goes through for the newest only.
func (st *steps) checkUnfinished(ctx context.Context, s *stage.Snapshot) error {
	old := fault.New(fault.Unavailable, "the record read is older than the task")
	if s.Progress == nil {
		_, err := st.deps.Jobs.UpdateRunRecord(ctx, s.Job, func(r *job.Record) error {
			if r.State.HasEnded() || r.ChunkPages > 0 {
				return old
			}
			return nil
		})
		return err
	}
	_, err := st.deps.Jobs.UpdateProgressFrom(ctx, s.Job.Tenant, s.Job.ID, s.Progress, func(p *job.Progress) error {
		if p.Run != s.Job.Run || p.AllPagesDone() {
			return old
		}
		return nil
	})
	return err
}

// afterFinalise is what follows the end of a run: an event; or, where there was nothing to take over, the work after
// all. A crash may have cut it before, so the task has an id of its own. Nothing follows where the work is under way.
func afterFinalise(s *stage.Snapshot) stage.FollowUp {
	switch r := s.Job; {
	case r.State.HasEnded():
		return stage.FollowUp{Events: []*busv1.Event{jobs.EndEvent(r)}}
	case r.PageCount == 0 && r.DuplicateOf == "":
		return stage.FollowUp{Messages: []bus.Message{jobs.FirstMessage(r, int(s.Started.Unix()))}}
	default:
		return stage.FollowUp{}
	}
}

const (
	// copyParallel is how many blobs are copied at once: the store makes one wait for the disk of them.
	copyParallel = 8
	// copyBatchPages is how many pages are indexed at once.
	copyBatchPages = 64
)

// copyResults gives a job all that another one's last run has. The error wraps errResultsGone where a page of it is
// missing.
func (st *steps) copyResults(ctx context.Context, s *stage.Snapshot, from *job.Record) error {
	to := s.Job
	source := job.RunFolder(from.Tenant, from.ID, from.ResultRun)
	target := job.RunFolder(to.Tenant, to.ID, to.Run)
	if err := st.copyStoredPages(ctx, s, from); err != nil {
		return err
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(copyParallel)
	artifacts, bundled := 0, false
	for e, err := range st.deps.Blobs.ListBlobs(ctx, source) {
		if err != nil {
			return errors.Join(err, g.Wait())
		}
		name := strings.TrimPrefix(e.Key, source)
		if strings.HasPrefix(name, "pages/") {
			continue
		}
		if strings.HasPrefix(name, "artifacts/") || name == job.JSONIndexName {
			artifacts++
		}
		switch name {
		case job.JSONIndexName, "artifacts/document.json", "artifacts/metadata.json":
			g.Go(func() error { return st.copyAndRewrite(gctx, e.Key, target+name, to) })
		default:
			if bundled = bundled || e.Bundled; e.Bundled {
				continue
			}
			g.Go(func() error {
				stage.Heartbeat(gctx)
				return st.deps.Blobs.CopyBlob(gctx, e.Key, target+name)
			})
		}
	}
	if bundled { // where those that were written for this job have others of their name, these count
		g.Go(func() error { return st.deps.Blobs.CopyBlob(gctx, blob.BundleKey(source), blob.BundleKey(target)) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if artifacts < from.Artifacts {
		return fmt.Errorf("take over artifacts: %d of %d are there: %w", artifacts, from.Artifacts, blob.ErrNotFound)
	}
	return nil
}

// copyStoredPages copies the stored pages and indexes them.
func (st *steps) copyStoredPages(ctx context.Context, s *stage.Snapshot, from *job.Record) error {
	to := s.Job
	for first := 1; first <= from.PageCount; first += copyBatchPages {
		stage.Heartbeat(ctx)
		var mu sync.Mutex // guards rows
		var rows []search.Page
		g, gctx := errgroup.WithContext(ctx)
		g.SetLimit(copyParallel)
		for n := first; n < min(first+copyBatchPages, from.PageCount+1); n++ {
			g.Go(func() error {
				key := job.PageKey(from.Tenant, from.ID, from.ResultRun, n)
				data, err := st.deps.Blobs.ReadBytes(gctx, key, stage.MaxBatchBytes)
				if err != nil {
					return fmt.Errorf("take over page %d: %w", n, err)
				}
				text, language, err := document.DecodeText(data)
				if err != nil {
					return fmt.Errorf("take over page %d: %w", n, err)
				}
				mu.Lock()
				rows = append(rows, indexedPage(s, from.ChunkCount(), n, text, language))
				mu.Unlock()
				return st.deps.Blobs.CopyBlob(gctx, key, job.PageKey(to.Tenant, to.ID, to.Run, n))
			})
		}
		if err := g.Wait(); err != nil {
			return err
		}
		if err := st.store.PutPages(ctx, rows); err != nil {
			return fmt.Errorf("index pages: %w", err)
		}
	}
	return nil
}

// maxRewriteHead is how far into an artifact its facts about the job are looked for; they stand at its beginning.
const maxRewriteHead = 64 << 10

// copyAndRewrite copies an artifact that names its job and file, and puts in those of the job that it goes to.
func (st *steps) copyAndRewrite(ctx context.Context, from, to string, r *job.Record) error {
	source, err := st.deps.Blobs.Get(ctx, from)
	if err != nil {
		return err
	}
	defer source.Close()
	head := make([]byte, maxRewriteHead)
	n, err := io.ReadFull(source, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("read %s: %w", from, err)
	}
	stage.Heartbeat(ctx)
	own := rewriteMembers(head[:n], map[string]string{"job": string(r.ID), "filename": r.Filename})
	_, err = st.deps.Blobs.Put(ctx, to, io.MultiReader(bytes.NewReader(own), source),
		blob.PutOptions{ContentType: "application/json", Compress: true})
	return err
}

// rewriteMembers replaces the values of an object's own members that are strings, where they stand in its beginning.
// What does not parse stays as it is.
func rewriteMembers(head []byte, values map[string]string) []byte {
	var out []byte
	done := int64(0)
	dec := json.NewDecoder(bytes.NewReader(head))
	key, depth := "", 0
	for {
		before := dec.InputOffset()
		tok, err := dec.Token()
		if err != nil {
			return append(out, head[done:]...) // the end of the head
		}
		if d, ok := tok.(json.Delim); ok {
			if d == '{' || d == '[' {
				depth++
			} else {
				depth--
			}
			key = ""
			continue
		}
		text, isText := tok.(string)
		switch value, wanted := values[key]; {
		case depth != 1:
		case key == "" && isText:
			key = text
			continue
		case wanted && isText && key != "":
			// Between the name and the value there are a colon and blanks.
			start := before + int64(bytes.IndexByte(head[before:], '"'))
			quoted, _ := json.Marshal(value) // a string always encodes
			out = append(append(out, head[done:start]...), quoted...)
			done = dec.InputOffset()
		}
		key = ""
	}
}
