package search

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// insertLog is a table that takes a time for each insert, and notes when each began and how many items it had.
type insertLog struct {
	takes time.Duration
	start time.Time
	at    []time.Duration
	items []int
}

// insertOf stores items in the table by one batcher, in a bubble of time: writes are how many items come when, and
// patient how many that can wait.
func (l *insertLog) insertOf(t *testing.T, writes, patient map[time.Duration]int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l.start = time.Now()
		g := newInsertBatcher(func(_ context.Context, items []bool) error {
			l.at, l.items = append(l.at, time.Since(l.start)), append(l.items, len(items))
			time.Sleep(l.takes) //nolint:forbidigo // of the bubble
			return nil
		}, func(bool) int { return 1 }, func(canWait bool) bool { return canWait })
		var callers sync.WaitGroup
		for canWait, writes := range map[bool]map[time.Duration]int{false: writes, true: patient} {
			for at, n := range writes {
				callers.Go(func() {
					time.Sleep(at) //nolint:forbidigo // of the bubble
					if err := g.storeItems(t.Context(), slices.Repeat([]bool{canWait}, n)); err != nil {
						t.Error(err)
					}
				})
			}
		}
		callers.Wait()
		g.stopAndWait()
	})
}

func (l *insertLog) check(t *testing.T, at []time.Duration, items []int) {
	t.Helper()
	if !slices.Equal(l.at, at) || !slices.Equal(l.items, items) {
		t.Errorf("inserts at %v of %v items, want %v of %v", l.at, l.items, at, items)
	}
}

const ms = time.Millisecond

// While the server rests from an insert of 6 ms, small writes are gathered for 120; who comes later does not wait.
func TestBatcherRestsAfterInsert(t *testing.T) {
	t.Parallel()
	l := &insertLog{takes: 6 * ms}
	l.insertOf(t, map[time.Duration]int{0: 1, 50 * ms: 1, 90 * ms: 2, 130 * ms: 1, 400 * ms: 1}, nil)
	l.check(t, []time.Duration{5 * ms, 131 * ms, 405 * ms}, []int{1, 4, 1})
}

// However slow the server is, no write waits for long.
func TestBatcherBoundsRest(t *testing.T) {
	t.Parallel()
	l := &insertLog{takes: time.Second}
	l.insertOf(t, map[time.Duration]int{0: 1, 10 * ms: 1}, nil)
	l.check(t, []time.Duration{5 * ms, 1255 * ms}, []int{1, 1})
}

// What can wait is gathered while more comes, for three seconds after an insert at most, or until it is much.
func TestBatcherGathersWhatCanWait(t *testing.T) {
	t.Parallel()
	l, patient := &insertLog{takes: 6 * ms}, map[time.Duration]int{0: 1}
	for at := 50 * ms; at < 3500*ms; at += 100 * ms {
		patient[at] = 1
	}
	patient[3550*ms] = 123
	l.insertOf(t, nil, patient)
	l.check(t, []time.Duration{5 * ms, 3011 * ms, 3550 * ms}, []int{1, 30, 128})
}

// Where no more comes it waits no longer, but as long as everything does after an insert.
func TestBatcherWaitsForNoMore(t *testing.T) {
	t.Parallel()
	l := &insertLog{takes: 20 * ms}
	l.insertOf(t, nil, map[time.Duration]int{0: 1, 40 * ms: 2, 300 * ms: 1, 400 * ms: 1, 5000 * ms: 1})
	l.check(t, []time.Duration{5 * ms, 275 * ms, 550 * ms, 5005 * ms}, []int{1, 2, 2, 1})
}

// What cannot wait takes along what can.
func TestBatcherEndsPatience(t *testing.T) {
	t.Parallel()
	l := &insertLog{takes: 6 * ms}
	l.insertOf(t, map[time.Duration]int{60 * ms: 1, 400 * ms: 1}, map[time.Duration]int{0: 1, 50 * ms: 1, 300 * ms: 2,
		390 * ms: 1})
	l.check(t, []time.Duration{5 * ms, 131 * ms, 400 * ms}, []int{1, 2, 4})
}

// What is large enough goes at once: a chunk of pages, or as much from several.
func TestBatcherHandsLargeBatchesOn(t *testing.T) {
	t.Parallel()
	l := &insertLog{takes: 40 * ms}
	l.insertOf(t, map[time.Duration]int{0: 1, 50 * ms: 40, 100 * ms: 20, 110 * ms: 12}, nil)
	l.check(t, []time.Duration{5 * ms, 55 * ms, 110 * ms}, []int{1, 40, 32})
}

// A Store that is closed stores at once what waits.
func TestBatcherStopsResting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		g := newInsertBatcher(func(context.Context, []int) error {
			time.Sleep(40 * ms) //nolint:forbidigo // of the bubble
			return nil
		}, func(int) int { return 1 }, func(int) bool { return false })
		var second error
		var callers sync.WaitGroup
		callers.Go(func() {
			if err := g.storeItems(t.Context(), []int{1}); err != nil {
				t.Error(err)
			}
			second = g.storeItems(t.Context(), []int{2})
		})
		time.Sleep(50 * ms) //nolint:forbidigo // of the bubble: the second is with the batcher
		g.stopAndWait()
		callers.Wait()
		if took := time.Since(start); second != nil || took != 90*ms {
			t.Errorf("the second insert: %v after %s, want none after 90ms", second, took)
		}
	})
}
