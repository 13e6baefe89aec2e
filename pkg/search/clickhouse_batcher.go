package search

import (
	"context"
	"sync"
	"time"

	"inkstream.dev/pkg/fault"
)

const (
	// batchDelay is how long a write waits for others to be stored with it. An insert costs the server some milliseconds
	// whatever its size, and as much again for the parts that it has to merge.
	batchDelay = 5 * time.Millisecond
	// After an insert a small one, of fewer than smallBatch, waits restShare times as long as that took, for maxRest at
	// most: the parts of inserts are merged again and again, which costs several times what the inserts do, and a server
	// that has just been fast is no exception. Who comes alone does not wait.
	restShare, maxRest, smallBatch = 20, 250 * time.Millisecond, 32
	// Items that can wait are gathered for longer while more come. A server merges small parts with the last one of up to
	// 2 MB that it made of earlier ones, and of parts smaller than a hundredth of that only one or two at a time: each
	// insert of a few pages has it rewritten, one of fifty a fraction of it. They wait until maxPatience after an insert,
	// until there are largeBatch, or until none has come for quietTime, as where all who store are waiting.
	maxPatience, quietTime, largeBatch = 3 * time.Second, 150 * time.Millisecond, 128
	// maxBatchPages and maxBatchBytes bound an insert: rows of words are some 200 a page, and a block of a million rows
	// would be split.
	maxBatchPages = 1024
	maxBatchBytes = 32 << 20
)

// insertBatcher makes one insert of what several callers store.
type insertBatcher[T any] struct {
	store   func(ctx context.Context, items []T) error
	size    func(T) int
	canWait func(T) bool
	queue   chan *pendingWrite[T]
	done    chan struct{}
	stop    context.CancelFunc
	once    sync.Once
	// Until when small batches are gathered, and those that can wait; the goroutine's of runBatches.
	rest, patience time.Time
}

// pendingWrite is what one caller stores.
type pendingWrite[T any] struct {
	items   []T
	bytes   int
	canWait bool       // all of them can
	stored  chan error // gets one answer
}

func newInsertBatcher[T any](store func(context.Context, []T) error, size func(T) int,
	canWait func(T) bool) *insertBatcher[T] {
	ctx, stop := context.WithCancel(context.Background())
	g := &insertBatcher[T]{store: store, size: size, canWait: canWait, queue: make(chan *pendingWrite[T]),
		done: make(chan struct{}), stop: stop}
	go g.runBatches(ctx)
	return g
}

// storeItems hands items over, and waits until they are stored. A caller who gives up leaves them behind: they may be
// stored or not.
func (g *insertBatcher[T]) storeItems(ctx context.Context, items []T) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w := &pendingWrite[T]{items: items, canWait: true, stored: make(chan error, 1)}
	for _, item := range items {
		w.bytes += g.size(item)
		w.canWait = w.canWait && g.canWait(item)
	}
	select {
	case g.queue <- w:
	case <-ctx.Done():
		return ctx.Err()
	case <-g.done:
		return fault.New(fault.Unavailable, "the index is closed")
	}
	select {
	case err := <-w.stored:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g *insertBatcher[T]) stopAndWait() {
	g.once.Do(g.stop)
	<-g.done
}

func (g *insertBatcher[T]) runBatches(ctx context.Context) {
	defer close(g.done)
	for {
		select {
		case first := <-g.queue:
			writes := g.collectWrites(ctx, first)
			start := time.Now()
			g.storeWrites(ctx, writes)
			now := time.Now()
			g.rest, g.patience = now.Add(min(restShare*now.Sub(start), maxRest)), now.Add(maxPatience)
		case <-ctx.Done():
			return
		}
	}
}

// collectWrites waits a moment for more, and longer while the server rests. A Store that ends waits no longer.
func (g *insertBatcher[T]) collectWrites(ctx context.Context, first *pendingWrite[T]) []*pendingWrite[T] {
	writes, items, bytes, canWait := []*pendingWrite[T]{first}, len(first.items), first.bytes, first.canWait
	soonest := time.Now().Add(batchDelay)
	delay, rest := time.NewTimer(batchDelay), time.NewTimer(g.untilDue(soonest, canWait))
	defer delay.Stop()
	defer rest.Stop()
	waited := false
	for items < maxBatchPages && bytes < maxBatchBytes && !(waited && isEnough(items, canWait)) {
		select {
		case w := <-g.queue:
			writes = append(writes, w)
			items += len(w.items)
			bytes += w.bytes
			canWait = canWait && w.canWait
			rest.Reset(g.untilDue(soonest, canWait))
		case <-delay.C:
			waited = true
		case <-rest.C:
			return writes
		case <-ctx.Done():
			return writes
		}
	}
	return writes
}

// isEnough reports whether so many items wait for no more.
func isEnough(items int, canWait bool) bool {
	return items >= largeBatch || items >= smallBatch && !canWait
}

// untilDue returns how long a small batch waits for more from now on, when a write has just come; at least until the
// soonest time that there is.
func (g *insertBatcher[T]) untilDue(soonest time.Time, canWait bool) time.Duration {
	due := time.Until(g.rest)
	if canWait {
		due = min(max(due, quietTime), time.Until(g.patience))
	}
	return max(due, time.Until(soonest))
}

// storeWrites stores the writes, and answers their callers. It is not cut short by the end of the Store, which waits
// for it.
func (g *insertBatcher[T]) storeWrites(ctx context.Context, writes []*pendingWrite[T]) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*chReadTimeout)
	defer cancel()
	var all []T
	for _, w := range writes {
		all = append(all, w.items...)
	}
	err := g.store(ctx, all)
	for _, w := range writes {
		w.stored <- err
	}
}
