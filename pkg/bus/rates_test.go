package bus

import (
	"testing"
	"time"
)

// A stage whose processes are all busy has them still.
func TestRateHistoryKeepsProcesses(t *testing.T) {
	t.Parallel()
	var r rateHistory
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, tt := range []struct {
		after   time.Duration // the start
		done    uint64
		waiting int
		rate    float64
		most    int
	}{
		{0, 100, 2, 0, 2},
		{500 * time.Millisecond, 100, 3, 0, 3},
		{10 * time.Second, 120, 0, 2, 3},
		{59 * time.Second, 218, 0, 2, 3},
		{65 * time.Second, 230, 0, 2, 0},
		{66 * time.Second, 1, 1, 0, 1}, // the broker counts from zero again
	} {
		rate, most := r.recordSample(OCR, tt.done, tt.waiting, at.Add(tt.after))
		if rate != tt.rate || most != tt.most {
			t.Errorf("after %s: got %v a second and %d processes, want %v and %d", tt.after, rate, most, tt.rate, tt.most)
		}
	}
}
