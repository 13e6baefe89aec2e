package upload

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"inkstream.dev/pkg/failpoint"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/services/gateway/internal/apierror"
	"inkstream.dev/services/gateway/jobview"
)

const (
	// IdempotencyHeader names the header with the key under which a repeated upload is the same job.
	IdempotencyHeader = "Idempotency-Key"
	replayedHeader    = "Idempotent-Replayed"

	maxIdempotencyKey = 64
)

// idempotencyKeyOf returns the key in a request's header; "" where it has none.
func idempotencyKeyOf(r *http.Request) (string, error) {
	keys, ok := r.Header[IdempotencyHeader]
	if !ok {
		return "", nil
	}
	key := strings.Join(keys, ", ")
	return key, checkIdempotencyKey(IdempotencyHeader, key)
}

// checkIdempotencyKey makes sure that a key is 1 to 64 printable ASCII characters.
func checkIdempotencyKey(field, key string) error {
	ok := len(key) >= 1 && len(key) <= maxIdempotencyKey
	for i := range len(key) {
		ok = ok && key[i] >= ' ' && key[i] <= '~'
	}
	if !ok {
		return apierror.InvalidField(fault.InvalidArgument, field, "an idempotency key has 1 to %d printable ASCII characters",
			maxIdempotencyKey)
	}
	return nil
}

// fingerprint tells two uploads under one idempotency key apart.
func (in *upload) fingerprint() string {
	digest := job.Fingerprint(in.sha256, in.options)
	if in.files > 1 {
		digest += "/" + jobview.EncodeToken(uint64(in.files))
	}
	return digest
}

// claimIdempotencyKey ties the idempotency key to the job. It returns the record of the job that the key is tied to
// already, or nil where it is ours now.
func (in *upload) claimIdempotencyKey(ctx context.Context) (*job.Record, error) {
	mine := job.Claim{Job: in.id, Fingerprint: in.fingerprint(), Time: time.Now().UTC()}
	for {
		holder, err := in.service.deps.Jobs.ClaimIdempotencyKey(ctx, in.tenant, in.key, mine)
		if err != nil {
			return nil, err
		}
		if holder.Job == in.id {
			return nil, failpoint.Hit("gateway", "claim")
		}
		rec, err := in.awaitRecord(ctx, holder.Job)
		if errors.Is(err, job.ErrNotFound) {
			// Its upload died between the claim and the record; or the record is still on its way, and must not come when the
			// key is another job's.
			rec, err = in.service.deps.Jobs.CreateTombstone(ctx, in.tenant, holder.Job, time.Now().UTC())
		}
		switch {
		case err != nil:
			return nil, err
		case rec.NeverCreated():
			// The claim is replaced only if it is still that one.
			err = in.service.deps.Jobs.ReplaceClaim(ctx, in.tenant, in.key, holder, mine)
			if errors.Is(err, job.ErrExists) || errors.Is(err, job.ErrNotFound) {
				continue
			}
			return nil, err
		case holder.Fingerprint != mine.Fingerprint:
			return nil, &apierror.DetailError{
				Facts: map[string]string{apierror.JobFact: string(holder.Job)},
				Err:   fault.New(fault.IdempotencyConflict, "the idempotency key was used with other bytes or options"),
			}
		case rec.State.IsGone(): // a late repeat neither makes the job again nor is told that it was accepted
			return nil, &apierror.DetailError{Facts: map[string]string{apierror.JobFact: string(rec.ID)}, Err: jobview.ErrJobGone(rec)}
		}
		return rec, nil
	}
}

// awaitRecord loads the record of a job whose upload holds the claim. The upload may be about to write it, so a
// missing one is waited for: longer than the upload itself tries. Clocks of several gateways may differ, so only the
// wait counts, not the claim's time.
func (in *upload) awaitRecord(ctx context.Context, id job.ID) (*job.Record, error) {
	patience := in.service.cfg.CreateTimeout + in.service.cfg.CreateTimeout/5
	tick := time.NewTicker(patience / 240)
	defer tick.Stop()
	for start := time.Now(); ; {
		rec, err := in.service.deps.Jobs.LoadRecord(ctx, in.tenant, id)
		if !errors.Is(err, job.ErrNotFound) || time.Since(start) > patience {
			return rec, err
		}
		<-tick.C
	}
}
