package search

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/ClickHouse/clickhouse-go/v2/lib/proto"

	"inkstream.dev/pkg/fault"
)

// TestedClickHouse opens a store for the tests that stand outside the package, because searchtest, which starts
// servers, imports it.
func TestedClickHouse(t *testing.T, url string) *ClickHouse {
	t.Helper()
	s, err := OpenClickHouse(t.Context(), url)
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

// CountRows counts the rows of a table, whatever hides them.
func CountRows(t *testing.T, s *ClickHouse, table string) int {
	t.Helper()
	var n uint64
	if err := s.conn.QueryRow(context.WithoutCancel(t.Context()), "SELECT count() FROM "+table).Scan(&n); err != nil {
		t.Fatalf("count %s: got %v, want no error", table, err)
	}
	return int(n)
}

// CountInserts returns how many inserts a table without partitions was given.
func CountInserts(t *testing.T, s *ClickHouse, table string) int {
	t.Helper()
	var n int64
	if err := s.conn.QueryRow(t.Context(), `SELECT max(max_block_number) FROM system.parts
		WHERE database = currentDatabase() AND table = `+quoteString(table)).Scan(&n); err != nil {
		t.Fatalf("count inserts into %s: got %v, want no error", table, err)
	}
	return int(n)
}

// Exec runs a statement beside the Store.
func Exec(t *testing.T, s *ClickHouse, statement string) {
	t.Helper()
	if err := s.conn.Exec(t.Context(), statement); err != nil {
		t.Fatalf("%s: got %v, want no error", statement, err)
	}
}

// watchedConn is a connection that notes which batches the driver watches the context of.
type watchedConn struct {
	driver.Conn
	mu       sync.Mutex // guards what follows
	batches  int
	watching []string
}

// PrepareBatch implements driver.Conn.
func (w *watchedConn) PrepareBatch(ctx context.Context, query string,
	opts ...driver.PrepareBatchOption) (driver.Batch, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.batches++
	if ctx.Done() != nil {
		w.watching = append(w.watching, query)
	}
	return w.Conn.PrepareBatch(ctx, query, opts...)
}

// countedConn is a connection that counts what is asked.
type countedConn struct {
	driver.Conn
	queries atomic.Int32
}

// Query implements driver.Conn.
func (c *countedConn) Query(ctx context.Context, query string, args ...any) (driver.Rows, error) {
	c.queries.Add(1)
	return c.Conn.Query(ctx, query, args...)
}

// CountQueries returns how many queries f asks.
func CountQueries(s *ClickHouse, f func()) int {
	c := &countedConn{Conn: s.conn}
	s.conn = c
	defer func() { s.conn = c.Conn }()
	f()
	return int(c.queries.Load())
}

// WatchedBatches returns how many batches f sends, and those whose context the driver watches.
func WatchedBatches(s *ClickHouse, f func()) (batches int, watching []string) {
	w := &watchedConn{Conn: s.conn}
	s.conn = w
	defer func() { s.conn = w.Conn }()
	f()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.batches, w.watching
}

// firstWindowOf returns the first window of a query for two words that have so many rows.
func firstWindowOf(one, other uint64) window {
	return firstWindow(Query{}, []term{{forms: []string{"a"}, pages: one}, {forms: []string{"b"}, pages: other}})
}

// Windows follow each other without a gap, up to the last job.
func TestWindows(t *testing.T) {
	t.Parallel()
	if got := firstWindowOf(scanRows/2-1, scanRows/2); got != (window{}) {
		t.Errorf("window of few rows: got %v, want everything", got)
	}
	for _, rows := range []uint64{scanRows + 1, 10 * scanRows, 1_000 * scanRows, math.MaxUint64 / 4} {
		in, n := firstWindowOf(rows/2, rows/2+1), 0
		for ; in.to != 0; n++ {
			next := in.nextWindow()
			if next.from != in.to || next.to != 0 && uint64(next.to) <= uint64(next.from) || n > 64 {
				t.Fatalf("window after %v: got %v, want the one that begins where it ends", in, next)
			}
			in = next
		}
		if n == 0 {
			t.Errorf("window of %d rows: got everything, want a part", rows)
		}
	}
}

func TestClickHouseURL(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"clickhouse://", "clickhouse:///db", "clickhouse://u:secret@host:9000", "clickhouse://u:secret@host:9000/",
		"clickhouse://u:secret@host:9000/db?purge=1",
		"clickhouse://u:secret@host:9000/db?purge=1ms", "clickhouse://u:secret@host:9000/db?dial_timeout=secret",
		"clickhouse://u:secret@host:nope/db",
	} {
		s, err := newClickHouseServer(url)
		if err == nil {
			t.Errorf("newClickHouseServer(%q): got %v, want an error", url, s)
			continue
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("newClickHouseServer(%q): the error %v gives the password away", url, err)
		}
	}
}

// A service may start before its index.
func TestClickHouseAway(t *testing.T) {
	t.Parallel()
	s, err := OpenClickHouse(t.Context(), "clickhouse://u:secret@127.0.0.1:1/db?dial_timeout=1s")
	if err != nil {
		t.Fatalf("open without a server: got %v, want no error", err)
	}
	defer s.Close()
	_, searchErr := s.Search(t.Context(), Query{Tenant: "acme", Text: "words"})
	for name, err := range map[string]error{
		"Search": searchErr, "Ping": s.Ping(t.Context()), "DeleteJob": s.DeleteJob(t.Context(), "acme", "j"),
		"PutPages": s.PutPages(t.Context(), []Page{{Tenant: "acme", Job: "j", Number: 1}}),
	} {
		if fault.KindOf(err) != fault.Busy || fault.CodeOf(err) != fault.Unavailable ||
			strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v, want a Busy fault UNAVAILABLE without the password", name, err)
		}
	}
}

func TestFeatures(t *testing.T) {
	t.Parallel()
	for version, want := range map[[2]uint64]features{
		{18, 16}: {}, {19, 10}: {}, {19, 11}: {TTL: true}, {20, 2}: {TTL: true}, {20, 3}: {TTL: true, BloomFilter: true},
		{21, 2}: {TTL: true, BloomFilter: true}, {25, 8}: {TTL: true, BloomFilter: true, Fsync: true},
	} {
		var v driver.ServerVersion
		v.Version = proto.Version{Major: version[0], Minor: version[1]}
		if got := featuresOfVersion(v); got != want {
			t.Errorf("features of %v: got %+v, want %+v", version, got, want)
		}
	}
}

func TestVersions(t *testing.T) {
	t.Parallel()
	now := time.Now()
	later := now.Add(time.Hour)
	for _, pair := range [][2]uint64{
		{encodeVersion(1, now), encodeVersion(1, now.Add(time.Millisecond))},
		{encodeVersion(1, later), encodeVersion(2, now)}, {encodeVersion(0, later), encodeVersion(1, now)},
		{encodeVersion(maxRun, now), encodeVersion(maxRun+5, later)},
	} {
		if pair[0] >= pair[1] {
			t.Errorf("versions: got %d, %d, want them to rise", pair[0], pair[1])
		}
	}
	for job, want := range map[string]uint32{"01KAJ0Q5T7ZZZZZZZZZZZZZZZZ": 202511, "j": 0, "": 0,
		"00000000000000000000000000": 0, strings.Repeat("Z", 26): 0} {
		if got := monthOfJob(job); got != want {
			t.Errorf("month of %q: got %d, want %d", job, got, want)
		}
	}
}

func TestSplitWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "Hello, World!": "hello world", "H₂O №5 ½": "h₂o 5 ½",
		"re\u0301sume\u0301 Müller GRÖSSE": "resume muller grosse", "Ёлка Й": "ёлка й", "well-known 3.5": "well known 3 5",
		"\u0301": "", "a\u0301\u0301": "a", "合同 编号": "合 同 编 号", "PDF文書を2通": "pdf 文 書 を 2 通",
		"ｶﾞｰﾄﾞ ＡＢｃ１": "ガ ー ド abc1", "か\u3099": "が", "⼀つの葛\U000e0101": "一 つ の 葛",
		"\u1112\u1161\u11ab국은": "한 국 은", "ที่นี่": "ที่ นี่", "हिन्दी में": "हिन्दी में",
		"㌔、・": "キロ", "\u11ab\u3099ﾞ": "\u11ab\u3099\u3099", "İx": "ix",
		"Straße STRASSE ẞ": "strasse strasse ss", "ΟΔΌΣ οδός": "οδόσ οδόσ", "ﬁn": "fin", "㈱ ㎡": "株 m2",
		strings.Repeat("é", 100): strings.Repeat("e", 100), strings.Repeat("я", 100): strings.Repeat("я", 64),
	} {
		var got []string
		for span, w := range splitWords(text) {
			got = append(got, w)
			if span.Start >= span.End || span.End > len(text) {
				t.Errorf("words of %q: got span %v, want a piece of it", text, span)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("words of %q: got %q, want %q", text, got, want)
		}
	}
}

func TestInflections(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"invoice": "invoice invoiced invoices invoicing", "tax": "tax", "2024": "2024", "müller": "müller",
		"address":   "address addressed addresses addressing",
		"companies": "companies companied company companying", "planned": "planned plan plans planning", "status": "status",
	} {
		got := strings.Join(inflections(word), " ")
		for w := range strings.FieldsSeq(want) {
			if !strings.Contains(" "+got+" ", " "+w+" ") {
				t.Errorf("forms of %s: got %s, want %s among them", word, got, w)
			}
		}
		if !strings.HasPrefix(got, word) || len(strings.Fields(got)) > 16 {
			t.Errorf("forms of %s: got %s, want a few, the word itself first", word, got)
		}
	}
}

func TestAfterPrefix(t *testing.T) {
	t.Parallel()
	for prefix, want := range map[string]string{"ab": "ac", "a\xff": "b", "\xff": "", "я": "\xd1\x90"} {
		if got := afterPrefix(prefix); got != want {
			t.Errorf("afterPrefix(%q): got %q, want %q", prefix, got, want)
		}
	}
}

func BenchmarkPostings(b *testing.B) {
	page := Page{Tenant: "acme", Job: "j", Number: 1,
		Text: strings.Repeat(fmt.Sprint("some words of a page that are quite short ", 7), 60)}
	for b.Loop() {
		appendPostings(nil, page, 1)
	}
}
