package bus

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"inkstream.dev/pkg/fault"
)

const (
	// batchShare lets the batch lane go first on every tenth pick, so that it has at least a tenth of the capacity under a constant
	// interactive load.
	batchShare = 10
	// pullWait is how long one pull waits at the server when both lanes are empty.
	pullWait = 5 * time.Second
)

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
	// Queued is when the stream took the message.
	Queued time.Time

	msg  jetstream.Msg
	stop func() // ends the heartbeat
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
	// Deadline bounds one Handle call. The heartbeat stops with it, so that a hung handler does not hold its message for ever.
	Deadline time.Duration
	// DrainTimeout is how long running handlers may go on when the service stops; what is unfinished then is handed back.
	DrainTimeout time.Duration
	// Heartbeat is how often the broker is told that a task is still in hand; 0 means 20 s.
	Heartbeat time.Duration
}

// Consumer hands a stage's tasks to a handler, the interactive lane first.
type Consumer struct {
	bus   *Bus
	stage Stage
	cfg   ConsumerConfig
	h     Handler
	lanes [2]*lane // interactive, batch
	picks int
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
	if cfg.Heartbeat == 0 {
		cfg.Heartbeat = 20 * time.Second
	}
	return &Consumer{bus: b, stage: stage, cfg: cfg, h: h}
}

// Run consumes until ctx is done, then waits for the tasks in hand, at most DrainTimeout. It calls ready once it accepts tasks.
func (c *Consumer) Run(ctx context.Context, ready func()) error {
	for i, l := range []Lane{Interactive, Batch} {
		cons, err := c.bus.js.Consumer(ctx, c.stage.Stream(), Durable(c.stage, l))
		if err != nil {
			return fmt.Errorf("consumer %s: %w", Durable(c.stage, l), err)
		}
		c.lanes[i] = &lane{name: l, cons: cons}
	}
	ready()

	work, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWork()
	var wg sync.WaitGroup
	slots := make(chan struct{}, c.cfg.Workers)
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case slots <- struct{}{}:
			d := c.next(ctx)
			if d == nil {
				<-slots
				continue
			}
			wg.Go(func() {
				defer func() { <-slots }()
				c.handle(work, d)
			})
		}
	}
	drain := time.AfterFunc(c.cfg.DrainTimeout, stopWork)
	defer drain.Stop()
	wg.Wait()
	c.handBack()
	return nil
}

// next returns the task to work on, or nil when ctx is done. Interactive goes first, but for every tenth pick.
func (c *Consumer) next(ctx context.Context) *Delivery {
	first, second := c.lanes[0], c.lanes[1]
	if c.picks++; c.picks%batchShare == 0 {
		first, second = second, first
	}
	for ctx.Err() == nil {
		for _, l := range []*lane{first, second} {
			if d := c.poll(ctx, l); d != nil {
				return d
			}
		}
		for _, l := range []*lane{first, second} {
			if l.pull == nil {
				l.pull = make(chan pulled, 1)
				go c.wait(ctx, l, l.pull)
			}
		}
		select {
		case <-ctx.Done():
		case p := <-first.pull:
			first.pull = nil
			if p.d != nil {
				return p.d
			}
		case p := <-second.pull:
			second.pull = nil
			if p.d != nil {
				return p.d
			}
		}
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
		d.Delivered, d.Queued = meta.NumDelivered, meta.Timestamp
	}
	beat, stop := context.WithTimeout(context.WithoutCancel(ctx), c.cfg.Deadline+c.cfg.Heartbeat)
	d.stop = stop
	go heartbeat(beat, msg, c.cfg.Heartbeat)
	return d
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
	for _, l := range c.lanes {
		if l.pull == nil {
			continue
		}
		p := <-l.pull // comes at once, for its context has ended
		if p.d != nil {
			p.d.stop()
			_ = p.d.msg.Nak() // if it does not arrive, AckWait does the same later
		}
	}
}
