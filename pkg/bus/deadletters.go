package bus

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// ErrNoDeadLetter means that there is no such dead letter, or that it belongs to another tenant.
var ErrNoDeadLetter = errors.New("no such dead letter")

// DeadLetter is a task that a stage gave up.
type DeadLetter struct {
	// Sequence names it in the dead-letter stream.
	Sequence uint64
	Stage    Stage
	Tenant   string
	Job      string
	Run      int
	// Class is the fault kind, Code the stable code and Error the message of the last error.
	Class, Code, Error string
	Attempts           int
	Time               time.Time
	// Subject and MsgID are those of the task; Lane is a part of the subject.
	Subject, MsgID string
	Lane           Lane
	// Trace is the id of the trace that it belongs to; empty where it belongs to none.
	Trace string
	// Schema names the protobuf message that the payload holds as JSON.
	Schema string
	// Payload is the task as JSON.
	Payload []byte
}

// deadLetterQueue reads and removes dead letters.
type deadLetterQueue struct{ *connection }

// ListDeadLetters returns a tenant's dead letters, oldest first, from the one after the sequence number on (0 for the
// first), at most limit of them. It reports whether there are more.
func (b *deadLetterQueue) ListDeadLetters(ctx context.Context, tenant string, after uint64,
	limit int) (letters []DeadLetter, more bool, err error) {
	more, err = b.scanMessages(ctx, DeadLetterStream, deadLetterSubject("*", tenant, "*"), after, limit,
		func(msg *jetstream.RawStreamMsg) {
			letters = append(letters, decodeDeadLetter(msg))
		})
	return letters, more, err
}

// FindDeadLetter returns one of a tenant's dead letters. The error is ErrNoDeadLetter where there is none of that
// number.
func (b *deadLetterQueue) FindDeadLetter(ctx context.Context, tenant string, sequence uint64) (DeadLetter, error) {
	stream, err := b.js.Stream(ctx, DeadLetterStream)
	if err != nil {
		return DeadLetter{}, markBrokerBusy("stream "+DeadLetterStream, err)
	}
	msg, err := stream.GetMsg(ctx, sequence)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return DeadLetter{}, ErrNoDeadLetter
	}
	if err != nil {
		return DeadLetter{}, markBrokerBusy("read dead letter", err)
	}
	if l := decodeDeadLetter(msg); l.Tenant == tenant {
		return l, nil
	}
	return DeadLetter{}, ErrNoDeadLetter
}

// DeleteDeadLetter removes a dead letter. The error is ErrNoDeadLetter where there is none of that number.
func (b *deadLetterQueue) DeleteDeadLetter(ctx context.Context, sequence uint64) error {
	stream, err := b.js.Stream(ctx, DeadLetterStream)
	if err == nil {
		err = stream.DeleteMsg(ctx, sequence)
	}
	if errors.Is(err, jetstream.ErrMsgNotFound) || errors.Is(err, jetstream.ErrMsgDeleteUnsuccessful) {
		return ErrNoDeadLetter
	}
	return markBrokerBusy("drop dead letter", err)
}

// Unit returns the unit of the task's message id, <job>.<run>.<stage>.<unit>[#r<replay>].
func (l DeadLetter) Unit() string {
	unit := l.MsgID[strings.LastIndexByte(l.MsgID, '.')+1:]
	unit, _, _ = strings.Cut(unit, "#")
	return unit
}

func decodeDeadLetter(msg *jetstream.RawStreamMsg) DeadLetter {
	h := msg.Header
	l := DeadLetter{
		Sequence: msg.Sequence, Class: h.Get(HeaderClass), Code: h.Get(HeaderReason), Error: h.Get(HeaderError),
		Subject: h.Get(HeaderSubject),
		MsgID:   h.Get(HeaderMsgID), Time: msg.Time, Payload: msg.Data,
		Schema: h.Get(HeaderSchema),
	}
	// ink.dlq.<stage>.<tenant>.<job>
	if t := strings.Split(msg.Subject, "."); len(t) == 5 {
		l.Stage, l.Tenant, l.Job = Stage(t[2]), t[3], t[4]
	}
	// ink.<stage>.<lane>.<tenant>.<job>
	if t := strings.Split(l.Subject, "."); len(t) == 5 {
		l.Lane = Lane(t[2])
	}
	// Numbers that do not parse stay 0: the letter shows what it has.
	l.Attempts, _ = strconv.Atoi(h.Get(HeaderAttempts))
	l.Run, _ = strconv.Atoi(h.Get(HeaderRun))
	if at, err := time.Parse(time.RFC3339Nano, h.Get(HeaderTime)); err == nil {
		l.Time = at
	}
	// traceparent is version-traceid-parentid-flags.
	if t := strings.Split(h.Get("traceparent"), "-"); len(t) == 4 {
		l.Trace = t[1]
	}
	return l
}
