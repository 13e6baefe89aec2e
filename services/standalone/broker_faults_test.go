package standalone_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"inkstream.dev/pkg/bus/bustest"
)

// unreliableBroker stands before a NATS server. It tells of what the server has acknowledged late and out of order,
// twice, or not at all.
type unreliableBroker struct {
	t      *testing.T
	server string

	mu     sync.Mutex // guards random
	random *rand.Rand

	late, twice, lost atomic.Int64
}

// listen takes connections until the test ends, and returns where.
func (b *unreliableBroker) listen() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.t.Fatal(err)
	}
	var wg sync.WaitGroup
	var open sync.Map
	b.t.Cleanup(func() {
		l.Close()
		open.Range(func(c, _ any) bool { c.(net.Conn).Close(); return true })
		wg.Wait()
	})
	wg.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", b.server)
			if err != nil {
				client.Close()
				continue
			}
			open.Store(client, true)
			open.Store(server, true)
			wg.Go(func() { _, _ = io.Copy(server, client); server.Close() })
			wg.Go(func() { b.forwardAnswers(client, server); client.Close() })
		}
	})
	return "nats://" + l.Addr().String()
}

// forwardAnswers hands on what the server says, frame by frame, until either ends.
func (b *unreliableBroker) forwardAnswers(client, server net.Conn) {
	var mu sync.Mutex // one frame is written at a time
	write := func(frame []byte) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = client.Write(frame) // a client that is gone is seen by the other side
	}
	for r := bufio.NewReader(server); ; {
		frame, isAck, err := readFrame(r)
		if err != nil {
			return
		}
		if !isAck {
			write(frame)
			continue
		}
		b.mu.Lock()
		fate, delay := b.random.IntN(24), time.Duration(b.random.IntN(40))*time.Millisecond
		b.mu.Unlock()
		switch fate {
		case 0:
			b.lost.Add(1)
			continue
		case 1, 2, 3:
			b.twice.Add(1)
			write(frame)
		}
		b.late.Add(1)
		time.AfterFunc(delay, func() { write(frame) })
	}
}

// readFrame reads what a NATS server sends at once (the client protocol of the NATS documentation), and whether it
// says that something is stored or settled.
func readFrame(r *bufio.Reader) (frame []byte, isAck bool, err error) {
	line, err := r.ReadBytes('\n')
	if err != nil {
		return nil, false, err
	}
	fields := strings.Fields(string(line))
	if len(fields) == 0 || fields[0] != "MSG" && fields[0] != "HMSG" {
		return line, false, nil
	}
	size, err := strconv.Atoi(fields[len(fields)-1])
	if err != nil {
		return nil, false, fmt.Errorf("frame %q: %w", line, err)
	}
	body := make([]byte, size+2)
	if _, err := io.ReadFull(r, body); err != nil {
		return nil, false, err
	}
	settled := fields[0] == "MSG" && size == 0
	stored := bytes.Contains(body, []byte(`"stream":`)) && bytes.Contains(body, []byte(`"seq":`)) && size < 200
	return append(line, body...), strings.HasPrefix(fields[1], "_INBOX") && (stored || settled), nil
}

// A broker whose acknowledgements come out of order, twice or never costs time: what was published is published again
// and absorbed, what was done is found done, and no page is lost or doubled.
func TestUnreliableBroker(t *testing.T) {
	t.Parallel()
	server := bustest.StartServer(t)
	broker := &unreliableBroker{t: t, server: strings.TrimPrefix(server.ClientURL(), "nats://"),
		random: rand.New(rand.NewPCG(19, 11))}
	p := inSixProcessesOn(t, broker.listen())
	for range 2 {
		p.runWhole(t, smallMixed())
	}
	if late, twice, lost := broker.late.Load(), broker.twice.Load(), broker.lost.Load(); late == 0 || twice == 0 || lost == 0 {
		t.Errorf("acknowledgements late %d, twice %d, lost %d: want some of each", late, twice, lost)
	} else {
		t.Logf("acknowledgements late %d, twice %d, lost %d", late, twice, lost)
	}
}
