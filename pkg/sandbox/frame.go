package sandbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

const (
	// MaxFrame is the size of the largest request or answer in bytes. What is larger goes through the scratch file.
	MaxFrame = 256 << 20
	// MaxFiles is the number of files that may go with one request.
	MaxFiles = 16

	headerSize = 12
	// frameBuffer takes a small frame, header and body, in one read.
	frameBuffer = 64 << 10
)

type frameKind byte

const (
	frameReady       frameKind = iota + 1 // child: the walls are up; the body is an IsolationReport as JSON
	frameSetupFailed                      // child: the body says why
	frameRequest                          // parent
	frameReply                            // child
	frameError                            // child: the handler's error
)

// header is what stands before a frame's body: size (4 bytes), sequence (4), kind, number of files, two spare bytes;
// little endian. There is never more than one frame under way, so a read that brings more than the frame it announces
// is a broken protocol.
type header struct {
	size  uint32
	seq   uint32 // an answer bears its request's
	kind  frameKind
	files uint8
}

func (h header) appendTo(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, h.size)
	b = binary.LittleEndian.AppendUint32(b, h.seq)
	return append(b, byte(h.kind), h.files, 0, 0)
}

var (
	errFrameTooLarge = fmt.Errorf("frame larger than %d bytes", MaxFrame)
	errTrailingBytes = errors.New("bytes after the end of the frame")
)

// parseHeader reads the first headerSize bytes of b.
func parseHeader(b []byte) (header, error) {
	h := header{
		size:  binary.LittleEndian.Uint32(b),
		seq:   binary.LittleEndian.Uint32(b[4:]),
		kind:  frameKind(b[8]),
		files: b[9],
	}
	if h.size > MaxFrame {
		return h, errFrameTooLarge
	}
	return h, nil
}

// sendmsg sends some of what is in bufs, with control data.
type sendmsg func(bufs [][]byte, control []byte) (int, error)

// writeFrame sends header and body without copying the body. The files ride on the first byte.
func writeFrame(send sendmsg, h header, body []byte, control []byte) error {
	if len(body) > MaxFrame {
		return errFrameTooLarge
	}
	h.size = uint32(len(body))
	bufs := [][]byte{h.appendTo(make([]byte, 0, headerSize)), body}
	for len(bufs) > 0 {
		if len(bufs[0]) == 0 {
			bufs = bufs[1:]
			continue
		}
		n, err := send(bufs, control)
		if err != nil {
			return err
		}
		control = nil
		for n > 0 {
			k := min(n, len(bufs[0]))
			bufs[0] = bufs[0][k:]
			n -= k
			if len(bufs[0]) == 0 {
				bufs = bufs[1:]
			}
		}
	}
	return nil
}

// encodeRights returns the control data that passes the files, which must stay open until it is sent.
func encodeRights(files []*os.File) ([]byte, error) {
	if len(files) == 0 {
		return nil, nil
	}
	if len(files) > MaxFiles {
		return nil, fmt.Errorf("%d files with one request, want at most %d", len(files), MaxFiles)
	}
	fds := make([]int, 0, len(files))
	for _, f := range files {
		// File.Fd would take a non-blocking file off the poller.
		conn, err := f.SyscallConn()
		if err != nil {
			return nil, fmt.Errorf("pass a file: %w", err)
		}
		if err := conn.Control(func(fd uintptr) { fds = append(fds, int(fd)) }); err != nil {
			return nil, fmt.Errorf("pass a file: %w", err)
		}
	}
	return unix.UnixRights(fds...), nil
}

// retryOnEINTR repeats f while a signal interrupts it.
func retryOnEINTR(f func() error) error {
	for {
		if err := f(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
