package rawscan

import (
	"context"
	"errors"
	"io"
)

const (
	// windowSize is how much of the file is in memory at once.
	windowSize = 256 << 10
	// lookBack is how much of the past a window keeps when it moves on: "2147483647 65535 obj" and its like must not be
	// torn apart.
	lookBack = 48
	// lookAhead is how much of the future is at hand at the start of a token; longer names and keywords are cut.
	lookAhead = 256
)

// window is a sliding view of a reader. Bytes buf[pos:end] are next.
type window struct {
	ctx  context.Context //nolint:containedctx // an io.Reader takes none
	src  io.Reader
	buf  []byte
	base int64 // offset of buf[0]
	pos  int
	end  int
	done bool
	err  error // other than io.EOF
}

func newWindow(ctx context.Context, src io.Reader) *window {
	w := &window{ctx: ctx, src: src, buf: make([]byte, windowSize)}
	return w
}

// resetSource starts over with another reader; the buffer stays.
func (w *window) resetSource(src io.Reader) {
	*w = window{ctx: w.ctx, src: src, buf: w.buf}
}

// nextOffset returns the offset of the next byte.
func (w *window) nextOffset() int64 { return w.base + int64(w.pos) }

// readMore reads on, keeping what is unread and lookBack bytes of what was read. It reports whether there are new
// bytes. It may move the buffer's content: indexes into buf do not survive it, but those relative to pos do.
func (w *window) readMore() bool {
	if w.done {
		return false
	}
	if err := w.ctx.Err(); err != nil {
		w.setError(err)
		return false
	}
	if from := w.pos - lookBack; from > 0 {
		w.end = copy(w.buf, w.buf[from:w.end])
		w.base += int64(from)
		w.pos = lookBack
	}
	for range 100 { // a reader that returns nothing and no error is broken
		n, err := w.src.Read(w.buf[w.end:])
		w.end += n
		if err != nil {
			w.done = true
			if !errors.Is(err, io.EOF) {
				w.err = err
			}
		}
		if n > 0 || w.done {
			return n > 0
		}
	}
	w.setError(io.ErrNoProgress)
	return false
}

func (w *window) setError(err error) {
	w.done = true
	w.err = err
}

// ensureBytes makes n bytes available from pos on, or all there are.
func (w *window) ensureBytes(n int) {
	for w.end-w.pos < n && w.readMore() {
	}
}
