package index

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/document"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/outcome"
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
	sinks     []pageSink
	writers   []*blob.Writer
	// recognised counts the pages with words that were recognised.
	recognised       int
	imageNames       map[string]string // names of images by the digest of their bytes
	referencedImages map[string]bool   // names that pages refer to
	pages            []pageFacts
	heldPages        map[int][]byte // stored pages that observe has read, for write
	heldBytes        int
}

// maxHeldBytes bounds the stored pages that are held: those of an ordinary document are read once, those of a long
// one mostly twice.
const maxHeldBytes = 4 << 20

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
	a := &assembly{
		st: st, job: s.Job, snap: s, runCopier: runCopier{batchWriter{blobs: st.deps.Blobs}},
		imageNames: map[string]string{}, referencedImages: map[string]bool{},
		heldPages: map[int][]byte{},
	}
	defer func() {
		for _, w := range a.writers {
			if err != nil {
				_ = w.Abort() // err is what went wrong first; what stays behind is temporary
			}
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
		data, err := a.readStoredPage(ctx, n)
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
		if a.heldBytes+len(data) <= maxHeldBytes {
			a.heldPages[n] = data
			a.heldBytes += len(data)
		}
	}
	if err := a.runCopier.flushBatch(ctx); err != nil { // what was taken over is read again from its new place
		return err
	}
	a.plan = document.NewPlan(evidence, a.facts.outline)
	// With it, a stored page says what the artifacts say.
	return a.runCopier.addBlob(ctx, blob.Object{Key: job.PlanKey(a.job.Tenant, a.job.ID, a.job.Run),
		Data: a.plan.EncodePages(a.job.PageCount), Compress: true})
}

// readStoredPage returns a page as it is stored. A page that was not asked for may have no result: it is empty.
func (a *assembly) readStoredPage(ctx context.Context, n int) ([]byte, error) {
	data, err := a.runCopier.readPage(ctx, a.job, n)
	if errors.Is(err, blob.ErrNotFound) && a.snap.Progress.PageOutcome(n) == outcome.Skipped {
		return document.EncodeObservedPage(outcome.NewSkippedPage(n, ""))
	}
	if err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	return data, nil
}

// writePage carries the decisions out on a page and writes it to every artifact.
func (a *assembly) writePage(ctx context.Context, n int) error {
	data, held := a.heldPages[n]
	delete(a.heldPages, n)
	if !held {
		var err error
		if data, err = a.readStoredPage(ctx, n); err != nil {
			return err
		}
	}
	p, err := document.DecodePage(data)
	if err != nil {
		return err
	}
	p.Number = int32(n)
	if a.unifyImageNames(p) { // the stored page answers for the job as well, so it must name what is there
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

// unifyImageNames has every copy of an image named after the first, and reports whether that changed the page.
func (a *assembly) unifyImageNames(p *inkstreamv1.Page) bool {
	changed := false
	for _, img := range p.GetImages() {
		if !isImageName(img.GetName()) {
			continue
		}
		if sum := img.GetSha256(); sum != "" {
			if first, ok := a.imageNames[sum]; !ok {
				a.imageNames[sum] = img.GetName()
			} else if first != img.GetName() {
				img.Name, changed = first, true
			}
		}
		a.referencedImages[img.GetName()] = true
	}
	return changed
}

// storeArtifacts writes the artifacts that are made of the whole, and stores all of them as one group, which costs
// the disk much less than one by one.
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
	if err := a.runCopier.flushBatch(ctx, a.writers...); err != nil {
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
	for e, err := range a.st.deps.Blobs.ListBlobs(ctx, folder) {
		if err != nil {
			return 0, fmt.Errorf("list artifacts: %w", err)
		}
		if name := strings.TrimPrefix(e.Key, folder); a.referencedImages[name] || !strings.HasPrefix(name, "images/") {
			n++
		} else {
			gone = append(gone, e.Key)
		}
	}
	for _, key := range gone {
		if err := a.st.deps.Blobs.Delete(ctx, key); err != nil {
			return 0, fmt.Errorf("remove an image: %w", err)
		}
	}
	return n, nil
}

// createArtifact opens an artifact that is written as a stream. It appears under its name when all of them are whole.
func (a *assembly) createArtifact(ctx context.Context, name string) (*blob.Writer, error) {
	key := job.ArtifactKey(a.job.Tenant, a.job.ID, a.job.Run, name)
	w, err := a.st.deps.Blobs.NewWriter(ctx, key, blob.PutOptions{Compress: true})
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", name, err)
	}
	a.writers = append(a.writers, w)
	return w, nil
}

// storeArtifact stores an artifact that is at hand as a whole.
func (a *assembly) storeArtifact(ctx context.Context, name string, data []byte) error {
	key := job.ArtifactKey(a.job.Tenant, a.job.ID, a.job.Run, name)
	return a.runCopier.addBlob(ctx, blob.Object{Key: key, Data: data, Compress: true})
}

// wrapArtifactError says which artifact an error is about.
func wrapArtifactError(name string, err error) error {
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}
