package ingest

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/encoding/protojson"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/failpoint"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/jobs"
	"inkstream.dev/pkg/pdf"
	"inkstream.dev/pkg/stage"
	busv1 "inkstream.dev/proto/gen/inkstream/bus/v1"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

type steps struct{ *Service }

// NewTask returns an empty task.
func (*steps) NewTask() *busv1.IngestTask { return &busv1.IngestTask{} }

// UnitName names the one unit that a job has at this stage.
func (*steps) UnitName(*busv1.IngestTask) string { return jobs.DocumentUnitName() }

// LoadResult reports whether the document's facts are in the record, or another job's results are to be taken over.
func (*steps) LoadResult(_ context.Context, s *stage.Snapshot, _ *busv1.IngestTask) (struct{}, bool, error) {
	return struct{}{}, s.Job.PageCount > 0 || s.Job.DuplicateOf != "", nil
}

// ProcessUnit opens the document and records its facts, or ends the job as REJECTED. Work that another job does
// already is not done again.
func (st *steps) ProcessUnit(ctx context.Context, s *stage.Snapshot, t *busv1.IngestTask) (struct{}, error) {
	if err := st.recordIngestStart(ctx, s.Job); err != nil {
		return struct{}{}, err
	}
	if shared, err := st.joinExistingJob(ctx, s); shared || err != nil {
		return struct{}{}, err
	}
	info, err := st.inspectDocument(ctx, s.Job)
	if isRejection(err) {
		f := job.NewFault(string(bus.Ingest), err)
		rec, endErr := st.deps.JobService().EndJob(ctx, s.Job, job.Rejected, f, s.Started)
		if endErr != nil {
			return struct{}{}, endErr
		}
		s.Job = rec
		return struct{}{}, nil
	}
	if err != nil {
		return struct{}{}, err
	}
	return struct{}{}, st.commitFacts(ctx, s, info)
}

// recordIngestStart stores what tells of the job should its record be lost, and the first event of its trail, which
// the gateway may have died before telling.
func (st *steps) recordIngestStart(ctx context.Context, r *job.Record) error {
	data, err := json.MarshalIndent(job.NewManifest(r), "", "  ")
	if err != nil {
		return fmt.Errorf("encode manifest: %w", err)
	}
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return st.deps.Bus.PublishEvent(gctx, jobs.FirstEvent(r)) })
	g.Go(func() error {
		st.deps.Blobs.PrepareDirs(job.InfoKey(r.Tenant, r.ID, r.Run))
		return st.deps.Blobs.PutBytes(gctx, job.ManifestKey(r.Tenant, r.ID), data, "application/json")
	})
	if err := g.Wait(); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	return failpoint.Hit(string(bus.Ingest), "begin")
}

// isRejection reports whether err means that the document itself can never be processed.
func isRejection(err error) bool {
	if err == nil {
		return false
	}
	switch fault.CodeOf(err) {
	case fault.NotAPDF, fault.Encrypted, fault.WrongPassword, fault.Damaged, fault.NoPages, fault.InvalidPages,
		fault.TooManyPages, fault.TooLarge, fault.EmptyFile:
		return true
	default:
		return false
	}
}

// inspectDocument checks the stored bytes and opens the document.
func (st *steps) inspectDocument(ctx context.Context, rec *job.Record) (pdf.Info, error) {
	f, err := st.deps.OpenSource(ctx, rec, true)
	if err != nil {
		return pdf.Info{}, err
	}
	defer f.Close()
	password, err := st.deps.DocumentPassword(rec)
	if err != nil {
		return pdf.Info{}, err
	}
	doc, err := st.engine.OpenDocument(ctx, f, password)
	if fault.CodeOf(err) == fault.Encrypted && password != "" {
		return pdf.Info{}, fault.New(fault.WrongPassword, "%s", fault.WrongPassword.DescribeCode())
	}
	if err != nil {
		return pdf.Info{}, err
	}
	defer doc.Close()
	info := doc.Info()
	if info.PageCount > st.cfg.MaxPages {
		return pdf.Info{}, fault.New(fault.TooManyPages, "the document has %d pages; the server takes %d", info.PageCount,
			st.cfg.MaxPages)
	}
	if err := checkSelection(rec.Options.Pages, info.PageCount); err != nil {
		return pdf.Info{}, err
	}
	return info, nil
}

// checkSelection makes sure that the job's selection leaves a page of the document.
func checkSelection(selection string, pages int) error {
	selected, err := job.ParsePages(selection)
	if err != nil {
		return fault.New(fault.InvalidPages, "the selection of pages is not valid: %v", err)
	}
	if selected.CountPages(pages) == 0 {
		return fault.New(fault.InvalidPages, "the document has %d pages; the selection %s leaves none of them", pages,
			selected)
	}
	return nil
}

// maxFactBytes bounds each fact in the record; the full text is in the stored info.
const maxFactBytes = 512

func clipText(s string) string {
	if len(s) <= maxFactBytes {
		return s
	}
	cut := maxFactBytes
	for cut > 0 && s[cut]&0xC0 == 0x80 { // not inside a UTF-8 sequence
		cut--
	}
	return s[:cut]
}

// encodeFacts encodes a document's facts, with its metadata as a member of that name.
func encodeFacts(d *inkstreamv1.DocumentInfo, m *pdf.Metadata) ([]byte, error) {
	data, err := protojson.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("encode document facts: %w", err)
	}
	if m == nil {
		return data, nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return nil, fmt.Errorf("encode document facts: %w", err)
	}
	if members["metadata"], err = json.Marshal(m); err != nil {
		return nil, fmt.Errorf("encode document metadata: %w", err)
	}
	return json.Marshal(members)
}

// commitFacts stores the facts: with the outline as a blob, without it in the record.
func (st *steps) commitFacts(ctx context.Context, s *stage.Snapshot, info pdf.Info) error {
	d := info.Document
	if d == nil {
		d = &inkstreamv1.DocumentInfo{}
	}
	data, err := encodeFacts(d, info.Metadata)
	if err != nil {
		return err
	}
	key := job.InfoKey(s.Job.Tenant, s.Job.ID, s.Job.Run)
	st.deps.Blobs.PrepareDirs(job.PageKey(s.Job.Tenant, s.Job.ID, s.Job.Run, 1))
	if !job.BundlesArtifacts(info.PageCount, st.deps.Blobs.Compresses()) {
		st.deps.Blobs.PrepareDirs(job.ArtifactKey(s.Job.Tenant, s.Job.ID, s.Job.Run, "text.txt"))
	}
	if err := st.deps.Blobs.PutBytes(ctx, key, data, "application/json"); err != nil {
		return fmt.Errorf("store document facts: %w", err)
	}
	if err := failpoint.Hit(string(bus.Ingest), "work"); err != nil {
		return err
	}
	rec, err := st.deps.JobService().StartRun(ctx, s.Job, info.PageCount, &job.Document{
		PDFVersion: clipText(d.GetPdfVersion()), Encrypted: d.GetEncrypted(), Title: clipText(d.GetTitle()),
		Author: clipText(d.GetAuthor()), Subject: clipText(d.GetSubject()), Keywords: clipText(d.GetKeywords()),
		Creator: clipText(d.GetCreator()), Producer: clipText(d.GetProducer()),
		CreationDate: clipText(d.GetCreationDate()), ModDate: clipText(d.GetModificationDate()), Tagged: d.GetTagged(),
	}, s.Started)
	if err != nil {
		return err
	}
	s.Job = rec
	return nil
}

// PlanFollowUp sends the document on to scan, or reports its refusal to the audit trail.
func (st *steps) PlanFollowUp(_ context.Context, s *stage.Snapshot, _ *busv1.IngestTask,
	_ struct{}) (stage.FollowUp, error) {
	r := s.Job
	switch {
	case r.State.HasEnded():
		return stage.FollowUp{Events: []*busv1.Event{jobs.EndEvent(r)}}, nil
	case r.DuplicateOf != "":
		// Under an id of its own, because index may have found nothing to take over from another job before.
		return stage.FollowUp{Messages: []bus.Message{jobs.FinaliseMessage(r, s.Lane, int(s.Started.Unix()))}}, nil
	case r.PageCount == 0: // another job does the work; its end queues this one again
		return stage.FollowUp{Events: []*busv1.Event{jobs.NewEvent(r, "following", string(bus.Ingest), "job",
			string(r.Follows))}}, nil
	}
	return stage.FollowUp{
		Messages: []bus.Message{jobs.ScanMessage(r, s.Lane, 0)},
		Events:   []*busv1.Event{jobs.NewEvent(r, "ingested", string(bus.Ingest), "pages", strconv.Itoa(r.PageCount))},
	}, nil
}
