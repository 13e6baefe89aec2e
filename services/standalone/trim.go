package standalone

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// quietTime is how long the process must allocate little before it gives memory back.
	quietTime = 10 * time.Second
	// quietBytes is what it allocates in that time when it has nothing to do: polls, metrics, the broker's timers.
	quietBytes = 8 << 20
)

// trimWhenQuiet gives the memory of a busy time back to the system once, when it is over: the collector by itself
// keeps room for as much as was in use, and more.
func trimWhenQuiet(ctx context.Context, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	allocated := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	var before uint64
	for trimmed := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		metrics.Read(allocated)
		now := allocated[0].Value.Uint64()
		quiet := now-before < quietBytes
		if quiet && !trimmed {
			debug.FreeOSMemory()
		}
		trimmed, before = quiet, now
	}
}
