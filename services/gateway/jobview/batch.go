package jobview

import (
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/search"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/internal/apierror"
)

// DocumentToProto returns what the index database knows of a job.
func DocumentToProto(d search.Document) *inkstreamv1.Job {
	v := &inkstreamv1.Job{
		Id: d.Job, State: inkstreamv1.Job_State(inkstreamv1.Job_State_value[d.State]), Filename: d.Filename, Sha256: d.SHA256,
		PageCount: int32(d.PageCount), CreateTime: TimeToProto(d.CreateTime), EndTime: TimeToProto(d.EndTime),
	}
	for key, value := range d.Labels {
		switch key {
		case job.BatchLabel:
			v.Batch = value
			continue
		case job.CallerLabel, job.CodeLabel: // for counting and filters alone
			continue
		}
		if v.Labels == nil {
			v.Labels = map[string]string{}
		}
		v.Labels[key] = value
	}
	return v
}

// IsStateConflict reports whether an error says that a job is in no state for what was asked, or is gone.
func IsStateConflict(err error) bool {
	switch fault.CodeOf(err) {
	case apierror.JobEnded, apierror.JobRunning, apierror.JobNotRetryable, apierror.JobDeleted, apierror.JobExpired, fault.JobNotFound:
		return true
	default:
		return false
	}
}

// NewBatch returns a batch without jobs.
func NewBatch(id string) *inkstreamv1.Batch {
	return &inkstreamv1.Batch{Id: id, States: map[string]int32{}, Done: true}
}

// AddToBatch counts a job in; the first one's age is the batch's.
func AddToBatch(b *inkstreamv1.Batch, v *inkstreamv1.Job) {
	if len(b.GetJobs()) == 0 {
		b.CreateTime = v.GetCreateTime()
	}
	b.Jobs = append(b.Jobs, v)
	b.States[v.GetState().String()]++
	b.PageCount += v.GetPageCount()
	b.PagesDone += v.GetPagesDone()
	b.Done = b.GetDone() && job.State(v.GetState().String()).HasEnded()
}
