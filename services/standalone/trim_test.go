package standalone

import "testing"

// A heap that fills fast is collected seldom, and one that fills slowly stays small.
func TestCollectorsPace(t *testing.T) {
	t.Parallel()
	const live = 40 << 20
	for _, tt := range []struct {
		name            string
		allocated, live uint64
		want            int
	}{
		{"nothing is allocated", 0, live, minGCPercent},
		{"as while pages are recognised", 2 << 20, live, 40},
		{"a sixth of what is in use each time", live / 6, live, 133},
		{"more than it may grow by", live * 10, live, maxGCPercent},
		{"nothing is in use", 1 << 20, 0, maxGCPercent},
	} {
		if got := gcPercentFor(tt.allocated, tt.live); got < tt.want-1 || got > tt.want+1 {
			t.Errorf("%s: %d %%, want %d", tt.name, got, tt.want)
		}
	}
}
