package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// frameSource reads stored frames.
type frameSource interface {
	// readStored fills b with the stored bytes of a frame.
	readStored(f frame, b []byte) error
}

// frameReader reads the plain bytes of a compressed blob.
type frameReader struct {
	source frameSource
	layout *layout
	next   int64 // the plain byte that is read next
	loaded int   // the frame that is loaded, -1 for none
	buffer *frameBuffer
}

func newFrameReader(source frameSource, l *layout) *frameReader {
	return &frameReader{source: source, layout: l, loaded: -1, buffer: frameBuffers.Get().(*frameBuffer)}
}

// Read reads on, to the end of a frame at most.
func (r *frameReader) Read(p []byte) (int, error) {
	if r.buffer == nil {
		return 0, fs.ErrClosed
	}
	if r.next >= r.layout.plainSize {
		return 0, io.EOF
	}
	i := r.layout.findFrame(r.next)
	if err := r.loadFrame(i); err != nil {
		return 0, err
	}
	n := copy(p, r.buffer.plain[r.next-r.layout.frames[i].plain:])
	r.next += int64(n)
	return n, nil
}

func (r *frameReader) loadFrame(i int) error {
	if r.loaded == i {
		return nil
	}
	r.loaded = -1
	f := r.layout.frames[i]
	r.buffer.stored = slices.Grow(r.buffer.stored[:0], f.storedSize)[:f.storedSize]
	if err := r.source.readStored(f, r.buffer.stored); err != nil {
		return err
	}
	var err error
	if r.buffer.plain, err = f.appendPlain(r.buffer.plain[:0], r.buffer.stored); err != nil {
		return err
	}
	r.loaded = i
	return nil
}

func (r *frameReader) release() {
	if r.buffer != nil {
		frameBuffers.Put(r.buffer)
		r.buffer = nil
	}
}

// findFrame returns the frame that has a plain byte of the blob.
func (l *layout) findFrame(at int64) int {
	i, found := slices.BinarySearchFunc(l.frames, at, func(f frame, at int64) int { return int(max(-1, min(1, f.plain-at))) })
	if !found {
		i--
	}
	return i
}

// Reader reads a blob, from any place on. It is not safe for concurrent use.
type Reader struct {
	file   *os.File
	body   *io.SectionReader // the blob in the file, which is all of it or a bundle
	layout *layout
	frames *frameReader // nil where the blob is stored as it came
}

// OpenBlob opens the blob for reading from any place on; the caller closes it. The error wraps ErrNotFound if there is
// none.
func (s *Store) OpenBlob(ctx context.Context, key string) (*Reader, error) {
	if err := checkKey(key); err != nil {
		return nil, err
	}
	f, body, err := s.reads.openSection(ctx, key)
	if err != nil {
		return nil, classifyError(ctx, "open blob file", key, err)
	}
	l, err := readBodyLayout(body)
	if err != nil {
		return nil, errors.Join(classifyError(ctx, "look at blob", key, err), f.Close())
	}
	r := &Reader{file: f, body: body, layout: l}
	if l.form == compressedForm {
		r.frames = newFrameReader(bodyFrames{body}, l)
	}
	return r, nil
}

// Size returns how many bytes the blob has.
func (r *Reader) Size() int64 { return r.layout.plainSize }

// Compressed returns the blob as zstd, one frame after the other, if it is stored so. It reads what r reads.
func (r *Reader) Compressed() (io.ReadSeeker, bool) {
	if r.layout.form != compressedForm {
		return nil, false
	}
	return io.NewSectionReader(r.body, 0, r.layout.storedBytes()), true
}

// Read implements io.Reader.
func (r *Reader) Read(p []byte) (int, error) {
	if r.frames != nil {
		return r.frames.Read(p)
	}
	if r.layout.trailer == 0 {
		return r.body.Read(p)
	}
	at, err := r.body.Seek(0, io.SeekCurrent)
	if err != nil {
		return 0, err
	}
	return io.LimitReader(r.body, r.layout.plainSize-at).Read(p)
}

// Seek implements io.Seeker.
func (r *Reader) Seek(offset int64, whence int) (int64, error) {
	switch {
	case whence == io.SeekEnd:
		offset += r.layout.plainSize
	case whence == io.SeekCurrent && r.frames != nil:
		offset += r.frames.next
	case whence == io.SeekCurrent:
		return r.body.Seek(offset, whence)
	}
	if offset < 0 {
		return 0, errors.New("seek to before the beginning")
	}
	if r.frames != nil {
		r.frames.next = offset
		return offset, nil
	}
	return r.body.Seek(offset, io.SeekStart)
}

// Close ends the reading.
func (r *Reader) Close() error {
	if r.frames != nil {
		r.frames.release()
	}
	return r.file.Close()
}

// bodyFrames reads the frames of what is stored.
type bodyFrames struct{ body io.ReaderAt }

func (f bodyFrames) readStored(at frame, b []byte) error {
	_, err := f.body.ReadAt(b, at.stored)
	return err
}

// readBodyLayout tells how the blob is stored that a file, or a part of one, has.
func readBodyLayout(body *io.SectionReader) (*layout, error) {
	tail, err := readFileTail(body, body.Size(), footerBytes)
	if err != nil {
		return nil, err
	}
	if n := trailerBytes(tail); n > 0 {
		if tail, err = readFileTail(body, body.Size(), n); err != nil {
			return nil, err
		}
	}
	return parseTrailer(tail, body.Size())
}

// readFileTail returns the last n bytes of a file, or all of a shorter one.
func readFileTail(f io.ReaderAt, size int64, n int) ([]byte, error) {
	tail := make([]byte, min(size, int64(n)))
	if got, err := f.ReadAt(tail, size-int64(len(tail))); got < len(tail) {
		return nil, fmt.Errorf("read the end: %w", err)
	}
	return tail, nil
}

// streamFrames reads frames that follow each other.
type streamFrames struct{ from io.Reader }

func (s streamFrames) readStored(_ frame, b []byte) error {
	_, err := io.ReadFull(s.from, b)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// plainStream reads a part of a compressed blob from the frames that it lies in.
type plainStream struct {
	io.Reader
	frames *frameReader
	from   io.Closer
}

// Close implements io.Closer.
func (p *plainStream) Close() error {
	p.frames.release()
	return p.from.Close()
}

// openPlainRange opens a part of a blob that is stored in the form that l says.
func openPlainRange(ctx context.Context, driver Driver, key string, l *layout,
	offset, length int64) (io.ReadCloser, error) {
	left := max(0, l.plainSize-offset)
	if length < 0 || length > left {
		length = left
	}
	if l.form == plainForm {
		return driver.OpenRange(ctx, key, offset, length)
	}
	if length == 0 {
		return io.NopCloser(strings.NewReader("")), nil
	}
	first, last := l.frames[l.findFrame(offset)], l.frames[l.findFrame(offset+length-1)]
	from, err := driver.OpenRange(ctx, key, first.stored, last.stored+int64(last.storedSize)-first.stored)
	if err != nil {
		return nil, err
	}
	frames := newFrameReader(streamFrames{from}, l)
	frames.next = offset
	return &plainStream{io.LimitReader(frames, length), frames, from}, nil
}

// readLayout describes the blob, and tells how it is stored.
func readLayout(ctx context.Context, driver Driver, key string) (*layout, Attributes, error) {
	tail, attrs, err := driver.ReadTail(ctx, key, tailBytes)
	if err != nil {
		return nil, attrs, err
	}
	if n := trailerBytes(tail); n > len(tail) {
		if tail, attrs, err = driver.ReadTail(ctx, key, n); err != nil {
			return nil, attrs, err
		}
	}
	l, err := parseTrailer(tail, attrs.Size)
	if err != nil {
		return nil, attrs, err
	}
	attrs.Size = l.plainSize
	return l, attrs, nil
}
