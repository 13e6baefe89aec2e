package search

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"inkstream.dev/pkg/fault"
)

// writerPath names the index that this binary, run again by TestKilledWriter, is to write to.
const writerPath = "SEARCH_TEST_WRITER_PATH"

func TestMain(m *testing.M) {
	if path := os.Getenv(writerPath); path != "" {
		fmt.Fprintln(os.Stderr, writeUntilKilled(context.Background(), path))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// writeUntilKilled stores chunk after chunk, and prints the number of each once it is stored.
func writeUntilKilled(ctx context.Context, path string) error {
	s, err := OpenSQLite(ctx, path)
	if err != nil {
		return err
	}
	for n := range 10_000 {
		if err := s.PutPages(ctx, pagesOfChunk(n)); err != nil {
			return err
		}
		fmt.Println(n)
	}
	return nil
}

const chunkSize = 4

func pagesOfChunk(n int) []Page {
	pages := make([]Page, chunkSize)
	for i := range pages {
		text := fmt.Sprintf("chunk%d page%d ", n, i) + strings.Repeat("and more words ", 50)
		pages[i] = Page{Tenant: "acme", Job: fmt.Sprint("job", n/10), Run: 1, Number: n%10*chunkSize + i + 1, Text: text}
	}
	return pages
}

func openAt(t *testing.T, path string) *SQLite {
	t.Helper()
	s, err := openSQLite(t.Context(), path, 100*time.Millisecond)
	if err != nil {
		t.Fatalf("open: got %v, want no error", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: got %v, want no error", err)
		}
	})
	return s
}

// execOnConn runs a statement beside the Store.
func execOnConn(t *testing.T, db *sql.Conn, statement string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: got %v, want no error", statement, err)
	}
}

func wantHits(t *testing.T, s Store, text string, want int) {
	t.Helper()
	result, err := s.Search(t.Context(), Query{Tenant: "acme", Text: text, Limit: MaxLimit})
	if err != nil || len(result.Hits) != want {
		t.Errorf("search %q: got %d hits and %v, want %d", text, len(result.Hits), err, want)
	}
}

// CheckIntegrity compares the words' tables with the texts, and both with the rules of the file format.
func CheckIntegrity(t *testing.T, path string) {
	t.Helper()
	s, err := OpenSQLite(context.Background(), path)
	if err != nil {
		t.Fatalf("open: got %v, want no error", err)
	}
	defer s.Close()
	var answer string
	if err := s.writer.conn.QueryRowContext(context.Background(), `PRAGMA integrity_check`).Scan(&answer); err != nil ||
		answer != "ok" {
		t.Errorf("integrity_check: got %q, %v, want ok", answer, err)
	}
	ids, err := listTenantIDs(context.Background(), &transaction{Conn: s.writer.conn, writer: s.writer}, len(migrations))
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if _, err := s.writer.conn.ExecContext(context.Background(),
			expandTenant(`INSERT INTO terms_{t} (terms_{t}, rank) VALUES ('integrity-check', 1)`, id)); err != nil {
			t.Errorf("words of tenant %d: got %v, want them to agree with the texts", id, err)
		}
	}
}

// An index of an earlier version is rebuilt where words are read differently now.
func TestMigrate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "index.db")
	s := openAt(t, path)
	page := Page{Tenant: "acme", Job: "a", Run: 1, Number: 1, Text: "有機交流電燈のひとつの青い照明です"}
	if err := s.PutPages(t.Context(), []Page{page}); err != nil {
		t.Fatal(err)
	}
	doc := Document{Tenant: "acme", Job: "a", State: "FAILED", Labels: map[string]string{codeLabel: "DAMAGED", batchLabel: "b"}}
	if err := s.PutDocument(t.Context(), doc); err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		`ALTER TABLE pages_1 RENAME COLUMN body TO text`, `UPDATE pages_1 SET text = '` + page.Text + `'`,
		`DROP TRIGGER documents_added`, `DROP TRIGGER documents_removed`, `DROP TRIGGER documents_changed`,
		`DROP TABLE document_counts`, `DROP INDEX documents_by_batch`,
		`DROP TABLE terms_1`, `DROP VIEW indexed_1`, migrations[0].perTenant[1],
		`INSERT INTO words_{t} (words_{t}) VALUES ('rebuild')`, `DELETE FROM schema_version WHERE version > 3`,
	} {
		execOnConn(t, s.writer.conn, expandTenant(statement, 1))
	}
	CheckIntegrity(t, path) // opens it, which is what brings it up to date
	s = openAt(t, path)
	wantHits(t, s, "交流電燈", 1)
	states, err := s.CountStates(t.Context(), JobQuery{Tenant: "acme"})
	if err != nil || states["FAILED"] != 1 {
		t.Errorf("the documents from before are counted as %v, %v, want the one", states, err)
	}
}

// Texts of all lengths are packed, found, told in a snippet, replaced and removed; the file has them nowhere as they come.
func TestTextsArePacked(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "index.db")
	s := openAt(t, path)
	const line = "the harbour master counts the passengers of the evening ferry\n"
	pages := []Page{
		{Tenant: "acme", Job: "a", Run: 1, Number: 1, Text: "ferry"}, {Tenant: "acme", Job: "a", Run: 1, Number: 2, Text: strings.Repeat(line, 40)},
		{Tenant: "acme", Job: "a", Run: 1, Number: 3, Text: ""},
	}
	if err := s.PutPages(t.Context(), pages); err != nil {
		t.Fatal(err)
	}
	var kinds string
	if err := s.reader.QueryRowContext(t.Context(), `SELECT group_concat(typeof(body)) FROM pages_1`).Scan(&kinds); err != nil || kinds != "text,blob,text" {
		t.Errorf("the texts are stored as %q, %v, want the long one packed", kinds, err)
	}
	wantHits(t, s, "ferry", 2)
	found, err := s.Search(t.Context(), Query{Tenant: "acme", Text: "passengers"})
	if err != nil || len(found.Hits) != 1 || !strings.Contains(found.Hits[0].Snippet.Text, "counts the passengers of the evening") {
		t.Errorf("found %+v, %v, want a snippet of page 2", found.Hits, err)
	}
	pages[1].Run, pages[1].Text = 2, strings.Repeat("nothing left to read here\n", 30)
	if err := s.PutPages(t.Context(), pages[1:2]); err != nil {
		t.Fatal(err)
	}
	wantHits(t, s, "passengers", 0)
	wantHits(t, s, "nothing", 1)
	CheckIntegrity(t, path)
	if err := s.DeleteJob(t.Context(), "acme", "a"); err != nil {
		t.Fatal(err)
	}
	wantHits(t, s, "nothing", 0)
	CheckIntegrity(t, path)
}

// What pages ask for at every change reads no table of all documents.
func TestCountsReadNoWholeTable(t *testing.T) {
	t.Parallel()
	s := openAt(t, filepath.Join(t.TempDir(), "index.db"))
	doc := Document{Tenant: "acme", Job: "a", State: "FAILED", Labels: map[string]string{codeLabel: "DAMAGED", batchLabel: "b"}}
	if err := s.PutDocument(t.Context(), doc); err != nil {
		t.Fatal(err)
	}
	q := JobQuery{Tenant: "acme"}
	// Without its triggers, the table of counts is what it says: no count comes from the documents.
	for _, statement := range []string{`DROP TRIGGER documents_removed`, `DELETE FROM documents`} {
		execOnConn(t, s.writer.conn, statement)
	}
	states, err := s.CountStates(t.Context(), q)
	if err != nil || states["FAILED"] != 1 {
		t.Errorf("states are counted as %v, %v, want those of the table of counts", states, err)
	}
	codes, err := s.CountLabels(t.Context(), q, codeLabel)
	if err != nil || len(codes) != 1 || codes[0] != (LabelCount{Name: codeLabel, Value: "DAMAGED", Jobs: 1}) {
		t.Errorf("codes are counted as %v, %v, want those of the table of counts", codes, err)
	}
	batch := JobQuery{Tenant: "acme", Filter: Filter{Labels: map[string]string{batchLabel: "b"}}}
	for name, statement := range map[string]string{
		"groups": `SELECT ` + batchOf("d.") + `, d.state, count(*) FROM documents AS d WHERE d.tenant = 1 AND ` + batchOf("d.") +
			` IS NOT NULL GROUP BY ` + batchOf("d.") + `, d.state ORDER BY ` + batchOf("d.") + ` DESC LIMIT 3`,
		"a batch": `SELECT job FROM documents AS d WHERE d.tenant = 1 AND ` + strings.ReplaceAll(inBatch, "?", "'b'") + ` ORDER BY ` +
			jobOrderClause(batch, nil, &conditions{}) + ` LIMIT 100`,
	} {
		if plan := explainQuery(t, s, statement); !strings.Contains(plan, "USING INDEX documents_by_batch") {
			t.Errorf("%s are read by\n%s, want the batches' index", name, plan)
		}
	}
}

// explainQuery returns how the database reads what a statement asks for, a step a line.
func explainQuery(t *testing.T, s *SQLite, statement string) (plan string) {
	t.Helper()
	rows, err := s.reader.QueryContext(t.Context(), `EXPLAIN QUERY PLAN `+statement)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		plan += detail + "\n"
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return plan
}

// A process that is killed while it writes loses nothing that it was told is stored, and leaves no half chunk.
func TestKilledWriter(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "index.db")
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), writerPath+"="+path)
	child.Stderr = os.Stderr
	stdout, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	stored := -1
	for lines.Scan() {
		if stored++; stored == 25 {
			break
		}
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() { // what it said before it died
		stored++
	}
	if err := child.Wait(); err == nil {
		t.Error("child: got a clean exit, want a killed one")
	}
	CheckIntegrity(t, path)
	s := openAt(t, path)
	for n := range stored + 1 {
		wantHits(t, s, fmt.Sprintf("chunk%d", n), chunkSize)
	}
	result, err := s.Search(t.Context(), Query{Tenant: "acme", Text: fmt.Sprintf("chunk%d", stored+1)})
	if err != nil || len(result.Hits)%chunkSize != 0 {
		t.Errorf("the chunk in hand: got %d hits and %v, want all or none", len(result.Hits), err)
	}
}

func TestDiskFull(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "index.db")
	s := openAt(t, path)
	if err := s.PutPages(t.Context(), pagesOfChunk(0)); err != nil {
		t.Fatal(err)
	}
	execOnConn(t, s.writer.conn, `PRAGMA max_page_count = 1`) // SQLite takes the size it has
	var err error
	for n := 1; n < 200 && err == nil; n++ {
		err = s.PutPages(t.Context(), pagesOfChunk(n))
	}
	if fault.KindOf(err) != fault.Busy || fault.CodeOf(err) != fault.Unavailable {
		t.Fatalf("PutPages on a full disk: got %v, want a Busy fault UNAVAILABLE", err)
	}
	if err := s.Ping(t.Context()); err == nil {
		t.Error("Ping on a full disk: got nil, want an error")
	}
	wantHits(t, s, "chunk0", chunkSize)
	execOnConn(t, s.writer.conn, `PRAGMA max_page_count = 1000000`)
	if err := s.PutPages(t.Context(), pagesOfChunk(200)); err != nil {
		t.Errorf("PutPages once there is room: got %v, want no error", err)
	}
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("Ping once there is room: got %v, want no error", err)
	}
	wantHits(t, s, "chunk200", chunkSize)
	CheckIntegrity(t, path)
}

// A file that is damaged is no fault of the pages that wait for it.
func TestDamagedFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "index.db")
	s := openAt(t, path)
	for n := range 20 {
		if err := s.PutPages(t.Context(), pagesOfChunk(n)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const pageBytes = 4096
	clear(data[len(data)/4/pageBytes*pageBytes:])
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, path)
	err = s.PutPages(t.Context(), pagesOfChunk(20))
	if fault.KindOf(err) != fault.Busy || !strings.Contains(err.Error(), "index rebuild") {
		t.Errorf("PutPages: got %v, want a Busy fault that says what helps", err)
	}
	if err := s.Ping(t.Context()); err == nil {
		t.Error("Ping: got nil, want an error")
	}
}

// A write to a file that its path does not lead to any more would be lost.
func TestMovedFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "index.db")
	s := openAt(t, path)
	move := func(from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	move(path, path+".away")
	for range 2 {
		err := s.PutPages(t.Context(), pagesOfChunk(0))
		if fault.KindOf(err) != fault.Busy || !strings.Contains(err.Error(), "index rebuild") {
			t.Errorf("PutPages: got %v, want a Busy fault that says what helps", err)
		}
		if err := s.Ping(t.Context()); err == nil {
			t.Error("Ping: got nil, want an error")
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil { // and another file in its place
			t.Fatal(err)
		}
	}
	move(path+".away", path)
	if err := errors.Join(s.PutPages(t.Context(), pagesOfChunk(0)), s.Ping(t.Context())); err != nil {
		t.Errorf("afterwards: got %v, want no error", err)
	}
}

// A later version's process has brought the file to its schema: what waits for this one is not to blame.
func TestFileOfALaterVersion(t *testing.T) {
	t.Parallel()
	s := openAt(t, filepath.Join(t.TempDir(), "index.db"))
	if err := s.PutPages(t.Context(), pagesOfChunk(0)); err != nil {
		t.Fatal(err)
	}
	execOnConn(t, s.writer.conn, `INSERT INTO schema_version (version, applied_time) VALUES (99, 0)`)
	execOnConn(t, s.writer.conn, `ALTER TABLE terms_1 RENAME TO words_of_99_1`)
	for _, tenant := range []string{"acme", "fresh"} {
		page := pagesOfChunk(1)[:1]
		page[0].Tenant = tenant
		err := s.PutPages(t.Context(), page)
		if fault.KindOf(err) != fault.Busy || !strings.Contains(err.Error(), "version 99") {
			t.Errorf("PutPages of tenant %s: got %v, want a Busy fault that names the version", tenant, err)
		}
	}
}

func TestWriterWaitsWhileFileIsLocked(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "index.db")
	s, other := openAt(t, path), openAt(t, path)
	execOnConn(t, other.writer.conn, `BEGIN IMMEDIATE`)
	if err := s.PutPages(t.Context(), pagesOfChunk(0)); fault.KindOf(err) != fault.Busy ||
		fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("PutPages while another process writes on and on: got %v, want a Busy fault UNAVAILABLE", err)
	}
	wantHits(t, s, "chunk0", 0) // readers do not wait for writers
	execOnConn(t, other.writer.conn, `ROLLBACK`)
	if err := s.PutPages(t.Context(), pagesOfChunk(0)); err != nil {
		t.Errorf("PutPages afterwards: got %v, want no error", err)
	}
	wantHits(t, s, "chunk0", chunkSize)
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte(strings.Repeat("This is no database. ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	newer := filepath.Join(dir, "newer.db")
	s := openAt(t, newer)
	execOnConn(t, s.writer.conn, `INSERT INTO schema_version (version, applied_time) VALUES (99, 0)`)
	for _, url := range []string{
		"", "nope:///x", "sqlite://host/x", "sqlite:relative", "sqlite:///dir/", "sqlite:///x?mode=memory",
		"sqlite://" + text,
		"sqlite://" + text + "/below", "sqlite://" + newer, "\x00",
	} {
		if s, err := Open(t.Context(), url); err == nil {
			t.Errorf("Open(%q): got %T, want an error", url, s)
		}
	}
}

// A path may have characters that mean something in a URL.
func TestPathMayHoldURLCharacters(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "100% a?b&c=d#e ï", "in dex?x=1.db")
	s := openAt(t, path)
	if err := s.PutPages(t.Context(), pagesOfChunk(0)); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got&0o007 != 0 {
		t.Errorf("mode: got %v, want nothing for others", got)
	}
}

// What was acknowledged must survive a power cut, whatever the driver's defaults become.
func TestDatabaseSurvivesPowerCut(t *testing.T) {
	t.Parallel()
	s := openAt(t, filepath.Join(t.TempDir(), "index.db"))
	for name, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "busy_timeout": "100",
		"wal_autocheckpoint": "4096"} {
		var got string
		if err := s.writer.conn.QueryRowContext(t.Context(), `PRAGMA `+name).Scan(&got); err != nil || got != want {
			t.Errorf("%s: got %s, %v, want %s", name, got, err, want)
		}
	}
	if _, err := s.reader.Exec(`DELETE FROM tenants`); err == nil {
		t.Error("a write through the readers' pool: got no error, want one")
	}
}

// Hits beyond those that are ranked against each other follow, each once.
func TestRankedInParts(t *testing.T) {
	t.Parallel()
	s := openAt(t, filepath.Join(t.TempDir(), "index.db"))
	s.ranked = 10
	var pages []Page
	for i := range 95 {
		text := "report " + strings.Repeat("filler ", i%5)
		pages = append(pages, Page{Tenant: "acme", Job: fmt.Sprint("job", i%7), Run: 1, Number: i + 1, Text: text})
	}
	if err := s.PutPages(t.Context(), pages); err != nil {
		t.Fatal(err)
	}
	for _, limit := range []int{1, 7, 10, 11, 94, 95, 96} {
		seen := map[int]int{}
		q := Query{Tenant: "acme", Text: "report", Limit: limit}
		for {
			result, err := s.Search(t.Context(), q)
			if err != nil {
				t.Fatalf("limit %d: got error %v, want none", limit, err)
			}
			for _, h := range result.Hits {
				seen[h.Page]++
			}
			if q.Cursor = result.NextCursor; q.Cursor == "" {
				break
			}
			if len(result.Hits) != limit {
				t.Errorf("limit %d: got %d hits and a cursor, want as many as the limit", limit, len(result.Hits))
			}
		}
		for i := range pages {
			if seen[i+1] != 1 {
				t.Errorf("limit %d: page %d was found %d times, want once", limit, i+1, seen[i+1])
			}
		}
	}
	// The best of the newest come first: the last ten of job6, for pages of one call are stored by their jobs.
	result, err := s.Search(t.Context(), Query{Tenant: "acme", Text: "report", Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	for i, h := range result.Hits {
		if h.Job != "job6" || h.Page < 28 || i > 0 && h.Score > result.Hits[i-1].Score {
			t.Errorf("hit %d: got page %d of %s with score %v, want one of the newest ten, and scores that fall", i, h.Page,
				h.Job, h.Score)
		}
	}
	one, err := s.Search(t.Context(), Query{Tenant: "acme", Text: "report", Job: "job0", Limit: MaxLimit})
	if err != nil || len(one.Hits) != 14 {
		t.Errorf("hits of one job: got %d, %v, want 14", len(one.Hits), err)
	}
}

func TestFreeSQLiteCaches(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "index.db"))
	defer s.Close()
	var pages []Page
	for n := range 200 {
		pages = append(pages, pagesOfChunk(n)...)
	}
	if err := s.PutPages(t.Context(), pages); err != nil {
		t.Fatalf("put: got %v, want no error", err)
	}
	if freed := FreeSQLiteCaches(); freed < 100<<10 {
		t.Errorf("freed after writing: got %d bytes, want those of the pages written", freed)
	}
	if freed := FreeSQLiteCaches(); freed > 10<<10 {
		t.Errorf("freed once more: got %d bytes, want next to none", freed)
	}
	result, err := s.Search(t.Context(), Query{Tenant: "acme", Text: "chunk7"})
	if err != nil || len(result.Hits) != chunkSize {
		t.Errorf("search after it: got %d pages, %v, want %d", len(result.Hits), err, chunkSize)
	}
}
