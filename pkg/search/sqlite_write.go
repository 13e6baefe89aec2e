package search

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"inkstream.dev/pkg/fault"
)

// deleteBatch bounds how long DeleteJob keeps other writers waiting: a page's words are read once more to take them
// out.
const deleteBatch = 64

// PutPages stores pages in one transaction.
func (s *SQLite) PutPages(ctx context.Context, pages []Page) error {
	for _, p := range pages {
		if err := checkTenantAndJob(p.Tenant, p.Job); err != nil {
			return err
		}
		if p.Number < 1 {
			return fault.New(fault.InvalidArgument, "page number %d, want at least 1", p.Number)
		}
	}
	if len(pages) == 0 {
		return nil
	}
	// By tenant and job, because each has its tables and its look at what is there; by number, so that a job's rows lie
	// in order. Stable, because of two pages with the same number the later counts.
	ready := make([]readyPage, len(pages)) // before the transaction: others wait for that
	for i, p := range pages {
		p.Text = cleanText(p.Text)
		ready[i] = readyPage{Page: p, terms: prepareFTSText(p.Text)}
	}
	slices.SortStableFunc(ready, func(a, b readyPage) int {
		return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Job, b.Job), cmp.Compare(a.Number, b.Number))
	})
	return s.writeInTransaction(ctx, "put pages", func(ctx context.Context, tx *transaction) error {
		for rest := ready; len(rest) > 0; {
			tenant := rest[0].Tenant
			n := slices.IndexFunc(rest, func(p readyPage) bool { return p.Tenant != tenant })
			if n < 0 {
				n = len(rest)
			}
			if err := putTenantPages(ctx, tx, tenant, rest[:n]); err != nil {
				return err
			}
			rest = rest[n:]
		}
		return nil
	})
}

// readyPage is a page with a clean text, and that text as FTS5 is given it.
type readyPage struct {
	Page
	terms string
}

// putTenantPages stores pages of one tenant, ordered by job and number.
func putTenantPages(ctx context.Context, tx *transaction, tenant string, pages []readyPage) error {
	id, err := createTenant(ctx, tx, tenant)
	if err != nil {
		return err
	}
	w := pageWriter{tx: tx, tenant: id}
	for i, p := range pages {
		if i == 0 || p.Job != pages[i-1].Job {
			rest := pages[i:]
			n := slices.IndexFunc(rest, func(q readyPage) bool { return q.Job != p.Job })
			if n < 0 {
				n = len(rest)
			}
			if err := w.loadStoredPages(ctx, p.Job, p.Number, rest[n-1].Number); err != nil {
				return err
			}
		}
		if err := w.putPage(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// pageWriter writes pages of one tenant within a transaction.
type pageWriter struct {
	tx     *transaction
	tenant int64
	// stored is what the index has of the job in hand, by page number.
	stored map[int]storedPage
}

type storedPage struct {
	id   int64
	page Page
}

// loadStoredPages finds out which pages of a job are there already. As a rule there are none: no other part of a
// write is cheaper.
func (w *pageWriter) loadStoredPages(ctx context.Context, job string, first, last int) error {
	w.stored = map[int]storedPage{}
	const find = `SELECT id, page, run, language, body FROM pages_{t} WHERE job = ? AND page BETWEEN ? AND ?`
	rows, err := w.tx.queryPrepared(ctx, w.tenant, find, job, first, last)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var s storedPage
		if err := rows.Scan(&s.id, &s.page.Number, &s.page.Run, &s.page.Language, (*storedText)(&s.page.Text)); err != nil {
			return err
		}
		w.stored[s.page.Number] = s
	}
	return rows.Err()
}

// putPage stores a page. One that is there just so, as after a redelivered message, costs nothing more.
func (w *pageWriter) putPage(ctx context.Context, p readyPage) error {
	if old, ok := w.stored[p.Number]; ok {
		switch same := old.page.Language == p.Language && old.page.Text == p.Text && old.page.Run == p.Run; {
		case same, old.page.Run > p.Run: // the latter: a straggler of a run that the user has since retried
			return nil
		}
		const words = `INSERT INTO terms_{t} (terms_{t}, rowid, text) VALUES ('delete', ?, ?)`
		if _, err := w.tx.execPrepared(ctx, w.tenant, words, old.id, prepareFTSText(old.page.Text)); err != nil {
			return err
		}
		if _, err := w.tx.execPrepared(ctx, w.tenant, `DELETE FROM pages_{t} WHERE id = ?`, old.id); err != nil {
			return err
		}
	}
	// A new row, at the end: FTS5 gathers words in memory only as long as rows come in order.
	const insert = `INSERT INTO pages_{t} (job, page, run, language, body) VALUES (?, ?, ?, ?, ?)`
	result, err := w.tx.execPrepared(ctx, w.tenant, insert, p.Job, p.Number, p.Run, p.Language, storedText(p.Text))
	if err != nil {
		return err
	}
	id, err := result.LastInsertId()
	if err != nil {
		return err
	}
	w.stored[p.Number] = storedPage{id: id, page: p.Page}
	_, err = w.tx.execPrepared(ctx, w.tenant, `INSERT INTO terms_{t} (rowid, text) VALUES (?, ?)`, id, p.terms)
	return err
}

// PutDocument stores a document.
func (s *SQLite) PutDocument(ctx context.Context, doc Document) error {
	return s.PutDocuments(ctx, []Document{doc})
}

// PutDocuments stores documents in one transaction.
func (s *SQLite) PutDocuments(ctx context.Context, docs []Document) error {
	for _, doc := range docs {
		if err := checkTenantAndJob(doc.Tenant, doc.Job); err != nil {
			return err
		}
	}
	if len(docs) == 0 {
		return nil
	}
	return s.writeInTransaction(ctx, "put documents", func(ctx context.Context, tx *transaction) error {
		for _, doc := range docs {
			if err := upsertDocument(ctx, tx, doc); err != nil {
				return err
			}
		}
		return nil
	})
}

// RestAfter returns a tenth of a second, and longer than the write took: with less, passes over sixty jobs a second cost
// more than a transaction for each of them had.
func (s *SQLite) RestAfter(took time.Duration) time.Duration {
	return max(100*time.Millisecond, 2*took)
}

func upsertDocument(ctx context.Context, tx *transaction, doc Document) error {
	labels, err := json.Marshal(doc.Labels)
	if err != nil {
		return err
	}
	tenant, err := createTenant(ctx, tx, doc.Tenant)
	if err != nil {
		return err
	}
	stages, err := json.Marshal(encodeStages(doc.Stages))
	if err != nil {
		return err
	}
	// A document that is there just so, as what the projector stores mostly is, costs no write.
	const (
		columns  = `(filename, sha256, page_count, state, create_time, end_time, labels, folded, lane, stages)`
		excluded = `(excluded.filename, excluded.sha256, excluded.page_count, excluded.state, excluded.create_time, excluded.end_time, excluded.labels,
			excluded.folded, excluded.lane, excluded.stages)`
		put = `INSERT INTO documents (tenant, job, filename, sha256, page_count, state, create_time, end_time, labels, folded, lane, stages)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET ` + columns + ` = ` + excluded + ` WHERE ` + columns + ` IS NOT ` + excluded
	)
	name := cleanText(doc.Filename)
	_, err = tx.execPrepared(ctx, 0, put, tenant, doc.Job, name, doc.SHA256, doc.PageCount, doc.State,
		timeToMicros(doc.CreateTime), timeToMicros(doc.EndTime), string(labels), foldText(name), doc.Lane, string(stages))
	return err
}

func timeToMicros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// DeleteJob removes a job, its pages in several transactions. If it breaks off, another call goes on.
func (s *SQLite) DeleteJob(ctx context.Context, tenant, job string) error {
	if err := checkTenantAndJob(tenant, job); err != nil {
		return err
	}
	for {
		left := false
		err := s.writeInTransaction(ctx, "delete job", func(ctx context.Context, tx *transaction) error {
			id, err := tx.tenantID(ctx, tenant)
			if errors.Is(err, sql.ErrNoRows) {
				return nil
			}
			if err != nil {
				return err
			}
			if err := deleteEvents(ctx, tx, id, job); err != nil {
				return err
			}
			left, err = deleteJobBatch(ctx, tx, id, job)
			return err
		})
		if err != nil || !left {
			return err
		}
	}
}

// deleteJobBatch removes a job's document and a batch of its pages, and reports whether there may be more.
func deleteJobBatch(ctx context.Context, tx *transaction, tenant int64, job string) (bool, error) {
	if _, err := tx.execPrepared(ctx, 0, `DELETE FROM documents WHERE tenant = ? AND job = ?`, tenant, job); err != nil {
		return false, err
	}
	// Words first: their table has to be told the text that they were in.
	const (
		words = `INSERT INTO terms_{t} (terms_{t}, rowid, text)
			SELECT 'delete', id, inkstream_indexed(body) FROM pages_{t} WHERE job = ? ORDER BY page LIMIT ?`
		pages = `DELETE FROM pages_{t} WHERE id IN (SELECT id FROM pages_{t} WHERE job = ? ORDER BY page LIMIT ?)`
	)
	if _, err := tx.execPrepared(ctx, tenant, words, job, deleteBatch); err != nil {
		return false, err
	}
	result, err := tx.execPrepared(ctx, tenant, pages, job, deleteBatch)
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n == deleteBatch, err
}

// checkTenantAndJob refuses empty names, which stand for a mistake of the caller.
func checkTenantAndJob(tenant, job string) error {
	if tenant == "" || job == "" {
		return fault.New(fault.InvalidArgument, "tenant and job must not be empty")
	}
	return nil
}
