package pdfium

import "io"

const (
	windowSize  = 64 << 10
	windowCount = 64
)

// windowedReader reads a file in aligned windows and keeps the recent ones (4 MiB): PDFium's parser asks for some
// hundred bytes at a time, and a system call for each would cost more than the parsing.
type windowedReader struct {
	r     io.ReaderAt
	size  int64
	slots [windowCount]struct {
		start int64 // of the window; -1 while empty
		data  []byte
	}
}

func newWindowedReader(r io.ReaderAt, size int64) *windowedReader {
	w := &windowedReader{r: r, size: size}
	for i := range w.slots {
		w.slots[i].start = -1
	}
	return w
}

// ReadAt implements [io.ReaderAt].
func (w *windowedReader) ReadAt(p []byte, off int64) (int, error) {
	if len(p) >= windowSize {
		return w.r.ReadAt(p, off)
	}
	n := 0
	for n < len(p) {
		data, err := w.readWindow((off + int64(n)) / windowSize)
		if err != nil {
			return n, err
		}
		at := (off + int64(n)) % windowSize
		if at >= int64(len(data)) {
			return n, io.EOF
		}
		n += copy(p[n:], data[at:])
	}
	return n, nil
}

func (w *windowedReader) readWindow(index int64) ([]byte, error) {
	s := &w.slots[index%windowCount]
	start := index * windowSize
	if s.start == start {
		return s.data, nil
	}
	length := min(windowSize, w.size-start)
	if length <= 0 {
		return nil, io.EOF
	}
	if s.data == nil {
		s.data = make([]byte, 0, windowSize)
	}
	s.start = -1
	n, err := w.r.ReadAt(s.data[:length], start)
	if int64(n) < length {
		return nil, err
	}
	s.start, s.data = start, s.data[:length]
	return s.data, nil
}
