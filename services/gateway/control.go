package gateway

import (
	"context"
	"errors"

	"google.golang.org/protobuf/types/known/emptypb"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/jobs"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// CancelJob ends a job that has not ended yet.
func (s *Service) CancelJob(ctx context.Context, req *inkstreamv1.CancelJobRequest) (*inkstreamv1.Job, error) {
	rec, err := s.loadRequestedJob(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	// A client that hangs up in the middle would leave it half done.
	ctx = context.WithoutCancel(ctx)
	rec, err = s.deps.JobService().CancelJob(ctx, rec.Tenant, rec.ID)
	switch {
	case errors.Is(err, jobs.ErrJobEnded) && rec.State.IsGone():
		return nil, errJobGone(rec)
	case errors.Is(err, jobs.ErrJobEnded):
		return nil, fault.New(jobEnded, "the job has ended %s already", rec.State)
	case err != nil:
		return nil, err
	}
	return s.loadJobView(ctx, jobRef{rec.Tenant, rec.ID})
}

// RetryJob starts another run of a job that has ended.
func (s *Service) RetryJob(ctx context.Context, req *inkstreamv1.RetryJobRequest) (*inkstreamv1.Job, error) {
	rec, err := s.loadRequestedJob(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	return s.startNextRun(context.WithoutCancel(ctx), jobRef{rec.Tenant, rec.ID}, req.GetAll())
}

// startNextRun starts another run and returns the job, or says why there can be none.
func (s *Service) startNextRun(ctx context.Context, ref jobRef, all bool) (*inkstreamv1.Job, error) {
	_, err := s.deps.JobService().RetryJob(ctx, ref.tenant, ref.id, all)
	if errors.Is(err, job.ErrNoRestart) {
		return nil, s.errNotRetryable(ctx, ref)
	}
	if err != nil {
		return nil, err
	}
	return s.loadJobView(ctx, ref)
}

func (s *Service) errNotRetryable(ctx context.Context, ref jobRef) error {
	rec, err := s.loadRecord(ctx, ref)
	switch {
	case err != nil:
		return err
	case !rec.State.HasEnded():
		return fault.New(jobRunning, "the job is %s; it can be retried when it has ended", rec.State)
	case rec.Protected:
		return fault.New(jobNotRetryable, "the document's password was dropped when the job ended; upload the document again")
	case rec.State == job.Succeeded:
		return fault.New(jobNotRetryable, "no page of the job failed; set all to do everything again")
	default:
		return fault.New(jobNotRetryable, "the job is %s; the same document would be refused again", rec.State)
	}
}

// DeleteJob removes a job.
func (s *Service) DeleteJob(ctx context.Context, req *inkstreamv1.DeleteJobRequest) (*emptypb.Empty, error) {
	rec, err := s.loadRequestedJob(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx)
	_, err = s.deps.JobService().DeleteJob(ctx, rec.Tenant, rec.ID)
	if errors.Is(err, jobs.ErrJobGone) {
		if _, err = s.loadRecord(ctx, jobRef{rec.Tenant, rec.ID}); err == nil {
			err = fault.New(jobDeleted, "the job was deleted") // the replica that was asked does not know yet
		}
	}
	if err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, nil
}

// loadRequestedJob loads the record of the job that a request names.
func (s *Service) loadRequestedJob(ctx context.Context, id string) (*job.Record, error) {
	ref, err := parseJobRef(ctx, id)
	if err != nil {
		return nil, err
	}
	return s.loadRecord(ctx, ref)
}
