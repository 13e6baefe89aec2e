// Package inbound bounds what connections take of the server before it knows whose they are: how many there are, and
// how many bytes of requests that are not complete wait in memory. What comes after a request's head, or after the
// first message of a gRPC call, belongs to a caller, and others bound it.
package inbound

import (
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
)

// Limits are the bounds of one listener.
type Limits struct {
	// Connections and PerAddress are how many connections may be open, and how many of one address.
	Connections, PerAddress int
	// UnreadBytes is what requests that are not complete may hold, each counted with requestWeight at least.
	UnreadBytes int64
}

const (
	maxConnections = 16 << 10
	// addressShare is the part of all connections that one address may have: a proxy is one address, and 2,000 open
	// watches come from one in the bench.
	addressShare = 2
	// processShare is the part of the process's open files that a listener may use. Two listen, and the rest is for files.
	processShare = 4
	// requestWeight is what a request takes of which nothing but its head has come.
	requestWeight = 16 << 10
	// messageOverhead is more than what a message takes on its way beside itself.
	messageOverhead = 1 << 10
)

// What incomplete requests may hold: heads of HTTP take several times their length, and messages of gRPC are longer.
const (
	HeadBytes    = 48 << 20
	MessageBytes = 64 << 20
)

// DefaultLimits returns the bounds that suit the process's limit of open files, and the given one of unread bytes.
func DefaultLimits(unread int64) (Limits, error) {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return Limits{}, fmt.Errorf("limit of open files: %w", err)
	}
	n := int(max(addressShare, min(files.Cur/processShare, maxConnections)))
	return Limits{Connections: n, PerAddress: n / addressShare, UnreadBytes: unread}, nil
}

// AddressKey names who an address belongs to: a host, or a network of IPv6, of which a host has all addresses. It is
// empty for what is no IP address.
func AddressKey(addr net.Addr) string {
	at, err := netip.ParseAddrPort(addr.String())
	if err != nil {
		return ""
	}
	ip := at.Addr().Unmap()
	if ip.Is6() {
		const network = 64
		if p, err := ip.WithZone("").Prefix(network); err == nil {
			return p.String()
		}
	}
	return ip.String()
}

// Listener accepts TCP connections within its bounds.
type Listener struct {
	net.Listener
	limits Limits

	mu        sync.Mutex // guards what follows, and what connections say of it
	byRemote  map[string]*Conn
	addresses map[string]*address
	unread    int64
}

// address is what one host has.
type address struct {
	connections int
	unread      int64              // what its connections hold
	waiting     map[*Conn]struct{} // those with incomplete requests
}

// NewListener returns a listener of TCP connections. A connection holds an incomplete request whenever none is under
// way (see Conn.BeginRequest), and those that Conn.BeginUnread is told of.
func NewListener(l net.Listener, limits Limits) *Listener {
	return &Listener{Listener: l, limits: limits, byRemote: map[string]*Conn{}, addresses: map[string]*address{}}
}

// Accept returns the next connection that the bounds allow. Those beyond them are closed.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		inner, err := l.Listener.Accept()
		if err != nil {
			return nil, err //nolint:wrapcheck // servers look at what kind it is
		}
		tcp, ok := inner.(*net.TCPConn)
		if !ok {
			return inner, nil
		}
		if c := l.admit(tcp); c != nil {
			c.beginHead()
			return c, nil
		}
		_ = tcp.Close() // nothing was said on it
	}
}

// admit counts a connection; nil says that it is one too many.
func (l *Listener) admit(tcp *net.TCPConn) *Conn {
	c := &Conn{TCPConn: tcp, listener: l, remote: tcp.RemoteAddr().String(), key: AddressKey(tcp.RemoteAddr())}
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.addresses[c.key]
	if a == nil {
		a = &address{waiting: map[*Conn]struct{}{}}
	}
	if len(l.byRemote) >= l.limits.Connections || a.connections >= l.limits.PerAddress {
		return nil
	}
	a.connections++
	l.addresses[c.key], l.byRemote[c.remote] = a, c
	c.address = a
	return c
}

// Find returns the open connection from a remote address as its String tells it; nil where there is none, or no
// Listener.
func (l *Listener) Find(remote string) *Conn {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.byRemote[remote]
}

// Conn is a connection of a Listener.
type Conn struct {
	*net.TCPConn
	listener    *Listener
	remote, key string
	unread      atomic.Bool // that there is an incomplete request

	// The listener's mutex guards what follows.
	address  *address
	closed   bool
	evicts   map[int]func() // of the incomplete requests, by when they began
	next     int            // key of evicts
	held     int64          // what has come for these requests, and the weight of each
	requests int            // under way
	head     func()         // ends the incomplete request that is about to begin
}

// Read reads, and counts what comes while a request is incomplete.
func (c *Conn) Read(b []byte) (int, error) {
	n, err := c.TCPConn.Read(b)
	if n > 0 && c.unread.Load() {
		c.listener.mu.Lock()
		var evicted []func()
		if c.unread.Load() {
			evicted = c.listener.hold(c, int64(n))
		}
		c.listener.mu.Unlock()
		callAll(evicted)
	}
	return n, err //nolint:wrapcheck // the servers look for io.EOF
}

// Deliver says that so many bytes of what has come have reached those that asked for them.
func (c *Conn) Deliver(n int) {
	if c == nil || !c.unread.Load() {
		return
	}
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	if weight := requestWeight * int64(len(c.evicts)); c.held > weight {
		c.listener.hold(c, -min(int64(n)+messageOverhead, c.held-weight))
	}
}

// Close closes the connection and takes it off the listener's count.
func (c *Conn) Close() error {
	l := c.listener
	l.mu.Lock()
	if !c.closed {
		c.closed = true
		l.forget(c)
		delete(l.byRemote, c.remote)
		if c.address.connections--; c.address.connections == 0 {
			delete(l.addresses, c.key)
		}
	}
	l.mu.Unlock()
	return c.TCPConn.Close() //nolint:wrapcheck // the servers look at what kind it is
}

// BeginUnread says that a request has begun whose bytes come into memory, until end is called, which may be often.
// Where incomplete requests hold more than the listener's bound, evict is called for those of the connections that hold
// most, of the address that holds most; it must not wait. A nil Conn has no bound.
func (c *Conn) BeginUnread(evict func()) (end func()) {
	if c == nil {
		return func() {}
	}
	l := c.listener
	l.mu.Lock()
	if c.closed {
		l.mu.Unlock()
		return func() {}
	}
	if c.evicts == nil {
		c.evicts = map[int]func(){}
	}
	c.next++
	id := c.next
	c.evicts[id] = evict
	c.unread.Store(true)
	c.address.waiting[c] = struct{}{}
	evicted := l.hold(c, requestWeight)
	l.mu.Unlock()
	callAll(evicted)
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if _, ok := c.evicts[id]; !ok {
			return // ended before, or evicted
		}
		delete(c.evicts, id)
		if len(c.evicts) == 0 {
			l.forget(c)
		} else {
			l.hold(c, -requestWeight)
		}
	}
}

// BeginRequest says that the head of a request is complete, and end that the request is answered; several may be under
// way. A nil Conn counts none.
func (c *Conn) BeginRequest() (end func()) {
	if c == nil {
		return func() {}
	}
	c.listener.mu.Lock()
	c.requests++
	head := c.head
	c.head = nil
	c.listener.mu.Unlock()
	if head != nil {
		head()
	}
	return sync.OnceFunc(func() {
		c.listener.mu.Lock()
		c.requests--
		idle := c.requests == 0
		c.listener.mu.Unlock()
		if idle {
			c.beginHead()
		}
	})
}

// beginHead waits for the head of the next request.
func (c *Conn) beginHead() {
	end := c.BeginUnread(func() { _ = c.Close() }) // what was read of it goes with it
	c.listener.mu.Lock()
	if c.requests == 0 && c.head == nil {
		c.head, end = end, nil
	}
	c.listener.mu.Unlock()
	if end != nil { // the next has begun already
		end()
	}
}

// hold counts bytes that came for a connection's incomplete requests, or have gone, and returns what has to be evicted.
// The mutex is held.
func (l *Listener) hold(c *Conn, n int64) (evicted []func()) {
	c.held += n
	c.address.unread += n
	if l.unread += n; n < 0 || l.unread <= l.limits.UnreadBytes {
		return nil
	}
	var most *address
	for _, a := range l.addresses {
		if most == nil || a.unread > most.unread {
			most = a
		}
	}
	// Half of it goes, so that the next is not due with the next byte; what holds more than others goes first.
	for target := most.unread / 2; most.unread > target; {
		average := most.unread / int64(len(most.waiting))
		for other := range most.waiting {
			if other.held >= average && most.unread > target {
				evicted = slices.AppendSeq(evicted, maps.Values(other.evicts))
				l.forget(other)
			}
		}
	}
	return evicted
}

// forget takes what a connection's incomplete requests hold off the count. The mutex is held.
func (l *Listener) forget(c *Conn) {
	delete(c.address.waiting, c)
	c.address.unread -= c.held
	l.unread -= c.held
	c.held = 0
	clear(c.evicts)
	c.unread.Store(false)
}

func callAll(evicts []func()) {
	for _, evict := range evicts {
		evict()
	}
}
