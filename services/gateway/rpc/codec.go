package rpc

import (
	"sync"

	"google.golang.org/grpc/encoding"
	grpcproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"inkstream.dev/services/gateway/limits"
)

// holdingCodec encodes answers, and releases what a request holds of the memory when its encoded answer is sent: a
// client that does not read keeps the answer in memory long after the call is over for its handler.
type holdingCodec struct {
	encoding.CodecV2

	mu    sync.Mutex // guards holds
	holds map[any]*sentHold
}

func newHoldingCodec() *holdingCodec {
	return &holdingCodec{CodecV2: encoding.GetCodecV2(grpcproto.Name), holds: map[any]*sentHold{}}
}

// keepHold has the hold released when the answer is sent, which must be encoded next.
func (c *holdingCodec) keepHold(answer any, hold *sentHold) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.holds[answer] = hold
}

// Marshal encodes an answer.
func (c *holdingCodec) Marshal(v any) (mem.BufferSlice, error) {
	c.mu.Lock()
	hold := c.holds[v]
	delete(c.holds, v)
	c.mu.Unlock()
	message, ok := v.(proto.Message)
	if hold == nil || !ok {
		return c.CodecV2.Marshal(v)
	}
	data, err := proto.Marshal(message)
	if err != nil || mem.IsBelowBufferPoolingThreshold(cap(data)) { // such buffers do not say when they are free
		hold.Release()
		return mem.BufferSlice{mem.SliceBuffer(data)}, err
	}
	return mem.BufferSlice{mem.NewBuffer(&data, holdPool{hold})}, nil
}

// sentHold is what is held until an answer is sent, or its connection ends.
type sentHold struct {
	*limits.Hold

	connection *connectionHolds
}

// Release releases the hold.
func (h *sentHold) Release() {
	h.connection.remove(h.Hold)
	h.Hold.Release()
}

// holdPool is told when a buffer is free.
type holdPool struct{ hold *sentHold }

// Get makes a buffer.
func (holdPool) Get(length int) *[]byte {
	b := make([]byte, length)
	return &b
}

// Put releases the hold.
func (p holdPool) Put(*[]byte) { p.hold.Release() }
