package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	childNice     = 10
	childOOMScore = 500 // the kernel, when short of memory, takes a child before the service
	// minHeapSize keeps the garbage collector from running every other page: an engine's memory is not its, and the few
	// megabytes of answers that are would be collected each time they double.
	minHeapSize = 8 << 20
	// gcPercent is by how much the heap, minHeapSize included, grows between two collections. A page may take large
	// pictures, whose memory would double with each that is garbage; that there are few of them makes collections cheap.
	gcPercent = 50
	// maxKeptHeap is by how much the heap may be larger after a request than it was when memory was given back last: a
	// page with large pictures leaves behind what most pages do not need.
	maxKeptHeap = 8 << 20
	// trimAfter is how long a child waits for a request before it gives memory back that it does not use.
	trimAfter = 3 * time.Second
	// maxKeptBody is the largest request body whose memory is kept for the next request.
	maxKeptBody = 4 << 20
)

// Main must be called first thing in main, and in TestMain. In a process that a pool started it runs the program and
// never returns; in any other it does nothing.
func Main(programs ...Program) {
	if len(os.Args) != 3 || os.Args[1] != childArg {
		return
	}
	if err := serveChild(os.Args[2], programs); err != nil {
		fmt.Fprintln(os.Stderr, "sandbox:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serveChild is the child's whole life.
func serveChild(arg string, programs []Program) error {
	var s childSpec
	if err := json.Unmarshal([]byte(arg), &s); err != nil {
		return fmt.Errorf("read the arguments: %w", err)
	}
	if _, err := unix.GetsockoptInt(connFD, unix.SOL_SOCKET, unix.SO_TYPE); err != nil {
		return errors.New("this command is for the program's own use")
	}
	debug.SetGCPercent(gcPercent)
	// Never touched, it takes no memory; but the collector waits until the heap has grown by so much, this included.
	ballast := make([]byte, minHeapSize)
	defer runtime.KeepAlive(ballast)
	conn := &childConn{buf: make([]byte, frameBuffer), control: make([]byte, unix.CmsgSpace(MaxFiles*4))}
	handler, report, err := prepareChild(s, programs)
	if err != nil {
		if err := conn.writeReply(header{kind: frameSetupFailed}, []byte(err.Error())); err != nil {
			return err
		}
		// The parent ends this process, so that it need not wonder at its end.
		_, _, _, err = conn.readRequest()
		return eofIsNil(err)
	}
	ready, err := json.Marshal(report)
	if err != nil {
		return err
	}
	if err := conn.writeReply(header{kind: frameReady}, ready); err != nil {
		return err
	}
	var scratch *os.File
	if s.ScratchBytes > 0 {
		scratch = os.NewFile(scratchFD, "scratch")
	}
	return eofIsNil(answerRequests(conn, handler, scratch))
}

// prepareChild runs the program's Setup and raises the walls.
func prepareChild(s childSpec, programs []Program) (Handler, IsolationReport, error) {
	// Who stops the service, by terminal or by its supervisor, may signal the children too; they are the service's to
	// end, after it has finished what it has in hand.
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	unix.CloseOnExec(connFD)
	unix.CloseOnExec(scratchFD)
	// Neither matters enough to stop for.
	_ = unix.Setpriority(unix.PRIO_PGRP, 0, childNice) // the group, for all threads of it: PRIO_PROCESS would be this thread alone
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte(strconv.Itoa(childOOMScore)), 0)
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(s.MemoryLimit / 8 * 7) // collect harder before the limit is hit
	}
	dataBefore, err := mappedDataBytes()
	if err != nil {
		return nil, IsolationReport{}, err
	}
	for _, program := range programs {
		if program.Name != s.Program {
			continue
		}
		handler, err := program.Setup(context.Background(), s.Args)
		if err != nil {
			return nil, IsolationReport{}, fmt.Errorf("set up: %w", err)
		}
		report, err := isolateProcess(s, dataBefore)
		return handler, report, err
	}
	return nil, IsolationReport{}, fmt.Errorf("no program %q is listed in sandbox.Main", s.Program)
}

// mappedDataBytes returns the bytes of data that this process has mapped, which is what RLIMIT_DATA counts, and its
// stack.
func mappedDataBytes() (uint64, error) {
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, fmt.Errorf("read this process's size: %w", err)
	}
	const dataField = 5
	fields := bytes.Fields(statm)
	if len(fields) <= dataField {
		return 0, fmt.Errorf("read this process's size: %d fields, want more than %d", len(fields), dataField)
	}
	pages, err := strconv.ParseUint(string(fields[dataField]), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read this process's size: %w", err)
	}
	return pages * uint64(os.Getpagesize()), nil
}

// answerRequests serves until the connection ends.
func answerRequests(conn *childConn, handler Handler, scratch *os.File) error {
	trim := time.AfterFunc(0, debug.FreeOSMemory) // Setup leaves more behind than a page does
	defer trim.Stop()
	heap := newHeapTrimmer()
	for {
		h, body, files, err := conn.readRequest()
		if err != nil {
			return err
		}
		trim.Stop()
		answer, err := handler.Handle(context.Background(), Request{Body: body, Files: files, Scratch: scratch})
		closeFiles(files...)
		reply := header{seq: h.seq, kind: frameReply}
		if err != nil {
			reply.kind, answer = frameError, []byte(err.Error())
		}
		if len(answer) > MaxFrame {
			reply.kind, answer = frameError, []byte(errFrameTooLarge.Error())
		}
		if err := conn.writeReply(reply, answer); err != nil {
			return err
		}
		heap.trimGrown()
		trim.Reset(trimAfter)
	}
}

// heapTrimmer gives the memory of Go's heap back when it has grown.
type heapTrimmer struct {
	samples []metrics.Sample
	kept    uint64 // the heap's bytes when it was trimmed last, or the fewest since
}

func newHeapTrimmer() *heapTrimmer {
	h := &heapTrimmer{samples: []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/free:bytes"},
	}}
	h.kept = h.heapSize()
	return h
}

// heapSize returns the bytes that the heap has from the system.
func (h *heapTrimmer) heapSize() (size uint64) {
	metrics.Read(h.samples)
	for _, s := range h.samples {
		size += s.Value.Uint64()
	}
	return size
}

// trimGrown is called between two requests.
func (h *heapTrimmer) trimGrown() {
	size := h.heapSize()
	if size <= h.kept+maxKeptHeap {
		h.kept = min(h.kept, size)
		return
	}
	debug.FreeOSMemory()
	h.kept = h.heapSize()
}

// childConn is the child's end of the connection. It blocks in the kernel, not on Go's poller: waking up is quicker so.
type childConn struct {
	buf     []byte // small requests are read here, and stay here while they are handled
	control []byte
	large   []byte // bodies that do not fit buf
}

func (c *childConn) writeReply(h header, body []byte) error {
	return writeFrame(func(bufs [][]byte, control []byte) (n int, err error) {
		err = retryOnEINTR(func() error {
			n, err = unix.SendmsgBuffers(connFD, bufs, control, nil, unix.MSG_NOSIGNAL)
			return err
		})
		return n, err
	}, h, body, nil)
}

// readRequest reads one request. Its body is good until the next read.
func (c *childConn) readRequest() (header, []byte, []*os.File, error) {
	var files []*os.File
	n := 0
	for n < headerSize {
		k, passed, err := c.receiveBytes(c.buf[n:])
		if err != nil {
			return header{}, nil, nil, err
		}
		files = append(files, passed...)
		n += k
	}
	h, err := parseHeader(c.buf)
	if err != nil {
		return h, nil, nil, err
	}
	if len(files) != int(h.files) {
		// The kernel drops files when this process has too many open.
		return h, nil, nil, fmt.Errorf("%d files came with the request, want %d", len(files), h.files)
	}
	first := c.buf[headerSize:n]
	if len(first) > int(h.size) {
		return h, nil, nil, errTrailingBytes
	}
	if headerSize+int(h.size) <= len(c.buf) {
		body := c.buf[headerSize : headerSize+int(h.size)]
		return h, body, files, readFull(body[len(first):])
	}
	if cap(c.large) > maxKeptBody {
		c.large = nil
	}
	if cap(c.large) < int(h.size) {
		c.large = make([]byte, h.size)
	}
	body := c.large[:h.size]
	copy(body, first)
	return h, body, files, readFull(body[len(first):])
}

// receiveBytes reads once, with the files that come along.
func (c *childConn) receiveBytes(b []byte) (n int, files []*os.File, err error) {
	var controlLen int
	err = retryOnEINTR(func() error {
		n, controlLen, _, _, err = unix.Recvmsg(connFD, b, c.control, unix.MSG_CMSG_CLOEXEC)
		return err
	})
	if err != nil {
		return 0, nil, err
	}
	if n == 0 {
		return 0, nil, io.EOF
	}
	messages, err := unix.ParseSocketControlMessage(c.control[:controlLen])
	if err != nil {
		return n, nil, err
	}
	for _, m := range messages {
		fds, err := unix.ParseUnixRights(&m)
		if err != nil {
			return n, nil, err
		}
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "file of a request"))
		}
	}
	return n, files, nil
}

func readFull(b []byte) error {
	for len(b) > 0 {
		n := 0
		err := retryOnEINTR(func() (err error) {
			n, err = unix.Read(connFD, b)
			return err
		})
		if err != nil {
			return err
		}
		if n == 0 {
			return io.ErrUnexpectedEOF
		}
		b = b[n:]
	}
	return nil
}

// eofIsNil makes the end of the connection a clean end: the parent is gone, or has no more use for this process.
func eofIsNil(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, unix.EPIPE) ||
		errors.Is(err, unix.ECONNRESET) {
		return nil
	}
	return err
}
