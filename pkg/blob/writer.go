package blob

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"sync"
)

// writerBuffer gathers small writes, such as lines of text, so that each costs no system call. Larger ones pass it by.
const writerBuffer = 64 << 10

// writerBuffers spares each Writer a buffer of its own.
var writerBuffers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, writerBuffer) }}

var errWriterEnded = errors.New("the writer has ended")

// Writer writes one blob piece by piece. Close commits it, Abort drops it; the first of them counts, so Abort may be
// deferred. After an error nothing is committed. It is not safe for concurrent use.
type Writer struct {
	ctx    context.Context //nolint:containedctx // an io.Writer takes none; ends the blob when done
	upload Upload
	buf    *bufio.Writer
	key    string
	size   int64
	err    error // the first; later calls return it
	done   bool
}

func newWriter(ctx context.Context, up Upload, key string) *Writer {
	buf := writerBuffers.Get().(*bufio.Writer)
	buf.Reset(up)
	return &Writer{ctx: ctx, upload: up, buf: buf, key: key}
}

// Write adds p to the blob.
func (w *Writer) Write(p []byte) (int, error) {
	if err := w.checkWritable(); err != nil {
		return 0, err
	}
	n, err := w.buf.Write(p)
	w.size += int64(n)
	w.err = classifyError(w.ctx, "write blob", w.key, err)
	return n, w.err
}

// WriteString adds s to the blob.
func (w *Writer) WriteString(s string) (int, error) {
	if err := w.checkWritable(); err != nil {
		return 0, err
	}
	n, err := w.buf.WriteString(s)
	w.size += int64(n)
	w.err = classifyError(w.ctx, "write blob", w.key, err)
	return n, w.err
}

// Size returns how many bytes were written so far.
func (w *Writer) Size() int64 { return w.size }

func (w *Writer) checkWritable() error {
	if w.err == nil && w.done {
		w.err = errWriterEnded
	}
	if w.err == nil && w.ctx.Err() != nil {
		w.err = fmt.Errorf("write blob %s: %w", w.key, w.ctx.Err())
	}
	return w.err
}

// Close commits the blob; it is durable then, unless its key is temporary. After an earlier error, or with the
// context done, it drops the blob and returns the error.
func (w *Writer) Close() error {
	up, err := w.finishUpload()
	if err != nil {
		return err
	}
	w.err = commitUpload(w.ctx, up, w.key)
	return w.err
}

// finishUpload ends the writing and returns the upload, whole. If it fails, the blob is dropped.
func (w *Writer) finishUpload() (Upload, error) {
	if err := w.checkWritable(); err != nil {
		return nil, errors.Join(err, w.Abort())
	}
	w.err = classifyError(w.ctx, "write blob", w.key, w.buf.Flush())
	if w.err != nil {
		return nil, errors.Join(w.err, w.Abort())
	}
	w.releaseBuffer()
	return w.upload, nil
}

// Abort drops the blob. After Close it does nothing.
func (w *Writer) Abort() error {
	if w.done {
		return nil
	}
	w.releaseBuffer()
	return classifyError(w.ctx, "drop blob", w.key, w.upload.Abort())
}

// releaseBuffer ends the writer's use of its buffer.
func (w *Writer) releaseBuffer() {
	w.done = true
	w.buf.Reset(nil)
	writerBuffers.Put(w.buf)
	w.buf = nil
}
