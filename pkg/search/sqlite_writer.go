package search

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"slices"
	"sync"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

const (
	// maxGroupTime is how long writes are taken into a transaction. What comes later waits for the next, so that the
	// first need not wait for long.
	maxGroupTime = 20 * time.Millisecond
	// groupRest is how soon after a transaction the next may begin. A page alone costs FTS5 nearly as much as several
	// together, and where jobs end one after the other each would come alone.
	groupRest = 40 * time.Millisecond
	// maxStatements bounds the memory of prepared statements. A tenant has some six of its own.
	maxStatements = 300
	// maxCachedTenants bounds the memory of tenants' numbers.
	maxCachedTenants = 10_000
)

var errClosed = errors.New("the index is closed")

// writer writes to the file, over one connection because SQLite has one writer at a time. Writes that wait for it go
// into one transaction together, which costs little more than one of them, and is synced to disk once. Each succeeds
// or fails by itself all the same.
type writer struct {
	db    *sql.DB
	ended chan struct{} // closed when work has returned

	mu     sync.Mutex // guards queue and closed
	queue  []*change
	closed bool
	more   *sync.Cond // the queue has grown, or the writer is closed

	// What follows is work's alone.

	conn       *sql.Conn // nil until it is needed, and after an error that leaves its state in doubt
	statements map[statement]*sql.Stmt
	// tenants are numbers that are committed, or are of the transaction in hand. No tenant is ever taken away, so that
	// they hold for good.
	tenants map[string]int64
}

// change is one call's share in a transaction. It may run twice: with others, and, if one of them fails, alone.
type change struct {
	apply func(*transaction) error
	done  chan error // has room for the answer
}

// statement tells prepared statements apart.
type statement struct {
	sql    string
	tenant int64 // for {t}; 0 where it has none
}

// newWriter returns a writer over the only connection of a pool, which it closes in the end. One goroutine does all
// the writing: SQLite goes deep, and a new one's stack would have to grow at each write.
func newWriter(ctx context.Context, db *sql.DB) *writer {
	w := &writer{db: db, ended: make(chan struct{})}
	w.more = sync.NewCond(&w.mu)
	go w.processQueue(context.WithoutCancel(ctx))
	return w
}

// submitChange has f run in a transaction, and returns once that is committed. Where ctx ends before it is f's turn,
// f does not run.
func (w *writer) submitChange(ctx context.Context, f func(*transaction) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c := &change{apply: f, done: make(chan error, 1)}
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return errClosed
	}
	w.queue = append(w.queue, c)
	w.mu.Unlock()
	w.more.Signal()
	select {
	case err := <-c.done:
		return err
	case <-ctx.Done():
	}
	w.mu.Lock()
	at := slices.Index(w.queue, c)
	if at >= 0 {
		w.queue = slices.Delete(w.queue, at, at+1)
	}
	w.mu.Unlock()
	if at >= 0 {
		return ctx.Err()
	}
	return <-c.done // it is being stored, and that is soon over
}

// processQueue writes until the writer is closed and no change waits any more.
func (w *writer) processQueue(ctx context.Context) {
	defer close(w.ended)
	for next := (time.Time{}); ; next = time.Now().Add(groupRest) {
		w.mu.Lock()
		for len(w.queue) == 0 && !w.closed {
			w.more.Wait()
		}
		n := len(w.queue)
		w.mu.Unlock()
		if n == 0 {
			return
		}
		<-time.After(time.Until(next))
		w.writeGroup(ctx, n)
	}
}

// cacheTenantID takes note of a tenant's number.
func (w *writer) cacheTenantID(name string, id int64) {
	if len(w.tenants) >= maxCachedTenants {
		clear(w.tenants)
	}
	w.tenants[name] = id
}

// nextChange takes the change that has waited longest; nil if there is none.
func (w *writer) nextChange() *change {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queue) == 0 {
		return nil
	}
	c := w.queue[0]
	w.queue = slices.Delete(w.queue, 0, 1)
	return c
}

// writeGroup writes those that wait in one transaction. If it cannot begin, the n that waited for that are told so.
func (w *writer) writeGroup(ctx context.Context, n int) {
	err := w.beginTransaction(ctx)
	if err != nil {
		for c := w.nextChange(); c != nil; c = w.nextChange() {
			c.done <- err
			if n--; n == 0 {
				return
			}
		}
		return
	}
	var group []*change
	for start := time.Now(); err == nil && time.Since(start) < maxGroupTime; {
		c := w.nextChange()
		if c == nil {
			break
		}
		group = append(group, c)
		err = c.apply(&transaction{Conn: w.conn, writer: w})
	}
	err = w.endTransaction(ctx, err)
	for _, c := range group {
		if err != nil && len(group) > 1 { // one that fails takes no other with it
			c.done <- w.writeAlone(ctx, c)
		} else {
			c.done <- err
		}
	}
}

// writeAlone writes in a transaction of its own.
func (w *writer) writeAlone(ctx context.Context, c *change) error {
	if err := w.beginTransaction(ctx); err != nil {
		return err
	}
	return w.endTransaction(ctx, c.apply(&transaction{Conn: w.conn, writer: w}))
}

// beginTransaction begins a transaction, for which it may have to wait for another process.
func (w *writer) beginTransaction(ctx context.Context) (err error) {
	if w.conn == nil {
		if w.conn, err = w.db.Conn(ctx); err != nil {
			return err
		}
		w.statements, w.tenants = map[statement]*sql.Stmt{}, map[string]int64{}
	}
	tx := transaction{Conn: w.conn, writer: w}
	if _, err := tx.execPrepared(ctx, 0, `BEGIN IMMEDIATE`); err != nil {
		if e, ok := errors.AsType[*sqlite.Error](err); !ok || e.Code()&0xff != sqlite3.SQLITE_BUSY {
			w.dropConnection()
		}
		return err
	}
	return nil
}

// endTransaction commits the transaction if err is nil, or takes it back.
func (w *writer) endTransaction(ctx context.Context, err error) error {
	tx := transaction{Conn: w.conn, writer: w}
	if err == nil {
		if _, err = tx.execPrepared(ctx, 0, `COMMIT`); err == nil {
			return nil
		}
	}
	clear(w.tenants)
	// Some errors, of a full disk for one, have ended the transaction already.
	if _, undo := tx.execPrepared(ctx, 0, `ROLLBACK`); undo != nil {
		if e, ok := errors.AsType[*sqlite.Error](undo); !ok || e.Code() != sqlite3.SQLITE_ERROR {
			w.dropConnection()
		}
	}
	return err
}

// dropConnection closes a connection whose state is in doubt, which ends its transaction. Another is opened when it
// is needed.
func (w *writer) dropConnection() {
	w.closeStatements()
	_ = w.conn.Raw(func(any) error { return driver.ErrBadConn }) // the pool does not keep it
	_ = w.conn.Close()
	w.conn = nil
}

// closeStatements closes the prepared statements. Their errors are those of their last use, which was handled.
func (w *writer) closeStatements() {
	for _, s := range w.statements {
		_ = s.Close()
	}
	clear(w.statements)
}

// closeAndWait waits for those that write, and ends the writer.
func (w *writer) closeAndWait() error {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.more.Signal()
	<-w.ended
	if w.conn != nil {
		w.closeStatements()
		_ = w.conn.Close() // gives it back
		w.conn = nil
	}
	return w.db.Close()
}

// transaction is what a write's statements run in. Those of its own methods stay prepared for other transactions;
// those of the Conn, which are for what is rarely done, do not.
type transaction struct {
	*sql.Conn
	writer *writer
}

// execPrepared runs a statement with a tenant's number for every {t}.
func (tx *transaction) execPrepared(ctx context.Context, tenant int64, text string, args ...any) (sql.Result, error) {
	s, err := tx.prepareCached(ctx, tenant, text) //nolint:sqlclosecheck // writer.closeStatements does
	if err != nil {
		return nil, err
	}
	return s.ExecContext(ctx, args...)
}

// queryPrepared is exec for a statement that returns rows. They must be closed ahead of another query.
func (tx *transaction) queryPrepared(ctx context.Context, tenant int64, text string, args ...any) (*sql.Rows, error) {
	s, err := tx.prepareCached(ctx, tenant, text) //nolint:sqlclosecheck // writer.closeStatements does
	if err != nil {
		return nil, err
	}
	return s.QueryContext(ctx, args...)
}

func (tx *transaction) prepareCached(ctx context.Context, tenant int64, text string) (*sql.Stmt, error) {
	key := statement{text, tenant}
	if s := tx.writer.statements[key]; s != nil {
		return s, nil
	}
	if len(tx.writer.statements) >= maxStatements {
		tx.writer.closeStatements()
	}
	s, err := tx.PrepareContext(ctx, expandTenant(text, tenant))
	if err != nil {
		return nil, err
	}
	tx.writer.statements[key] = s
	return s, nil
}
