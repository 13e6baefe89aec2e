package search

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"time"

	"modernc.org/libc"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"inkstream.dev/pkg/fault"
)

const (
	// busyTimeout is how long a writer waits for one in another process. A write of a chunk takes some 20 ms.
	busyTimeout = 10 * time.Second
	// walPages is how far the log grows before it is copied into the database: 16 MiB of 4 KiB pages. Copying less often
	// costs less, because pages of the inner nodes are written again and again.
	walPages = 4096
	// cacheKiB is what each connection may keep of the database.
	cacheKiB = 8 << 10
)

// SQLite is a Store in one file, with the write-ahead log in the same folder. Each tenant has tables of its own, so
// that one tenant's words neither show up in another's hits nor weigh in their scores. Create one with OpenSQLite.
type SQLite struct {
	path   string
	file   fs.FileInfo // that was opened
	writer *writer
	reader *sql.DB
	ranked int // rankedPages, but in tests
	failed atomic.Pointer[failedWrite]
}

// failedWrite is the last write, where the file did not take it.
type failedWrite struct {
	err error
	at  time.Time
}

// failedWriteAge is how long a failed write counts: what waits for the index tries again within that time.
const failedWriteAge = time.Minute

// OpenSQLite returns the index in the file at path, making it, and the folder that it is in, where they are missing.
func OpenSQLite(ctx context.Context, path string) (*SQLite, error) {
	return openSQLite(ctx, path, busyTimeout)
}

func openSQLite(ctx context.Context, path string, busy time.Duration) (*SQLite, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, fmt.Errorf("make the index's folder: %w", err)
	}
	// Made here for its mode: SQLite would make it readable to all. The log takes its mode from it.
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o640)
	if err != nil {
		return nil, fmt.Errorf("make the index's file: %w", err)
	}
	file, err := f.Stat()
	if err := errors.Join(err, f.Close(), syncFolder(filepath.Dir(path))); err != nil {
		return nil, fmt.Errorf("make the index's file: %w", err)
	}
	if err := registerFunctions(); err != nil {
		return nil, fmt.Errorf("open the index: %w", err)
	}
	db, err := openDatabase(path, busy, 1)
	if err != nil {
		return nil, err
	}
	s := &SQLite{path: path, file: file, ranked: rankedPages, writer: newWriter(ctx, db)}
	s.reader, err = openDatabase(path, busy, max(4, 2*runtime.GOMAXPROCS(0)), "query_only(1)")
	if err != nil {
		return nil, errors.Join(err, s.writer.closeAndWait())
	}
	if err := s.migrateSchema(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open the index: %w", err), s.Close())
	}
	return s, nil
}

// openDatabase returns a pool of up to size connections. It opens none yet.
func openDatabase(path string, busy time.Duration, size int, pragmas ...string) (*sql.DB, error) {
	pragmas = append(pragmas,
		fmt.Sprintf("busy_timeout(%d)", busy.Milliseconds()),
		"journal_mode(WAL)",
		"synchronous(FULL)", // what was acknowledged survives a power cut
		fmt.Sprintf("wal_autocheckpoint(%d)", walPages),
		fmt.Sprintf("journal_size_limit(%d)", 4*walPages<<12),
		fmt.Sprintf("cache_size(-%d)", cacheKiB),
		"temp_store(MEMORY)", // no file outside the index's folder
		"foreign_keys(0)",
	)
	params := url.Values{"_pragma": pragmas}
	dsn := url.URL{Scheme: "file", Path: path, RawQuery: params.Encode()}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		return nil, fmt.Errorf("open the index: %w", err)
	}
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(size)
	return db, nil
}

// FreeSQLiteCaches frees what all SQLite indexes of this process have cached of their files and do not use at the
// moment, up to cacheKiB a connection, and returns how many bytes that were. It is read again where it is needed.
func FreeSQLiteCaches() int {
	tls := libc.NewTLS()
	defer tls.Close()
	return int(sqlite3.Xsqlite3_release_memory(tls, math.MaxInt32))
}

// syncFolder makes the name of a new file last.
func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// checkFileInPlace returns a Busy fault where the path does not lead to the file that was opened any more: no process
// would find what is written to that one.
func (s *SQLite) checkFileInPlace() error {
	file, err := os.Stat(s.path)
	if err == nil && os.SameFile(file, s.file) {
		return nil
	}
	err = errors.Join(errors.New("the index's file was moved or removed: start again, and run 'inkstream index rebuild' if it is lost"), err)
	return fault.Wrap(fault.Busy, fault.Unavailable, err)
}

// Ping reads from the index, and reports that it did not take what was last written.
func (s *SQLite) Ping(ctx context.Context) error {
	if err := s.checkFileInPlace(); err != nil {
		return err
	}
	if last := s.failed.Load(); last != nil && time.Since(last.at) < failedWriteAge {
		return last.err
	}
	var version int
	err := s.reader.QueryRowContext(ctx, `SELECT max(version) FROM schema_version`).Scan(&version)
	return classifyError(ctx, "ping the index", err)
}

// Schema returns the version of SQLite and of the index's schema.
func (s *SQLite) Schema(ctx context.Context) (server string, schema int, err error) {
	err = s.reader.QueryRowContext(ctx, `SELECT sqlite_version(), max(version) FROM schema_version`).Scan(&server, &schema)
	return "SQLite " + server, schema, classifyError(ctx, "read the schema's version", err)
}

// Close waits for calls in hand, and ends the Store. The last one to close the file empties its log.
func (s *SQLite) Close() error {
	return errors.Join(s.reader.Close(), s.writer.closeAndWait())
}

// writeInTransaction runs do in a transaction that waits for its turn, and commits it. It may run do twice: all that
// do leaves elsewhere is what its last run did. Statements in it run without ctx's end: they are short, and the
// driver starts a goroutine for each statement that can be interrupted.
func (s *SQLite) writeInTransaction(ctx context.Context, doing string,
	do func(ctx context.Context, tx *transaction) error) error {
	err := s.checkFileInPlace()
	if err == nil {
		err = s.writer.submitChange(ctx, func(tx *transaction) error { return do(context.WithoutCancel(ctx), tx) })
	}
	if e, ok := errors.AsType[*sqlite.Error](err); ok && e.Code() == sqlite3.SQLITE_ERROR { // as where there is no such table
		err = errors.Join(s.checkFileVersion(ctx), err)
	}
	err = classifyError(ctx, doing, err)
	switch {
	case err != nil && fault.KindOf(err) == fault.Busy:
		s.failed.Store(&failedWrite{err, time.Now()})
	case err == nil && s.failed.Load() != nil:
		s.failed.Store(nil)
	}
	return err
}

// checkFileVersion returns what checkKnownVersion does of the file's version.
func (s *SQLite) checkFileVersion(ctx context.Context) error {
	var version int
	if err := s.reader.QueryRowContext(ctx, versionQuery).Scan(&version); err != nil {
		return err
	}
	return checkKnownVersion(version)
}

// classifyError says what was being done, and makes an error that may pass a Busy fault.
func classifyError(ctx context.Context, doing string, err error) error {
	if err == nil {
		return nil
	}
	if ctxErr := ctx.Err(); ctxErr != nil { // whatever the driver calls it
		return fmt.Errorf("%s: %w", doing, ctxErr)
	}
	if _, ok := errors.AsType[*fault.Error](err); ok {
		return fmt.Errorf("%s: %w", doing, err)
	}
	if isDamagedFile(err) { // which is no fault of what is being written
		err = fmt.Errorf("the index is damaged: move its files away, start again, and run 'inkstream index rebuild': %w", err)
		return fault.Wrap(fault.Busy, fault.Unavailable, fmt.Errorf("%s: %w", doing, err))
	}
	if isTransient(err) {
		return fault.Wrap(fault.Busy, fault.Unavailable, fmt.Errorf("%s: %w", doing, err))
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// isDamagedFile reports whether the file is no sound index any more.
func isDamagedFile(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && (e.Code()&0xff == sqlite3.SQLITE_CORRUPT || e.Code()&0xff == sqlite3.SQLITE_NOTADB)
}

// isTransient reports whether the same call may succeed once the machine, or another process, is better.
func isTransient(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		_, isPath := errors.AsType[*fs.PathError](err)
		return isPath
	}
	switch e.Code() & 0xff { // the low byte is the primary code
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN,
		sqlite3.SQLITE_READONLY, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_PERM, sqlite3.SQLITE_INTERRUPT:
		return true
	default:
		return false
	}
}
