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
	"inkstream.dev/pkg/stage"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// assembly is a run's artifacts in the making. The stored pages are gone through twice, one at a time: once for the evidence that the rules
// of the whole document need, once to write. So memory is bounded by a page, a few hundred bytes for each, and what is held between the two.
type assembly struct {
	st    *steps
	job   *job.Record
	snap  *stage.Snapshot
	facts facts
	plan  *document.Plan
	carry carrier
	out   []sink
	open  []*blob.Writer
	// recognised counts the pages with words that were recognised.
	recognised int
	images     map[string]string // names of images by the digest of their bytes
	named      map[string]bool   // names that pages refer to
	pages      []pageFacts
	held       map[int][]byte // stored pages that observe has read, for write
	heldBytes  int
}

// mostHeld bounds the stored pages that are held: those of an ordinary document are read once, those of a long one mostly twice.
const mostHeld = 4 << 20

// sink is an artifact that grows page by page.
type sink struct {
	page  func(*inkstreamv1.Page) error
	close func() error
}

// facts are what ingest found out about the document.
type facts struct {
	// info is the document's facts with its outline, metadata what else it says of itself; both as JSON.
	info, metadata json.RawMessage
	outline        []*inkstreamv1.OutlineEntry
	attachments    int
}

// assemble writes the artifacts that the job asks for.
func (st *steps) assemble(ctx context.Context, s *stage.Snapshot) (a *assembly, err error) {
	a = &assembly{
		st: st, job: s.Job, snap: s, carry: carrier{shelf{blobs: st.env.Blobs}}, images: map[string]string{}, named: map[string]bool{},
		held: map[int][]byte{},
	}
	defer func() {
		for _, w := range a.open {
			if err != nil {
				_ = w.Abort() // err is what went wrong first; what stays behind is temporary
			}
		}
	}()
	if err := a.readFacts(ctx); err != nil {
		return nil, err
	}
	if err := a.observe(ctx); err != nil {
		return nil, err
	}
	if err := a.start(ctx); err != nil {
		return nil, err
	}
	for n := 1; n <= a.job.PageCount; n++ {
		stage.Alive(ctx)
		if err := a.write(ctx, n); err != nil {
			return nil, fmt.Errorf("page %d: %w", n, err)
		}
	}
	return a, a.finish(ctx)
}

// readFacts reads what ingest found out.
func (a *assembly) readFacts(ctx context.Context) error {
	r := a.job
	data, _, err := a.carry.read(ctx, r, func(run int) string { return job.InfoKey(r.Tenant, r.ID, run) })
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

// observe gathers the evidence of all pages, takes over those of earlier runs, and decides about the document.
func (a *assembly) observe(ctx context.Context) error {
	evidence := make([]*document.Evidence, 0, a.job.PageCount)
	for n := 1; n <= a.job.PageCount; n++ {
		stage.Alive(ctx)
		data, err := a.stored(ctx, n)
		if err != nil {
			return fmt.Errorf("page %d: %w", n, err)
		}
		e, err := document.EvidenceOf(data)
		if err != nil {
			return fmt.Errorf("page %d: %w", n, err)
		}
		e.Number = n
		if e.Recognised() {
			a.recognised++
		}
		evidence = append(evidence, e)
		if a.heldBytes+len(data) <= mostHeld {
			a.held[n] = data
			a.heldBytes += len(data)
		}
	}
	if err := a.carry.flush(ctx); err != nil { // what was taken over is read again from its new place
		return err
	}
	a.plan = document.NewPlan(evidence, a.facts.outline)
	// With it, a stored page says what the artifacts say.
	return a.carry.put(ctx, blob.Object{Key: job.PlanKey(a.job.Tenant, a.job.ID, a.job.Run), Data: a.plan.Encode(a.job.PageCount)})
}

// stored returns a page as it is stored. One that nobody asked for may have no result: it is empty.
func (a *assembly) stored(ctx context.Context, n int) ([]byte, error) {
	data, err := a.carry.page(ctx, a.job, n)
	if errors.Is(err, blob.ErrNotFound) && a.snap.Progress.Outcome(n) == job.OutcomeSkipped {
		return document.Store(&inkstreamv1.Page{Number: int32(n), Outcome: job.OutcomeSkipped})
	}
	if err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	return data, nil
}

// write carries the decisions out on a page and writes it to every artifact.
func (a *assembly) write(ctx context.Context, n int) error {
	data, held := a.held[n]
	delete(a.held, n)
	if !held {
		var err error
		if data, err = a.stored(ctx, n); err != nil {
			return err
		}
	}
	p, err := document.Decode(data)
	if err != nil {
		return err
	}
	p.Number = int32(n)
	if a.nameImages(p) { // the stored page answers for the job as well, and shall name what is there
		changed, err := document.Replace(data, p)
		if err != nil {
			return err
		}
		key := job.PageKey(a.job.Tenant, a.job.ID, a.job.Run, n)
		if err := a.carry.put(ctx, blob.Object{Key: key, Data: changed}); err != nil {
			return err
		}
	}
	a.plan.Apply(p)
	a.pages = append(a.pages, factsOf(p))
	for _, s := range a.out {
		if err := s.page(p); err != nil {
			return err
		}
	}
	return nil
}

// nameImages has every copy of an image named after the first, and reports whether that changed the page.
func (a *assembly) nameImages(p *inkstreamv1.Page) bool {
	changed := false
	for _, img := range p.GetImages() {
		if !imageName(img.GetName()) {
			continue
		}
		if sum := img.GetSha256(); sum != "" {
			if first, ok := a.images[sum]; !ok {
				a.images[sum] = img.GetName()
			} else if first != img.GetName() {
				img.Name, changed = first, true
			}
		}
		a.named[img.GetName()] = true
	}
	return changed
}

// finish writes the artifacts that are made of the whole, and stores all of them as one group, which costs the disk much less than one by one.
func (a *assembly) finish(ctx context.Context) error {
	for _, s := range a.out {
		if err := s.close(); err != nil {
			return err
		}
	}
	made, err := a.pdfs(ctx)
	if err != nil {
		return err
	}
	if err := a.metadata(ctx, made); err != nil {
		return err
	}
	if err := a.carry.flush(ctx, a.open...); err != nil {
		return fmt.Errorf("store artifacts: %w", err)
	}
	return a.dropImages(ctx) // the pages name none of them now
}

// dropImages removes images that no page names any more: the same bytes are there under another name.
func (a *assembly) dropImages(ctx context.Context) error {
	folder := job.ArtifactFolder(a.job.Tenant, a.job.ID, a.job.Run)
	var gone []string
	for e, err := range a.st.env.Blobs.List(ctx, folder+"images/") {
		if err != nil {
			return fmt.Errorf("list images: %w", err)
		}
		if !a.named[strings.TrimPrefix(e.Key, folder)] {
			gone = append(gone, e.Key)
		}
	}
	for _, key := range gone {
		if err := a.st.env.Blobs.Delete(ctx, key); err != nil {
			return fmt.Errorf("remove an image: %w", err)
		}
	}
	return nil
}

// count returns how many artifacts the run has. Images that no page names do not count: another handler that ends the run as well may have taken one
// over from an earlier run once more, and is about to drop it.
func (a *assembly) count(ctx context.Context) (n int, err error) {
	folder := job.ArtifactFolder(a.job.Tenant, a.job.ID, a.job.Run)
	for e, err := range a.st.env.Blobs.List(ctx, folder) {
		if err != nil {
			return 0, fmt.Errorf("count artifacts: %w", err)
		}
		if name := strings.TrimPrefix(e.Key, folder); a.named[name] || !strings.HasPrefix(name, "images/") {
			n++
		}
	}
	return n, nil
}

// create opens an artifact that is written as a stream. It appears under its name when all of them are whole.
func (a *assembly) create(ctx context.Context, name string) (*blob.Writer, error) {
	key := job.ArtifactKey(a.job.Tenant, a.job.ID, a.job.Run, name)
	w, err := a.st.env.Blobs.NewWriter(ctx, key, blob.PutOptions{})
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", name, err)
	}
	a.open = append(a.open, w)
	return w, nil
}

// small stores an artifact that is at hand as a whole.
func (a *assembly) small(ctx context.Context, name string, data []byte) error {
	key := job.ArtifactKey(a.job.Tenant, a.job.ID, a.job.Run, name)
	return a.carry.put(ctx, blob.Object{Key: key, Data: data})
}

// about says which artifact an error is about.
func about(name string, err error) error {
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}
