package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"inkstream.dev/pkg/fault"
)

// CrashLoop is the reason of a dead letter whose handlers died without a word, again and again.
const CrashLoop fault.Code = "CRASH_LOOP"

// Orphan is a task that the broker delivered as often as it may, and that nobody ever settled. The broker neither delivers nor deletes it any
// more, but counts it as backlog.
type Orphan struct {
	Stage  Stage
	Tenant string
	Job    string
	// Run is the job's run that the task belongs to.
	Run int
	// ID is the message id.
	ID string
}

// Janitor clears orphans away: each goes to the dead letters, its job is ended, and only then the task is deleted. Several janitors may be at
// work at once, and each step may be cut and repeated.
//
// It hears of orphans by the broker's advisories, within moments. An advisory that gets lost with a server that dies leaves an orphan that
// nobody has heard of; Sweep finds those, and gives them another chance.
type Janitor struct {
	bus *Bus
	end func(ctx context.Context, o Orphan) error

	mu sync.Mutex // guards suspects
	// suspects are the messages that looked like orphans at the last sweep.
	suspects map[position]bool
}

// position is where a message is stored.
type position struct {
	stage Stage
	seq   uint64
}

// NewJanitor returns a janitor that is not yet at work. End records the fate of an orphan's job; it must be idempotent.
func (b *Bus) NewJanitor(end func(ctx context.Context, o Orphan) error) *Janitor {
	return &Janitor{bus: b, end: end, suspects: make(map[position]bool)}
}

const (
	// janitorDurable is the consumer that all janitors share, so that each advisory goes to one of them.
	janitorDurable = "janitor"
	// janitorRetry is the wait before an orphan is tried again that could not be cleared.
	janitorRetry = 5 * time.Second
)

// Run clears orphans as they are reported, until ctx is done.
func (j *Janitor) Run(ctx context.Context) {
	for ctx.Err() == nil {
		if err := j.listen(ctx); err != nil && ctx.Err() == nil {
			j.bus.log.WarnContext(ctx, "read advisories", "error", err)
			select {
			case <-ctx.Done():
			case <-time.After(time.Second): // the server is away; this must not spin meanwhile
			}
		}
	}
}

// listen reads advisories until ctx is done or the connection fails.
func (j *Janitor) listen(ctx context.Context) error {
	advisories, err := j.bus.js.Consumer(ctx, AdvisoryStream, janitorDurable)
	if err != nil {
		return fmt.Errorf("consumer %s: %w", janitorDurable, err)
	}
	messages, err := advisories.Messages(jetstream.PullMaxMessages(1))
	if err != nil {
		return fmt.Errorf("consumer %s: %w", janitorDurable, err)
	}
	defer messages.Stop()
	unhook := context.AfterFunc(ctx, messages.Stop)
	defer unhook()
	for {
		msg, err := messages.Next()
		if errors.Is(err, jetstream.ErrMsgIteratorClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		j.advised(ctx, msg)
	}
}

// advised clears the orphan that an advisory tells of.
func (j *Janitor) advised(ctx context.Context, msg jetstream.Msg) {
	var a struct {
		Stream   string `json:"stream"`
		Sequence uint64 `json:"stream_seq"`
		// Deliveries is how often the broker tried.
		Deliveries int `json:"deliveries"`
	}
	if err := json.Unmarshal(msg.Data(), &a); err != nil {
		j.bus.log.ErrorContext(ctx, "advisory does not decode", "error", err)
		_ = msg.Term() // the same bytes again would help nobody
		return
	}
	stage, ours := stageOf(a.Stream)
	if ours {
		stored, err := j.bus.stored(ctx, stage, a.Sequence, "")
		if err == nil {
			err = j.clear(ctx, stage, stored, a.Deliveries)
		}
		if err != nil && !errors.Is(err, errNoMessage) {
			j.bus.log.WarnContext(ctx, "clear orphan", "stage", stage, "sequence", a.Sequence, "error", err)
			_ = msg.NakWithDelay(janitorRetry) // if it does not arrive, AckWait does the same later
			return
		}
	}
	_ = msg.Ack() // if it gets lost the advisory comes again, and the orphan is gone then
}

// stageOf returns the stage whose stream that is.
func stageOf(stream string) (Stage, bool) {
	for _, s := range Stages() {
		if s.Stream() == stream {
			return s, true
		}
	}
	return "", false
}

// clear does the three steps, in the order in which none of them can lose the task.
func (j *Janitor) clear(ctx context.Context, s Stage, m *storedMessage, deliveries int) error {
	tenant, id := subjectJob(m.Subject())
	o := Orphan{Stage: s, Tenant: tenant, Job: id, ID: m.Headers().Get(jetstream.MsgIDHeader)}
	// A task without a run's number is of none.
	o.Run, _ = strconv.Atoi(m.Headers().Get(HeaderRun))
	cause := &fault.Error{
		Kind: fault.Permanent, Code: CrashLoop, Message: fmt.Sprintf("%d deliveries ended without a result or an error", deliveries),
	}
	d := &Delivery{Stage: s, Tenant: tenant, Job: id, ID: o.ID, msg: m}
	if err := j.bus.deadLetter(ctx, d, cause, deliveries); err != nil {
		return err
	}
	if id != "" {
		if err := j.end(ctx, o); err != nil {
			return fmt.Errorf("end job %s: %w", id, err)
		}
	}
	if err := j.bus.deleteStored(ctx, s, m.seq); err != nil {
		return err
	}
	j.bus.tel.Metrics.DeadLetter(ctx, string(s))
	j.bus.log.ErrorContext(ctx, "task given up, because it kills its handlers", "stage", s, "job", id, "task", o.ID, "deliveries", deliveries)
	return nil
}

// sweepLimit bounds the orphans that one sweep deals with in each lane.
const sweepLimit = 100

// orphanMark sets the ids of tasks apart that were queued anew because the broker had forgotten them.
const orphanMark = "#o"

// Sweep queues tasks anew that the broker has forgotten, and returns how many that were. A message that was delivered once, and is still there while
// its consumer waits for no answer at all, is one; so a lane shows them when it comes to rest. (The consumer's ack floor cannot tell: as a rule it does
// not move past one.) A message may be on its way out at that moment, so only what two sweeps in a row have seen is taken for forgotten.
//
// Why it was forgotten, nobody can tell: it may have killed its handlers as often as the broker lets it, and the advisory got lost, or somebody has
// purged a part of the stream by hand. So its job is not ended for it; if it does kill its handlers, the next advisory tells.
func (j *Janitor) Sweep(ctx context.Context) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	seen := make(map[position]bool)
	requeued := 0
	var errs []error
	for _, s := range Stages() {
		for _, l := range []Lane{Interactive, Batch} {
			n, err := j.sweep(ctx, s, l, seen)
			requeued += n
			errs = append(errs, err)
		}
	}
	j.suspects = seen
	return requeued, errors.Join(errs...)
}

func (j *Janitor) sweep(ctx context.Context, s Stage, l Lane, seen map[position]bool) (requeued int, err error) {
	cons, err := j.bus.js.Consumer(ctx, s.Stream(), Durable(s, l))
	if err != nil {
		return 0, fmt.Errorf("consumer %s: %w", Durable(s, l), err)
	}
	info := cons.CachedInfo()
	if info.NumAckPending > 0 {
		return 0, nil
	}
	seq := uint64(1)
	for range sweepLimit {
		m, err := j.bus.stored(ctx, s, seq, info.Config.FilterSubject)
		if errors.Is(err, errNoMessage) || err == nil && m.seq > info.Delivered.Stream {
			return requeued, nil
		}
		if err != nil {
			return requeued, err
		}
		at := position{s, m.seq}
		if j.suspects[at] {
			if err := j.requeue(ctx, s, m); err != nil {
				return requeued, err
			}
			requeued++
		} else {
			seen[at] = true
		}
		seq = m.seq + 1
	}
	return requeued, nil
}

// requeue queues a forgotten task anew. A crash between its two steps leaves both, and the handler finds what is done.
func (j *Janitor) requeue(ctx context.Context, s Stage, m *storedMessage) error {
	meta, err := m.Metadata()
	if err == nil {
		err = j.bus.copyTask(ctx, m, orphanMark, meta)
	}
	if err != nil {
		return fmt.Errorf("queue message %d of %s anew: %w", m.seq, s.Stream(), err)
	}
	if err := j.bus.deleteStored(ctx, s, m.seq); err != nil {
		return err
	}
	_, id := subjectJob(m.Subject())
	j.bus.log.WarnContext(ctx, "task queued anew, because the broker had forgotten it", "stage", s, "job", id, "sequence", m.seq)
	return nil
}

// errNoMessage means that the stream has no such message.
var errNoMessage = errors.New("no such message")

// storedMessage is a message as a stream holds it. It can be read like one that was delivered, but not settled.
type storedMessage struct {
	jetstream.Msg // nil: nobody may settle it
	stream        string
	seq           uint64
	subject       string
	header        nats.Header
	data          []byte
}

func (m *storedMessage) Subject() string      { return m.subject }
func (m *storedMessage) Headers() nats.Header { return m.header }
func (m *storedMessage) Data() []byte         { return m.data }
func (m *storedMessage) Metadata() (*jetstream.MsgMetadata, error) {
	return &jetstream.MsgMetadata{Stream: m.stream, Sequence: jetstream.SequencePair{Stream: m.seq}}, nil
}

// stored reads a message from the stream's leader, because a replica may say that there is none where there is one: the message at seq, or the
// first from there on with a subject that matches. The error is errNoMessage where there is none.
func (b *Bus) stored(ctx context.Context, s Stage, seq uint64, subject string) (*storedMessage, error) {
	var got struct {
		Error   *jetstream.APIError `json:"error"`
		Message struct {
			Subject string `json:"subject"`
			Seq     uint64 `json:"seq"`
			Header  []byte `json:"hdrs"`
			Data    []byte `json:"data"`
		} `json:"message"`
	}
	err := b.ask(ctx, "STREAM.MSG.GET", s, struct {
		Seq  uint64 `json:"seq"`
		Next string `json:"next_by_subj,omitempty"`
	}{seq, subject}, &got)
	if err != nil {
		return nil, fmt.Errorf("read message %d of %s: %w", seq, s.Stream(), err)
	}
	if got.Error != nil {
		if got.Error.ErrorCode == jetstream.JSErrCodeMessageNotFound {
			return nil, errNoMessage
		}
		return nil, fmt.Errorf("read message %d of %s: %w", seq, s.Stream(), got.Error)
	}
	m := &storedMessage{stream: s.Stream(), seq: got.Message.Seq, subject: got.Message.Subject, data: got.Message.Data, header: nats.Header{}}
	if len(got.Message.Header) > 0 {
		if m.header, err = nats.DecodeHeadersMsg(got.Message.Header); err != nil {
			return nil, fmt.Errorf("headers of message %d of %s: %w", seq, s.Stream(), err)
		}
	}
	return m, nil
}

// ask asks JetStream's API about a stage's stream. Its errors are those of the way there; what the server refuses is in the answer.
func (b *Bus) ask(ctx context.Context, call string, s Stage, question, answer any) error {
	req, err := json.Marshal(question)
	if err != nil {
		return fmt.Errorf("encode request: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	msg, err := b.nc.RequestWithContext(ctx, api(call, s.Stream()), req)
	if err != nil {
		return fault.Wrap(fault.Busy, fault.Unavailable, err)
	}
	return json.Unmarshal(msg.Data, answer)
}
