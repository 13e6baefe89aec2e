package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"inkstream.dev/pkg/fault"
)

// pullWait is how long one pull waits at the server when both lanes are empty.
const pullWait = 5 * time.Second

// Delivery is a task in the hands of a handler.
type Delivery struct {
	Stage  Stage
	Lane   Lane
	Tenant string
	Job    string
	// ID is the message id; empty where the publisher set none.
	ID string
	// Delivered counts the deliveries of this message, this one included. It also counts crashes and deploys, so it says nothing about failures.
	Delivered uint64
	// Queued is when the stream took the message, or the one that it is a copy of.
	Queued time.Time

	msg  jetstream.Msg
	over <-chan struct{} // closed when the service's drain is over
	stop func()          // ends the heartbeat, and waits for its end
}

// Decode reads the payload into a task. An error is permanent: the same bytes fail again.
func (d *Delivery) Decode(t proto.Message) error {
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(d.msg.Data(), t); err != nil {
		return fault.Wrap(fault.Permanent, fault.Internal, fmt.Errorf("decode %s: %w", schema(t), err))
	}
	return nil
}

// Handler works on one task. What its error means is decided by its fault.Kind. It may see a task twice.
type Handler interface {
	// Handle does the work. The context ends at the hard deadline or when the service's drain time is over.
	Handle(ctx context.Context, d *Delivery) error
	// Failed counts a failure of the task and returns how many there have been; it is called for transient errors and engine crashes.
	Failed(ctx context.Context, d *Delivery, err error) (int, error)
	// GiveUp records that the task will not be tried again; the dead letter is stored already. It must be idempotent.
	GiveUp(ctx context.Context, d *Delivery, err error) error
}

// ConsumerConfig says how a stage's tasks are consumed by one process.
type ConsumerConfig struct {
	// Workers is how many tasks are handled at once.
	Workers int
	// Urgent is how many tasks of the interactive lane are handled beyond that, when all workers have something in hand.
	Urgent int
	// Crowd is how long an interactive task whose job has others in hand waits for a shared slot before those behind it pass; 0 for 15 s. So one
	// job's tasks, should all of them take long, leave the urgent slots to other jobs.
	Crowd time.Duration
	// Deadline bounds one Handle call. The heartbeat stops with it, so that a hung handler does not hold its message for ever.
	Deadline time.Duration
	// DrainTimeout is how long running handlers may go on when the service stops; what is unfinished then is handed back.
	DrainTimeout time.Duration
}

// Consumer hands a stage's tasks to a handler, the interactive lane first.
type Consumer struct {
	bus   *Bus
	stage Stage
	cfg   ConsumerConfig
	h     Handler
	lanes [2]*lane // interactive, batch

	// What follows is used by Run's own goroutine only, but for done.
	free  [2]int // slots of each kind
	done  chan place
	hands map[string]*hand // by job, those that have tasks in hand
	held  *held            // nil while none is
	turn  turn
	rooms []*room // of the stages behind
	// maxDeliver is the broker's bound of deliveries that nobody settled for good.
	maxDeliver int
	// beat is how often the broker is told that a task is still in hand: three times before it would give the task to another.
	beat time.Duration
}

type lane struct {
	name Lane
	cons jetstream.Consumer
	// pull is the answer of the pull that waits at the server; nil when there is none.
	pull chan pulled
}

type pulled struct {
	d   *Delivery
	err error
}

// NewConsumer returns a consumer of the stage that is not yet running.
func (b *Bus) NewConsumer(stage Stage, cfg ConsumerConfig, h Handler) *Consumer {
	if cfg.Crowd == 0 {
		cfg.Crowd = crowd
	}
	c := &Consumer{
		bus: b, stage: stage, cfg: cfg, h: h, free: [2]int{shared: cfg.Workers, urgent: cfg.Urgent},
		done:  make(chan place, cfg.Workers+cfg.Urgent), // room for all, so that no handler waits to be rid of its slot
		hands: make(map[string]*hand),
	}
	for _, s := range stage.behind() {
		c.rooms = append(c.rooms, &room{bus: b, stage: s})
	}
	return c
}

// Run consumes until ctx is done, then waits for the tasks in hand, at most DrainTimeout. It calls ready once it accepts tasks.
func (c *Consumer) Run(ctx context.Context, ready func()) error {
	for i, l := range []Lane{Interactive, Batch} {
		var cons jetstream.Consumer
		if err := c.bus.insist(ctx, func(ctx context.Context) (err error) {
			cons, err = c.bus.js.Consumer(ctx, c.stage.Stream(), Durable(c.stage, l))
			return err
		}); err != nil {
			return fmt.Errorf("consumer %s: %w", Durable(c.stage, l), err)
		}
		c.lanes[i] = &lane{name: l, cons: cons}
		cfg := cons.CachedInfo().Config
		c.maxDeliver, c.beat = cfg.MaxDeliver, cfg.AckWait/3
	}
	ready()

	work, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWork()
	var wg sync.WaitGroup
	for d := c.next(ctx); d != nil; d = c.next(ctx) {
		c.bus.GiveWay(ctx)
		at := c.take(d)
		wg.Go(func() {
			defer func() { c.done <- at }()
			c.handle(work, d)
		})
	}
	drain := time.AfterFunc(c.cfg.DrainTimeout, stopWork)
	defer drain.Stop()
	c.handBack()
	wg.Wait()
	return nil
}

// open returns the lanes that a task may be taken from now, the one whose turn it is first; blocked says that one has tasks to wait for room behind.
func (c *Consumer) open(ctx context.Context) (lanes []*lane, blocked bool) {
	for _, l := range c.lanes {
		switch {
		case l.name == Batch && c.free[shared] == 0 || l.name == Interactive && !c.interactive():
		case slices.ContainsFunc(c.rooms, func(r *room) bool { return r.full(ctx, l.name) }):
			blocked = true
		default:
			lanes = append(lanes, l)
		}
	}
	if len(lanes) == 2 && c.turn.batchFirst() {
		slices.Reverse(lanes)
	}
	return lanes, blocked
}

// next waits for a slot and a task, and returns the task; nil when ctx is done. Interactive goes first, but for batch's share.
func (c *Consumer) next(ctx context.Context) *Delivery {
	for ctx.Err() == nil {
		for len(c.done) > 0 {
			c.freed(<-c.done)
		}
		lanes, blocked := c.open(ctx)
		d := c.pollAny(ctx, lanes)
		if d == nil {
			d = c.await(ctx, lanes, blocked)
		}
		if d == nil || c.holds(ctx, d) {
			continue
		}
		c.turn.took(d.Lane)
		return d
	}
	return nil
}

// pollAny takes a task that is there now from the first lane that has one. Of lanes that have none the next ones are asked for.
func (c *Consumer) pollAny(ctx context.Context, lanes []*lane) *Delivery {
	for _, l := range lanes {
		if l.name == Interactive {
			if d := c.unheld(); d != nil {
				return d
			}
		}
		if d := c.poll(ctx, l); d != nil {
			return d
		}
		if l.name == Batch {
			c.turn.passed()
		}
	}
	for _, l := range lanes {
		if l.pull == nil {
			l.pull = make(chan pulled, 1)
			go c.wait(ctx, l, l.pull)
		}
	}
	return nil
}

// await waits until one of the lanes has a task, which it returns, or until there may be others to take from.
func (c *Consumer) await(ctx context.Context, lanes []*lane, blocked bool) *Delivery {
	var pulls [2]chan pulled // a nil channel is never ready
	for i, l := range lanes {
		pulls[i] = l.pull
	}
	var look, patience <-chan time.Time
	if blocked {
		timer := time.NewTimer(roomAge)
		defer timer.Stop()
		look = timer.C
	}
	if c.held != nil && !c.passing() {
		timer := time.NewTimer(time.Until(c.held.until))
		defer timer.Stop()
		patience = timer.C
	}
	select {
	case <-ctx.Done():
	case <-look:
	case <-patience:
	case at := <-c.done:
		c.freed(at)
	case p := <-pulls[0]:
		lanes[0].pull = nil
		return p.d
	case p := <-pulls[1]:
		lanes[1].pull = nil
		return p.d
	}
	return nil
}

// poll takes a task that is there now. A lane whose pull is waiting at the server has none but what that pull brings.
func (c *Consumer) poll(ctx context.Context, l *lane) *Delivery {
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
	batch, err := l.cons.FetchNoWait(1)
	if err != nil {
		return nil // the waiting pull that follows reports it
	}
	for msg := range batch.Messages() {
		return c.receive(ctx, l.name, msg)
	}
	return nil
}

// wait pulls one task and waits for it at the server. A task that comes while every worker is busy is held, with its heartbeat going: at
// most one a lane.
func (c *Consumer) wait(ctx context.Context, l *lane, out chan<- pulled) {
	pull, cancel := context.WithTimeout(ctx, pullWait)
	defer cancel()
	batch, err := l.cons.Fetch(1, jetstream.FetchContext(pull))
	if err == nil {
		for msg := range batch.Messages() {
			out <- pulled{d: c.receive(ctx, l.name, msg)}
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
	out <- pulled{err: err}
}

func (c *Consumer) receive(ctx context.Context, l Lane, msg jetstream.Msg) *Delivery {
	d := &Delivery{Stage: c.stage, Lane: l, ID: msg.Headers().Get(jetstream.MsgIDHeader), msg: msg}
	d.Tenant, d.Job = subjectJob(msg.Subject())
	if meta, err := msg.Metadata(); err == nil {
		d.Delivered, d.Queued = meta.NumDelivered, queued(msg, meta)
	}
	beat, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.cfg.Deadline+c.beat)
	var beating sync.WaitGroup
	beating.Go(func() { heartbeat(beat, msg, c.beat) })
	d.stop = func() {
		cancel()
		beating.Wait()
	}
	return d
}

// queued returns when a task was queued first.
func queued(msg jetstream.Msg, meta *jetstream.MsgMetadata) time.Time {
	if at, err := time.Parse(time.RFC3339Nano, msg.Headers().Get(HeaderQueued)); err == nil {
		return at
	}
	return meta.Timestamp
}

// heartbeat tells the broker that the message is in hand until ctx is done. A beat that fails is left to the next one: if all fail, the
// message goes to another replica, which is what should happen then.
func heartbeat(ctx context.Context, msg jetstream.Msg, every time.Duration) {
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

// handBack returns what was pulled but never handled, so that another replica has it at once.
func (c *Consumer) handBack() {
	var unhandled []*Delivery
	if c.held != nil {
		unhandled = append(unhandled, c.held.d)
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
		d.stop()
		_ = d.msg.Nak() // if it does not arrive, AckWait does the same later
	}
}
