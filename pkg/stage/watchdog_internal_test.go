package stage

import (
	"testing"
	"time"

	"inkstream.dev/pkg/job"
)

func TestIdleDuration(t *testing.T) {
	t.Parallel()
	now := time.Now()
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	for _, tt := range []struct {
		name         string
		start, moved time.Duration
		limit, want  time.Duration
	}{
		{"at work", time.Hour, time.Minute, time.Hour, 0},
		{"off over night", 9 * time.Hour, 8 * time.Hour, time.Hour, 8 * time.Hour},
		{"the dependency was away for as long as the document may take", 4 * time.Minute, 3 * time.Minute, 2 * time.Minute,
			3 * time.Minute},
		{"a limit of a moment", 20 * time.Second, 10 * time.Second, time.Second, 0},
		{"retried long after it was written", time.Hour, 5 * time.Hour, time.Hour, time.Hour},
	} {
		r := &job.Record{StartTime: ago(tt.start)}
		if got := idleDuration(r, ago(tt.moved), now, tt.limit); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
	if got := idleDuration(&job.Record{}, ago(time.Hour), now, time.Hour); got != 0 {
		t.Errorf("before the start: got %s, want 0", got)
	}
}
