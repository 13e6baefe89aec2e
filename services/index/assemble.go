package index

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/document"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/stage"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// assembly is a run's artifacts in the making. The stored pages are gone through twice, one at a time: once for the
// evidence that the rules of the whole document need, once to write. So memory is bounded by a page, a few hundred
// bytes for each, and what is held between the two.
type assembly struct {
	st        *steps
	job       *job.Record
	snap      *stage.Snapshot
	facts     documentFacts
	plan      *document.Plan
	runCopier runCopier
	stored    storedPages
	files     artifactWriter
	images    imageNames
	sinks     []pageSink
	// recognised counts the pages with words that were recognised.
	recognised int
	pages      []pageFacts
}

// pageSink is an artifact that grows page by page.
type pageSink struct {
	page  func(*inkstreamv1.Page) error
	close func() error
}

// documentFacts are what ingest found out about the document.
type documentFacts struct {
	// info is the document's facts with its outline, metadata what else it says of itself; both as JSON.
	info, metadata json.RawMessage
	outline        []*inkstreamv1.OutlineEntry
	attachments    int
}

// assembleArtifacts writes the artifacts that the job asks for.
func (st *steps) assembleArtifacts(ctx context.Context, s *stage.Snapshot) (_ *assembly, err error) {
	a := &assembly{st: st, job: s.Job, snap: s, runCopier: runCopier{batchWriter{blobs: st.deps.Blobs}}, images: newImageNames()}
	a.stored = storedPages{job: s.Job, progress: s.Progress, copier: &a.runCopier, held: map[int][]byte{}}
	a.files = artifactWriter{job: s.Job, batch: &a.runCopier.batchWriter}
	defer func() {
		if err != nil {
			a.files.abortWriters()
		}
	}()
	if err := a.readDocumentFacts(ctx); err != nil {
		return nil, err
	}
	if err := a.gatherEvidence(ctx); err != nil {
		return nil, err
	}
	if err := a.openArtifacts(ctx); err != nil {
		return nil, err
	}
	for n := 1; n <= a.job.PageCount; n++ {
		stage.Heartbeat(ctx)
		if err := a.writePage(ctx, n); err != nil {
			return nil, fmt.Errorf("page %d: %w", n, err)
		}
	}
	return a, a.storeArtifacts(ctx)
}

// readDocumentFacts reads what ingest found out.
func (a *assembly) readDocumentFacts(ctx context.Context) error {
	r := a.job
	data, _, err := a.runCopier.readAndCopy(ctx, r, func(run int) string { return job.InfoKey(r.Tenant, r.ID, run) })
	if err != nil {
		return fmt.Errorf("document facts: %w", err)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return fmt.Errorf("decode document facts: %w", err)
	}
	a.facts.metadata = members["metadata"]
	delete(members, "metadata")
	if a.facts.info, err = json.Marshal(members); err != nil {
		return fmt.Errorf("encode document facts: %w", err)
	}
	var info inkstreamv1.DocumentInfo
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(a.facts.info, &info); err != nil {
		return fmt.Errorf("decode document facts: %w", err)
	}
	a.facts.outline = info.GetOutline()
	if len(a.facts.metadata) > 0 {
		var m struct {
			Attachments []json.RawMessage `json:"attachments"`
		}
		if err := json.Unmarshal(a.facts.metadata, &m); err != nil {
			return fmt.Errorf("decode document metadata: %w", err)
		}
		a.facts.attachments = len(m.Attachments)
	}
	return nil
}

// gatherEvidence gathers the evidence of all pages, takes over those of earlier runs, and decides about the document.
func (a *assembly) gatherEvidence(ctx context.Context) error {
	evidence := make([]*document.Evidence, 0, a.job.PageCount)
	for n := 1; n <= a.job.PageCount; n++ {
		stage.Heartbeat(ctx)
		data, err := a.stored.readPage(ctx, n)
		if err != nil {
			return fmt.Errorf("page %d: %w", n, err)
		}
		e, err := document.DecodeEvidence(data)
		if err != nil {
			return fmt.Errorf("page %d: %w", n, err)
		}
		e.Number = n
		if e.HasRecognisedWords() {
			a.recognised++
		}
		evidence = append(evidence, e)
		a.stored.holdPage(n, data)
	}
	if err := a.runCopier.flushBatch(ctx); err != nil { // what was taken over is read again from its new place
		return err
	}
	a.plan = document.NewPlan(evidence, a.facts.outline)
	// With it, a stored page says what the artifacts say.
	return a.runCopier.addBlob(ctx, blob.Object{Key: job.PlanKey(a.job.Tenant, a.job.ID, a.job.Run),
		Data: a.plan.EncodePages(a.job.PageCount), Compress: true})
}

// writePage carries the decisions out on a page and writes it to every artifact.
func (a *assembly) writePage(ctx context.Context, n int) error {
	data, err := a.stored.takePage(ctx, n)
	if err != nil {
		return err
	}
	p, err := document.DecodePage(data)
	if err != nil {
		return err
	}
	p.Number = int32(n)
	if a.images.unifyNames(p) { // the stored page answers for the job as well, so it must name what is there
		changed, err := document.ReplacePage(data, p)
		if err != nil {
			return err
		}
		key := job.PageKey(a.job.Tenant, a.job.ID, a.job.Run, n)
		if err := a.runCopier.addBlob(ctx, blob.Object{Key: key, Data: changed, Compress: true}); err != nil {
			return err
		}
	}
	a.plan.ApplyTo(p)
	a.pages = append(a.pages, newPageFacts(p))
	for _, s := range a.sinks {
		if err := s.page(p); err != nil {
			return err
		}
	}
	return nil
}

// storeArtifacts writes the artifacts that are made of the whole, and stores all of them as one group or one blob, which
// costs the disk much less than one by one.
func (a *assembly) storeArtifacts(ctx context.Context) error {
	for _, s := range a.sinks {
		if err := s.close(); err != nil {
			return err
		}
	}
	made, err := a.writePDFs(ctx)
	if err != nil {
		return err
	}
	if err := a.writeMetadata(ctx, made); err != nil {
		return err
	}
	if err := a.files.storeAll(ctx); err != nil {
		return fmt.Errorf("store artifacts: %w", err)
	}
	return nil
}

// tidyArtifacts removes the images that no page names any more, because the same bytes are there under another name, and
// returns how many artifacts the run has. Another handler that ends the run as well may take such an image over from an
// earlier run once more, and is about to drop it.
func (a *assembly) tidyArtifacts(ctx context.Context) (n int, err error) {
	folder := job.ArtifactFolder(a.job.Tenant, a.job.ID, a.job.Run)
	var gone []string
	if a.indexesJSON() {
		n++
	}
	for e, err := range a.st.deps.Blobs.ListBlobs(ctx, folder) {
		if err != nil {
			return 0, fmt.Errorf("list artifacts: %w", err)
		}
		switch name := strings.TrimPrefix(e.Key, folder); {
		case strings.HasPrefix(name, "images/") && !a.images.referenced[name],
			name == "document.json" && a.indexesJSON(): // made before a restart with other settings
			gone = append(gone, e.Key)
		default:
			n++
		}
	}
	for _, key := range gone {
		if err := a.st.deps.Blobs.Delete(ctx, key); err != nil {
			return 0, fmt.Errorf("remove an artifact: %w", err)
		}
	}
	return n, nil
}
