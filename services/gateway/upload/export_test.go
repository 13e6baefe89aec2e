package upload

import (
	"context"
	"strings"
	"time"

	"inkstream.dev/pkg/job"
)

// What the tests of the running gateway need to know.
const (
	TusJobHeader         = tusJobHeader
	TusMetadataHeader    = tusMetadataHeader
	TusBytes             = tusBytes
	TusMaxIdle           = tusMaxIdle
	MethodOverride       = methodOverride
	MaxLabels            = maxLabels
	MaxMultipartOverhead = maxMultipartOverhead
	ReplayedHeader       = replayedHeader
)

// SweepExpired removes the uploads to which nothing has come for long by then.
func (t *Tus) SweepExpired(now time.Time) { t.folder.sweepExpired(now) }

// LockUpload locks an upload.
func (t *Tus) LockUpload(id job.ID) (unlock func(), ok bool) { return t.folder.lockUpload(id) }

// StoredUpload is an upload whose document is stored.
type StoredUpload struct{ in *upload }

// StoreAndClaim stores a document and claims an idempotency key for its job.
func StoreAndClaim(ctx context.Context, s *Service, data, key string) (*StoredUpload, error) {
	in := &upload{service: s, tenant: job.DefaultTenant, id: job.NewID(), options: job.Options{Lane: "interactive"}, key: key}
	err := in.storeDocument(ctx, strings.NewReader(data))
	if err == nil {
		_, err = in.claimIdempotencyKey(ctx)
	}
	return &StoredUpload{in}, err
}

// ID returns the id of the job to be.
func (u *StoredUpload) ID() job.ID { return u.in.id }

// Finish makes the job.
func (u *StoredUpload) Finish(ctx context.Context) (*job.Record, bool, error) {
	return u.in.finish(ctx)
}
