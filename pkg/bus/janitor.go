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

// Orphan is a task that the broker delivered as often as it may, and that no consumer ever settled. The broker
// neither delivers nor deletes it any more, but counts it as backlog.
type Orphan struct {
	Stage  Stage
	Tenant string
	Job    string
	// Run is the job's run that the task belongs to.
	Run int
	// ID is the message id.
	ID string
}

// Janitor clears orphans away: each goes to the dead letters, its job is ended, and only then the task is deleted.
// Several janitors may be at work at once, and each step may be cut and repeated.
//
// The broker's advisories report orphans within moments. An advisory that gets lost with a server that dies leaves an
// orphan that no janitor knows of; SweepForgotten finds those, and gives them another chance.
type Janitor struct {
	bus    *Bus
	endJob func(ctx context.Context, o Orphan) error

	mu sync.Mutex // guards suspects
	// suspects are the messages that looked like orphans at the last sweep.
	suspects map[storedPosition]bool
}

// storedPosition is where a message is stored.
type storedPosition struct {
	stage Stage
	seq   uint64
}

// NewJanitor returns a janitor that is not yet at work. End records the fate of an orphan's job; it must be idempotent.
func (b *Bus) NewJanitor(end func(ctx context.Context, o Orphan) error) *Janitor {
	return &Janitor{bus: b, endJob: end, suspects: make(map[storedPosition]bool)}
}

const (
	// janitorDurable is the consumer that all janitors share, so that each advisory goes to one of them.
	janitorDurable = "janitor"
	// janitorRetryDelay is the wait before an orphan is tried again that could not be cleared.
	janitorRetryDelay = 5 * time.Second
)

// Run clears orphans as they are reported, until ctx is done.
func (j *Janitor) Run(ctx context.Context) {
	for ctx.Err() == nil {
		if err := j.consumeAdvisories(ctx); err != nil && ctx.Err() == nil {
			j.bus.log.WarnContext(ctx, "read advisories", "error", err)
			select {
			case <-ctx.Done():
			case <-time.After(time.Second): // the server is away; the loop must not spin
			}
		}
	}
}

// consumeAdvisories reads advisories until ctx is done or the connection fails.
func (j *Janitor) consumeAdvisories(ctx context.Context) error {
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
		j.onAdvisory(ctx, msg)
	}
}

// onAdvisory clears the orphan that an advisory tells of.
func (j *Janitor) onAdvisory(ctx context.Context, msg jetstream.Msg) {
	var a struct {
		Stream   string `json:"stream"`
		Sequence uint64 `json:"stream_seq"`
		// Deliveries is how often the broker tried.
		Deliveries int `json:"deliveries"`
	}
	if err := json.Unmarshal(msg.Data(), &a); err != nil {
		j.bus.log.ErrorContext(ctx, "advisory does not decode", "error", err)
		_ = msg.Term() // the same bytes would fail again
		return
	}
	stage, ours := stageOfStream(a.Stream)
	if ours {
		stored, err := j.bus.readStored(ctx, stage, a.Sequence, "")
		if err == nil {
			err = j.clearOrphan(ctx, stage, stored, a.Deliveries)
		}
		if err != nil && !errors.Is(err, errNoMessage) {
			j.bus.log.WarnContext(ctx, "clear orphan", "stage", stage, "sequence", a.Sequence, "error", err)
			_ = msg.NakWithDelay(janitorRetryDelay) // if it does not arrive, AckWait does the same later
			return
		}
	}
	_ = msg.Ack() // if it gets lost the advisory comes again, and the orphan is gone then
}

// stageOfStream returns the stage whose stream that is.
func stageOfStream(stream string) (Stage, bool) {
	for _, s := range AllStages() {
		if s.StreamName() == stream {
			return s, true
		}
	}
	return "", false
}

// clearOrphan does the three steps, in the order in which none of them can lose the task.
func (j *Janitor) clearOrphan(ctx context.Context, s Stage, m *storedMessage, deliveries int) error {
	tenant, id := parseTaskSubject(m.Subject())
	o := Orphan{Stage: s, Tenant: tenant, Job: id, ID: m.Headers().Get(jetstream.MsgIDHeader)}
	// A task without a run's number is of none.
	o.Run, _ = strconv.Atoi(m.Headers().Get(HeaderRun))
	cause := &fault.Error{
		Kind: fault.Permanent, Code: CrashLoop,
		Message: fmt.Sprintf("%d deliveries ended without a result or an error", deliveries),
	}
	d := &Delivery{Stage: s, Tenant: tenant, Job: id, ID: o.ID, msg: m}
	if err := j.bus.publishDeadLetter(ctx, d, cause, deliveries); err != nil {
		return err
	}
	if id != "" {
		if err := j.endJob(ctx, o); err != nil {
			return fmt.Errorf("end job %s: %w", id, err)
		}
	}
	if err := j.bus.deleteStored(ctx, s, m.seq); err != nil {
		return err
	}
	j.bus.tel.Metrics.CountDeadLetter(ctx, string(s))
	j.bus.log.ErrorContext(ctx, "task given up, because it kills its handlers", "stage", s, "job", id, "task", o.ID,
		"deliveries", deliveries)
	return nil
}

// sweepLimit bounds the orphans that one sweep deals with in each lane.
const sweepLimit = 100

// orphanIDSuffix marks the ids of tasks that were queued again because the broker had forgotten them.
const orphanIDSuffix = "#o"

// SweepForgotten queues the tasks again that the broker has forgotten, and returns how many there were. A message
// that was delivered once, and is still there while its consumer waits for no answer at all, is one; so a lane shows
// them when it comes to rest. (The consumer's ack floor cannot tell: as a rule it does not move past one.) A message
// may be on its way out at that moment, so only what two sweeps in a row have seen is taken for forgotten.
//
// Why it was forgotten is unknown: it may have killed its handlers as often as the broker lets it, and the advisory
// got lost, or an operator has purged a part of the stream. So its job is not ended for it; if it does kill its
// handlers, the next advisory reports that.
func (j *Janitor) SweepForgotten(ctx context.Context) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	seen := make(map[storedPosition]bool)
	requeued := 0
	var errs []error
	for _, s := range AllStages() {
		for _, l := range []Lane{Interactive, Batch} {
			n, err := j.sweepLane(ctx, s, l, seen)
			requeued += n
			errs = append(errs, err)
		}
	}
	j.suspects = seen
	return requeued, errors.Join(errs...)
}

func (j *Janitor) sweepLane(ctx context.Context, s Stage, l Lane,
	seen map[storedPosition]bool) (requeued int, err error) {
	cons, err := j.bus.js.Consumer(ctx, s.StreamName(), DurableName(s, l))
	if err != nil {
		return 0, fmt.Errorf("consumer %s: %w", DurableName(s, l), err)
	}
	info := cons.CachedInfo()
	if info.NumAckPending > 0 {
		return 0, nil
	}
	seq := uint64(1)
	for range sweepLimit {
		m, err := j.bus.readStored(ctx, s, seq, info.Config.FilterSubject)
		if errors.Is(err, errNoMessage) || err == nil && m.seq > info.Delivered.Stream {
			return requeued, nil
		}
		if err != nil {
			return requeued, err
		}
		at := storedPosition{s, m.seq}
		if j.suspects[at] {
			if err := j.requeueForgotten(ctx, s, m); err != nil {
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

// requeueForgotten queues a forgotten task again. A crash between its two steps leaves both messages, and the handler
// finds what is done.
func (j *Janitor) requeueForgotten(ctx context.Context, s Stage, m *storedMessage) error {
	meta, err := m.Metadata()
	if err == nil {
		err = j.bus.publishTaskCopy(ctx, m, orphanIDSuffix, meta)
	}
	if err != nil {
		return fmt.Errorf("queue message %d of %s anew: %w", m.seq, s.StreamName(), err)
	}
	if err := j.bus.deleteStored(ctx, s, m.seq); err != nil {
		return err
	}
	_, id := parseTaskSubject(m.Subject())
	j.bus.log.WarnContext(ctx, "task queued anew, because the broker had forgotten it", "stage", s, "job", id, "sequence",
		m.seq)
	return nil
}

// errNoMessage means that the stream has no such message.
var errNoMessage = errors.New("no such message")

// storedMessage is a message as a stream holds it. It can be read like one that was delivered, but not settled.
type storedMessage struct {
	jetstream.Msg // nil: the message cannot be settled
	stream        string
	seq           uint64
	subject       string
	header        nats.Header
	data          []byte
	at            time.Time
}

func (m *storedMessage) Subject() string      { return m.subject }
func (m *storedMessage) Headers() nats.Header { return m.header }
func (m *storedMessage) Data() []byte         { return m.data }
func (m *storedMessage) Metadata() (*jetstream.MsgMetadata, error) {
	return &jetstream.MsgMetadata{Stream: m.stream, Sequence: jetstream.SequencePair{Stream: m.seq}, Timestamp: m.at}, nil
}

// readStored reads a message from the stream's leader, because a replica may say that there is none where there is
// one: the message at seq, or the first from there on with a subject that matches. The error is errNoMessage where
// there is none.
func (b *connection) readStored(ctx context.Context, s Stage, seq uint64, subject string) (*storedMessage, error) {
	var got struct {
		Error   *jetstream.APIError `json:"error"`
		Message struct {
			Subject string    `json:"subject"`
			Seq     uint64    `json:"seq"`
			Header  []byte    `json:"hdrs"`
			Data    []byte    `json:"data"`
			Time    time.Time `json:"time"`
		} `json:"message"`
	}
	err := b.requestStreamAPI(ctx, "STREAM.MSG.GET", s, struct {
		Seq  uint64 `json:"seq"`
		Next string `json:"next_by_subj,omitempty"`
	}{seq, subject}, &got)
	if err != nil {
		return nil, fmt.Errorf("read message %d of %s: %w", seq, s.StreamName(), err)
	}
	if got.Error != nil {
		if got.Error.ErrorCode == jetstream.JSErrCodeMessageNotFound {
			return nil, errNoMessage
		}
		return nil, fmt.Errorf("read message %d of %s: %w", seq, s.StreamName(), got.Error)
	}
	m := &storedMessage{
		stream: s.StreamName(), seq: got.Message.Seq, subject: got.Message.Subject, data: got.Message.Data,
		header: nats.Header{}, at: got.Message.Time,
	}
	if len(got.Message.Header) > 0 {
		if m.header, err = nats.DecodeHeadersMsg(got.Message.Header); err != nil {
			return nil, fmt.Errorf("headers of message %d of %s: %w", seq, s.StreamName(), err)
		}
	}
	return m, nil
}

// requestStreamAPI asks JetStream's API about a stage's stream. Its errors are those of the way there; what the
// server refuses is in the answer.
func (b *connection) requestStreamAPI(ctx context.Context, call string, s Stage, question, answer any) error {
	req, err := json.Marshal(question)
	if err != nil {
		return fmt.Errorf("encode request: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	msg, err := b.nc.RequestWithContext(ctx, apiSubject(call, s.StreamName()), req)
	if err != nil {
		return fault.Wrap(fault.Busy, fault.Unavailable, err)
	}
	return json.Unmarshal(msg.Data, answer)
}
