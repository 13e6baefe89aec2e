package inbound_test

import (
	"io"
	"net"
	"testing"
	"time"

	"inkstream.dev/services/gateway/internal/inbound"
)

// startListener returns a listener on a loopback address, and what hands out the connections that it accepts.
func startListener(t *testing.T, limits inbound.Limits) (*inbound.Listener, func() *inbound.Conn) {
	t.Helper()
	inner, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := inbound.NewListener(inner, limits)
	accepted := make(chan *inbound.Conn, 100)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				close(accepted)
				return
			}
			accepted <- c.(*inbound.Conn)
		}
	}()
	t.Cleanup(func() {
		_ = l.Close() // its end is all that is wanted
		for c := range accepted {
			_ = c.Close()
		}
	})
	return l, func() *inbound.Conn {
		select {
		case c := <-accepted:
			t.Cleanup(func() { _ = c.Close() })
			return c
		case <-time.After(10 * time.Second):
			t.Fatal("no connection is accepted")
			return nil
		}
	}
}

// dial connects from an address of this machine.
func dial(t *testing.T, l *inbound.Listener, from string) net.Conn {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: 10 * time.Second}
	c, err := d.DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// isCut waits until the other side closes a connection.
func isCut(t *testing.T, c net.Conn) bool {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	_, err := c.Read(make([]byte, 1))
	timeout, ok := err.(net.Error) //nolint:errorlint // what Read returns itself
	return err != nil && !(ok && timeout.Timeout())
}

func TestConnectionsOfAnAddressAreBounded(t *testing.T) {
	t.Parallel()
	l, next := startListener(t, inbound.Limits{Connections: 3, PerAddress: 2, UnreadBytes: 1 << 30})
	dial(t, l, "127.0.0.2")
	dial(t, l, "127.0.0.2")
	first := next()
	next()
	if !isCut(t, dial(t, l, "127.0.0.2")) {
		t.Error("a third connection of an address stays open, want 2")
	}
	dial(t, l, "127.0.0.3")
	next()
	if !isCut(t, dial(t, l, "127.0.0.4")) {
		t.Error("a fourth connection stays open, want 3")
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	dial(t, l, "127.0.0.2")
	if c := next(); l.Find(c.RemoteAddr().String()) != c {
		t.Error("a connection is not found by its address")
	}
}

// Of unread bytes beyond the bound those go first that hold most, of the address that holds most; what is complete
// holds none.
func TestUnreadBytesAreBounded(t *testing.T) {
	t.Parallel()
	const kb = 1 << 10
	l, next := startListener(t, inbound.Limits{Connections: 9, PerAddress: 9, UnreadBytes: 200 * kb})
	evicted := make(chan string, 9)
	begin := func(from string, size int) (end func()) {
		client := dial(t, l, from)
		c := next()
		c.BeginRequest()
		end = c.BeginUnread(func() { evicted <- from })
		if _, err := client.Write(make([]byte, size)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(c, make([]byte, size)); err != nil {
			t.Fatal(err)
		}
		return end
	}
	begin("127.0.0.2", 100*kb)() // complete
	defer begin("127.0.0.3", 50*kb)()
	defer begin("127.0.0.4", 10*kb)()
	select {
	case from := <-evicted:
		t.Errorf("%s is evicted within the bound", from)
	default:
	}
	defer begin("127.0.0.4", 150*kb)()
	if from := <-evicted; from != "127.0.0.4" {
		t.Errorf("%s is evicted, want the address that holds most", from)
	}
	select {
	case from := <-evicted:
		t.Errorf("%s is evicted besides", from)
	default:
	}
}

// A connection counts as unread until the head of a request is complete, and again when none is under way.
func TestHeadsAreUnread(t *testing.T) {
	t.Parallel()
	const kb = 1 << 10
	l, next := startListener(t, inbound.Limits{Connections: 9, PerAddress: 9, UnreadBytes: 100 * kb})
	client := dial(t, l, "127.0.0.2")
	c := next()
	send := func(size int) error {
		if _, err := client.Write(make([]byte, size)); err != nil {
			return err
		}
		_, err := io.ReadFull(c, make([]byte, size))
		return err
	}
	first, second := c.BeginRequest(), c.BeginRequest()
	first()
	if err := send(300 * kb); err != nil {
		t.Fatalf("the body of a request: %v", err)
	}
	second()
	if err := send(50 * kb); err != nil {
		t.Fatalf("a head within the bound: %v", err)
	}
	_ = send(60 * kb) // it is cut on the way
	if !isCut(t, client) {
		t.Error("a connection whose head is longer than the bound stays open")
	}
}

func TestAddressKey(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]string{"192.0.2.1:5": "192.0.2.1", "[::ffff:192.0.2.1]:5": "192.0.2.1",
		"[2001:db8:1:2:3::4]:5": "2001:db8:1:2::/64", "[2001:db8:1:2::9]:5": "2001:db8:1:2::/64", "[::1]:5": "::/64"} {
		at, err := net.ResolveTCPAddr("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		if got := inbound.AddressKey(at); got != want {
			t.Errorf("%s: got %s, want %s", addr, got, want)
		}
	}
}
