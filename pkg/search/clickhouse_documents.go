package search

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"inkstream.dev/pkg/fault"
)

// documentColumns are those of documents that are written and read.
const documentColumns = `job, filename, sha256, page_count, state, create_time, end_time, label_keys, label_values`

// latestDocuments writes a subquery of a tenant's documents, each in its latest version, which may be that it is deleted.
func latestDocuments(tenant, and string) string {
	return `(SELECT jid, version, deleted, folded, ` + documentColumns + ` FROM documents WHERE tenant = ` + str(tenant) + and +
		` ORDER BY version DESC LIMIT 1 BY jid, job)`
}

// clickhouse writes the filter as conditions, each after an AND.
func (f *Filter) clickhouse() string {
	var b strings.Builder
	if f.Filename != "" {
		b.WriteString(" AND position(folded, " + str(foldText(cleanText(f.Filename))) + ") > 0")
	}
	for _, name := range slices.Sorted(maps.Keys(f.Labels)) {
		b.WriteString(" AND arrayExists((k, v) -> k = " + str(name) + " AND v = " + str(f.Labels[name]) + ", label_keys, label_values)")
	}
	for _, name := range f.LabelNames {
		b.WriteString(" AND has(label_keys, " + str(name) + ")")
	}
	var c conditions
	f.bounds(&c, "")
	for _, arg := range c.args { // numbers all
		c.sql = strings.Replace(c.sql, "?", fmt.Sprint(arg), 1)
	}
	return b.String() + c.sql
}

// PutDocument stores a document as a new version.
func (s *ClickHouse) PutDocument(ctx context.Context, doc Document) error {
	if err := checkIDs(doc.Tenant, doc.Job); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("put document: %w", err)
	}
	if err := s.await(ctx); err != nil {
		return err
	}
	return chClassify(ctx, "put document", s.docs.put(ctx, []Document{doc}))
}

// documentKey is what tells documents apart.
type documentKey struct{ tenant, job string }

// storeDocuments stores documents as new versions; of several of one job the last.
func (s *ClickHouse) storeDocuments(ctx context.Context, docs []Document) error {
	latest := map[documentKey]Document{}
	var tenants []string
	var ids []uint64
	for _, d := range docs {
		latest[documentKey{d.Tenant, d.Job}] = d
	}
	for key := range latest {
		tenants, ids = append(tenants, key.tenant), append(ids, jobID(key.job))
	}
	rows, err := s.conn.Query(ctx, `SELECT tenant, job, max(version) FROM documents WHERE tenant IN `+strs(tenants)+` AND jid IN `+nums(ids)+
		` GROUP BY tenant, job`)
	if err != nil {
		return err
	}
	defer end(rows)
	before := map[documentKey]uint64{}
	for rows.Next() {
		var key documentKey
		var version uint64
		if err := rows.Scan(&key.tenant, &key.job, &version); err != nil {
			return err
		}
		before[key] = version
	}
	if err := rows.Err(); err != nil {
		return err
	}
	now := versionOf(0, time.Now())
	var versions []documentVersion
	for key, d := range latest {
		versions = append(versions, documentVersion{Document: d, version: max(now, before[key]+1)})
	}
	return s.putDocuments(ctx, versions)
}

// documentVersion is a row of documents.
type documentVersion struct {
	Document
	version uint64
	deleted bool
}

func (s *ClickHouse) putDocuments(ctx context.Context, docs []documentVersion) error {
	const columns = `tenant, jid, version, deleted, expire, folded, lane, stages, stage_ends, stage_units, stage_busy, stage_elapsed, ` + documentColumns
	return s.insert(ctx, `documents (`+columns+`)`, len(docs), func(i int) []any {
		doc := docs[i]
		name := cleanText(doc.Filename)
		keys, values := arrays(doc.Labels)
		stages, n := slices.Sorted(maps.Keys(doc.Stages)), len(doc.Stages)
		ends, units, busy, elapsed := make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
		for i, name := range stages {
			r := doc.Stages[name]
			ends[i], units[i], busy[i], elapsed[i] = micros(r.End), int64(r.Units), r.Busy.Microseconds(), r.End.Sub(r.Start).Microseconds()
		}
		return []any{
			doc.Tenant, jobID(doc.Job), doc.version, uint8(bit(doc.deleted)), expiry(doc.ExpireTime), foldText(name), doc.Lane, stages, ends, units, busy, elapsed,
			doc.Job, name, doc.SHA256, uint32(max(0, doc.PageCount)), doc.State, micros(doc.CreateTime), micros(doc.EndTime), keys, values,
		}
	})
}

// arrays returns a map as the tables have it: its keys and, in the same order, their values.
func arrays(m map[string]string) (keys, values []string) {
	keys = slices.Sorted(maps.Keys(m))
	values = make([]string, len(keys))
	for i, k := range keys {
		values[i] = m[k]
	}
	return keys, values
}

// fromArrays is the reverse of arrays; nil for none.
func fromArrays(keys, values []string) map[string]string {
	if len(keys) == 0 {
		return nil
	}
	m := make(map[string]string, len(keys))
	for i, k := range keys {
		m[k] = values[i]
	}
	return m
}

// versionOfDocument returns the latest version of a document, 0 if there is none.
func (s *ClickHouse) versionOfDocument(ctx context.Context, tenant, job string) (uint64, error) {
	var version uint64
	err := s.conn.QueryRow(ctx, `SELECT max(version) FROM documents WHERE tenant = `+str(tenant)+` AND jid = `+strconv.FormatUint(jobID(job), 10)+
		` AND job = `+str(job)).Scan(&version)
	return version, err
}

// nameDocuments puts into hits what the documents are called, and when they came.
func (s *ClickHouse) nameDocuments(ctx context.Context, tenant string, hits []Hit) error {
	if len(hits) == 0 {
		return nil
	}
	ids := make([]uint64, len(hits))
	for i, h := range hits {
		ids[i] = jobID(h.Job)
	}
	slices.Sort(ids)
	rows, err := s.conn.Query(ctx, `SELECT job, filename, create_time FROM `+latestDocuments(tenant, ` AND jid IN `+nums(slices.Compact(ids)))+` WHERE deleted = 0`)
	if err != nil {
		return err
	}
	defer end(rows)
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
		hits[i].Filename, hits[i].CreateTime = of.filename, timeOf(of.created)
	}
	return rows.Err()
}

// PutDocuments stores documents; the rows of those that are put at once go into one insert.
func (s *ClickHouse) PutDocuments(ctx context.Context, docs []Document) error {
	g, gctx := errgroup.WithContext(ctx)
	for _, doc := range docs {
		g.Go(func() error { return s.PutDocument(gctx, doc) })
	}
	return g.Wait()
}

// ListJobs lists documents.
func (s *ClickHouse) ListJobs(ctx context.Context, q JobQuery) (JobPage, error) {
	after, err := q.check()
	if err != nil {
		return JobPage{}, err
	}
	if err := ctx.Err(); err != nil {
		return JobPage{}, fmt.Errorf("list jobs: %w", err)
	}
	if err := s.await(ctx); err != nil {
		return JobPage{}, err
	}
	page, err := s.listJobs(ctx, q, after)
	return page, chClassify(ctx, "list jobs", err)
}

func (s *ClickHouse) listJobs(ctx context.Context, q JobQuery, after *jobPosition) (JobPage, error) {
	where := " WHERE deleted = 0" + q.Filter.clickhouse()
	if len(q.States) > 0 {
		where += " AND state IN " + strs(q.States)
	}
	direction, beyond := " DESC", "<"
	if q.OldestFirst {
		direction, beyond = "", ">"
	}
	if after != nil {
		where += fmt.Sprintf(" AND (create_time %s %d OR (create_time = %d AND job %s %s))", beyond, after.created, after.created, beyond, str(after.job))
	}
	rows, err := s.conn.Query(ctx, `SELECT `+documentColumns+` FROM `+latestDocuments(q.Tenant, "")+where+
		` ORDER BY create_time`+direction+`, job`+direction+` LIMIT `+strconv.Itoa(q.Limit+1))
	if err != nil {
		return JobPage{}, err
	}
	defer end(rows)
	var docs []Document
	for rows.Next() {
		doc := Document{Tenant: q.Tenant}
		var pages uint32
		var created, ended int64
		var keys, values []string
		if err := rows.Scan(&doc.Job, &doc.Filename, &doc.SHA256, &pages, &doc.State, &created, &ended, &keys, &values); err != nil {
			return JobPage{}, err
		}
		doc.PageCount, doc.CreateTime, doc.EndTime = int(pages), timeOf(created), timeOf(ended)
		doc.Labels = fromArrays(keys, values)
		docs = append(docs, doc)
	}
	return jobPage(q, docs), rows.Err()
}

// DeleteJob hides a job's rows; when it returns, nobody finds them. The purger takes them off the disk.
func (s *ClickHouse) DeleteJob(ctx context.Context, tenant, job string) error {
	if err := checkIDs(tenant, job); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("delete job: %w", err)
	}
	if err := s.await(ctx); err != nil {
		return err
	}
	return chClassify(ctx, "delete job", s.deleteJob(ctx, tenant, job))
}

func (s *ClickHouse) deleteJob(ctx context.Context, tenant, job string) error {
	if err := s.deleteEvents(ctx, tenant, job); err != nil {
		return err
	}
	document, err := s.versionOfDocument(ctx, tenant, job)
	if err != nil {
		return err
	}
	pages, err := s.versions(ctx, tenant, job)
	if err != nil {
		return err
	}
	if document == 0 && len(pages) == 0 {
		return nil
	}
	now := time.Now()
	r := removal{tenant: tenant, job: job, jid: jobID(job), month: monthOf(job), version: versionOf(0, now), removed: now}
	for i := range pages {
		pages[i].version = max(pages[i].version+1, versionOf(pages[i].run, now))
		r.version = max(r.version, pages[i].version)
	}
	if document > 0 {
		r.document = max(document+1, versionOf(0, now))
	}
	// First what leads to the purge, then what hides: a caller who got no answer calls again.
	err = s.insert(ctx, `removals (`+removalColumns+`)`, 1, func(int) []any { return r.row(0) })
	if err != nil {
		return err
	}
	if document > 0 {
		tombstone := documentVersion{Document: Document{Tenant: tenant, Job: job}, version: r.document, deleted: true}
		if err := s.putDocuments(ctx, []documentVersion{tombstone}); err != nil {
			return err
		}
	}
	if len(pages) == 0 {
		return nil
	}
	return s.insert(ctx, `pages (month, tenant, jid, page, job, version, run, deleted, expire, hash, language, text)`, len(pages), func(i int) []any {
		p := pages[i]
		return []any{r.month, tenant, r.jid, p.page, job, p.version, uint32(p.run), uint8(1), never, uint64(0), "", ""}
	})
}

type pageVersion struct {
	page    uint32
	version uint64
	run     int
}

// versions returns a job's pages that are not deleted.
func (s *ClickHouse) versions(ctx context.Context, tenant, job string) ([]pageVersion, error) {
	rows, err := s.conn.Query(ctx, `SELECT page, max(version), argMax(run, version) FROM pages WHERE tenant = `+str(tenant)+
		` AND jid = `+strconv.FormatUint(jobID(job), 10)+` AND job = `+str(job)+` GROUP BY page HAVING argMax(deleted, version) = 0`)
	if err != nil {
		return nil, err
	}
	defer end(rows)
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
