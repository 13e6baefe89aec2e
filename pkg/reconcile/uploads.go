package reconcile

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/job"
)

// Ids begin with the time of their creation, so the folders of a span of time share prefixes. Each folder is looked
// at twice: when its id is old enough for the upload to be done with its record, and when even the slowest upload is
// over. The store is listed as a whole only at the first pass.
const (
	// earlySpanBits is the span of the first look: 2^15 ms, 33 s.
	earlySpanBits = 15
	// lateSpanBits is the span of the second: 2^20 ms, 17 min.
	lateSpanBits = 20
	// maxUploadTime is how long an upload may take, with something to spare; the gateway cuts it off after 1 h.
	maxUploadTime = 75 * time.Minute
	// maxSpans is how many spans are listed one by one; beyond it one listing of everything costs less.
	maxSpans = 64
	// idTimeDigits is the length of an id's part that is the time, five bits a digit.
	idTimeDigits = 10
)

// nameSet is a set of names.
type nameSet map[string]struct{}

func (n nameSet) addName(s string) { n[s] = struct{}{} }

// uploadScan is what is known of the blob store.
type uploadScan struct {
	// tenants are those seen in records and blobs.
	tenants nameSet
	// known holds the jobs with a record at the start, until the first listing is through.
	known map[bus.JobRef]struct{}
	// early and late are where the next looks begin, as numbers of spans; 0 before the first listing.
	early, late int64
}

func (u *uploadScan) hasStarted() bool {
	if u.tenants == nil {
		u.tenants = nameSet{job.DefaultTenant: {}}
	}
	return u.late > 0
}

// sweepUploads finds uploads that died before they became jobs, and jobs whose records are lost.
func (r *Reconciler) sweepUploads(ctx context.Context, report *Report) error {
	swept, err := r.deps.Blobs.SweepTemp(ctx, r.cfg.OrphanAge)
	report.Swept = swept
	if gerr := r.detectRestore(ctx); gerr != nil {
		return errors.Join(err, gerr)
	}
	u, sweep := &r.uploads, folderSweep{r: r, report: report}
	now := r.now()
	// A span is looked at when all of it is old enough.
	early := now.Add(-r.cfg.UploadGrace).UnixMilli() >> earlySpanBits
	late := now.Add(-maxUploadTime-r.cfg.OrphanAge).UnixMilli() >> lateSpanBits
	if !u.hasStarted() || early-u.early > maxSpans || late-u.late > maxSpans {
		if lerr := sweep.classifyFolders(ctx, ""); lerr != nil {
			return errors.Join(err, lerr)
		}
		u.early, u.late, u.known = early, late, nil
		return err
	}
	for tenant := range u.tenants {
		for span := u.early; span < early; span++ {
			err = errors.Join(err, sweep.classifyFolders(ctx, spanPrefix(tenant, span, earlySpanBits)))
		}
		for span := u.late; span < late; span++ {
			err = errors.Join(err, sweep.classifyFolders(ctx, spanPrefix(tenant, span, lateSpanBits)))
		}
	}
	if err == nil {
		u.early, u.late = early, late // else the same spans are listed again
	}
	return err
}

// spanPrefix returns what the keys of all jobs begin with whose ids are of that span of time.
func spanPrefix(tenant string, span int64, bits int) string {
	var id ulid.ULID
	// A time beyond the year 10889 does not come up.
	_ = id.SetTime(uint64(span) << bits)
	return tenant + "/" + strings.ToLower(id.String()[:idTimeDigits-bits/5])
}
