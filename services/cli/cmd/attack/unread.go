package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

var unreadAttacks = []attack{
	{"load", "without credentials: 1,500 calls with 4 MB of a message each, 20,000 without any, 4,000 heads of 60 KB",
		fmt.Sprintf("the process grows by %d MiB at most (PSS); another's page within 8 s", unreadBound>>20), attackUnfinished},
	{"load", "10,000 connections from one address, idle and in the midst of a handshake", "another's page and call within 8 s", attackConnections},
}

// unreadBound is what requests that are not complete may add to the process: 112 MiB are counted, heads of HTTP take
// several times their length, and what has gone waits for the collector.
const unreadBound = 1 << 30

// dialFrom connects from the villain's address.
func dialFrom(ctx context.Context, address string) (net.Conn, error) {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP("127.0.0.2")}, Timeout: 5 * time.Second}
	return dialer.DialContext(ctx, "tcp", address)
}

// unfinishedCalls opens a connection with so many calls, each with so many bytes of a message of 4 MB.
func unfinishedCalls(ctx context.Context, address string, calls, size int) (net.Conn, error) {
	conn, err := dialFrom(ctx, address)
	if err != nil {
		return nil, err
	}
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		return conn, err
	}
	f := http2.NewFramer(conn, conn)
	if err := f.WriteSettings(); err != nil {
		return conn, err
	}
	w := &sendWindows{streams: map[uint32]int64{}, initial: 65_535, connection: 65_535}
	w.cond = sync.NewCond(&w.mu)
	go w.follow(f)
	for i := range calls {
		var head bytes.Buffer
		encoder := hpack.NewEncoder(&head)
		for _, field := range [][2]string{{":method", "POST"}, {":scheme", "http"}, {":path", "/inkstream.v1.InkstreamService/ListJobs"},
			{":authority", "x"}, {"content-type", "application/grpc"}, {"te", "trailers"}} {
			_ = encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]}) // to memory
		}
		id := uint32(2*i + 1)
		w.open(id)
		if err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: head.Bytes(), EndHeaders: true}); err != nil {
			return conn, nil //nolint:nilerr // cut, as it may be
		}
		part := append([]byte{0, 0, 0x3f, 0xff, 0xff}, make([]byte, 16_000)...)
		for sent := 0; sent < size && w.take(id, int64(len(part))); sent += len(part) {
			if err := f.WriteData(id, false, part); err != nil {
				return conn, nil //nolint:nilerr // cut
			}
			part = part[:16_000]
		}
	}
	return conn, nil
}

// sendWindows are how much the other side of a connection takes.
type sendWindows struct {
	mu         sync.Mutex // guards what follows
	cond       *sync.Cond
	streams    map[uint32]int64 // less than 0: ended
	initial    int64            // of a stream
	connection int64
	ended      bool
}

func (w *sendWindows) open(stream uint32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.streams[stream] = w.initial
}

// take waits until so many bytes may be sent, and reports false where the stream or the connection has ended.
func (w *sendWindows) take(stream uint32, n int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for !w.ended && w.streams[stream] >= 0 && min(w.connection, w.streams[stream]) < n {
		w.cond.Wait()
	}
	if w.ended || w.streams[stream] < 0 {
		return false
	}
	w.connection -= n
	w.streams[stream] -= n
	return true
}

// follow reads what the other side says, until the connection's end.
func (w *sendWindows) follow(f *http2.Framer) {
	for {
		frame, err := f.ReadFrame()
		w.mu.Lock()
		switch frame := frame.(type) {
		case *http2.WindowUpdateFrame:
			if frame.StreamID == 0 {
				w.connection += int64(frame.Increment)
			} else {
				w.streams[frame.StreamID] += int64(frame.Increment)
			}
		case *http2.SettingsFrame:
			if size, ok := frame.Value(http2.SettingInitialWindowSize); ok {
				for stream := range w.streams {
					w.streams[stream] += int64(size) - w.initial
				}
				w.initial = int64(size)
			}
		case *http2.RSTStreamFrame:
			w.streams[frame.StreamID] = -1 << 40
		}
		w.ended = err != nil
		w.cond.Broadcast()
		w.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// openAll opens connections, some at a time, and returns those that came to be.
func openAll(n int, open func() (net.Conn, error)) []net.Conn {
	var mu sync.Mutex // guards conns
	var conns []net.Conn
	var wg sync.WaitGroup
	slots := make(chan struct{}, 16)
	for range n {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			conn, _ := open() // refused, as it may be
			if conn != nil {
				mu.Lock()
				defer mu.Unlock()
				conns = append(conns, conn)
			}
		})
	}
	wg.Wait()
	return conns
}

func attackUnfinished(ctx context.Context, t *testbed) (string, error) {
	s := t.server
	before, err := s.memory()
	if err != nil {
		return "", err
	}
	stop := s.watchMemory()
	fctx, cancel := context.WithTimeout(ctx, 25*time.Second)
	defer cancel()
	var conns []net.Conn
	defer func() {
		for _, c := range conns {
			closeQuietly(c)
		}
	}()
	for _, kind := range []struct {
		connections, calls, size int
	}{{15, 100, 4_150_000}, {20, 1000, 0}} {
		conns = append(conns, openAll(kind.connections, func() (net.Conn, error) {
			conn, err := unfinishedCalls(fctx, s.grpc, kind.calls, kind.size)
			if conn != nil && fctx.Err() != nil {
				closeQuietly(conn)
			}
			return conn, err
		})...)
	}
	head := "GET /v1/jobs HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("a", 60_000)
	conns = append(conns, openAll(4000, func() (net.Conn, error) {
		conn, err := dialFrom(fctx, strings.TrimPrefix(s.rest, "http://"))
		if err == nil {
			_, err = io.WriteString(conn, head)
		}
		return conn, err
	})...)
	j, took, jobErr := s.runJob(ctx, victim+"/write", "", s.document)
	peak := stop()
	seen := fmt.Sprintf("PSS %d → %d MiB, %d connections; another's page %.1f s", before>>20, peak>>20, len(conns), took.Seconds())
	if jobErr != nil || j.State != "SUCCEEDED" || took > 8*time.Second || peak-before > unreadBound {
		return "", errors.Join(errors.New(seen), jobErr)
	}
	return seen, nil
}

func attackConnections(ctx context.Context, t *testbed) (string, error) {
	s := t.server
	var conns []net.Conn
	defer func() {
		for _, c := range conns {
			closeQuietly(c)
		}
	}()
	for address, text := range map[string]string{s.grpc: http2.ClientPreface, strings.TrimPrefix(s.rest, "http://"): "GET"} {
		conns = append(conns, openAll(5000, func() (net.Conn, error) {
			conn, err := dialFrom(ctx, address)
			if err == nil {
				_, err = io.WriteString(conn, text)
			}
			return conn, err
		})...)
	}
	j, took, err := s.runJob(ctx, victim+"/write", "", s.document)
	if err != nil || j.State != "SUCCEEDED" || took > 8*time.Second {
		return "", fmt.Errorf("another's page: %s after %.1f s, %w", j.State, took.Seconds(), err)
	}
	start := time.Now()
	call, err := grpc.NewClient(s.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return "", err
	}
	defer closeQuietly(call)
	cctx, cancel := context.WithTimeout(ctx, 8*time.Second)
	defer cancel()
	cctx = metadata.AppendToOutgoingContext(cctx, "authorization", "Bearer "+s.keys[victim+"/read"])
	if _, err := inkstreamv1.NewInkstreamServiceClient(call).ListJobs(cctx, &inkstreamv1.ListJobsRequest{}); err != nil {
		return "", fmt.Errorf("another's call: %w", err)
	}
	if code, _, err := s.exchange(ctx, victim+"/read", http.MethodGet, "/v1/jobs", nil, nil); err != nil || code != http.StatusOK {
		return "", fmt.Errorf("another's list: %d, %w", code, err)
	}
	return fmt.Sprintf("%d dialled; another's page %.1f s, its call %.1f s", len(conns), took.Seconds(), time.Since(start).Seconds()), nil
}
