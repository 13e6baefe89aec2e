package scan

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/failpoint"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/jobs"
	"inkstream.dev/pkg/pdf"
	"inkstream.dev/pkg/stage"
	busv1 "inkstream.dev/proto/gen/inkstream/bus/v1"
)

type steps struct{ *Service }

// NewTask returns an empty task.
func (*steps) NewTask() *busv1.ScanTask { return &busv1.ScanTask{} }

// UnitName names the one unit that a job has at this stage.
func (*steps) UnitName(*busv1.ScanTask) string { return jobs.DocumentUnitName() }

// LoadResult reports whether the document has been cut into chunks.
func (*steps) LoadResult(_ context.Context, s *stage.Snapshot, _ *busv1.ScanTask) (struct{}, bool, error) {
	return struct{}{}, s.Job.ChunkPages > 0 && s.Progress != nil, nil
}

// ProcessUnit examines the document; then it is cut into chunks, or the job ends as REJECTED. A document that an
// earlier run has cut is not examined again; its pages that have a result are taken over.
func (st *steps) ProcessUnit(ctx context.Context, s *stage.Snapshot, t *busv1.ScanTask) (struct{}, error) {
	if s.Job.ChunkPages > 0 {
		progress, err := st.deps.Jobs.CarryProgress(ctx, s.Job)
		s.Progress = progress
		return struct{}{}, err
	}
	findings, err := st.examineDocument(ctx, s.Job)
	if err != nil {
		return struct{}{}, err
	}
	if err := failpoint.Hit(string(bus.Scan), "work"); err != nil {
		return struct{}{}, err
	}
	judged, refusal := st.cfg.Policy.EvaluateFindings(findings)
	kept := make([]job.Finding, 0, len(judged))
	for _, f := range judged {
		kept = append(kept, job.Finding{Kind: f.GetKind(), Count: int(f.GetCount()), Policy: f.GetPolicy(),
			Detail: f.GetDetail()})
	}
	if refusal != nil {
		return struct{}{}, st.rejectJob(ctx, s, kept, refusal)
	}
	return struct{}{}, st.commitChunks(ctx, s, kept)
}

// examineDocument looks for malware, where that is configured, and for structural findings.
func (st *steps) examineDocument(ctx context.Context, r *job.Record) ([]pdf.Finding, error) {
	f, err := st.deps.OpenSource(ctx, r, r.Run > 1) // the first run's ingest has made sure, which may be long ago
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if st.clamd != nil {
		malware, err := st.scanForMalware(ctx, f)
		if err != nil {
			return nil, err
		}
		if malware != nil {
			// Nothing else about an infected file is of interest, and the engine need not touch it.
			return []pdf.Finding{*malware}, nil
		}
	}
	password, err := st.deps.DocumentPassword(r)
	if err != nil {
		return nil, err
	}
	doc, err := st.engine.OpenPages(ctx, f, password)
	if err != nil {
		return nil, err
	}
	defer doc.Close()
	findings, err := doc.CollectFindings(ctx)
	if err != nil {
		return nil, fmt.Errorf("structural findings: %w", err)
	}
	return findings, nil
}

func (st *steps) scanForMalware(ctx context.Context, f *os.File) (*pdf.Finding, error) {
	verdict, err := st.clamd.ScanDocument(ctx, stage.NewHeartbeatReader(ctx, io.NewSectionReader(f, 0, 1<<62)))
	if err != nil {
		return nil, fmt.Errorf("clamd: %w", err)
	}
	if !verdict.Infected {
		return nil, nil
	}
	return &pdf.Finding{Kind: KindMalware, Count: 1, Detail: verdict.Signature}, nil
}

func (st *steps) rejectJob(ctx context.Context, s *stage.Snapshot, findings []job.Finding, refusal error) error {
	_, err := st.deps.Jobs.UpdateRunRecord(ctx, s.Job, func(r *job.Record) error {
		if r.State.HasEnded() {
			return job.ErrUnchanged
		}
		r.Findings = findings
		return nil
	})
	if err != nil {
		return err
	}
	rec, err := st.deps.JobService().EndJob(ctx, s.Job, job.Rejected, job.NewFault(string(bus.Scan), refusal), s.Started)
	if err != nil {
		return err
	}
	s.Job = rec
	return nil
}

// commitChunks stores the progress first, unless the record implies it: a record that names chunks always has one.
func (st *steps) commitChunks(ctx context.Context, s *stage.Snapshot, findings []job.Finding) error {
	progress := job.NewProgress(s.Job.Run, s.Job.PageCount)
	if err := st.skipUnselectedPages(ctx, s.Job, progress); err != nil {
		return err
	}
	if !s.Job.ImpliesProgress() {
		if err := st.deps.Jobs.CreateProgress(ctx, s.Job.Tenant, s.Job.ID, progress); err != nil {
			return err
		}
	}
	if err := failpoint.Hit(string(bus.Scan), "progress"); err != nil {
		return err
	}
	rec, err := st.deps.Jobs.UpdateRunRecord(ctx, s.Job, func(r *job.Record) error {
		if r.State.HasEnded() || r.ChunkPages > 0 {
			return job.ErrUnchanged
		}
		r.Findings = findings
		r.ChunkPages, r.Window = ChunkPages, st.cfg.Window
		r.RecordStage(string(bus.Scan), s.Started, time.Now())
		return nil
	})
	if err != nil {
		return err
	}
	s.Job, s.Progress = rec, progress
	return nil
}

// PlanFollowUp releases the first chunks; each chunk that ends releases another one, so that at most Window are in
// flight. A run that has taken over every page is finished at once.
func (st *steps) PlanFollowUp(_ context.Context, s *stage.Snapshot, _ *busv1.ScanTask,
	_ struct{}) (stage.FollowUp, error) {
	r := s.Job
	if r.State.HasEnded() {
		return stage.FollowUp{Events: []*busv1.Event{jobs.EndEvent(r)}}, nil
	}
	var out stage.FollowUp
	for chunk := range min(r.Window, r.ChunkCount()) {
		if m, open := jobs.ReleaseMessage(r, s.Progress, s.Lane, chunk); open {
			out.Messages = append(out.Messages, m)
		}
	}
	if s.Progress.AllPagesDone() {
		out.Messages = append(out.Messages, jobs.FinaliseMessage(r, s.Lane, 0))
	}
	if r.Stages[string(bus.Scan)].Start.Before(r.StartTime) {
		return out, nil // an earlier run's examination stands
	}
	out.Events = []*busv1.Event{jobs.NewEvent(r, "scanned", string(bus.Scan), "chunks", strconv.Itoa(r.ChunkCount()))}
	return out, nil
}
