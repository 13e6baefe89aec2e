package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"
)

const (
	// probeBytes is how much a check writes: enough that a disk that is full notices.
	probeBytes = 64 << 10
	// probeInterval is how long a store that was found well passes for it without another write.
	probeInterval = 5 * time.Second
	// probeDropTimeout bounds the removal of what a check that failed may have written.
	probeDropTimeout = time.Second
)

// writeProbe remembers the last check that went well.
type writeProbe struct {
	key         string     // the same at every check, so that what one leaves the next one replaces
	mu          sync.Mutex // guards succeededAt, and lets one caller check at a time
	succeededAt time.Time
}

// newProbeKey returns a key that no other Store checks with, and that is no job's: a walk through the jobs' blobs
// skips it.
func newProbeKey() string { return "readyz/" + strconv.FormatUint(rand.Uint64(), 36) }

// CheckReadWrite reports whether the store takes what is written to it and gives it back; it is a readiness check. A
// store that can be read, but not written to, because its disk is full for one, is not well.
func (s *Store) CheckReadWrite(ctx context.Context) error {
	return s.probe.checkStore(ctx, s)
}

// checkStore probes the store, unless it was found well lately.
func (p *writeProbe) checkStore(ctx context.Context, s *Store) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.succeededAt) < probeInterval {
		return nil
	}
	if err := p.writeAndRead(ctx, s); err != nil {
		return err
	}
	p.succeededAt = time.Now()
	return nil
}

// writeAndRead writes a blob, reads it and removes it, also where the write failed: a server may have taken what it
// did not answer for.
func (p *writeProbe) writeAndRead(ctx context.Context, s *Store) error {
	data := bytes.Repeat([]byte{0xA5}, probeBytes)
	err := s.PutBytes(ctx, p.key, data, "application/octet-stream")
	if err == nil {
		var got []byte
		if got, err = s.ReadBytes(ctx, p.key, probeBytes); err == nil && !bytes.Equal(got, data) {
			err = fmt.Errorf("blob %s is not what was written", p.key)
		}
	}
	if err != nil { // ctx may be what ended it
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), probeDropTimeout)
		defer cancel()
	}
	return errors.Join(err, s.Delete(ctx, p.key))
}
