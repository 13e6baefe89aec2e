package rpc

import (
	"context"
	"sync"

	"google.golang.org/grpc/stats"

	"inkstream.dev/services/gateway/internal/inbound"
	"inkstream.dev/services/gateway/limits"
)

// connectionHolds are what the calls of one connection hold whose answers are not sent yet. The transport frees the
// answers of a stream that ends, but not those of a connection that does.
type connectionHolds struct {
	conn *inbound.Conn // what has come by it; nil where nothing bounds that

	mu    sync.Mutex // guards what follows
	holds map[*limits.Hold]struct{}
	ended bool
}

type connectionKey struct{}

// holdsOf returns the holds of the connection that a call came by; nil where there is none.
func holdsOf(ctx context.Context) *connectionHolds {
	c, _ := ctx.Value(connectionKey{}).(*connectionHolds)
	return c
}

// add has a hold released with the connection; remove takes it out.
func (c *connectionHolds) add(hold *limits.Hold) {
	if c == nil {
		return
	}
	c.mu.Lock()
	ended := c.ended
	if !ended {
		c.holds[hold] = struct{}{}
	}
	c.mu.Unlock()
	if ended {
		hold.Release()
	}
}

func (c *connectionHolds) remove(hold *limits.Hold) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.holds, hold)
}

// connectionEnds is told of connections.
type connectionEnds struct{ listener *inbound.Listener }

// TagConn makes a connection's holds. From here on the connection's calls say what is unread.
func (e connectionEnds) TagConn(ctx context.Context, info *stats.ConnTagInfo) context.Context {
	conn := e.listener.Find(info.RemoteAddr.String())
	conn.BeginRequest()
	return context.WithValue(ctx, connectionKey{}, &connectionHolds{conn: conn, holds: map[*limits.Hold]struct{}{}})
}

// HandleConn releases them at the connection's end.
func (connectionEnds) HandleConn(ctx context.Context, s stats.ConnStats) {
	c := holdsOf(ctx)
	if _, ended := s.(*stats.ConnEnd); !ended || c == nil {
		return
	}
	c.mu.Lock()
	holds := c.holds
	c.holds, c.ended = nil, true
	c.mu.Unlock()
	for hold := range holds {
		hold.Release()
	}
}

// TagRPC leaves calls as they are.
func (connectionEnds) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// HandleRPC says which messages have left the connection.
func (e connectionEnds) HandleRPC(ctx context.Context, s stats.RPCStats) {
	if message, ok := s.(*stats.InPayload); ok {
		connOf(ctx).Deliver(message.WireLength)
	}
}

// connOf returns the listener's connection that a call came by; nil where it came by none.
func connOf(ctx context.Context) *inbound.Conn {
	if c := holdsOf(ctx); c != nil {
		return c.conn
	}
	return nil
}
