package jobview

import (
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/options"
)

// ToProto returns a job as the API shows it. While the job runs, its progress tells what became of its pages; once
// it has ended, its record does. A job that was ended before all pages were through has no outcomes in its record, so
// the progress tells of those that were. The progress is nil where there is none; that of an earlier run counts as
// none.
func ToProto(r *job.Record, p *job.Progress) *inkstreamv1.Job {
	if p != nil && p.Run != r.Run {
		p = nil
	}
	outcomes, failed, doubtful := r.Outcomes, r.FailedPages, r.DoubtfulPages
	if outcomes == nil && p != nil {
		outcomes, failed, doubtful = p.CountOutcomes(), p.Failed, p.Doubtful
	}
	v := &inkstreamv1.Job{
		Id:         string(r.ID),
		State:      inkstreamv1.Job_State(inkstreamv1.Job_State_value[string(r.State)]),
		Filename:   r.Filename,
		SizeBytes:  r.Size,
		Sha256:     r.SHA256,
		PageCount:  int32(r.PageCount),
		Outcomes:   make(map[string]int32, len(outcomes)),
		Stages:     stagesToProto(r, p),
		CreateTime: TimeToProto(r.CreateTime),
		ExpireTime: TimeToProto(r.ExpireTime),
		Options:    options.ToProto(r.Options),
		Run:        int32(r.Run),
		Failures:   failuresToProto(failed),
		ResultRun:  int32(r.ResultRun),
		Labels:     r.Labels,
		Batch:      string(r.Batch),

		DoubtfulPages: doubtful,
	}
	if r.State == job.Succeeded {
		v.DuplicateOf = string(r.DuplicateOf) // before that it is no more than a plan
	}
	for task, n := range r.Failures {
		if v.FailedTries == nil {
			v.FailedTries = make(map[string]int32)
		}
		v.FailedTries[task] = int32(n)
	}
	for kind, n := range outcomes {
		v.Outcomes[kind] = int32(n)
		v.PagesDone += int32(n)
	}
	if r.State.HasEnded() {
		v.EndTime = TimeToProto(r.EndTime)
		if r.Error != nil {
			v.Error = errorToProto(r.Error)
		}
	}
	if d := r.Document; d != nil {
		v.Document = &inkstreamv1.DocumentInfo{
			PdfVersion: d.PDFVersion, Encrypted: d.Encrypted, Title: d.Title, Author: d.Author, Subject: d.Subject,
			Keywords: d.Keywords,
			Creator:  d.Creator, Producer: d.Producer, CreationDate: d.CreationDate, ModificationDate: d.ModDate,
			Tagged: d.Tagged,
		}
	}
	for _, f := range r.Findings {
		v.Findings = append(v.Findings, &inkstreamv1.Finding{Kind: f.Kind, Count: int32(f.Count), Policy: f.Policy,
			Detail: f.Detail})
	}
	return v
}

// stagesToProto lists the stages that the job has entered, in the pipeline's order. The stages that work by chunk or
// page have their times in the progress until the job ends.
func stagesToProto(r *job.Record, p *job.Progress) []*inkstreamv1.StageStatus {
	times := make(map[string]job.StageTimes, len(r.Stages))
	if p != nil {
		maps.Copy(times, p.Stages)
	}
	maps.Copy(times, r.Stages)
	var stages []*inkstreamv1.StageStatus
	for _, name := range bus.AllStages() {
		t, ok := times[string(name)]
		if !ok {
			continue
		}
		v := &inkstreamv1.StageStatus{
			Name: string(name), StartTime: TimeToProto(t.Start), UnitsDone: int32(t.Units), BusySeconds: t.Busy,
		}
		// Ingest and scan have one unit. Whether the others will see more is certain only when the job has ended.
		if r.State.HasEnded() || name == bus.Ingest || name == bus.Scan {
			v.EndTime = TimeToProto(t.End)
		}
		stages = append(stages, v)
	}
	return stages
}

// failuresToProto spells out the ranges of failed pages, in page order.
func failuresToProto(failed map[fault.Code]string) []*inkstreamv1.PageFailure {
	var all []*inkstreamv1.PageFailure
	for code, ranges := range failed {
		for _, n := range job.ParsePageRanges(ranges) {
			all = append(all, &inkstreamv1.PageFailure{Page: int32(n), Reason: code.ShortReason(), Code: string(code)})
		}
	}
	slices.SortFunc(all, func(a, b *inkstreamv1.PageFailure) int { return int(a.Page - b.Page) })
	return all
}

func errorToProto(f *job.Fault) *inkstreamv1.Error {
	return &inkstreamv1.Error{
		Code: string(f.Code), Stage: f.Stage, Page: int32(f.Page), Message: f.Message, Retryable: f.Code.IsRetryable(),
	}
}

// TimeToProto returns t, or nothing where it is not set.
func TimeToProto(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}
