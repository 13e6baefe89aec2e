package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"inkstream.dev/pkg/fault"
)

// pullTimeout is how long one pull waits at the server when both lanes are empty.
const pullTimeout = 5 * time.Second

// recountWait is how long a poll waits for a task that the broker does not count. busyTime is how long ago a lane has
// given a task that may have others.
const (
	recountWait = 10 * time.Millisecond
	busyTime    = 100 * time.Millisecond
)

// Delivery is a task in the hands of a handler.
type Delivery struct {
	Stage  Stage
	Lane   Lane
	Tenant string
	Job    string
	// ID is the message id; empty where the publisher set none.
	ID string
	// Delivered counts the deliveries of this message, this one included. It also counts crashes and deploys, so it says
	// nothing about failures.
	Delivered uint64
	// Queued is when the stream took the message, or the one that it is a copy of.
	Queued time.Time
	// Slow says that the task has taken longer than its first try; see ErrTakesLong.
	Slow bool

	msg            jetstream.Msg
	drainDone      <-chan struct{} // closed when the service's drain is over
	boundHeartbeat func()          // has the heartbeat end with the handler's deadline, which begins now
	stopHeartbeat  func()          // ends the heartbeat, and waits for its end
}

// DecodeTask reads the payload into a task. An error is permanent: the same bytes fail again.
func (d *Delivery) DecodeTask(t proto.Message) error {
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(d.msg.Data(), t); err != nil {
		return fault.Wrap(fault.Permanent, fault.Internal, fmt.Errorf("decode %s: %w", schemaName(t), err))
	}
	return nil
}

// Schema names the protobuf message that the payload holds; empty where the publisher set none.
func (d *Delivery) Schema() string { return d.msg.Headers().Get(HeaderSchema) }

// Payload returns the task as JSON.
func (d *Delivery) Payload() []byte { return d.msg.Data() }

// Handler works on one task. What its error means is decided by its fault.Kind. It may see a task twice.
type Handler interface {
	// HandleTask does the work. The context ends at the hard deadline or when the service's drain time is over.
	HandleTask(ctx context.Context, d *Delivery) error
	// CountFailure counts a failure of the task and returns how many there have been; it is called for transient errors
	// and engine crashes.
	CountFailure(ctx context.Context, d *Delivery, err error) (int, error)
	// RecordGiveUp records that the task will not be tried again; the dead letter is stored already. It must be
	// idempotent.
	RecordGiveUp(ctx context.Context, d *Delivery, err error) error
}

// ConsumerConfig says how a stage's tasks are consumed by one process.
type ConsumerConfig struct {
	// Workers is how many tasks are handled at once.
	Workers int
	// UrgentWorkers is how many tasks of the interactive lane are handled beyond that, when all workers have something
	// in hand.
	UrgentWorkers int
	// ReservedWorkers is how many tasks are handled beyond both, when neither has a place: those of tenants that use
	// little of the stage, whatever others have queued; see fairshare.Account.
	ReservedWorkers int
	// FairnessWait is how long an interactive task whose job has others in hand waits for a shared slot before those
	// behind it pass; 0 for 15 s. So one job's tasks, should all of them take long, leave the urgent slots to other
	// jobs.
	FairnessWait time.Duration
	// Deadline bounds one HandleTask call. The heartbeat stops with it, so that a hung handler does not hold its message
	// without end. What a task is held before, for want of a slot, does not count.
	Deadline time.Duration
	// DrainTimeout is how long running handlers may go on when the service stops; what is unfinished then is handed back.
	DrainTimeout time.Duration
}

// Consumer hands a stage's tasks to a handler, the interactive lane first.
type Consumer struct {
	bus     *Bus
	stage   Stage
	handler Handler
	lanes   [2]*lane // interactive, batch

	handled atomic.Int32 // tasks in hand

	endedPermits chan permit // from the handlers' goroutines

	// What follows is used by Run's own goroutine only.
	taskSlots
	stream    jetstream.Stream // nil before the first look
	scheduler laneScheduler
	// maxDeliver is the broker's bound of deliveries of a message that is never settled for good.
	maxDeliver int
	// heartbeatInterval is how often the broker is told that a task is still in hand: three times before it would give
	// the task to another.
	heartbeatInterval time.Duration
}

type lane struct {
	name Lane
	cons jetstream.Consumer
	// pull is the answer of the pull that waits at the server; nil when there is none.
	pull chan pullResult
	// lastTask is when the lane gave a task, and asked that a pull that waits was tried since then.
	lastTask time.Time
	asked    bool
}

// gaveTask reports whether the lane has given a task just now.
func (l *lane) gaveTask() bool { return time.Since(l.lastTask) < busyTime }

type pullResult struct {
	d   *Delivery
	err error
}

// NewConsumer returns a consumer of the stage that is not yet running.
func (b *Bus) NewConsumer(stage Stage, cfg ConsumerConfig, h Handler) *Consumer {
	if cfg.FairnessWait == 0 {
		cfg.FairnessWait = defaultFairnessWait
	}
	c := &Consumer{
		bus: b, stage: stage, handler: h, taskSlots: newTaskSlots(cfg),
		// Room for all, so that no handler waits to be rid of its slot.
		endedPermits: make(chan permit, cfg.Workers+cfg.UrgentWorkers+cfg.ReservedWorkers),
	}
	for _, s := range stage.downstreamStages() {
		c.downstream = append(c.downstream, &downstreamCapacity{bus: b, stage: s})
	}
	return c
}

// Run consumes until ctx is done, then waits for the tasks in hand, at most DrainTimeout. It calls ready once it
// accepts tasks.
func (c *Consumer) Run(ctx context.Context, ready func()) error {
	for i, l := range []Lane{Interactive, Batch} {
		var cons jetstream.Consumer
		if err := c.bus.retryUntilDone(ctx, func(ctx context.Context) (err error) {
			cons, err = c.bus.js.Consumer(ctx, c.stage.StreamName(), DurableName(c.stage, l))
			return err
		}); err != nil {
			return fmt.Errorf("consumer %s: %w", DurableName(c.stage, l), err)
		}
		c.lanes[i] = &lane{name: l, cons: cons}
		cfg := cons.CachedInfo().Config
		c.maxDeliver, c.heartbeatInterval = cfg.MaxDeliver, cfg.AckWait/3
	}
	ready()

	work, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWork()
	var wg sync.WaitGroup
	wg.Go(func() { c.announceProcess(ctx) })
	pool := workerPool{consumer: c, tasks: make(chan permittedTask), size: cap(c.endedPermits)}
	for d := c.nextDelivery(ctx); d != nil; d = c.nextDelivery(ctx) {
		t := permittedTask{d, c.acquirePermit(d)}
		c.handled.Add(1)
		pool.handleTask(work, t, &wg)
	}
	close(pool.tasks)
	drain := time.AfterFunc(c.cfg.DrainTimeout, stopWork)
	defer drain.Stop()
	c.returnUnhandled()
	wg.Wait()
	return nil
}

// openLanes returns the lanes that a task may be taken from now, the one whose turn it is first; blocked says that
// one has tasks to wait for room behind.
func (c *Consumer) openLanes(ctx context.Context) (lanes []*lane, blocked bool) {
	for _, l := range c.lanes {
		switch {
		case !c.laneOpen(ctx, l):
		case slices.ContainsFunc(c.downstream, func(r *downstreamCapacity) bool { return r.isLaneFull(ctx, l.name) }):
			blocked = true
		default:
			lanes = append(lanes, l)
		}
	}
	if len(lanes) == 2 && c.scheduler.isBatchTurn() {
		slices.Reverse(lanes)
	}
	return lanes, blocked
}

// nextDelivery waits for a slot and a task, and returns the task; nil when ctx is done. Interactive goes first, but
// for batch's share.
func (c *Consumer) nextDelivery(ctx context.Context) *Delivery {
	for ctx.Err() == nil {
		for len(c.endedPermits) > 0 {
			c.releasePermit(<-c.endedPermits)
		}
		lanes, blocked := c.openLanes(ctx)
		d := c.pollLanes(ctx, lanes)
		if d == nil {
			d = c.awaitDelivery(ctx, lanes, blocked)
		}
		if d == nil || c.deferIfNoSlot(ctx, d) {
			continue
		}
		c.recordPick(d.Lane)
		return d
	}
	return nil
}

// recordPick notes that a lane gave a task that is taken up.
func (c *Consumer) recordPick(name Lane) {
	c.scheduler.recordPick(name)
	for _, l := range c.lanes {
		if l.name == name {
			l.lastTask, l.asked = time.Now(), false
		}
	}
}

// pollLanes takes a task that is there now from the first lane that has one. Of lanes that have none the next ones
// are asked for.
func (c *Consumer) pollLanes(ctx context.Context, lanes []*lane) *Delivery {
	for _, l := range lanes {
		if d := c.nextDeferred(l.name); d != nil {
			return d
		}
		if d := c.pollLane(ctx, l); d != nil {
			return d
		}
		c.lookout.recordEmpty(l.name)
		if l.name == Batch {
			c.scheduler.skipBatchTurn()
		}
	}
	for _, l := range lanes {
		if l.pull == nil && c.laneOpen(ctx, l) { // it may have been open for a task only that is not there
			l.pull = make(chan pullResult, 1)
			go c.pullTask(ctx, l, l.pull)
		}
	}
	return nil
}

// awaitDelivery waits until one of the lanes has a task, which it returns, or until there may be others to take from.
func (c *Consumer) awaitDelivery(ctx context.Context, lanes []*lane, blocked bool) *Delivery {
	var pulls [2]chan pullResult // a nil channel is never ready
	for i, l := range lanes {
		pulls[i] = l.pull
	}
	var look, patience <-chan time.Time
	if blocked {
		timer := time.NewTimer(capacityAge)
		defer timer.Stop()
		look = timer.C
	}
	if wait, ok := c.untilNextLook(); ok {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		patience = timer.C
	}
	select {
	case <-ctx.Done():
	case <-look:
	case <-patience:
	case at := <-c.endedPermits:
		c.releasePermit(at)
	case p := <-pulls[0]:
		lanes[0].pull = nil
		return p.d
	case p := <-pulls[1]:
		lanes[1].pull = nil
		return p.d
	}
	return nil
}

// pollLane takes a task that is there now. A lane whose pull is waiting at the server has none but what that pull
// brings.
func (c *Consumer) pollLane(ctx context.Context, l *lane) *Delivery {
	if l.pull != nil {
		select {
		case p := <-l.pull:
			l.pull = nil
			if p.d != nil {
				return p.d
			}
		default:
			return nil
		}
	}
	d := c.receiveOne(ctx, l, func() (jetstream.MessageBatch, error) { return l.cons.FetchNoWait(1) })
	if d == nil && !l.asked && l.gaveTask() && slices.ContainsFunc(c.lanes[:], func(o *lane) bool {
		return o != l && o.gaveTask()
	}) {
		// A NATS server of version 2.15 counts at times, for some milliseconds, no task for a consumer that has some, and the
		// other lane's would all go first. It answers polls by that count, and pulls that wait by what there is.
		l.asked = true
		d = c.receiveOne(ctx, l, func() (jetstream.MessageBatch, error) {
			return l.cons.Fetch(1, jetstream.FetchMaxWait(recountWait))
		})
	}
	return d
}

// receiveOne returns the task that a fetch brings. Its error is that of the waiting pull that follows, which reports it.
func (c *Consumer) receiveOne(ctx context.Context, l *lane, fetch func() (jetstream.MessageBatch, error)) *Delivery {
	batch, err := fetch()
	if err != nil {
		return nil
	}
	for msg := range batch.Messages() {
		return c.newDelivery(ctx, l.name, msg)
	}
	return nil
}

// pullTask pulls one task and waits for it at the server. A task that comes while every worker is busy is held, with
// its heartbeat going: at most one a lane.
func (c *Consumer) pullTask(ctx context.Context, l *lane, out chan<- pullResult) {
	pull, cancel := context.WithTimeout(ctx, pullTimeout)
	defer cancel()
	batch, err := l.cons.Fetch(1, jetstream.FetchContext(pull))
	if err == nil {
		for msg := range batch.Messages() {
			out <- pullResult{d: c.newDelivery(ctx, l.name, msg)}
			return
		}
		err = batch.Error()
	}
	if pull.Err() != nil {
		err = nil // the wait is over, that is all
	}
	if err != nil && !errors.Is(err, jetstream.ErrNoHeartbeat) {
		c.bus.log.WarnContext(ctx, "pull of tasks", "stage", c.stage, "lane", l.name, "error", err)
	}
	if err != nil {
		// The server is away or starting; the next pull must not spin.
		select {
		case <-ctx.Done():
		case <-time.After(500 * time.Millisecond):
		}
	}
	out <- pullResult{err: err}
}

func (c *Consumer) newDelivery(ctx context.Context, l Lane, msg jetstream.Msg) *Delivery {
	d := &Delivery{Stage: c.stage, Lane: l, ID: msg.Headers().Get(jetstream.MsgIDHeader), msg: msg}
	d.Tenant, d.Job = parseTaskSubject(msg.Subject())
	d.Slow = msg.Headers().Get(HeaderSlow) != ""
	if meta, err := msg.Metadata(); err == nil {
		d.Delivered, d.Queued = meta.NumDelivered, firstQueuedAt(msg, meta)
	}
	beat, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var beating sync.WaitGroup
	beating.Go(func() { sendHeartbeats(beat, msg, c.heartbeatInterval) })
	var bound *time.Timer
	d.boundHeartbeat = func() { bound = time.AfterFunc(c.cfg.Deadline+c.heartbeatInterval, cancel) }
	d.stopHeartbeat = func() {
		if bound != nil {
			bound.Stop()
		}
		cancel()
		beating.Wait()
	}
	return d
}

// firstQueuedAt returns when a task was queued first.
func firstQueuedAt(msg jetstream.Msg, meta *jetstream.MsgMetadata) time.Time {
	if at, err := time.Parse(time.RFC3339Nano, msg.Headers().Get(HeaderQueued)); err == nil {
		return at
	}
	return meta.Timestamp
}

// sendHeartbeats tells the broker that the message is in hand until ctx is done. A beat that fails is left to the
// next one: if all fail, the message goes to another replica, which is what should happen then.
func sendHeartbeats(ctx context.Context, msg jetstream.Msg, every time.Duration) {
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			_ = msg.InProgress()
		}
	}
}

// returnUnhandled returns what was pulled but never handled, so that another replica has it at once.
func (c *Consumer) returnUnhandled() {
	var unhandled []*Delivery
	for _, held := range c.deferred {
		for _, h := range held {
			unhandled = append(unhandled, h.delivery)
		}
	}
	for _, l := range c.lanes {
		if l.pull == nil {
			continue
		}
		if p := <-l.pull; p.d != nil { // comes at once, for its context has ended
			unhandled = append(unhandled, p.d)
		}
	}
	for _, d := range unhandled {
		d.stopHeartbeat()
		_ = d.msg.Nak() // if it does not arrive, AckWait does the same later
	}
}
