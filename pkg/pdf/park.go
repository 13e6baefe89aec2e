package pdf

import (
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"inkstream.dev/pkg/sandbox"
)

// A document's chunks come one after the other, and with each new opening PDFium reads its fonts and shared objects again: on a manual in
// chunks of 16 pages that took 2.5 ms of the 7 ms a page. So a child whose document is closed keeps it open for a while, for the next
// chunk, unless somebody waits for the child.

const (
	// parkTime is how long a document stays open for its next chunk.
	parkTime = 3 * time.Second
	// parkPages bounds the pages that are read in one opening, for PDFium keeps what it has read of a document.
	parkPages = 512
)

// fileID tells files apart. A file that a child has open keeps its inode, so none can take its place.
type fileID struct{ dev, ino uint64 }

func idOf(f *os.File) (fileID, bool) {
	info, err := f.Stat()
	if err != nil {
		return fileID{}, false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fileID{}, false
	}
	return fileID{st.Dev, st.Ino}, true
}

// parked is a child that has a document open which nobody reads.
type parked struct {
	id    fileID
	child *sandbox.Child
	pages int // read in this opening
	count int // of the document
	timer *time.Timer
}

// garage holds the parked children of an engine.
type garage struct {
	mu      sync.Mutex // guards all below
	size    int        // children that there can be
	held    int        // children that documents hold, parked ones included
	waiting int        // documents that wait for a child
	cars    []*parked  // oldest first
	closed  bool
}

// take returns a child that has the file open, or nil. Without one, it makes room: the caller leases a child next, and calls leased after.
func (g *garage) take(id fileID) *parked {
	var victim *parked
	defer func() { victim.forget() }() // without the lock
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, c := range g.cars {
		if c.id == id && c.timer.Stop() {
			g.cars = slices.Delete(g.cars, i, i+1)
			return c
		}
	}
	if g.held >= g.size && len(g.cars) > 0 && g.cars[0].timer.Stop() {
		victim = g.leave(g.cars[0])
	}
	g.held++
	g.waiting++
	return nil
}

// leased ends the wait that take began; ok says whether there is a child.
func (g *garage) leased(ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting--
	if !ok {
		g.held--
	}
}

// park keeps a child with its document, unless it is wanted elsewhere. It reports whether it did.
func (g *garage) park(c *parked) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed || g.waiting > 0 || c.pages >= parkPages {
		g.held--
		return false
	}
	c.timer = time.AfterFunc(parkTime, func() {
		g.mu.Lock()
		c := g.leave(c)
		g.mu.Unlock()
		c.forget()
	})
	g.cars = append(g.cars, c)
	return true
}

// gone notes that a document gave its child up.
func (g *garage) gone() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held--
}

// leave takes c out of the garage; nil if it has left already. The caller holds g.mu, and lets the child go after.
func (g *garage) leave(c *parked) *parked {
	i := slices.Index(g.cars, c)
	if i < 0 {
		return nil
	}
	g.cars = slices.Delete(g.cars, i, i+1)
	g.held--
	return c
}

// forget makes the child close its document and gives it back to the pool.
func (c *parked) forget() {
	if c != nil {
		forget(c.child)
	}
}

// close gives every parked child back, for good.
func (g *garage) close() {
	g.mu.Lock()
	g.closed = true
	cars := slices.Clone(g.cars)
	for _, c := range cars {
		c.timer.Stop()
		g.leave(c)
	}
	g.mu.Unlock()
	for _, c := range cars {
		c.forget()
	}
}
