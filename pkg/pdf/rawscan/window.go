package rawscan

import (
	"context"
	"errors"
	"io"
)

const (
	// windowSize is how much of the file is in memory at once.
	windowSize = 256 << 10
	// lookBack is how much of the past a window keeps when it moves on: "2147483647 65535 obj" and its like must not be torn apart.
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

// reset starts over with another reader; the buffer stays.
func (w *window) reset(src io.Reader) {
	*w = window{ctx: w.ctx, src: src, buf: w.buf}
}

// offset returns the offset of the next byte.
func (w *window) offset() int64 { return w.base + int64(w.pos) }

// more reads on, keeping what is unread and lookBack bytes of what was read. It reports whether there are new bytes. It may move the buffer's
// content: indexes into buf do not survive it, but those relative to pos do.
func (w *window) more() bool {
	if w.done {
		return false
	}
	if err := w.ctx.Err(); err != nil {
		w.fail(err)
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
	w.fail(io.ErrNoProgress)
	return false
}

func (w *window) fail(err error) {
	w.done = true
	w.err = err
}

// need makes n bytes available from pos on, or all there are.
func (w *window) need(n int) {
	for w.end-w.pos < n && w.more() {
	}
}
