package bustest

import (
	"net"
	"sync"
	"testing"
	"time"
)

// link is the network between two nodes of a cluster: what either sends to the other passes through here, later where the link is slow.
type link struct {
	mu        sync.Mutex // guards all but wg
	delay     time.Duration
	over      bool
	listeners []net.Listener
	conns     map[net.Conn]struct{}

	wg sync.WaitGroup
}

// slow makes everything take that much longer in either direction, from now on.
func (l *link) slow(delay time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.delay = delay
}

// listen takes connections to the node at addr; it returns where.
func (l *link) listen(t testing.TB, addr string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listeners = append(l.listeners, listener)
	l.wg.Go(func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			l.join(from, addr)
		}
	})
	t.Cleanup(l.end)
	return listener.Addr().String()
}

// end ends all that goes on.
func (l *link) end() {
	l.mu.Lock()
	l.over = true
	for c := range l.conns {
		c.Close()
	}
	for _, listener := range l.listeners {
		listener.Close()
	}
	l.mu.Unlock()
	l.wg.Wait()
}

// join connects a connection to the node, unless the link has ended or the node is down.
func (l *link) join(from net.Conn, addr string) {
	to, err := net.Dial("tcp", addr)
	if err != nil {
		from.Close()
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		from.Close()
		to.Close()
		return
	}
	if l.conns == nil {
		l.conns = make(map[net.Conn]struct{})
	}
	l.conns[from], l.conns[to] = struct{}{}, struct{}{}
	l.pass(from, to)
	l.pass(to, from)
}

// piece is what was read at once, and when it is to be written.
type piece struct {
	data []byte
	at   time.Time
}

// pass hands on what comes from one to the other, in order, until either ends.
func (l *link) pass(from, to net.Conn) {
	pieces := make(chan piece, 1024)
	l.wg.Go(func() {
		defer close(pieces)
		for {
			buf := make([]byte, 64<<10)
			n, err := from.Read(buf)
			if n > 0 {
				l.mu.Lock()
				at := time.Now().Add(l.delay)
				l.mu.Unlock()
				pieces <- piece{buf[:n], at}
			}
			if err != nil {
				return
			}
		}
	})
	l.wg.Go(func() {
		defer l.forget(from, to)
		for p := range pieces {
			if wait := time.Until(p.at); wait > 0 {
				<-time.After(wait)
			}
			if _, err := to.Write(p.data); err != nil {
				break
			}
		}
		from.Close()
		to.Close()
		for range pieces { // the reader must not wait for room that nobody makes
		}
	})
}

func (l *link) forget(conns ...net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range conns {
		delete(l.conns, c)
	}
}
