package search

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"inkstream.dev/pkg/fault"
)

// migration is one version of the schema. Statements of perTenant run once for each tenant, with its number for every
// {t}; a new tenant goes through those of all versions. Steps are only ever added.
type migration struct {
	shared    []string
	perTenant []string
}

var migrations = []migration{{
	shared: []string{
		`CREATE TABLE tenants (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)`,
		// Times are microseconds since 1970, 0 for none.
		`CREATE TABLE documents (
			tenant INTEGER NOT NULL, job TEXT NOT NULL, filename TEXT NOT NULL, sha256 TEXT NOT NULL, page_count INTEGER NOT NULL,
			state TEXT NOT NULL, create_time INTEGER NOT NULL, end_time INTEGER NOT NULL, labels TEXT NOT NULL,
			PRIMARY KEY (tenant, job)) WITHOUT ROWID`,
		`CREATE INDEX documents_by_time ON documents (tenant, create_time)`,
	},
	perTenant: []string{
		`CREATE TABLE pages_{t} (
			id INTEGER PRIMARY KEY, job TEXT NOT NULL, page INTEGER NOT NULL, run INTEGER NOT NULL, language TEXT NOT NULL,
			text TEXT NOT NULL, UNIQUE (job, page))`,
		// The text stands in pages alone; the words' table reads it there for snippets.
		`CREATE VIRTUAL TABLE words_{t} USING fts5 (text, content='pages_{t}', content_rowid='id',
			tokenize='unicode61 remove_diacritics 2', prefix='2 3')`,
	},
}, {
	shared: []string{
		// The file name as it is compared. What lower leaves undone of older rows, only those who look for capitals with
		// accents miss.
		`ALTER TABLE documents ADD COLUMN folded TEXT NOT NULL DEFAULT ''`,
		`UPDATE documents SET folded = lower(filename)`,
	},
}, {
	shared: []string{
		// Durations are microseconds.
		`ALTER TABLE documents ADD COLUMN lane TEXT NOT NULL DEFAULT ''`,
		`ALTER TABLE documents ADD COLUMN stages TEXT NOT NULL DEFAULT '{}'`,
		`CREATE TABLE events (
			tenant INTEGER NOT NULL, job TEXT NOT NULL, id TEXT NOT NULL, sequence INTEGER NOT NULL, type TEXT NOT NULL, run INTEGER NOT NULL,
			stage TEXT NOT NULL, page INTEGER NOT NULL, code TEXT NOT NULL, time INTEGER NOT NULL, attributes TEXT NOT NULL,
			tombstone INTEGER NOT NULL, expire_time INTEGER NOT NULL, PRIMARY KEY (tenant, job, id)) WITHOUT ROWID`,
		`CREATE INDEX events_by_sequence ON events (sequence)`,
		`CREATE INDEX events_by_expiry ON events (expire_time)`,
	},
}, {
	perTenant: []string{
		// The words of scripts without blanks, and marks as parts of words. The view is the text as it is indexed. The
		// table has another name, so that a process of an earlier version that has the file open fails, instead of indexing
		// what is not indexed so any more.
		`DROP TABLE words_{t}`,
		`CREATE VIEW indexed_{t} AS SELECT id, inkstream_indexed(text) AS text FROM pages_{t}`,
		`CREATE VIRTUAL TABLE terms_{t} USING fts5 (text, content='indexed_{t}', content_rowid='id',
			tokenize="unicode61 remove_diacritics 2 categories 'L* M* N* Co'", prefix='2 3')`,
		`INSERT INTO terms_{t} (terms_{t}) VALUES ('rebuild')`,
	},
}, {
	shared: []string{
		// How many documents there are by state and code, kept current with every change: pages ask for it again and again.
		`CREATE TABLE document_counts (
			tenant INTEGER NOT NULL, state TEXT NOT NULL, code TEXT NOT NULL, total INTEGER NOT NULL,
			PRIMARY KEY (tenant, state, code)) WITHOUT ROWID`,
		`INSERT INTO document_counts SELECT tenant, state, ` + codeOf("") + `, count(*) FROM documents GROUP BY 1, 2, 3`,
		`CREATE TRIGGER documents_added AFTER INSERT ON documents BEGIN ` + addToCount + ` END`,
		`CREATE TRIGGER documents_removed AFTER DELETE ON documents BEGIN ` + takeFromCount + ` END`,
		`CREATE TRIGGER documents_changed AFTER UPDATE OF state, labels ON documents
			WHEN old.state <> new.state OR ` + codeOf("old.") + ` <> ` + codeOf("new.") + ` BEGIN ` + takeFromCount + addToCount + ` END`,
		// A batch's documents lie together, and those of none are not in it.
		`CREATE INDEX documents_by_batch ON documents (tenant, ` + batchOf("") + `, state) WHERE ` + batchOf("") + ` IS NOT NULL`,
	},
}, {
	perTenant: []string{
		// Texts are packed from now on, see storedText; those that are there stay as they are. The column has another name, so
		// that a process of an earlier version that has the file open fails, instead of taking what is packed for a text.
		`ALTER TABLE pages_{t} RENAME COLUMN text TO body`,
	},
}}

// The labels that are counted and looked up without reading all documents.
const (
	codeLabel  = "~code"
	batchLabel = "~batch"
)

// codeOf and batchOf are a document's labels in SQL, in the very words of the indexes that have them.
func codeOf(table string) string {
	return `coalesce(` + table + `labels ->> '$."` + codeLabel + `"', '')`
}

func batchOf(table string) string { return table + `labels ->> '$."` + batchLabel + `"'` }

// inBatch is the condition of a batch's documents. It is a range of one value: without statistics, SQLite takes a tenant's
// documents for ten, and for the one value would rather read all of those than look into the batches' index.
var inBatch = batchOf("d.") + ` BETWEEN ? AND ?`

// What the triggers of documents do.
var (
	addToCount = `INSERT INTO document_counts VALUES (new.tenant, new.state, ` + codeOf("new.") + `, 1)
		ON CONFLICT DO UPDATE SET total = total + 1;`
	takeFromCount = `UPDATE document_counts SET total = total - 1
		WHERE tenant = old.tenant AND state = old.state AND code = ` + codeOf("old.") + `;`
)

// registerFunctions makes indexed and the score known to SQL, on every connection that is opened from then on.
var registerFunctions = sync.OnceValue(func() error {
	if err := registerScoreFunction(); err != nil {
		return err
	}
	return sqlite.RegisterDeterministicScalarFunction("inkstream_indexed", 1,
		func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
			text, err := unpackText(args[0])
			if err != nil {
				return nil, err
			}
			return prepareFTSText(text), nil
		})
})

// migrateSchema brings the file to the version that this program knows.
func (s *SQLite) migrateSchema(ctx context.Context) error {
	deadline := time.Now().Add(busyTimeout)
	for {
		err := s.writeInTransaction(ctx, "migrate", migrateInTransaction)
		// Two processes that both turn a new file to write-ahead logging may get in each other's way without SQLite's
		// waiting.
		e, ok := errors.AsType[*sqlite.Error](err)
		if !ok || e.Code()&0xff != sqlite3.SQLITE_BUSY || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func migrateInTransaction(ctx context.Context, tx *transaction) error {
	const create = `CREATE TABLE IF NOT EXISTS schema_version (version INTEGER PRIMARY KEY, applied_time INTEGER NOT NULL)`
	if _, err := tx.ExecContext(ctx, create); err != nil {
		return err
	}
	version, err := tx.fileVersion(ctx)
	if err != nil {
		return err
	}
	tenants, err := listTenantIDs(ctx, tx, version)
	if err != nil {
		return err
	}
	for ; version < len(migrations); version++ {
		if err := execStatements(ctx, tx, migrations[version].shared, 0); err != nil {
			return err
		}
		for _, id := range tenants {
			if err := execStatements(ctx, tx, migrations[version].perTenant, id); err != nil {
				return err
			}
		}
		const note = `INSERT INTO schema_version (version, applied_time) VALUES (?, ?)`
		if _, err := tx.ExecContext(ctx, note, version+1, time.Now().UnixMicro()); err != nil {
			return err
		}
	}
	return nil
}

const versionQuery = `SELECT coalesce(max(version), 0) FROM schema_version`

// fileVersion returns the version of the file, or what checkKnownVersion does.
func (tx *transaction) fileVersion(ctx context.Context) (version int, err error) {
	if err := tx.QueryRowContext(ctx, versionQuery).Scan(&version); err != nil {
		return 0, err
	}
	return version, checkKnownVersion(version)
}

// checkKnownVersion returns a Busy fault where the file is of a later version, to which another process may bring it
// while this one is at work: the work waits until this one is brought up to date as well.
func checkKnownVersion(version int) error {
	if version <= len(migrations) {
		return nil
	}
	return fault.New(fault.Unavailable,
		"the index has version %d, this program knows only %d; a later one has brought it there", version, len(migrations))
}

// listTenantIDs returns the tenants of an index of that version. Version 0 has no table of them.
func listTenantIDs(ctx context.Context, tx *transaction, version int) ([]int64, error) {
	if version == 0 {
		return nil, nil
	}
	rows, err := tx.QueryContext(ctx, `SELECT id FROM tenants`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var ids []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

func execStatements(ctx context.Context, tx *transaction, statements []string, tenant int64) error {
	for _, statement := range statements {
		if _, err := tx.ExecContext(ctx, expandTenant(statement, tenant)); err != nil {
			return err
		}
	}
	return nil
}

// expandTenant puts a tenant's number into a statement. It is a number that SQLite gave out, never anything that a
// user wrote.
func expandTenant(statement string, tenant int64) string {
	return strings.ReplaceAll(statement, "{t}", fmt.Sprint(tenant))
}

// createTenant gives a tenant its number and its tables, if it has none yet.
func createTenant(ctx context.Context, tx *transaction, name string) (int64, error) {
	id, err := tx.tenantID(ctx, name)
	if !errors.Is(err, sql.ErrNoRows) {
		return id, err
	}
	if _, err := tx.fileVersion(ctx); err != nil {
		return 0, err // its tables would not be what that version's programs expect
	}
	result, err := tx.ExecContext(ctx, `INSERT INTO tenants (name) VALUES (?)`, name)
	if err != nil {
		return 0, err
	}
	if id, err = result.LastInsertId(); err != nil {
		return 0, err
	}
	for _, s := range migrations {
		if err := execStatements(ctx, tx, s.perTenant, id); err != nil {
			return 0, err
		}
	}
	tx.writer.cacheTenantID(name, id)
	return id, nil
}

// tenantID returns a tenant's number, or sql.ErrNoRows.
func (tx *transaction) tenantID(ctx context.Context, name string) (int64, error) {
	if id, ok := tx.writer.tenants[name]; ok {
		return id, nil
	}
	id, err := findTenant(ctx, tx, name)
	if err != nil {
		return 0, err
	}
	tx.writer.cacheTenantID(name, id)
	return id, nil
}

// findTenant returns a tenant's number, or sql.ErrNoRows.
func findTenant(ctx context.Context, from interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}, name string,
) (int64, error) {
	var id int64
	err := from.QueryRowContext(ctx, `SELECT id FROM tenants WHERE name = ?`, name).Scan(&id)
	return id, err
}
