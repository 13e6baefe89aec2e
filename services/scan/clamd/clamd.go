// Package clamd asks a ClamAV daemon whether a document is infected, over the daemon's own protocol (clamd(8)): a
// document is streamed with INSTREAM and never written to a shared disk.
//
// A document passes only on the daemon's word that it is clean. A daemon that is away, too busy, or does not answer
// in time is a fault that passes (fault.Busy): the document waits. One that refuses a document for its size will
// refuse it again: ErrTooLarge.
//
// The daemon has limits of its own. StreamMaxLength should be at least the largest upload, so that nothing ends with
// ErrTooLarge; and as clamd calls a file clean that it has read only in part because of MaxFileSize, MaxScanSize or
// MaxScanTime, those should be as high, or AlertExceedsMax be set to yes, which turns a document that passes them
// into an infected one, Heuristics.Limits.Exceeded.
package clamd

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"inkstream.dev/pkg/fault"
)

// ErrTooLarge means that the daemon takes no document as large as this one. It is permanent: waiting would not help,
// and passing a document that was not scanned is not an answer.
var ErrTooLarge error = &fault.Error{
	Kind: fault.Permanent, Code: fault.TooLarge,
	Message: "the document is larger than the malware scanner accepts (clamd's StreamMaxLength)",
}

const (
	// dialTimeout bounds a connection attempt; a daemon that accepts no connection in this time is away.
	dialTimeout = 5 * time.Second
	// stallTimeout bounds how long the daemon may take in no byte. It writes what it gets to a file before it scans.
	stallTimeout = 30 * time.Second
	// answerTimeout bounds the scan itself, once the document is sent. clamd gives up by itself after MaxScanTime, two
	// minutes by default.
	answerTimeout = 5 * time.Minute
	// commandTimeout bounds PING and VERSION.
	commandTimeout = 5 * time.Second
	// chunkSize is the size of an INSTREAM chunk.
	chunkSize = 128 << 10
	// maxAnswerBytes bounds an answer; the longest is a signature's name.
	maxAnswerBytes = 4 << 10
)

// Client asks one daemon. It keeps no connection between calls, and is safe for concurrent use.
type Client struct {
	network, address string
}

// Verdict is what the daemon says of a document.
type Verdict struct {
	Infected bool
	// Signature is the name of what was found; empty for a clean document.
	Signature string
}

// New returns a client for the daemon at address: host:port, tcp://host:port, or unix:///path/to/socket. It dials
// nothing.
func New(address string) (*Client, error) {
	scheme, rest, found := strings.Cut(address, "://")
	if !found {
		scheme, rest = "tcp", address
	}
	switch scheme {
	case "unix":
		if !strings.HasPrefix(rest, "/") || rest == "/" {
			return nil, fmt.Errorf("address %q: want unix:/// and the absolute path of a socket", address)
		}
	case "tcp":
		host, port, err := net.SplitHostPort(rest)
		if err != nil {
			return nil, fmt.Errorf("address %q: want host:port, tcp://host:port or unix:///path: %w", address, err)
		}
		if host == "" || port == "" {
			return nil, fmt.Errorf("address %q: want both a host and a port", address)
		}
	default:
		return nil, fmt.Errorf("address %q: unknown scheme %q, want tcp or unix", address, scheme)
	}
	return &Client{network: scheme, address: rest}, nil
}

// Ping reports whether the daemon is there and answers.
func (c *Client) Ping(ctx context.Context) error {
	answer, err := c.sendCommand(ctx, "PING")
	if err != nil {
		return err
	}
	if answer != "PONG" {
		return wrapUnavailable("ping", fmt.Errorf("answer %.80q, want PONG", answer))
	}
	return nil
}

// Version returns the daemon's version and that of its signatures, e.g. "ClamAV 1.4.3/27810/Sat Nov 22 10:05:13 2025".
func (c *Client) Version(ctx context.Context) (string, error) {
	return c.sendCommand(ctx, "VERSION")
}

func (c *Client) sendCommand(ctx context.Context, name string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	conn, stop, err := c.dialDaemon(ctx)
	if err != nil {
		return "", err
	}
	defer stop()
	if _, err := io.WriteString(conn, "z"+name+"\x00"); err != nil {
		return "", c.classifyError(ctx, name, err)
	}
	answer, err := readAnswer(conn)
	if err != nil {
		return "", c.classifyError(ctx, name, err)
	}
	return answer, nil
}

// ScanDocument sends everything that r yields and returns the daemon's verdict. The error is ErrTooLarge, or a
// *fault.Error of kind Busy where the daemon is away or cannot scan now, or that of r or ctx.
func (c *Client) ScanDocument(ctx context.Context, r io.Reader) (Verdict, error) {
	conn, stop, err := c.dialDaemon(ctx)
	if err != nil {
		return Verdict{}, err
	}
	defer stop()

	// The daemon may answer while the document is still being sent, when it has become too large, and then closes the
	// connection. So the answer is read all along: it says more than the broken pipe does.
	type reply struct {
		text string
		err  error
	}
	replies := make(chan reply, 1)
	go func() {
		text, err := readAnswer(conn)
		replies <- reply{text, err}
	}()
	sendErr := sendDocument(ctx, conn, r)
	if _, ok := errors.AsType[*sourceError](sendErr); ok {
		stop()
		<-replies
		return Verdict{}, fmt.Errorf("read document: %w", errors.Unwrap(sendErr))
	}
	deadline := answerTimeout
	if sendErr != nil {
		deadline = commandTimeout // the answer is there already, or there is none
	}
	_ = conn.SetReadDeadline(time.Now().Add(deadline)) // a connection that takes no deadline is closed: the read fails
	got := <-replies
	switch {
	case got.err == nil:
		return parseVerdict(got.text)
	case sendErr != nil:
		return Verdict{}, c.classifyError(ctx, "send document", sendErr)
	default:
		return Verdict{}, c.classifyError(ctx, "wait for verdict", got.err)
	}
}

// dialDaemon connects. The connection is cut when ctx ends, and by stop.
func (c *Client) dialDaemon(ctx context.Context) (conn net.Conn, stop func(), err error) {
	dialer := net.Dialer{Timeout: dialTimeout}
	conn, err = dialer.DialContext(ctx, c.network, c.address)
	if err != nil {
		return nil, nil, c.classifyError(ctx, "connect", err)
	}
	release := context.AfterFunc(ctx, func() { _ = conn.Close() })
	return conn, func() {
		release()
		_ = conn.Close() // all that mattered has been read
	}, nil
}

// classifyError classifies an error of the connection: an ended context is the caller's affair, everything else means
// that the daemon is away.
func (c *Client) classifyError(ctx context.Context, doing string, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return fmt.Errorf("clamd: %s: %w", doing, ctx.Err())
	}
	return wrapUnavailable(doing, err)
}

func wrapUnavailable(doing string, err error) error {
	return &fault.Error{Kind: fault.Busy, Code: fault.Unavailable, Message: "the malware scanner is away",
		Err: fmt.Errorf("clamd: %s: %w", doing, err)}
}

// sourceError is an error of the document's reader, not of the daemon.
type sourceError struct{ err error }

func (e *sourceError) Error() string { return e.err.Error() }
func (e *sourceError) Unwrap() error { return e.err }

// sendDocument writes the command and the document in chunks, each behind its length, and an empty one at the end.
func sendDocument(ctx context.Context, conn net.Conn, r io.Reader) error {
	if err := writeWithDeadline(conn, []byte("zINSTREAM\x00")); err != nil {
		return err
	}
	const head = 4
	buf := make([]byte, head+chunkSize)
	for {
		n, err := io.ReadFull(r, buf[head:])
		if ctx.Err() != nil {
			return ctx.Err() // the connection is about to be cut, and a half-sent document gets no verdict
		}
		if n > 0 {
			binary.BigEndian.PutUint32(buf, uint32(n))
			if err := writeWithDeadline(conn, buf[:head+n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return writeWithDeadline(conn, make([]byte, head))
		}
		if err != nil {
			return &sourceError{err}
		}
	}
}

func writeWithDeadline(conn net.Conn, b []byte) error {
	if err := conn.SetWriteDeadline(time.Now().Add(stallTimeout)); err != nil {
		return err
	}
	_, err := conn.Write(b)
	return err
}

// readAnswer reads up to the zero byte that ends an answer, or the end of the connection.
func readAnswer(r io.Reader) (string, error) {
	var answer []byte
	buf := make([]byte, 512)
	for {
		n, err := r.Read(buf)
		answer = append(answer, buf[:n]...)
		if text, _, ended := strings.Cut(string(answer), "\x00"); ended {
			return strings.TrimSpace(text), nil
		}
		if len(answer) > maxAnswerBytes {
			return "", errors.New("answer without end")
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return "", err
		}
	}
}

// parseVerdict reads the answer to INSTREAM: "stream: OK", "stream: NAME FOUND", or some "… ERROR". Whatever else it
// is, the document does not pass.
func parseVerdict(answer string) (Verdict, error) {
	body := strings.TrimPrefix(answer, "stream: ")
	if body == "OK" && body != answer {
		return Verdict{}, nil
	}
	if name, found := strings.CutSuffix(body, " FOUND"); found {
		return Verdict{Infected: true, Signature: name}, nil
	}
	if strings.Contains(answer, "size limit exceeded") {
		return Verdict{}, ErrTooLarge
	}
	return Verdict{}, wrapUnavailable("scan", fmt.Errorf("answer %.200q", answer))
}
