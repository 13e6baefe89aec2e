package sandbox

import (
	"context"
	"os"
)

// ExitMemory is the exit code by which a program says that it ran out of memory. A call that meets it returns
// ExitError{Reason: Memory}.
const ExitMemory = 97

// Program is what a child runs: it answers requests until the connection ends.
type Program struct {
	// Name is how Config.Program picks it, e.g. "pdf".
	Name string
	// Setup runs inside the child before the walls go up: open fonts, map models, compile code. It sees no document.
	// Whatever a handler loads lazily afterwards must lie under Config.ReadOnly. An error ends the child, and LeaseChild
	// returns its text.
	Setup func(ctx context.Context, args []string) (Handler, error)
}

// Handler answers requests inside the child, one at a time. An error travels to the caller as a *RemoteError, so its
// text must hold nothing of the document; the child lives on. A panic is a crash.
type Handler interface {
	Handle(ctx context.Context, req Request) ([]byte, error)
}

// HandlerFunc makes a function a Handler.
type HandlerFunc func(ctx context.Context, req Request) ([]byte, error)

// Handle calls f.
func (f HandlerFunc) Handle(ctx context.Context, req Request) ([]byte, error) { return f(ctx, req) }

// Request is one request as the handler sees it.
type Request struct {
	// Body is valid until Handle returns: its memory is used again for the next request.
	Body []byte
	// Files came with the request and are closed after Handle. They share their offset with the parent's, so ReadAt is
	// safer than Read.
	Files []*os.File
	// Scratch is the memory file shared with the parent; nil if Config.ScratchBytes is 0. Its size is fixed. Use ReadAt,
	// WriteAt or a mapping, for the offset is shared. The parent may read it after the answer, so nothing may write to
	// it between requests.
	Scratch *os.File
}
