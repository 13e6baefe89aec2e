package pdf

import (
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"inkstream.dev/pkg/sandbox"
)

// A document's chunks come one after the other, and with each new opening PDFium reads its fonts and shared objects
// again: on a manual in chunks of 16 pages that took 2.5 ms of the 7 ms a page. So a child whose document is closed
// keeps it open for a while, for the next chunk, unless another document waits for a child.

const (
	// maxIdleTime is how long a document stays open for its next chunk.
	maxIdleTime = 3 * time.Second
	// maxPagesPerOpening bounds the pages that are read in one opening, for PDFium keeps what it has read of a document.
	maxPagesPerOpening = 512
)

// fileID tells files apart. A file that a child has open keeps its inode, so none can take its place.
type fileID struct{ dev, ino uint64 }

func fileIDOf(f *os.File) (fileID, bool) {
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

// cacheEntry is a child that has a document open which no caller reads.
type cacheEntry struct {
	id        fileID
	child     *sandbox.Child
	pagesRead int // read in this opening
	pageCount int // of the document
	timer     *time.Timer
}

// documentCache holds the children of an engine that keep a document open for a later call.
type documentCache struct {
	mu               sync.Mutex    // guards all below
	maxChildren      int           // children that there can be
	heldChildren     int           // children that documents hold, those in the cache included
	waitingDocuments int           // documents that wait for a child
	entries          []*cacheEntry // oldest first
	closed           bool
}

// takeOrReserve returns a child that has the file open, or nil. Without one, it makes room: the caller leases a child
// next, and calls leased after.
func (g *documentCache) takeOrReserve(id fileID) *cacheEntry {
	var victim *cacheEntry
	defer func() { victim.closeAndRelease() }() // without the lock
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, c := range g.entries {
		if c.id == id && c.timer.Stop() {
			g.entries = slices.Delete(g.entries, i, i+1)
			return c
		}
	}
	if g.heldChildren >= g.maxChildren && len(g.entries) > 0 && g.entries[0].timer.Stop() {
		victim = g.removeEntry(g.entries[0])
	}
	g.heldChildren++
	g.waitingDocuments++
	return nil
}

// finishLease ends the wait that take began; ok says whether there is a child.
func (g *documentCache) finishLease(ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waitingDocuments--
	if !ok {
		g.heldChildren--
	}
}

// addEntry keeps a child with its document, unless it is wanted elsewhere. It reports whether it did.
func (g *documentCache) addEntry(c *cacheEntry) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed || g.waitingDocuments > 0 || c.pagesRead >= maxPagesPerOpening {
		g.heldChildren--
		return false
	}
	c.child.EndUse()
	c.timer = time.AfterFunc(maxIdleTime, func() {
		g.mu.Lock()
		c := g.removeEntry(c)
		g.mu.Unlock()
		c.closeAndRelease()
	})
	g.entries = append(g.entries, c)
	return true
}

// countReleased notes that a document gave its child up.
func (g *documentCache) countReleased() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.heldChildren--
}

// removeEntry takes c out of the cache; nil if it has left already. The caller holds g.mu, and lets the child go
// after.
func (g *documentCache) removeEntry(c *cacheEntry) *cacheEntry {
	i := slices.Index(g.entries, c)
	if i < 0 {
		return nil
	}
	g.entries = slices.Delete(g.entries, i, i+1)
	g.heldChildren--
	return c
}

// closeAndRelease makes the child close its document and gives it back to the pool.
func (c *cacheEntry) closeAndRelease() {
	if c != nil {
		closeAndRelease(c.child)
	}
}

// closeEntries gives every child in the cache back, for good.
func (g *documentCache) closeEntries() {
	g.mu.Lock()
	g.closed = true
	entries := slices.Clone(g.entries)
	for _, c := range entries {
		c.timer.Stop()
		g.removeEntry(c)
	}
	g.mu.Unlock()
	for _, c := range entries {
		c.closeAndRelease()
	}
}
