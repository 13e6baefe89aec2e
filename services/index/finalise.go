package index

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/search"
	"inkstream.dev/pkg/stage"
	busv1 "inkstream.dev/proto/gen/inkstream/bus/v1"
)

// finalise assembles the artifacts page by page, so that its memory is bounded by a page, and ends the job.
func (st *steps) finalise(ctx context.Context, s *stage.Snapshot) error {
	r := s.Job
	if s.Progress == nil || !s.Progress.AllDone() {
		return fault.New(fault.Internal, "finalise: pages are missing")
	}
	if s.Progress.Counts()[job.OutcomeFailed] < r.PageCount {
		if err := st.assemble(ctx, r); err != nil {
			return err
		}
	}
	now := time.Now()
	ended := false
	rec, err := st.env.Jobs.Update(ctx, r.Tenant, r.ID, func(r *job.Record) error {
		if ended = !r.State.Final(); !ended {
			return job.ErrUnchanged
		}
		r.Ran("index", s.Started, now)
		return r.Finish(s.Progress, now)
	})
	if err != nil {
		return err
	}
	s.Job = rec
	if ended {
		st.env.Tel.Metrics.JobEnded(ctx, string(rec.State))
		st.env.Log.InfoContext(ctx, "job ended", "job", rec.ID, "state", rec.State, "pages", rec.PageCount,
			"took", rec.EndTime.Sub(rec.CreateTime))
	}
	return st.settle(ctx, rec)
}

// settle is what follows a job's end: the index is told, and what was kept for the run goes, as do earlier runs whose results this one's
// replace. It is done again where a crash came between.
func (st *steps) settle(ctx context.Context, r *job.Record) error {
	if err := st.store.PutDocument(ctx, document(r)); err != nil {
		return fmt.Errorf("index document: %w", err)
	}
	if err := st.env.Blobs.DeletePrefix(ctx, job.TempFolder(r.Tenant, r.ID, r.Run)); err != nil {
		return fmt.Errorf("remove temporary blobs: %w", err)
	}
	if r.ResultRun != r.Run {
		return nil
	}
	for run := 1; run < r.Run; run++ {
		if err := st.env.Blobs.DeletePrefix(ctx, job.RunFolder(r.Tenant, r.ID, run)); err != nil {
			return fmt.Errorf("remove results of run %d: %w", run, err)
		}
	}
	return nil
}

// Ended finishes what a crash cut after the job's end, and removes jobs that were deleted.
func (st *steps) Ended(ctx context.Context, s *stage.Snapshot, t *busv1.IndexTask, again bool) (stage.Outcome, error) {
	switch {
	case t.GetRemove() && s.Job.State.Gone():
		return stage.Outcome{}, st.remove(ctx, s.Job)
	case t.GetFinalise() && again && !s.Job.State.Gone():
		return stage.Outcome{}, st.settle(ctx, s.Job)
	default:
		return stage.Outcome{}, nil
	}
}

func document(r *job.Record) search.Document {
	return search.Document{
		Tenant: r.Tenant, Job: string(r.ID), Filename: r.Filename, SHA256: r.SHA256, PageCount: r.PageCount, State: string(r.State),
		CreateTime: r.CreateTime, EndTime: r.EndTime,
	}
}

// artifact is an output that grows page by page.
type artifact struct {
	w *blob.Writer
	// before is written ahead of each page but the first.
	before string
}

// assemble writes text.txt and document.json from the stored pages.
func (st *steps) assemble(ctx context.Context, r *job.Record) (err error) {
	var open []*blob.Writer
	defer func() {
		for _, w := range open {
			if err != nil {
				_ = w.Abort() // err is what went wrong first; what stays behind is temporary
			}
		}
	}()
	start := func(name, contentType, before string) (artifact, error) {
		key := job.ArtifactKey(r.Tenant, r.ID, r.Run, name)
		w, err := st.env.Blobs.NewWriter(ctx, key, blob.PutOptions{ContentType: contentType})
		if err != nil {
			return artifact{}, fmt.Errorf("write %s: %w", name, err)
		}
		open = append(open, w)
		return artifact{w: w, before: before}, nil
	}
	text, err := start("text.txt", "text/plain; charset=utf-8", "\f")
	if err != nil {
		return err
	}
	doc, err := start("document.json", "application/json", ",\n")
	if err != nil {
		return err
	}
	head, err := st.head(ctx, r)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(doc.w, head); err != nil {
		return fmt.Errorf("write document.json: %w", err)
	}
	carry := &carrier{blobs: st.env.Blobs}
	for n := 1; n <= r.PageCount; n++ {
		if err := st.addPage(ctx, r, n, text, doc, carry); err != nil {
			return fmt.Errorf("page %d: %w", n, err)
		}
	}
	if err := carry.flush(ctx); err != nil {
		return err
	}
	if _, err := io.WriteString(doc.w, "\n]}\n"); err != nil {
		return fmt.Errorf("write document.json: %w", err)
	}
	for len(open) > 0 {
		w := open[0]
		open = open[1:]
		if err := w.Close(); err != nil {
			return fmt.Errorf("store artifact: %w", err)
		}
	}
	return nil
}

// head returns the beginning of document.json, up to its pages.
func (st *steps) head(ctx context.Context, r *job.Record) (string, error) {
	carry := &carrier{blobs: st.env.Blobs}
	info, err := carry.read(ctx, r, func(run int) string { return job.InfoKey(r.Tenant, r.ID, run) })
	if err == nil {
		err = carry.flush(ctx)
	}
	if err != nil {
		return "", fmt.Errorf("document facts: %w", err)
	}
	b, err := json.Marshal(struct {
		Version   string          `json:"version"`
		Job       job.ID          `json:"job"`
		Filename  string          `json:"filename,omitempty"`
		SHA256    string          `json:"sha256"`
		PageCount int             `json:"pageCount"`
		Document  json.RawMessage `json:"document"`
		Findings  []job.Finding   `json:"findings,omitempty"`
	}{"inkstream.v1", r.ID, r.Filename, r.SHA256, r.PageCount, info, r.Findings})
	if err != nil {
		return "", fmt.Errorf("encode document.json: %w", err)
	}
	return string(b[:len(b)-1]) + ",\"pages\":[\n", nil
}

// addPage appends a page's text and its JSON as it is stored.
func (st *steps) addPage(ctx context.Context, r *job.Record, n int, text, doc artifact, carry *carrier) error {
	data, err := carry.read(ctx, r, func(run int) string { return job.PageKey(r.Tenant, r.ID, run, n) })
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	words, err := pageText(data)
	if err != nil {
		return err
	}
	if n > 1 {
		words = text.before + words
		data = append([]byte(doc.before), data...)
	}
	if _, err := io.WriteString(text.w, words); err != nil {
		return fmt.Errorf("write text.txt: %w", err)
	}
	if _, err := doc.w.Write(data); err != nil {
		return fmt.Errorf("write document.json: %w", err)
	}
	return nil
}

// pageText returns the text of a stored page. It stands before the blocks, which are most of the bytes and need not be decoded for it.
func pageText(data []byte) (string, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	if _, err := dec.Token(); err != nil {
		return "", fmt.Errorf("decode: %w", err)
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return "", fmt.Errorf("decode: %w", err)
		}
		switch key {
		case "text":
			var s string
			if err := dec.Decode(&s); err != nil {
				return "", fmt.Errorf("decode text: %w", err)
			}
			return s, nil
		case "blocks":
			return "", nil // a page without text has none ahead of its blocks
		}
		var skip json.RawMessage
		if err := dec.Decode(&skip); err != nil {
			return "", fmt.Errorf("decode: %w", err)
		}
	}
	return "", nil
}
