// Package jobs owns a job's life: how a job is created, started, cancelled, retried, ended, deleted and expires. Every
// change of a job's state is made here, with the events for the audit trail, the metrics and the log lines that belong
// to it. So is every message between stages: tasks.go has the whole graph.
//
//	PENDING ──> RUNNING ──> SUCCEEDED | PARTIAL | FAILED | REJECTED | CANCELLED ──> EXPIRED | DELETED
//
//	CreateJob, RecreateJob         PENDING                                    create.go
//	StartRun, StartAsDuplicate     RUNNING                                    start.go
//	CompleteRun, FinishAsDuplicate SUCCEEDED, PARTIAL, FAILED                 finish.go
//	EndJob                         FAILED, REJECTED, with an error            finish.go
//	CancelJob                      CANCELLED                                  cancel.go
//	RetryJob                       RUNNING or PENDING, as another run         retry.go
//	DeleteJob, RemoveJob           DELETED, EXPIRED; the tombstone            remove.go
//
// The data, its store and the table of legal changes are those of pkg/job: job is the noun, jobs the service on it.
package jobs

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/telemetry"
)

// Service changes jobs. It is safe for concurrent use, by any number of processes: each change is a compare-and-set on
// the job's record.
type Service struct {
	bus     *bus.Bus
	records *job.Store
	blobs   *blob.Store
	metrics *telemetry.Metrics
	log     *slog.Logger
}

// New returns a Service over what its arguments store. They stay the caller's.
func New(b *bus.Bus, records *job.Store, blobs *blob.Store, metrics *telemetry.Metrics, log *slog.Logger) Service {
	return Service{bus: b, records: records, blobs: blobs, metrics: metrics, log: log}
}

// RemoveTempBlobs removes what a run needed only while it went on.
func (s Service) RemoveTempBlobs(ctx context.Context, rec *job.Record, run int) error {
	if err := s.blobs.DeletePrefix(ctx, job.TempFolder(rec.Tenant, rec.ID, run)); err != nil {
		return fmt.Errorf("remove temporary blobs: %w", err)
	}
	return nil
}

// tempRemovalTimeout bounds how long a call that cancels a job waits for its temporary blobs to go.
const tempRemovalTimeout = 3 * time.Second

// tryRemoveTempBlobs is RemoveTempBlobs for who cannot wait for a store that is away: what it leaves, the reconciler
// removes.
func (s Service) tryRemoveTempBlobs(ctx context.Context, rec *job.Record) {
	ctx, cancel := context.WithTimeout(ctx, tempRemovalTimeout)
	defer cancel()
	if err := s.RemoveTempBlobs(ctx, rec, rec.Run); err != nil {
		s.log.WarnContext(ctx, "job cancelled, but not yet cleared away; the reconciler will do it", "job", rec.ID, "error",
			err)
	}
}
