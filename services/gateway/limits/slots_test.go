package limits

import (
	"testing"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/services/gateway/access"
)

// Uploads of one tenant that hardly move leave room for others.
func TestTenantSlotsAreBounded(t *testing.T) {
	t.Parallel()
	s := &Service{uploadSlots: make(chan struct{}, 3), tenantSlots: TenantSlots{MaxPerTenant: 2}}
	leave := map[string][]func(){}
	for _, tt := range []struct {
		tenant string
		leaves bool // instead of coming
		ok     bool
	}{
		{"a", false, true}, {"a", false, true}, {"a", false, false}, {"b", false, true}, {"b", false, false}, // no place at all
		{"a", true, true}, {"b", false, true}, {"a", false, false}, {"b", true, true}, {"a", false, true},
	} {
		if had := leave[tt.tenant]; tt.leaves {
			had[0]()
			leave[tt.tenant] = had[1:]
			continue
		}
		release, err := s.AcquireUploadSlot(access.WithIdentity(t.Context(), &access.Identity{Tenant: tt.tenant}))
		if (err == nil) != tt.ok || err != nil && fault.CodeOf(err) != fault.QueueFull {
			t.Fatalf("tenant %s with %d places: got %v, want one more: %v", tt.tenant, len(leave[tt.tenant]), err, tt.ok)
		}
		if err == nil {
			leave[tt.tenant] = append(leave[tt.tenant], release)
		}
	}
	for _, all := range leave {
		for _, release := range all {
			release()
		}
	}
	if len(s.uploadSlots) > 0 || len(s.tenantSlots.held) > 0 {
		t.Errorf("%d places and %v are left", len(s.uploadSlots), s.tenantSlots.held)
	}
}
