package jobview

import (
	"context"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// MaxCachedJobs bounds the jobs that are kept.
const MaxCachedJobs = maxCachedJobs

// CachedJob is a job that is kept.
type CachedJob = cachedJob

// View returns the job as the API shows it.
func (j *cachedJob) View() *inkstreamv1.Job { return j.view }

// LoadCachedJob looks at a job.
func (s *Service) LoadCachedJob(ctx context.Context, ref Ref) (*CachedJob, error) {
	return s.loadCachedJob(ctx, ref)
}

// StoreCachedJob keeps a job.
func (s *Service) StoreCachedJob(ref Ref, j *CachedJob) { s.cache.Add(ref, j) }

// CachedJobs returns how many jobs are kept.
func (s *Service) CachedJobs() int { return s.cache.Len() }
