package rpc

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/tap"

	"inkstream.dev/services/gateway/gate"
	"inkstream.dev/services/gateway/internal/inbound"
)

const (
	// messageTimeout is how long the first message of a call may take to come. Until then the caller is unknown, and what
	// has come of the message is in memory: up to maxMessageBytes for each of a connection's maxStreams, within what the
	// listener has room for.
	messageTimeout = 60 * time.Second
	// patientCalls is how many calls from one address may have all of that time at once, and crowdedTimeout what the
	// others have.
	patientCalls, crowdedTimeout = 64, 10 * time.Second
)

// unreadCalls ends calls whose first message does not come.
type unreadCalls struct {
	mu    sync.Mutex     // guards calls
	calls map[string]int // by the address that they come from
}

// unreadCall is a call whose first message has not come.
type unreadCall struct{ arrive func() }

type unreadKey struct{}

// beginCall has a call from an address end unless its first message comes in time, and within the room that the
// connection's listener has for such; conn is nil where that has no bound.
func (u *unreadCalls) beginCall(ctx context.Context, address string, conn *inbound.Conn) context.Context {
	u.mu.Lock()
	timeout := messageTimeout
	if u.calls[address] >= patientCalls {
		timeout = crowdedTimeout
	}
	u.calls[address]++
	u.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	timer := time.AfterFunc(timeout, cancel)
	read := conn.BeginUnread(cancel)
	call := &unreadCall{}
	ctx = context.WithValue(ctx, unreadKey{}, call)
	call.arrive = sync.OnceFunc(func() {
		timer.Stop()
		read()
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.calls[address]--; u.calls[address] == 0 {
			delete(u.calls, address)
		}
	})
	context.AfterFunc(ctx, call.arrive) // it is over in any case
	return ctx
}

// markRead says that the first message of a call has come.
func markRead(ctx context.Context) {
	if call, ok := ctx.Value(unreadKey{}).(*unreadCall); ok {
		call.arrive()
	}
}

// readStream is a stream that notes when its first message has come.
type readStream struct{ grpc.ServerStream }

// RecvMsg reads a message.
func (s *readStream) RecvMsg(m any) error {
	err := s.ServerStream.RecvMsg(m)
	markRead(s.Context())
	return err
}

// tapCall looks at a call when its head has come. The gate admits it when its first message has.
func (s *Server) tapCall(ctx context.Context, _ *tap.Info) (context.Context, error) {
	p, ok := peer.FromContext(ctx)
	if !ok || gate.IsInProcess(ctx) {
		return ctx, nil
	}
	return s.unread.beginCall(ctx, inbound.AddressKey(p.Addr), connOf(ctx)), nil
}
