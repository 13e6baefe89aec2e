package bus

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// readBatchSize is how many messages one exchange with the broker brings at most.
	readBatchSize = 500
	// readTimeout bounds the wait for each of them.
	readTimeout = 5 * time.Second
	// The statuses that end a batch: all that there was, and that there was nothing.
	statusEnd, statusNone = "204", "404"
)

// scanMessages calls see with the messages of a stream that match the filter, in order, from the one after the
// sequence number, at most limit of them. It reports whether there are more.
func (b *connection) scanMessages(ctx context.Context, name, filter string, after uint64, limit int,
	see func(*jetstream.RawStreamMsg)) (bool, error) {
	for n := 0; after < math.MaxUint64; { // behind that there is none
		want := min(limit+1-n, readBatchSize) // one beyond the limit tells whether there are more
		msgs, more, err := b.readBatch(ctx, name, filter, after+1, want)
		if err != nil {
			return false, markBrokerBusy("read "+name, err)
		}
		for _, msg := range msgs {
			if n == limit {
				return true, nil
			}
			see(msg)
			after = msg.Sequence
			n++
		}
		if !more {
			return false, nil
		}
	}
	return false, nil
}

// readBatch asks for up to n messages that match the filter, from a sequence number on, in one exchange, and reports
// whether there are more, for a batch may end early because of its bytes. Any replica may answer.
func (b *connection) readBatch(ctx context.Context, name, filter string, from uint64,
	n int) (msgs []*jetstream.RawStreamMsg, more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	req, err := json.Marshal(struct {
		Seq   uint64 `json:"seq"`
		Next  string `json:"next_by_subj"`
		Batch int    `json:"batch"`
	}{from, filter, n})
	if err != nil {
		return nil, false, fmt.Errorf("encode request: %w", err)
	}
	inbox := b.nc.NewRespInbox()
	// SubscribeSync would make room for 64 Ki messages at each call, half a megabyte. Here the batch and its end suffice.
	sub, err := b.nc.QueueSubscribeSyncWithChan(inbox, "", make(chan *nats.Msg, n+1))
	if err != nil {
		return nil, false, fmt.Errorf("subscribe: %w", err)
	}
	defer func() { _ = sub.Unsubscribe() }() // an error says that the connection is gone, and the subscription with it
	if err := b.nc.PublishRequest("$JS.API.DIRECT.GET."+name, inbox, req); err != nil {
		return nil, false, fmt.Errorf("ask: %w", err)
	}
	for {
		msg, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return nil, false, fmt.Errorf("await answer: %w", err)
		}
		if msg.Header.Get("Nats-Sequence") != "" {
			raw, err := parseDirectMessage(msg)
			if err != nil {
				return nil, false, err
			}
			msgs = append(msgs, raw)
			continue
		}
		switch status := msg.Header.Get("Status"); status {
		case statusEnd:
			return msgs, len(msgs) > 0 && msg.Header.Get("Nats-Num-Pending") != "0", nil
		case statusNone:
			return msgs, false, nil
		default:
			return nil, false, fmt.Errorf("answer: status %s %s", status, msg.Header.Get("Description"))
		}
	}
}

// parseDirectMessage makes a stored message of one that came as an answer. Its headers tell what the stream knows
// about it.
func parseDirectMessage(msg *nats.Msg) (*jetstream.RawStreamMsg, error) {
	seq, err := strconv.ParseUint(msg.Header.Get("Nats-Sequence"), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("answer: sequence: %w", err)
	}
	at, err := time.Parse(time.RFC3339Nano, msg.Header.Get("Nats-Time-Stamp"))
	if err != nil {
		return nil, fmt.Errorf("answer: time: %w", err)
	}
	return &jetstream.RawStreamMsg{
		Subject: msg.Header.Get("Nats-Subject"), Sequence: seq, Time: at, Header: msg.Header, Data: msg.Data,
	}, nil
}
