package bustest

import (
	"net"
	"sync"
	"testing"
	"time"
)

// delayedLink is the network between two nodes of a cluster: what either sends to the other passes through here,
// later where the link is slow.
type delayedLink struct {
	mu        sync.Mutex // guards all but wg
	delay     time.Duration
	closed    bool
	listeners []net.Listener
	conns     map[net.Conn]struct{}

	wg sync.WaitGroup
}

// setDelay makes everything take that much longer in either direction, from now on.
func (l *delayedLink) setDelay(delay time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.delay = delay
}

// listenFor takes connections to the node at addr; it returns where.
func (l *delayedLink) listenFor(t testing.TB, addr string) string {
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
			l.connectNode(from, addr)
		}
	})
	t.Cleanup(l.closeAll)
	return listener.Addr().String()
}

// closeAll ends all that goes on.
func (l *delayedLink) closeAll() {
	l.mu.Lock()
	l.closed = true
	for c := range l.conns {
		c.Close()
	}
	for _, listener := range l.listeners {
		listener.Close()
	}
	l.mu.Unlock()
	l.wg.Wait()
}

// connectNode connects a connection to the node, unless the link has ended or the node is down.
func (l *delayedLink) connectNode(from net.Conn, addr string) {
	to, err := net.Dial("tcp", addr)
	if err != nil {
		from.Close()
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		from.Close()
		to.Close()
		return
	}
	if l.conns == nil {
		l.conns = make(map[net.Conn]struct{})
	}
	l.conns[from], l.conns[to] = struct{}{}, struct{}{}
	l.forwardDelayed(from, to)
	l.forwardDelayed(to, from)
}

// delayedChunk is what was read at once, and when it is to be written.
type delayedChunk struct {
	data      []byte
	writeTime time.Time
}

// forwardDelayed hands on what comes from one to the other, in order, until either ends.
func (l *delayedLink) forwardDelayed(from, to net.Conn) {
	pieces := make(chan delayedChunk, 1024)
	l.wg.Go(func() {
		defer close(pieces)
		for {
			buf := make([]byte, 64<<10)
			n, err := from.Read(buf)
			if n > 0 {
				l.mu.Lock()
				at := time.Now().Add(l.delay)
				l.mu.Unlock()
				pieces <- delayedChunk{buf[:n], at}
			}
			if err != nil {
				return
			}
		}
	})
	l.wg.Go(func() {
		defer l.removeConns(from, to)
		for p := range pieces {
			if wait := time.Until(p.writeTime); wait > 0 {
				<-time.After(wait)
			}
			if _, err := to.Write(p.data); err != nil {
				break
			}
		}
		from.Close()
		to.Close()
		for range pieces { // drain, so that the reader does not block
		}
	})
}

func (l *delayedLink) removeConns(conns ...net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range conns {
		delete(l.conns, c)
	}
}
