// Package admin does what clients have done to jobs, dead letters, keys and webhooks, and answers how the stages stand.
package admin

import (
	"context"
	"errors"

	"google.golang.org/protobuf/types/known/emptypb"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/jobs"
	"inkstream.dev/pkg/stage"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/internal/apierror"
	"inkstream.dev/services/gateway/jobview"
	"inkstream.dev/services/gateway/search"
)

// Service does what clients have done to jobs, and answers how the stages stand. It is safe for concurrent use.
type Service struct {
	deps    stage.Deps
	jobs    *jobview.Service
	queries *search.Service
	history *StageHistory
}

// New returns a Service.
func New(deps stage.Deps, reader *jobview.Service, queries *search.Service, history *StageHistory) *Service {
	return &Service{deps: deps, jobs: reader, queries: queries, history: history}
}

// CancelJob ends a job that has not ended yet.
func (s *Service) CancelJob(ctx context.Context, req *inkstreamv1.CancelJobRequest) (*inkstreamv1.Job, error) {
	rec, err := s.jobs.LoadRequestedJob(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	// A client that hangs up in the middle would leave it half done.
	ctx = context.WithoutCancel(ctx)
	rec, err = s.deps.JobService().CancelJob(ctx, rec.Tenant, rec.ID)
	switch {
	case errors.Is(err, jobs.ErrJobEnded) && rec.State.IsGone():
		return nil, jobview.ErrJobGone(rec)
	case errors.Is(err, jobs.ErrJobEnded):
		return nil, fault.New(apierror.JobEnded, "the job has ended %s already", rec.State)
	case err != nil:
		return nil, err
	}
	return s.jobs.LoadJobView(ctx, jobview.Ref{Tenant: rec.Tenant, ID: rec.ID})
}

// RetryJob starts another run of a job that has ended.
func (s *Service) RetryJob(ctx context.Context, req *inkstreamv1.RetryJobRequest) (*inkstreamv1.Job, error) {
	scope, err := newRetryScope(req.GetAll(), req.GetDoubts())
	if err != nil {
		return nil, err
	}
	rec, err := s.jobs.LoadRequestedJob(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	return s.startNextRun(context.WithoutCancel(ctx), jobview.Ref{Tenant: rec.Tenant, ID: rec.ID}, scope)
}

// newRetryScope returns the pages that a retry is for.
func newRetryScope(all, doubts bool) (job.Scope, error) {
	switch {
	case all && doubts:
		return "", apierror.InvalidField(fault.InvalidArgument, "doubts", "both all and doubts; want one of them")
	case all:
		return job.ScopeAll, nil
	case doubts:
		return job.ScopeDoubtful, nil
	default:
		return job.ScopeMissing, nil
	}
}

// startNextRun starts another run and returns the job, or says why there can be none.
func (s *Service) startNextRun(ctx context.Context, ref jobview.Ref, scope job.Scope) (*inkstreamv1.Job, error) {
	_, err := s.deps.JobService().RetryJob(ctx, ref.Tenant, ref.ID, scope)
	if errors.Is(err, job.ErrNoRestart) {
		return nil, s.errNotRetryable(ctx, ref, scope)
	}
	if err != nil {
		return nil, err
	}
	return s.jobs.LoadJobView(ctx, ref)
}

func (s *Service) errNotRetryable(ctx context.Context, ref jobview.Ref, scope job.Scope) error {
	rec, err := s.jobs.LoadRecord(ctx, ref)
	switch {
	case err != nil:
		return err
	case !rec.State.HasEnded():
		return fault.New(apierror.JobRunning, "the job is %s; it can be retried when it has ended", rec.State)
	case rec.Protected:
		return fault.New(apierror.JobNotRetryable, "the document's password was dropped when the job ended; upload the document again")
	case scope == job.ScopeDoubtful && rec.DoubtfulPages == "" && !rec.State.IsGone():
		return fault.New(apierror.JobNotRetryable, "there are no doubts about any page of the job")
	case rec.State == job.Succeeded:
		return fault.New(apierror.JobNotRetryable, "no page of the job failed; set all to do everything again")
	default:
		return fault.New(apierror.JobNotRetryable, "the job is %s; the same document would be refused again", rec.State)
	}
}

// DeleteJob removes a job.
func (s *Service) DeleteJob(ctx context.Context, req *inkstreamv1.DeleteJobRequest) (*emptypb.Empty, error) {
	rec, err := s.jobs.LoadRequestedJob(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx)
	_, err = s.deps.JobService().DeleteJob(ctx, rec.Tenant, rec.ID)
	if errors.Is(err, jobs.ErrJobGone) {
		if _, err = s.jobs.LoadRecord(ctx, jobview.Ref{Tenant: rec.Tenant, ID: rec.ID}); err == nil {
			err = fault.New(apierror.JobDeleted, "the job was deleted") // the replica that was asked does not know yet
		}
	}
	if err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, nil
}
