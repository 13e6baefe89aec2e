package bus

import (
	"context"
	"time"
)

const (
	// batchShare says that batch has at least every tenth task under a constant interactive load.
	batchShare = 10
	// roomAge is how old the known backlog of the stage behind may be. While there seems to be no room it is asked for more often, for what was
	// taken up need not have got there. roomTimeout bounds the question.
	roomAge     = 500 * time.Millisecond
	fullAge     = 50 * time.Millisecond
	roomTimeout = time.Second
)

// slot is room for a task in hand.
type slot int

const (
	// shared slots take tasks of either lane.
	shared slot = iota
	// urgent slots take interactive tasks only, so that one does not wait for the end of a batch's tasks, however long those are.
	urgent
)

// turn decides whose turn it is when both lanes have tasks.
type turn struct{ owed int }

// batchFirst reports whether so many interactive tasks went first that it is batch's turn.
func (t *turn) batchFirst() bool { return t.owed >= batchShare-1 }

// took notes a pick. What batch is owed is bounded: a lane that could not go for a long time should not have all slots then.
func (t *turn) took(l Lane) {
	if l == Interactive {
		t.owed = min(t.owed+1, 3*(batchShare-1))
	} else {
		t.owed = max(t.owed-(batchShare-1), 0)
	}
}

// passed notes that batch had nothing when it was its turn. It stays its turn, and no more than that.
func (t *turn) passed() { t.owed = min(t.owed, batchShare-1) }

// room knows whether a stage behind has room for what this one passes on. While it has none this one takes up no tasks, so the work waits
// where it costs nothing but a place in a queue: not as rasters in the blob store, nor as tasks that are tried again and again.
type room struct {
	bus   *Bus
	stage Stage // the stage behind
	known Backlog
	asked time.Time
}

// full reports whether nothing of the lane should be taken up.
func (r *room) full(ctx context.Context, l Lane) bool {
	if age := time.Since(r.asked); age > roomAge || age > fullAge && r.known.Full(l) {
		r.ask(ctx)
	}
	return r.known.Full(l)
}

// ask brings what is known up to date. A backlog that nobody can tell stops nobody: the stream itself has a limit.
func (r *room) ask(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, roomTimeout)
	defer cancel()
	b, err := r.bus.Backlog(ctx, r.stage)
	if err != nil {
		b = Backlog{}
	}
	r.known, r.asked = b, time.Now()
}

// took notes that a task was taken up, which will add one to the stage behind, or more.
func (r *room) took() { r.known.Tasks++ }
