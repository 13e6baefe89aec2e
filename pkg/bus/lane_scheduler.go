package bus

import (
	"context"
	"time"
)

const (
	// batchShare says that batch has at least every tenth task under a constant interactive load.
	batchShare = 10
	// capacityAge is how old the known backlog of the stage behind may be. While there seems to be no room,
	// fullCapacityAge applies, because what was taken up need not have got there. capacityTimeout bounds the query.
	capacityAge     = 500 * time.Millisecond
	fullCapacityAge = 50 * time.Millisecond
	capacityTimeout = time.Second
)

// slot is room for a task in hand.
type slot int

const (
	// shared slots take tasks of either lane.
	shared slot = iota
	// urgent slots take interactive tasks only, so that one does not wait for the end of a batch's tasks, however long
	// those are.
	urgent
	// reserved slots take tasks of tenants that use little of the stage, so that what others have in hand and queued,
	// however much it is and however long it takes, does not keep them out.
	reserved
)

// laneScheduler decides whose turn it is when both lanes have tasks.
type laneScheduler struct{ batchCredit int }

// isBatchTurn reports whether so many interactive tasks went first that it is batch's turn.
func (t *laneScheduler) isBatchTurn() bool { return t.batchCredit >= batchShare-1 }

// recordPick notes a pick. What batch is owed is bounded: a lane that could not go for a long time should not have
// all slots then.
func (t *laneScheduler) recordPick(l Lane) {
	if l == Interactive {
		t.batchCredit = min(t.batchCredit+1, 3*(batchShare-1))
	} else {
		t.batchCredit = max(t.batchCredit-(batchShare-1), 0)
	}
}

// skipBatchTurn notes that batch had nothing when it was its turn. It stays its turn, and no more than that.
func (t *laneScheduler) skipBatchTurn() { t.batchCredit = min(t.batchCredit, batchShare-1) }

// downstreamCapacity knows whether a stage behind has room for what this one passes on. While it has none this one
// takes up no tasks, so the work waits where it costs nothing but a place in a queue: not as rasters in the blob
// store, nor as tasks that are tried again and again.
type downstreamCapacity struct {
	bus       *Bus
	stage     Stage // the stage behind
	backlog   Backlog
	queriedAt time.Time
}

// isLaneFull reports whether nothing of the lane should be taken up.
func (r *downstreamCapacity) isLaneFull(ctx context.Context, l Lane) bool {
	if age := time.Since(r.queriedAt); age > capacityAge || age > fullCapacityAge && r.backlog.IsFull(l) {
		r.refreshBacklog(ctx)
	}
	return r.backlog.IsFull(l)
}

// refreshBacklog brings what is known up to date. A backlog that cannot be read stops no task: the stream itself has
// a limit.
func (r *downstreamCapacity) refreshBacklog(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, capacityTimeout)
	defer cancel()
	b, err := r.bus.QueryBacklog(ctx, r.stage)
	if err != nil {
		b = Backlog{}
	}
	r.backlog, r.queriedAt = b, time.Now()
}

// recordTask notes that a task was taken up, which will add one to the stage behind, or more.
func (r *downstreamCapacity) recordTask() { r.backlog.Tasks++ }
