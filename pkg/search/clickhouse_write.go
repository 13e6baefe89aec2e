package search

import (
	"cmp"
	"context"
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"inkstream.dev/pkg/fault"
)

const (
	// maxPage is the highest page number that fits the table's column.
	maxPage = math.MaxUint32
	// maxRun is where versions stop telling runs apart.
	maxRun = 1<<15 - 1
	// chRowBatch is how many rows of words go in one block.
	chRowBatch = 900_000
)

var (
	// neverExpires is the expiry of what stays: the end of the server's time.
	neverExpires = time.Unix(math.MaxUint32, 0)
	// versionEpoch is when versions begin.
	versionEpoch = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
)

// pageKey is what tells pages apart.
type pageKey struct {
	tenant, job string
	number      int
}

// encodeVersion puts the run of a row above the time of its writing, so that a straggler of an earlier run never
// counts. 48 bits of ten microseconds are 89 years.
func encodeVersion(run int, t time.Time) uint64 {
	return uint64(min(max(run, 0), maxRun))<<48 | uint64(max(0, t.Sub(versionEpoch)/(10*time.Microsecond)))
}

// hashJobID is a job's number in the tables: shorter to read, and to compare, than its name. Names are compared as
// well where it matters.
func hashJobID(job string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(job))
	// FNV's low bits are its best, and the order of rows is by the high ones.
	v := h.Sum64()
	return v ^ v<<32
}

// monthOfJob returns the month in which a job was made, as 202611, as its name tells it. All rows of a job must lie
// in one partition for the server to find those that replace each other; a name that tells nothing is of month 0.
func monthOfJob(job string) uint32 {
	id, err := ulid.ParseStrict(job)
	if err != nil {
		return 0
	}
	t := ulid.Time(id.Time()).UTC()
	if t.Year() < 2020 || t.Year() > 2100 {
		return 0
	}
	return uint32(t.Year()*100 + int(t.Month()))
}

func expiryTime(t time.Time) time.Time {
	if t.IsZero() || t.After(neverExpires) {
		return neverExpires
	}
	return t
}

// clickhousePages is the table of pages, and that of their words.
type clickhousePages struct {
	*clickhouseServer
	batcher *insertBatcher[Page]
}

func newClickHousePages(server *clickhouseServer) *clickhousePages {
	s := &clickhousePages{clickhouseServer: server}
	s.batcher = newInsertBatcher(s.storePages, func(p Page) int { return len(p.Text) },
		func(p Page) bool { return p.CanWait })
	return s
}

// PutPages stores pages together with those of other callers, and returns when they are stored.
func (s *clickhousePages) PutPages(ctx context.Context, pages []Page) error {
	for _, p := range pages {
		if err := checkTenantAndJob(p.Tenant, p.Job); err != nil {
			return err
		}
		if p.Number < 1 || p.Number > maxPage {
			return fault.New(fault.InvalidArgument, "page number %d, want at least 1", p.Number)
		}
	}
	if len(pages) == 0 {
		return nil
	}
	if err := s.awaitSchema(ctx); err != nil {
		return err
	}
	clean := slices.Clone(pages)
	for i := range clean {
		clean[i].Text = cleanText(clean[i].Text)
	}
	return classifyServerError(ctx, "put pages", s.batcher.storeItems(ctx, clean))
}

// storedRow is what the index has of a page.
type storedRow struct {
	version uint64
	run     int
	deleted bool
	hash    uint64
}

// hashPageContent tells whether a page is stored as it is, with the words that it is indexed by now.
func hashPageContent(p Page) uint64 {
	return hashParts([]string{strconv.Itoa(p.Run), p.Language, prepareFTSText(p.Text)})
}

// storePages writes what is new among the pages: first the words, which lead to nothing yet, then the pages. A page
// that is there has its words, and one that is not is written again by a caller who got an error.
func (s *clickhousePages) storePages(ctx context.Context, pages []Page) error {
	latest := map[pageKey]Page{}
	for _, p := range pages { // of two pages with the same number the later counts, unless it is of an earlier run
		key := pageKey{p.Tenant, p.Job, p.Number}
		if old, ok := latest[key]; !ok || old.Run <= p.Run {
			latest[key] = p
		}
	}
	before, err := s.loadStoredRows(ctx, latest)
	if err != nil {
		return err
	}
	now := time.Now()
	type row struct {
		Page
		version uint64
	}
	var rows []row
	for key, p := range latest {
		version := encodeVersion(p.Run, now)
		if old, ok := before[key]; ok {
			if !old.deleted && (old.run > p.Run || old.hash == hashPageContent(p)) {
				continue
			}
			version = max(version, old.version+1)
		}
		rows = append(rows, row{p, version})
	}
	if len(rows) == 0 {
		return nil
	}
	// In the order of the table, which spares the server the sorting.
	slices.SortFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(hashJobID(a.Job), hashJobID(b.Job)),
			cmp.Compare(a.Number, b.Number))
	})
	var postings []posting
	for i, p := range rows {
		postings = appendPostings(postings, p.Page, p.version)
		// A block ends between pages of different callers only if it must: a million rows are 5,000 pages.
		if len(postings) >= chRowBatch || i == len(rows)-1 {
			if err := s.insertPostings(ctx, postings); err != nil {
				return err
			}
			postings = postings[:0]
		}
	}
	return s.insertRows(ctx, `pages (month, tenant, jid, page, job, version, run, deleted, expire, hash, language, text)`,
		len(rows), func(i int) []any {
			p := rows[i]
			return []any{
				monthOfJob(p.Job), p.Tenant, hashJobID(p.Job), uint32(p.Number), p.Job, p.version, uint32(p.Run), uint8(0),
				expiryTime(p.ExpireTime), hashPageContent(p.Page),
				p.Language, p.Text,
			}
		})
}

// posting says that a page has a word.
type posting struct {
	tenant, word, language string
	month                  uint32
	jid                    uint64
	page                   uint32
	version                uint64
	weight                 uint32
	positions              uint64
	expire                 time.Time
}

// appendPostings adds the words of a page.
func appendPostings(to []posting, p Page, version uint64) []posting {
	type occurrence struct {
		count  int
		places uint64
	}
	found, total := map[string]occurrence{}, 0
	for _, w := range splitWords(p.Text) {
		o := found[w]
		found[w] = occurrence{count: o.count + 1, places: o.places | 1<<(total%64)}
		total++
	}
	base := posting{
		tenant: p.Tenant, language: p.Language, month: monthOfJob(p.Job), jid: hashJobID(p.Job), page: uint32(p.Number),
		version: version,
		expire:  expiryTime(p.ExpireTime),
	}
	for w, o := range found {
		base.word, base.weight, base.positions = strings.Clone(w), computeWeight(o.count, total), o.places
		to = append(to, base)
	}
	return to
}

func (s *clickhousePages) insertPostings(ctx context.Context, rows []posting) error {
	if len(rows) == 0 {
		return nil
	}
	slices.SortFunc(rows, func(a, b posting) int {
		return cmp.Or(strings.Compare(a.tenant, b.tenant), strings.Compare(a.word, b.word), cmp.Compare(a.jid, b.jid),
			cmp.Compare(a.page, b.page))
	})
	batch, err := s.prepareBatch(ctx, `words (month, tenant, word, jid, page, version, weight, expire, language, places)`)
	if err != nil {
		return err
	}
	defer batch.Close() //nolint:errcheck // after Send there is nothing left to fail; before, its error is that of Append
	month, tenant, word := make([]uint32, len(rows)), make([]string, len(rows)), make([]string, len(rows))
	jid, page, version := make([]uint64, len(rows)), make([]uint32, len(rows)), make([]uint64, len(rows))
	weight, expire, language := make([]uint32, len(rows)), make([]time.Time, len(rows)), make([]string, len(rows))
	places := make([]uint64, len(rows))
	for i, r := range rows {
		month[i], tenant[i], word[i], jid[i], page[i] = r.month, r.tenant, r.word, r.jid, r.page
		version[i], weight[i], expire[i], language[i], places[i] = r.version, r.weight, r.expire, r.language, r.positions
	}
	// By column, because a row at a time costs an allocation a cell.
	for i, column := range []any{month, tenant, word, jid, page, version, weight, expire, language, places} {
		if err := batch.Column(i).Append(column); err != nil {
			return err
		}
	}
	return batch.Send()
}

// loadStoredRows returns what the index has of pages. As a rule it has nothing.
func (s *clickhousePages) loadStoredRows(ctx context.Context, pages map[pageKey]Page) (map[pageKey]storedRow, error) {
	type jobKey struct{ tenant, job string }
	jobs := map[jobKey]bool{}
	for key := range pages {
		jobs[jobKey{key.tenant, key.job}] = true
	}
	found := map[pageKey]storedRow{}
	var tenants []string
	var ids, numbers []uint64
	for key := range jobs {
		tenants, ids = append(tenants, key.tenant), append(ids, hashJobID(key.job))
	}
	for key := range pages {
		numbers = append(numbers, uint64(key.number))
	}
	rows, err := s.conn.Query(ctx, `SELECT tenant, job, page, version, run, deleted, hash FROM pages
		WHERE tenant IN `+quoteStrings(tenants)+` AND jid IN `+joinNumbers(ids)+` AND page IN `+joinNumbers(numbers))
	if err != nil {
		return nil, err
	}
	defer closeRows(rows)
	for rows.Next() {
		var key pageKey
		var row storedRow
		var page, run uint32
		var deleted uint8
		if err := rows.Scan(&key.tenant, &key.job, &page, &row.version, &run, &deleted, &row.hash); err != nil {
			return nil, err
		}
		key.number, row.run, row.deleted = int(page), int(run), deleted == 1
		if old, ok := found[key]; !ok || old.version < row.version {
			found[key] = row
		}
	}
	return found, rows.Err()
}
