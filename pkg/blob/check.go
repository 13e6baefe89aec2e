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
	// probeEvery is how long a store that was found well passes for it without another write.
	probeEvery = 5 * time.Second
)

// probe remembers the last check that went well.
type probe struct {
	mu   sync.Mutex // guards well, and lets one caller check at a time
	well time.Time
}

// Check reports whether the store takes what is written to it and gives it back; it is a readiness check. A store that can be read, but not
// written to, because its disk is full for one, is not well.
func (s *Store) Check(ctx context.Context) error {
	s.probe.mu.Lock()
	defer s.probe.mu.Unlock()
	if time.Since(s.probe.well) < probeEvery {
		return nil
	}
	// No job's: whoever looks through the jobs' blobs passes it by.
	key := "readyz/" + strconv.FormatUint(rand.Uint64(), 36)
	data := bytes.Repeat([]byte{0xA5}, probeBytes)
	if err := s.PutBytes(ctx, key, data, "application/octet-stream"); err != nil {
		return err
	}
	got, err := s.Bytes(ctx, key, probeBytes)
	if err == nil && !bytes.Equal(got, data) {
		err = fmt.Errorf("blob %s is not what was written", key)
	}
	if err := errors.Join(err, s.Delete(ctx, key)); err != nil {
		return err
	}
	s.probe.well = time.Now()
	return nil
}
