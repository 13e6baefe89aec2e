package standalone

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"inkstream.dev/pkg/search"
)

const (
	// quietTime is how long the process must allocate little before it gives memory back.
	quietTime = 10 * time.Second
	// quietBytes is what it allocates in that time when it has nothing to do: polls, metrics, the broker's timers.
	quietBytes = 8 << 20
)

// watchHeap tells, every so often until ctx is done, how much was allocated since the last time, and how much was in use
// after the last collection, in bytes.
func watchHeap(ctx context.Context, every time.Duration, look func(allocated, live uint64)) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	samples := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/live:bytes"}}
	metrics.Read(samples)
	for before := samples[0].Value.Uint64(); ; before = samples[0].Value.Uint64() {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		metrics.Read(samples)
		look(samples[0].Value.Uint64()-before, samples[1].Value.Uint64())
	}
}

// trimWhenQuiet gives the memory of a busy time back to the system once, when it is over: the collector by itself
// keeps room for as much as was in use, and more, and the index what it has read of its file.
func trimWhenQuiet(ctx context.Context, every time.Duration) {
	trimmed := false
	watchHeap(ctx, every, func(allocated, _ uint64) {
		quiet := allocated < quietBytes
		if quiet && !trimmed {
			search.FreeSQLiteCaches()
			debug.FreeOSMemory()
		}
		trimmed = quiet
	})
}

const (
	// paceInterval is how often the collector's pace is set.
	paceInterval = 250 * time.Millisecond
	// collectInterval is how much time there should be between two collections: each takes some 25 ms of processor
	// time, whatever the heap has grown by.
	collectInterval = 2 * time.Second
	// minGCPercent and maxGCPercent bound by how much the heap grows between two collections. What is never needed costs
	// memory, of which a few tens of megabytes are in use, or half of that by a server that rests; at maxGCPercent the
	// services take a tenth less of processor time than at half as much, where they do nothing but pass pages on.
	minGCPercent, maxGCPercent = 25, 200
)

// paceCollector has the heap grow by what is allocated in collectInterval, so that little is kept of a heap that fills
// slowly, as while pages are recognised, and one that fills fast is not collected all the time.
func paceCollector(ctx context.Context) {
	percent := maxGCPercent
	watchHeap(ctx, paceInterval, func(allocated, live uint64) {
		next := gcPercentFor(allocated, live)
		if next < percent*9/10 || next > percent*11/10 { // setting it stops the world
			debug.SetGCPercent(next)
			percent = next
		}
	})
}

// gcPercentFor returns the pace where so much was allocated in paceInterval, and so much is in use.
func gcPercentFor(allocated, live uint64) int {
	grown := float64(allocated) * collectInterval.Seconds() / paceInterval.Seconds()
	return int(min(max(100*grown/float64(max(live, 1)), minGCPercent), maxGCPercent))
}
