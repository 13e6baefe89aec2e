package limits

import (
	"testing"
	"time"

	"inkstream.dev/pkg/job"
	"inkstream.dev/services/gateway/access"
)

func TestRates(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 23, 0, 0, 0, time.UTC)
	l := NewRates(RatesConfig{UploadsPerSecond: 0.5, ReadsPerSecond: 0.1,
		Quota: access.Quota{Jobs: 3, BytesPerDay: 100}})
	ann, bob := &access.Identity{Tenant: job.DefaultTenant, Caller: "ann"},
		&access.Identity{Tenant: job.DefaultTenant, Caller: "bob"}
	for i := range 5 {
		if v := l.AllowUpload(ann, now); !v.OK || v.Limit != 5 || v.Remaining != 4-i {
			t.Fatalf("upload %d: got %+v", i, v)
		}
	}
	if v := l.AllowUpload(ann, now); v.OK || v.RetryAfter != 2*time.Second || v.Reset != 10*time.Second {
		t.Errorf("beyond the burst: got %+v, want a retry after 2 s", v)
	}
	if v := l.AllowUpload(ann, now.Add(2*time.Second)); !v.OK {
		t.Errorf("after the wait: got %+v", v)
	}
	if v := l.AllowUpload(bob, now); !v.OK {
		t.Errorf("another caller: got %+v", v)
	}
	if v := l.AllowRead(ann, now); !v.OK || v.Limit != 5 {
		t.Errorf("reads are limited below uploads: got %+v", v)
	}
	if got := l.BytesPerDay(ann); got != 100 {
		t.Errorf("got %d bytes a day, want the default 100", got)
	}
	if got, whose := l.JobLimit(ann); got != 3 || whose != "" {
		t.Errorf("got %d jobs of %q, want the default 3 of the tenant", got, whose)
	}
	ann.Quota.Jobs, ann.Quota.BytesPerDay = 7, 50
	if got := l.BytesPerDay(ann); got != 50 {
		t.Errorf("got %d bytes a day, want the key's own 50", got)
	}
	if got, whose := l.JobLimit(ann); got != 7 || whose != "ann" {
		t.Errorf("got %d jobs of %q, want the key's own 7", got, whose)
	}
}
