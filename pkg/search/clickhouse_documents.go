package search

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"inkstream.dev/pkg/fault"
)

// documentColumns are those of documents that are written and read.
const documentColumns = `job, filename, sha256, page_count, state, create_time, end_time, label_keys, label_values`

// latestDocuments writes a subquery of a tenant's documents, each in its latest version, which may be that it is
// deleted.
func latestDocuments(tenant, and string) string {
	return `(SELECT jid, version, deleted, folded, ` + documentColumns + ` FROM documents_by_time WHERE tenant = ` +
		quoteString(tenant) + and +
		` ORDER BY version DESC LIMIT 1 BY jid, job)`
}

// clickhouseConditions writes the filter as conditions, each after an AND.
func (f *Filter) clickhouseConditions() string {
	var b strings.Builder
	if f.Filename != "" {
		b.WriteString(" AND position(folded, " + quoteString(foldText(cleanText(f.Filename))) + ") > 0")
	}
	for _, name := range slices.Sorted(maps.Keys(f.Labels)) {
		b.WriteString(" AND arrayExists((k, v) -> k = " + quoteString(name) + " AND v = " + quoteString(f.Labels[name]) +
			", label_keys, label_values)")
	}
	for _, name := range f.LabelNames {
		b.WriteString(" AND has(label_keys, " + quoteString(name) + ")")
	}
	var c conditions
	f.addCommonConditions(&c, "")
	for _, arg := range c.args { // numbers all
		c.sql = strings.Replace(c.sql, "?", fmt.Sprint(arg), 1)
	}
	return b.String() + c.sql
}

// clickhouseDocuments is the table of documents.
type clickhouseDocuments struct {
	*clickhouseServer
	batcher     *insertBatcher[Document]
	listReaches sync.Map // from a tenant to its listReach
}

func newClickHouseDocuments(server *clickhouseServer) *clickhouseDocuments {
	s := &clickhouseDocuments{clickhouseServer: server}
	s.batcher = newInsertBatcher(s.storeDocuments, func(Document) int { return 0 },
		func(Document) bool { return false })
	return s
}

// PutDocument stores a document as a new version.
func (s *clickhouseDocuments) PutDocument(ctx context.Context, doc Document) error {
	return s.PutDocuments(ctx, []Document{doc})
}

// PutDocuments stores documents as new versions, as a rule in one insert.
func (s *clickhouseDocuments) PutDocuments(ctx context.Context, docs []Document) error {
	for _, doc := range docs {
		if err := checkTenantAndJob(doc.Tenant, doc.Job); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("put documents: %w", err)
	}
	if err := s.awaitSchema(ctx); err != nil {
		return err
	}
	for part := range slices.Chunk(slices.Clone(docs), maxBatchPages) {
		if err := s.batcher.storeItems(ctx, part); err != nil {
			return classifyServerError(ctx, "put documents", err)
		}
	}
	return nil
}

// RestAfter returns twenty times as long as the write took, for three seconds at most: the server merges what an insert
// of few documents brings with up to 2 MB that it merged before.
func (s *clickhouseDocuments) RestAfter(took time.Duration) time.Duration {
	return min(20*took, 3*time.Second)
}

// documentKey is what tells documents apart.
type documentKey struct{ tenant, job string }

// storeDocuments stores documents as new versions; of several of one job the last. One that is stored as it is, as by
// another process that follows the records, costs no row.
func (s *clickhouseDocuments) storeDocuments(ctx context.Context, docs []Document) error {
	latest := map[documentKey]Document{}
	var tenants []string
	var ids []uint64
	for _, d := range docs {
		latest[documentKey{d.Tenant, d.Job}] = d
	}
	for key := range latest {
		tenants, ids = append(tenants, key.tenant), append(ids, hashJobID(key.job))
	}
	stored, err := s.loadStoredDocuments(ctx, tenants, ids)
	if err != nil {
		return err
	}
	hashes := map[documentKey]uint64{}
	same := map[documentKey]storedDocument{}
	for key, d := range latest {
		if hashes[key], err = hashDocument(d); err != nil {
			return err
		}
		if before := stored[key]; before.hash == hashes[key] {
			same[key] = before
		}
	}
	listed, err := s.findListed(ctx, same)
	if err != nil {
		return err
	}
	now := encodeVersion(0, time.Now())
	var versions []documentVersion
	for key, d := range latest {
		before := stored[key]
		if listed[key] {
			continue
		}
		version := max(now, before.version+1)
		if before.version > 0 && before.createTime != timeToMicros(d.CreateTime) {
			versions = append(versions, before.tombstone(key, version))
			version++
		}
		versions = append(versions, documentVersion{Document: d, version: version, hash: hashes[key]})
	}
	if len(versions) == 0 {
		return nil
	}
	return s.insertDocuments(ctx, versions)
}

// findListed returns which of the documents are in lists as well: an insert can break off between the two tables.
func (s *clickhouseDocuments) findListed(ctx context.Context,
	docs map[documentKey]storedDocument) (map[documentKey]bool, error) {
	if len(docs) == 0 {
		return nil, nil
	}
	var tenants []string
	var ids, times []uint64
	for key, doc := range docs {
		tenants, ids, times = append(tenants, key.tenant), append(ids, hashJobID(key.job)), append(times, uint64(doc.createTime))
	}
	rows, err := s.conn.Query(ctx, `SELECT tenant, job, max(version) FROM documents_by_time
		WHERE tenant IN `+quoteStrings(tenants)+` AND create_time IN `+joinNumbers(times)+` AND jid IN `+joinNumbers(ids)+`
		GROUP BY tenant, job`)
	if err != nil {
		return nil, err
	}
	defer closeRows(rows)
	listed := map[documentKey]bool{}
	for rows.Next() {
		var key documentKey
		var version uint64
		if err := rows.Scan(&key.tenant, &key.job, &version); err != nil {
			return nil, err
		}
		listed[key] = docs[key].version == version
	}
	return listed, rows.Err()
}

// hashDocument tells whether a document is stored as it is. It is never 0, which rows have that do not say.
func hashDocument(d Document) (uint64, error) {
	encoded, err := json.Marshal(d)
	if err != nil {
		return 0, fmt.Errorf("put documents: %w", err)
	}
	return max(hashParts([]string{string(encoded)}), 1), nil
}

// storedDocument is what the table has of a document: its latest version, the hash of that, and where it stands in the
// order of lists, in microseconds since 1970.
type storedDocument struct {
	version, hash uint64
	createTime    int64
}

// tombstone returns the row that hides the document at its place in lists.
func (d storedDocument) tombstone(key documentKey, version uint64) documentVersion {
	doc := Document{Tenant: key.tenant, Job: key.job, CreateTime: timeFromMicros(d.createTime)}
	return documentVersion{Document: doc, version: version, deleted: true}
}

// loadStoredDocuments returns what the table has of jobs, given by their tenants and numbers.
func (s *clickhouseDocuments) loadStoredDocuments(ctx context.Context, tenants []string,
	ids []uint64) (map[documentKey]storedDocument, error) {
	rows, err := s.conn.Query(ctx, `SELECT tenant, job, max(version), argMax(create_time, version), argMax(hash, version)
		FROM documents WHERE tenant IN `+quoteStrings(tenants)+` AND jid IN `+joinNumbers(ids)+` GROUP BY tenant, job`)
	if err != nil {
		return nil, err
	}
	defer closeRows(rows)
	stored := map[documentKey]storedDocument{}
	for rows.Next() {
		var key documentKey
		var doc storedDocument
		if err := rows.Scan(&key.tenant, &key.job, &doc.version, &doc.createTime, &doc.hash); err != nil {
			return nil, err
		}
		stored[key] = doc
	}
	return stored, rows.Err()
}

// documentVersion is a row of documents.
type documentVersion struct {
	Document
	version, hash uint64
	deleted       bool
}

func (s *clickhouseDocuments) insertDocuments(ctx context.Context, docs []documentVersion) error {
	const columns = `tenant, jid, version, hash, deleted, expire, folded, lane, stages, stage_ends, stage_units, stage_busy, stage_elapsed, ` + documentColumns
	return s.insertRows(ctx, `documents (`+columns+`)`, len(docs), func(i int) []any {
		doc := docs[i]
		name := cleanText(doc.Filename)
		keys, values := mapToArrays(doc.Labels)
		stages, n := slices.Sorted(maps.Keys(doc.Stages)), len(doc.Stages)
		ends, units, busy, elapsed := make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
		for i, name := range stages {
			r := doc.Stages[name]
			ends[i], units[i], busy[i], elapsed[i] = timeToMicros(r.End), int64(r.Units), r.Busy.Microseconds(),
				r.End.Sub(r.Start).Microseconds()
		}
		return []any{
			doc.Tenant, hashJobID(doc.Job), doc.version, doc.hash, uint8(boolToUint(doc.deleted)), expiryTime(doc.ExpireTime),
			foldText(name), doc.Lane, stages, ends, units, busy, elapsed,
			doc.Job, name, doc.SHA256, uint32(max(0, doc.PageCount)), doc.State, timeToMicros(doc.CreateTime),
			timeToMicros(doc.EndTime), keys, values,
		}
	})
}

// mapToArrays returns a map as the tables have it: its keys and, in the same order, their values.
func mapToArrays(m map[string]string) (keys, values []string) {
	keys = slices.Sorted(maps.Keys(m))
	values = make([]string, len(keys))
	for i, k := range keys {
		values[i] = m[k]
	}
	return keys, values
}

// arraysToMap is the reverse of arrays; nil for none.
func arraysToMap(keys, values []string) map[string]string {
	if len(keys) == 0 {
		return nil
	}
	m := make(map[string]string, len(keys))
	for i, k := range keys {
		m[k] = values[i]
	}
	return m
}

// fillDocumentNames puts into hits what the documents are called, and when they came.
func (s *clickhouseDocuments) fillDocumentNames(ctx context.Context, tenant string, hits []Hit) error {
	if len(hits) == 0 {
		return nil
	}
	ids := make([]uint64, len(hits))
	for i, h := range hits {
		ids[i] = hashJobID(h.Job)
	}
	slices.Sort(ids)
	rows, err := s.conn.Query(ctx, `SELECT job, argMax(filename, version), argMax(create_time, version) FROM documents
		PREWHERE tenant = `+quoteString(tenant)+` AND jid IN `+joinNumbers(slices.Compact(ids))+`
		GROUP BY job HAVING argMax(deleted, version) = 0`)
	if err != nil {
		return err
	}
	defer closeRows(rows)
	type named struct {
		filename string
		created  int64
	}
	names := map[string]named{}
	for rows.Next() {
		var job string
		var of named
		if err := rows.Scan(&job, &of.filename, &of.created); err != nil {
			return err
		}
		names[job] = of
	}
	for i := range hits {
		of := names[hits[i].Job]
		hits[i].Filename, hits[i].CreateTime = of.filename, timeFromMicros(of.created)
	}
	return rows.Err()
}

// ListJobs lists documents.
func (s *clickhouseDocuments) ListJobs(ctx context.Context, q JobQuery) (JobPage, error) {
	after, err := q.prepareQuery()
	if err != nil {
		return JobPage{}, err
	}
	if err := ctx.Err(); err != nil {
		return JobPage{}, fmt.Errorf("list jobs: %w", err)
	}
	if err := s.awaitSchema(ctx); err != nil {
		return JobPage{}, err
	}
	page, err := s.queryJobs(ctx, q, after)
	return page, classifyServerError(ctx, "list jobs", err)
}

// listWindows are how many rows of documents_by_time a list looks at first, and then, where its filter leaves too few,
// for each document that it is to return: one that is under way has a few rows. After them it looks at all.
var listWindows = [...]int{4, 128}

const (
	// firstListSpan is how far back from its start the first list of a tenant looks for the rows of its first window.
	firstListSpan = time.Minute
	// listSpanGrowth is what the span is multiplied by where it has too few rows.
	listSpanGrowth = 32
	// maxListSpan is the span beyond which a list looks at all times. It may grow once more, and is a Duration still.
	maxListSpan = 5 * 365 * 24 * time.Hour
	_           = maxListSpan * listSpanGrowth
)

// queryJobs lists documents. To sort 100,000 documents for the newest 50 takes 8 times as long as to find out from one
// column how new these are at least, and to sort only what is as new (BenchmarkLists). So that is done first.
func (s *clickhouseDocuments) queryJobs(ctx context.Context, q JobQuery, after *jobPosition) (JobPage, error) {
	for _, window := range listWindows {
		within, err := s.conditionOfWindow(ctx, q, after, window)
		if err != nil {
			return JobPage{}, err
		}
		if within == "" {
			break
		}
		docs, err := s.queryJobsWithin(ctx, q, after, within)
		if err != nil {
			return JobPage{}, err
		}
		if len(docs) > q.Limit {
			return newJobPage(q, docs), nil
		}
	}
	docs, err := s.queryJobsWithin(ctx, q, after, "")
	if err != nil {
		return JobPage{}, err
	}
	return newJobPage(q, docs), nil
}

// conditionOfWindow returns the condition for the documents that come first in a list, by so many rows for each that
// the list is to return, empty where there are no more. Of a list of the newest it looks at a span of time that is
// likely to have the rows, which the table's key leads to, and at more only where that has too few.
func (s *clickhouseDocuments) conditionOfWindow(ctx context.Context, q JobQuery, after *jobPosition,
	window int) (string, error) {
	rows := window * (q.Limit + 1)
	if q.OldestFirst {
		and := ""
		if after != nil {
			and = fmt.Sprintf(" AND create_time >= %d", after.created)
		}
		last, err := s.timeOfRow(ctx, q.Tenant, and+` ORDER BY create_time`, rows)
		if err != nil || last == nil {
			return "", err
		}
		return fmt.Sprintf(" AND create_time <= %d%s", *last, and), nil
	}
	and, start := "", time.Now()
	if after != nil {
		and, start = fmt.Sprintf(" AND create_time <= %d", after.created), timeFromMicros(after.created)
	}
	reach, span := s.loadListReach(q.Tenant), maxListSpan // the larger window is as a rule not within reach
	if window == listWindows[0] {
		span = reach.spanFrom(start, after != nil)
	}
	for ; ; span *= listSpanGrowth {
		since := ""
		if span < maxListSpan {
			since = fmt.Sprintf(" AND create_time >= %d", timeToMicros(start.Add(-span)))
		}
		last, err := s.timeOfRow(ctx, q.Tenant, and+since+` ORDER BY create_time DESC`, rows)
		if err != nil {
			return "", err
		}
		if last != nil {
			if window == listWindows[0] {
				s.listReaches.Store(q.Tenant, reach.extendedTo(timeFromMicros(*last), start, after != nil))
			}
			return fmt.Sprintf(" AND create_time >= %d%s", *last, and), nil
		}
		if since == "" {
			return "", nil
		}
	}
}

// listReach is how far back the first windows of a tenant's last lists reached: that of the newest documents to a
// time, for more will have come since, and those that go on after a document over a span.
type listReach struct {
	newest time.Time
	span   time.Duration
}

func (s *clickhouseDocuments) loadListReach(tenant string) listReach {
	if known, ok := s.listReaches.Load(tenant); ok {
		return known.(listReach)
	}
	return listReach{}
}

// spanFrom returns how far back from its start a list finds the rows of its first window, as far as is known.
func (r listReach) spanFrom(start time.Time, goesOn bool) time.Duration {
	if !goesOn && !r.newest.IsZero() {
		return max(time.Second, start.Sub(r.newest)+time.Microsecond)
	}
	return max(firstListSpan, r.span)
}

// extendedTo returns the reach after a list that began at a start reached to a time.
func (r listReach) extendedTo(last, start time.Time, goesOn bool) listReach {
	if goesOn {
		r.span = 2 * min(start.Sub(last), maxListSpan)
	} else {
		r.newest = last
	}
	return r
}

// timeOfRow returns when the document of a row was made, of which so many are before it in an order, in microseconds
// since 1970; nil if there are not as many.
func (s *clickhouseDocuments) timeOfRow(ctx context.Context, tenant, andOrder string, before int) (*int64, error) {
	var created int64
	err := s.conn.QueryRow(ctx, `SELECT create_time FROM documents_by_time WHERE deleted = 0 AND tenant = `+
		quoteString(tenant)+andOrder+` LIMIT `+strconv.Itoa(before)+`, 1`).Scan(&created)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return &created, err
}

// queryJobsWithin returns the documents of a list that meet a condition of their time, one more than the list's limit.
func (s *clickhouseDocuments) queryJobsWithin(ctx context.Context, q JobQuery, after *jobPosition,
	within string) ([]Document, error) {
	matches := q.Filter.clickhouseConditions()
	if len(q.States) > 0 {
		matches += " AND state IN " + quoteStrings(q.States)
	}
	direction, beyond := " DESC", "<"
	if q.OldestFirst {
		direction, beyond = "", ">"
	}
	where := " WHERE deleted = 0" + matches
	if after != nil {
		where += fmt.Sprintf(" AND (create_time %s %d OR (create_time = %d AND job %s %s))", beyond, after.created,
			after.created, beyond, quoteString(after.job))
	}
	if within == "" && matches != "" { // to sort the versions of all takes 10 times as long as to find those that ever matched
		within = ` AND jid IN (SELECT jid FROM documents_by_time WHERE tenant = ` + quoteString(q.Tenant) + matches + `)`
	}
	rows, err := s.conn.Query(ctx, `SELECT `+documentColumns+` FROM `+latestDocuments(q.Tenant, within)+where+
		` ORDER BY create_time`+direction+`, job`+direction+` LIMIT `+strconv.Itoa(q.Limit+1))
	if err != nil {
		return nil, err
	}
	defer closeRows(rows)
	var docs []Document
	for rows.Next() {
		doc := Document{Tenant: q.Tenant}
		var pages uint32
		var created, ended int64
		var keys, values []string
		if err := rows.Scan(&doc.Job, &doc.Filename, &doc.SHA256, &pages, &doc.State, &created, &ended, &keys,
			&values); err != nil {
			return nil, err
		}
		doc.PageCount, doc.CreateTime, doc.EndTime = int(pages), timeFromMicros(created), timeFromMicros(ended)
		doc.Labels = arraysToMap(keys, values)
		docs = append(docs, doc)
	}
	return docs, rows.Err()
}

// DeleteJob hides a job's rows; when it returns, no query finds them. The purger takes them off the disk.
func (s *ClickHouse) DeleteJob(ctx context.Context, tenant, job string) error {
	if err := checkTenantAndJob(tenant, job); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("delete job: %w", err)
	}
	if err := s.awaitSchema(ctx); err != nil {
		return err
	}
	return classifyServerError(ctx, "delete job", s.hideJob(ctx, tenant, job))
}

func (s *ClickHouse) hideJob(ctx context.Context, tenant, job string) error {
	if err := s.hideEvents(ctx, tenant, job); err != nil {
		return err
	}
	key := documentKey{tenant, job}
	stored, err := s.loadStoredDocuments(ctx, []string{tenant}, []uint64{hashJobID(job)})
	if err != nil {
		return err
	}
	document := stored[key]
	pages, err := s.loadPageVersions(ctx, tenant, job)
	if err != nil {
		return err
	}
	if document.version == 0 && len(pages) == 0 {
		return nil
	}
	now := time.Now()
	r := removal{tenant: tenant, job: job, jid: hashJobID(job), month: monthOfJob(job), version: encodeVersion(0, now),
		removed: now}
	for i := range pages {
		pages[i].version = max(pages[i].version+1, encodeVersion(pages[i].run, now))
		r.version = max(r.version, pages[i].version)
	}
	if document.version > 0 {
		r.document = max(document.version+1, encodeVersion(0, now))
	}
	// First what leads to the purge, then what hides: a caller who got no answer calls again.
	err = s.insertRows(ctx, `removals (`+removalColumns+`)`, 1, func(int) []any { return r.columnValues(0) })
	if err != nil {
		return err
	}
	if document.version > 0 {
		if err := s.insertDocuments(ctx, []documentVersion{document.tombstone(key, r.document)}); err != nil {
			return err
		}
	}
	if len(pages) == 0 {
		return nil
	}
	return s.insertRows(ctx, `pages (month, tenant, jid, page, job, version, run, deleted, expire, hash, language, text)`,
		len(pages), func(i int) []any {
			p := pages[i]
			return []any{r.month, tenant, r.jid, p.page, job, p.version, uint32(p.run), uint8(1), neverExpires, uint64(0), "",
				""}
		})
}

type pageVersion struct {
	page    uint32
	version uint64
	run     int
}

// loadPageVersions returns a job's pages that are not deleted.
func (s *clickhousePages) loadPageVersions(ctx context.Context, tenant, job string) ([]pageVersion, error) {
	rows, err := s.conn.Query(ctx, `SELECT page, max(version), argMax(run, version) FROM pages WHERE tenant = `+
		quoteString(tenant)+
		` AND jid = `+strconv.FormatUint(hashJobID(job), 10)+` AND job = `+quoteString(job)+
		` GROUP BY page HAVING argMax(deleted, version) = 0`)
	if err != nil {
		return nil, err
	}
	defer closeRows(rows)
	var out []pageVersion
	for rows.Next() {
		var p pageVersion
		var run uint32
		if err := rows.Scan(&p.page, &p.version, &run); err != nil {
			return nil, err
		}
		if p.page < 1 {
			return nil, fault.New(fault.Internal, "the index has a page 0")
		}
		p.run = int(run)
		out = append(out, p)
	}
	return out, rows.Err()
}
