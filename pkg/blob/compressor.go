package blob

import (
	"errors"
	"sync"
)

// frameBuffer is a frame in the making, and one that is made.
type frameBuffer struct{ plain, stored []byte }

// frameBuffers spare each upload buffers of its own.
var frameBuffers = sync.Pool{New: func() any { return new(frameBuffer) }}

// storedUpload is an upload whose bytes are stored as seekable.go says: compressed, or as they come. The driver's
// upload is taken out of it to be committed.
type storedUpload struct {
	Upload

	compress bool
	layout   layout
	buffer   *frameBuffer
	ending   uint32 // the last four bytes that were stored as they came
}

func newStoredUpload(up Upload, compress bool) *storedUpload {
	u := &storedUpload{Upload: up, compress: compress, layout: layout{form: plainForm}}
	if compress {
		u.buffer = frameBuffers.Get().(*frameBuffer)
		u.buffer.plain = u.buffer.plain[:0]
	}
	return u
}

// Write adds p to the blob.
func (u *storedUpload) Write(p []byte) (int, error) {
	if !u.compress {
		return u.writePlain(p)
	}
	written := 0
	for len(p) > 0 {
		if len(u.buffer.plain) == frameBytes {
			if err := u.writeFrame(); err != nil {
				return written, err
			}
		}
		n := min(len(p), frameBytes-len(u.buffer.plain))
		u.buffer.plain = append(u.buffer.plain, p[:n]...)
		written, p = written+n, p[n:]
	}
	return written, nil
}

func (u *storedUpload) writePlain(p []byte) (int, error) {
	n, err := u.Upload.Write(p)
	u.layout.plainSize += int64(n)
	for _, c := range p[max(0, n-4):n] {
		u.ending = u.ending>>8 | uint32(c)<<24
	}
	return n, err
}

// writeFrame writes what is gathered as a frame.
func (u *storedUpload) writeFrame() error {
	u.encodeFrame()
	return u.storeFrame()
}

func (u *storedUpload) encodeFrame() {
	u.buffer.stored = frameEncoder().EncodeAll(u.buffer.plain, u.buffer.stored[:0])
}

func (u *storedUpload) storeFrame() error {
	if _, err := u.Upload.Write(u.buffer.stored); err != nil {
		return err
	}
	size := len(u.buffer.plain)
	u.layout.form = compressedForm
	u.layout.frames = append(u.layout.frames, frame{storedSize: len(u.buffer.stored), plainSize: size})
	u.layout.plainSize += int64(size)
	u.buffer.plain = u.buffer.plain[:0]
	return nil
}

// finish writes what is left, and returns the driver's upload, which has all that is to be stored.
func (u *storedUpload) finish() (Upload, error) {
	defer u.releaseBuffer()
	if u.compress {
		if err := u.finishFrames(); err != nil {
			return nil, err
		}
	}
	if u.layout.form == compressedForm || u.ending == footerMagic {
		if _, err := u.Upload.Write(appendTrailer(nil, &u.layout)); err != nil {
			return nil, err
		}
	}
	return u.Upload, nil
}

// finishFrames writes the last frame. A blob that is one frame, and no smaller for it, is stored as it came.
func (u *storedUpload) finishFrames() error {
	plain := u.buffer.plain
	if len(u.layout.frames) > 0 {
		if len(plain) == 0 {
			return nil
		}
		return u.writeFrame()
	}
	if len(plain) >= minCompressBytes {
		u.encodeFrame()
		if len(u.buffer.stored)+minTrailerBytes+tableEntryBytes < len(plain) {
			return u.storeFrame()
		}
	}
	_, err := u.writePlain(plain)
	return err
}

// Commit stores the blob.
func (u *storedUpload) Commit() error {
	up, err := u.finish()
	if err != nil {
		return errors.Join(err, u.Upload.Abort())
	}
	return up.Commit()
}

// Abort drops the blob.
func (u *storedUpload) Abort() error {
	u.releaseBuffer()
	return u.Upload.Abort()
}

// releaseBuffer ends the upload's use of its buffers.
func (u *storedUpload) releaseBuffer() {
	if u.buffer != nil {
		frameBuffers.Put(u.buffer)
		u.buffer = nil
	}
}
