package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// writeProbeBytes is how much a trial writes: more than the rest of a disk's block, which a disk that is full still
	// has.
	writeProbeBytes = 8 << 10
	// writeProbeInterval is how long a server that took a write passes for one that does: each costs it a sync of its
	// disk.
	writeProbeInterval = 10 * time.Second
	// writeProbeTTL is how long what the last trial wrote is kept.
	writeProbeTTL = time.Hour
)

// writeProbeSubject is the one key of the bucket of jobs that trials write. Every service may write keys that begin
// so, and none reads this one.
const writeProbeSubject = "$KV." + JobBucket + "." + contentKeys + ".trial"

// writeProbe remembers the last write that was tried.
type writeProbe struct {
	mu         sync.Mutex // guards taken, and lets one caller try at a time
	acceptedAt time.Time

	anyUnresponsive atomic.Bool // whether silent has any: each message that is answered asks
	unresponsiveMu  sync.Mutex
	unresponsive    map[string]time.Time // by subject's beginning: the last message that was not answered, and none was since
}

// unresponsiveFor is how long a stream that has not answered counts as one that does not: whatever could not be
// published comes again within that time.
const unresponsiveFor = time.Minute

// recordAnswer notes whether the stream of a subject has answered to a message.
func (t *writeProbe) recordAnswer(subject string, yes bool) {
	if yes && !t.anyUnresponsive.Load() {
		return
	}
	parts := strings.SplitN(subject, ".", 3)
	if len(parts) < 3 { // no stream's
		return
	}
	stream := parts[0] + "." + parts[1]
	t.unresponsiveMu.Lock()
	defer t.unresponsiveMu.Unlock()
	switch {
	case yes:
		delete(t.unresponsive, stream)
	case t.unresponsive == nil:
		t.unresponsive = map[string]time.Time{stream: time.Now()}
	default:
		t.unresponsive[stream] = time.Now()
	}
	t.anyUnresponsive.Store(len(t.unresponsive) > 0)
}

// ErrUnresponsive means that the server answers, but some streams did not when they were last written to. Work that
// needs none of them goes on.
var ErrUnresponsive = errors.New("NATS answers, but not to what is published")

// unresponsiveStreams returns an ErrUnresponsive that names the streams which do not answer.
func (t *writeProbe) unresponsiveStreams() error {
	t.unresponsiveMu.Lock()
	defer t.unresponsiveMu.Unlock()
	var streams []string
	for stream, at := range t.unresponsive {
		if time.Since(at) < unresponsiveFor {
			streams = append(streams, stream+".>")
		}
	}
	if len(streams) == 0 {
		return nil
	}
	slices.Sort(streams)
	return fmt.Errorf("%w to %s: a stream of a cluster may lack a leader; if a disk was full, free it, then restart NATS",
		ErrUnresponsive, strings.Join(streams, ", "))
}

// writeProber finds out whether the servers take what is written.
type writeProber struct {
	*connection

	writeProbe *writeProbe
}

// CheckWrites is CheckServer, and reports as well whether the server takes what is written; it is a readiness check.
// A server whose disk was full once goes on answering, and takes no more writes before it is started again.
func (b *writeProber) CheckWrites(ctx context.Context) error {
	if err := b.CheckServer(ctx); err != nil {
		return err
	}
	if err := b.probeWriteIfDue(ctx); err != nil {
		return err
	}
	return b.writeProbe.unresponsiveStreams() // the server keeps a failed write by the stream, and the one that was tried may be well
}

// probeWriteIfDue is ProbeWrite, unless a write was tried not long ago.
func (b *writeProber) probeWriteIfDue(ctx context.Context) error {
	b.writeProbe.mu.Lock()
	defer b.writeProbe.mu.Unlock()
	if time.Since(b.writeProbe.acceptedAt) < writeProbeInterval {
		return nil
	}
	if err := b.ProbeWrite(ctx); err != nil {
		return err
	}
	b.writeProbe.acceptedAt = time.Now()
	b.writeProbe.recordAnswer(writeProbeSubject, true)
	return nil
}

// ProbeWrite reports whether the server takes what is written. Without a bucket there is nothing to find out.
func (b *writeProber) ProbeWrite(ctx context.Context) error {
	_, err := b.js.Publish(ctx, writeProbeSubject, make([]byte, writeProbeBytes), jetstream.WithMsgTTL(writeProbeTTL),
		jetstream.WithRetryAttempts(0))
	switch {
	case err == nil, errors.Is(err, jetstream.ErrNoStreamResponse), errors.Is(err, nats.ErrNoResponders):
		return nil
	case !b.nc.IsConnected():
		return fmt.Errorf("nats: %w", err)
	}
	return fmt.Errorf("NATS refuses writes: free its disk, then restart it: %w", err)
}

// CanProbeWrite reports whether this connection's user may do ProbeWrite, as far as the server tells: it does not
// answer who may not.
func (b *writeProber) CanProbeWrite(ctx context.Context) bool {
	user, err := b.requestUserInfo(ctx)
	return err != nil || user.Permissions == nil ||
		len(user.Permissions.Publish.missingGrants([]Grant{{Subject: writeProbeSubject}})) == 0
}
