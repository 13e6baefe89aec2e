package search

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/template"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"inkstream.dev/pkg/fault"
)

const (
	// chReadTimeout bounds the silence of a server. Without it, one that hangs would hold its caller forever.
	chReadTimeout = 60 * time.Second
	// chPurgeEvery is how often rows of deleted jobs are taken off the disk. A server rewrites whole parts of tables for
	// it, so that many jobs at a time cost little more than one.
	chPurgeEvery = time.Hour
	// chConnections is for searches; writes share one.
	chConnections = 16
)

// The exceptions of a server that come again however often a statement is tried: one that it does not understand, which
// is a mistake here, or a user without the permission.
var chPermanent = []int32{
	16, 42, 43, 46, 47, 53, 60, 62, // columns, arguments, functions, identifiers, types, tables, syntax
	192, 193, 497, 516, // users, passwords, grants
}

const chUnknownDatabase = 81

// chColumnExists are what servers say of a column that is there already: another process was faster, or a migration
// broke off.
var chColumnExists = []int32{15, 44}

//go:embed migrations/*.sql
var chMigrations embed.FS

// ClickHouse is a Store in a database of a ClickHouse server, of any version from 18.16 on. Create one with
// OpenClickHouse.
//
// Nothing in the server is unique or transactional, so the Store makes up for it: each row has a version, queries
// take that which is highest, and merges of the server drop the others some time. What becomes visible together is
// inserted as one block. Rows of deleted pages are hidden by rows of a higher version, and taken off the disk
// together with others', within the hour.
type ClickHouse struct {
	*clickhouseServer
	*clickhousePages
	*clickhouseDocuments
	*clickhouseEvents
	*clickhouseSearch
	purger *purger
}

// clickhouseServer is the server, and the schema in its database. It has part in all that follow.
type clickhouseServer struct {
	conn          driver.Conn
	options       *clickhouse.Options
	purgeInterval time.Duration

	mu    sync.Mutex // guards what follows
	ready bool       // the schema is there
}

// OpenClickHouse returns the index in the database that the URL names, making it where it is missing. A server that
// does not answer yet is no error: calls are Busy faults until it does.
func OpenClickHouse(ctx context.Context, rawURL string) (*ClickHouse, error) {
	server, err := newClickHouseServer(rawURL)
	if err != nil {
		return nil, err
	}
	documents := newClickHouseDocuments(server)
	s := &ClickHouse{
		clickhouseServer: server, clickhousePages: newClickHousePages(server), clickhouseDocuments: documents,
		clickhouseEvents: &clickhouseEvents{server}, clickhouseSearch: &clickhouseSearch{server, documents},
	}
	s.purger = newPurger(s, s.purgeInterval)
	if err := s.awaitSchema(ctx); err != nil && fault.KindOf(err) != fault.Busy {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// newClickHouseServer reads the URL. Its errors leave the URL out: it holds a password.
func newClickHouseServer(rawURL string) (*clickhouseServer, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, errors.New("index URL does not parse")
	}
	q := u.Query()
	gap := chPurgeEvery
	if v := q.Get("purge"); v != "" {
		if gap, err = time.ParseDuration(v); err != nil || gap < time.Second {
			return nil, errors.New("index URL: parameter purge: want a duration of at least 1s, such as 1h")
		}
		q.Del("purge")
	}
	u.RawQuery = q.Encode()
	options, err := clickhouse.ParseDSN(u.String())
	if err != nil {
		return nil,
			errors.New("index URL: want clickhouse://user:password@host:9000/database and parameters of clickhouse-go")
	}
	if options.Auth.Database = strings.Trim(options.Auth.Database, "/"); options.Auth.Database == "" ||
		len(options.Addr) == 0 || u.Host == "" {
		return nil, errors.New("index URL: want clickhouse://user:password@host:9000/database")
	}
	if options.ReadTimeout == 0 {
		options.ReadTimeout = chReadTimeout
	}
	if options.DialTimeout == 0 {
		options.DialTimeout = 5 * time.Second
	}
	if options.Compression == nil {
		options.Compression = &clickhouse.Compression{Method: clickhouse.CompressionLZ4}
	}
	options.MaxOpenConns, options.MaxIdleConns = chConnections, chConnections
	conn, err := clickhouse.Open(options)
	if err != nil {
		return nil, errors.New("index URL: clickhouse-go refuses it")
	}
	return &clickhouseServer{conn: conn, options: options, purgeInterval: gap}, nil
}

// awaitSchema sees to it that the schema is there.
func (s *clickhouseServer) awaitSchema(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ready {
		return nil
	}
	err := s.migrateSchema(ctx)
	if e, ok := errors.AsType[*clickhouse.Exception](err); ok && e.Code == chUnknownDatabase {
		if err = s.createDatabase(ctx); err == nil {
			err = s.migrateSchema(ctx)
		}
	}
	s.ready = err == nil
	return classifyServerError(ctx, "open the index", err)
}

// createDatabase makes the database, which a connection cannot do that names it.
func (s *clickhouseServer) createDatabase(ctx context.Context) error {
	options := *s.options
	options.Auth.Database = "default"
	options.MaxOpenConns, options.MaxIdleConns = 1, 1
	conn, err := clickhouse.Open(&options)
	if err != nil {
		return err
	}
	return errors.Join(conn.Exec(ctx, "CREATE DATABASE IF NOT EXISTS "+quoteIdentifier(s.options.Auth.Database)),
		conn.Close())
}

// quoteIdentifier quotes a name.
func quoteIdentifier(name string) string {
	return "`" + strings.NewReplacer("\\", "\\\\", "`", "\\`").Replace(name) + "`"
}

// features are what migrations ask for.
type features struct {
	TTL, BloomFilter, Fsync bool
}

// featuresOfVersion says what a server of that version has for certain.
func featuresOfVersion(v driver.ServerVersion) features {
	from := func(major, minor uint64) bool {
		return v.Version.Major > major || v.Version.Major == major && v.Version.Minor >= minor
	}
	return features{TTL: from(19, 11), BloomFilter: from(20, 3), Fsync: from(21, 3)}
}

// migrateSchema brings the database to the version that this program knows. Several processes may do so at once: each
// statement is one that may be repeated.
func (s *clickhouseServer) migrateSchema(ctx context.Context) error {
	version, err := s.conn.ServerVersion()
	if err != nil {
		return err
	}
	const table = `CREATE TABLE IF NOT EXISTS schema_migrations (version UInt32, name String, applied DateTime) ENGINE = MergeTree ORDER BY version`
	if err := s.conn.Exec(ctx, table); err != nil {
		return err
	}
	var done uint32
	if err := s.conn.QueryRow(ctx, `SELECT max(version) FROM schema_migrations`).Scan(&done); err != nil {
		return err
	}
	names, err := fs.Glob(chMigrations, "migrations/*.sql")
	if err != nil {
		return err
	}
	slices.Sort(names)
	if int(done) > len(names) {
		return fault.New(fault.Internal, "the index has version %d, this program knows only %d", done, len(names))
	}
	for _, name := range names[done:] {
		if err := s.applyMigration(ctx, name, featuresOfVersion(*version)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// applyMigration runs one migration, and notes that it was.
func (s *clickhouseServer) applyMigration(ctx context.Context, name string, has features) error {
	text, err := chMigrations.ReadFile(name)
	if err != nil {
		return err
	}
	t, err := template.New(name).Parse(string(text))
	if err != nil {
		return err
	}
	var b strings.Builder
	if err := t.Execute(&b, has); err != nil {
		return err
	}
	for statement := range strings.SplitSeq(b.String(), ";\n") {
		if strings.TrimSpace(statement) == "" {
			continue
		}
		err := s.conn.Exec(ctx, statement)
		if e, ok := errors.AsType[*clickhouse.Exception](err); ok && slices.Contains(chColumnExists, e.Code) {
			continue
		}
		if err != nil {
			return err
		}
	}
	number, err := strconv.ParseUint(strings.TrimPrefix(name, "migrations/")[:4], 10, 32)
	if err != nil {
		return err
	}
	return s.insertRows(ctx, `schema_migrations (version, name, applied)`, 1, func(int) []any {
		return []any{uint32(number), strings.TrimPrefix(name, "migrations/"), time.Now()}
	})
}

// insertRows stores rows as one block, which the server stores, and shows, whole or not at all.
func (s *clickhouseServer) insertRows(ctx context.Context, table string, n int, row func(i int) []any) error {
	batch, err := s.prepareBatch(ctx, table)
	if err != nil {
		return err
	}
	defer batch.Close() //nolint:errcheck // after Send there is nothing left to fail; before, its error is that of Append
	for i := range n {
		if err := batch.Append(row(i)...); err != nil {
			return err
		}
	}
	return batch.Send()
}

// prepareBatch begins a block of rows. That is sent to its end where ctx ends, each wait for the server bounded: the
// driver looks at a batch's context in a goroutine of its own, which may come too late, when the batch is stored and
// its connection in other hands, and closes that.
func (s *clickhouseServer) prepareBatch(ctx context.Context, table string) (driver.Batch, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.conn.PrepareBatch(context.WithoutCancel(ctx), "INSERT INTO "+table)
}

// Ping asks the server for nothing much.
func (s *clickhouseServer) Ping(ctx context.Context) error {
	if err := s.awaitSchema(ctx); err != nil {
		return err
	}
	return classifyServerError(ctx, "ping the index", s.conn.Ping(ctx))
}

// Schema returns the version of the server and of the index's schema.
func (s *clickhouseServer) Schema(ctx context.Context) (server string, schema int, err error) {
	if err := s.awaitSchema(ctx); err != nil {
		return "", 0, err
	}
	version, err := s.conn.ServerVersion()
	if err != nil {
		return "", 0, classifyServerError(ctx, "ask for the version", err)
	}
	var applied uint32
	err = s.conn.QueryRow(ctx, `SELECT max(version) FROM schema_migrations`).Scan(&applied)
	return "ClickHouse " + version.Version.String(), int(applied),
		classifyServerError(ctx, "read the schema's version", err)
}

// Close waits for writes in hand, and ends the Store.
func (s *ClickHouse) Close() error {
	s.clickhousePages.batcher.stopAndWait()
	s.clickhouseDocuments.batcher.stopAndWait()
	s.purger.stopAndWait()
	return s.conn.Close()
}

// classifyServerError says what was being done, and makes an error that may pass a Busy fault.
func classifyServerError(ctx context.Context, doing string, err error) error {
	if err == nil {
		return nil
	}
	if ctxErr := ctx.Err(); ctxErr != nil { // whatever the driver calls it
		return fmt.Errorf("%s: %w", doing, ctxErr)
	}
	if _, ok := errors.AsType[*fault.Error](err); ok {
		return fmt.Errorf("%s: %w", doing, err)
	}
	if e, ok := errors.AsType[*clickhouse.Exception](err); ok {
		// Without the server's words, which may quote the statement, and with it a document.
		err = fmt.Errorf("ClickHouse error %d", e.Code)
		if slices.Contains(chPermanent, e.Code) {
			return fmt.Errorf("%s: %w", doing, err)
		}
		return fault.Wrap(fault.Busy, fault.Unavailable, fmt.Errorf("%s: %w", doing, err))
	}
	_, isNet := errors.AsType[net.Error](err)
	if isNet || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, clickhouse.ErrAcquireConnTimeout) ||
		errors.Is(err, clickhouse.ErrServerUnexpectedData) || errors.Is(err, net.ErrClosed) {
		return fault.Wrap(fault.Busy, fault.Unavailable, fmt.Errorf("%s: %w", doing, err))
	}
	// Whatever else a driver may say of a server, it is no verdict on a document.
	return fault.Wrap(fault.Busy, fault.Unavailable, fmt.Errorf("%s: %w", doing, err))
}

// closeRows ends a reading. What went wrong with it, rows.Err has said.
func closeRows(rows driver.Rows) { _ = rows.Close() }
