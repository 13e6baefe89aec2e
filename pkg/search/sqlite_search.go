package search

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"strings"
)

// rankedPages is how many pages a query ranks against each other: the newest of those that match, then the next. A
// page's score costs many times what it costs to find it, and words that most pages have tell none of them from the
// others.
const rankedPages = 10_000

// Search finds pages. It reads from one state of the index, whatever is written during the search.
func (s *SQLite) Search(ctx context.Context, q Query) (Result, error) {
	clauses, after, err := q.prepareQuery()
	if err != nil {
		return Result{}, err
	}
	result, err := s.searchPages(ctx, q, clauses, after)
	return result, classifyError(ctx, "search", err)
}

func (s *SQLite) searchPages(ctx context.Context, q Query, clauses []clause, after *position) (Result, error) {
	tx, err := s.reader.BeginTx(ctx, nil)
	if err != nil {
		return Result{}, err
	}
	defer tx.Rollback() //nolint:errcheck // nothing was written
	tenant, err := findTenant(ctx, tx, q.Tenant)
	if errors.Is(err, sql.ErrNoRows) {
		return Result{}, nil
	}
	if err != nil {
		return Result{}, err
	}
	counts, err := countPhrasePages(ctx, tx, tenant, clauses)
	if err != nil {
		return Result{}, err
	}
	ranking := pageRanking{tx, tenant, q, matchExpression(clauses), counts, s.ranked}
	found, err := ranking.findPages(ctx, after)
	if err != nil {
		return Result{}, err
	}
	var result Result
	if len(found) > q.Limit {
		found = found[:q.Limit]
		result.NextCursor = encodeCursor(q.queryHash(), found[q.Limit-1])
	}
	result.Hits, err = describeHits(ctx, tx, tenant, newMatcher(clauses), found)
	return result, err
}

// pageRanking finds the best pages of a query in one state of the index.
type pageRanking struct {
	tx     *sql.Tx
	tenant int64
	query  Query
	match  string // the query's clauses, as FTS5 takes them
	counts []byte // how many pages have each of their phrases
	ranked int    // how many pages are ranked against each other
}

// findPages returns where the best pages are, one more than the query wants.
func (r pageRanking) findPages(ctx context.Context, after *position) ([]position, error) {
	in := window{to: math.MaxInt64}
	if after != nil {
		in = after.in
	}
	var found []position
	for {
		part, err := r.rankWindow(ctx, &in, after, r.query.Limit+1-len(found))
		if err != nil {
			return nil, err
		}
		found = append(found, part...)
		if len(found) > r.query.Limit || in.from == 0 {
			return found, nil
		}
		in, after = window{to: in.from}, nil
	}
}

// rankWindow returns the best pages of a window, after a position in it. Of a window that has no beginning yet, 0, it
// sets one, and leaves 0 if no page ahead of it matches. What is written later does not change a window: new rows
// have the highest numbers.
func (r pageRanking) rankWindow(ctx context.Context, in *window, after *position, limit int) ([]position, error) {
	b := conditions{args: []any{r.counts, r.match}}
	if r.query.Job != "" {
		// A job's pages lie close together. The plus keeps SQLite from matching row by row.
		b.addCondition(`terms_{t}.rowid >= max(?, (SELECT min(id) FROM pages_{t} WHERE job = ?))`, in.from, r.query.Job)
		b.addCondition(`terms_{t}.rowid < min(?, (SELECT max(id) FROM pages_{t} WHERE job = ?) + 1)`, in.to, r.query.Job)
		b.addCondition(`+terms_{t}.rowid IN (SELECT id FROM pages_{t} WHERE job = ?)`, r.query.Job)
	} else {
		b.addCondition(`terms_{t}.rowid >= ? AND terms_{t}.rowid < ?`, in.from, in.to)
	}
	if r.query.Language != "" {
		// By row: the pages' table is long for its texts, and most queries match few.
		b.addCondition(`(SELECT language FROM pages_{t} WHERE id = terms_{t}.rowid) = ?`, r.query.Language)
	}
	if !r.query.Filter.isUnrestricted() {
		where, args := r.query.Filter.sqliteConditions()
		b.addCondition(`+terms_{t}.rowid IN (SELECT p.id FROM documents AS d JOIN pages_{t} AS p ON p.job = d.job
			WHERE d.tenant = ?`+where+`)`, append([]any{r.tenant}, args...)...)
	}
	statement := `WITH matched AS MATERIALIZED (
			SELECT size.id AS page, ` + scoreFunction + `(terms_{t}, ?, size.sz) AS score
			FROM terms_{t} CROSS JOIN terms_{t}_docsize AS size ON size.id = terms_{t}.rowid
			WHERE terms_{t} MATCH ?` + b.sql + ` ORDER BY terms_{t}.rowid DESC LIMIT ?)
		SELECT page, score, total, first, last FROM matched, (SELECT count(*) AS total, min(page) AS first, max(page) AS last FROM matched)`
	b.args = append(b.args, r.ranked)
	if after != nil {
		// All scores change when pages are added: the page of the position tells what its score is now.
		statement += ` WHERE (score, page) > (coalesce((SELECT score FROM matched WHERE page = ?), ?), ?)`
		b.args = append(b.args, after.row, after.score, after.row)
	}
	rows, err := r.tx.QueryContext(ctx, expandTenant(statement+` ORDER BY score, page LIMIT ?`, r.tenant),
		append(b.args, limit)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var found []position
	for rows.Next() {
		var at position
		var total, first, last int64
		if err := rows.Scan(&at.row, &at.score, &total, &first, &last); err != nil {
			return nil, err
		}
		if len(found) == 0 && in.from == 0 {
			in.to = last + 1
			if total == int64(r.ranked) {
				in.from = first
			}
		}
		at.in = *in
		found = append(found, at)
	}
	return found, rows.Err()
}

// describeHits returns the hits at positions. Only of these few the texts are read.
func describeHits(ctx context.Context, tx *sql.Tx, tenant int64, m *Matcher, found []position) ([]Hit, error) {
	if len(found) == 0 {
		return nil, nil
	}
	statement := `SELECT p.id, p.job, p.page, p.run, p.language, coalesce(d.filename, ''), coalesce(d.create_time, 0), p.body FROM pages_{t} AS p
		LEFT JOIN documents AS d ON d.tenant = ? AND d.job = p.job WHERE p.id IN (?` + strings.Repeat(", ?", len(found)-1) + `)`
	args := []any{tenant}
	place := make(map[int64]int, len(found))
	for i, at := range found {
		args = append(args, at.row)
		place[at.row] = i
	}
	rows, err := tx.QueryContext(ctx, expandTenant(statement, tenant), args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	hits := make([]Hit, len(found))
	for rows.Next() {
		var id, created int64
		var hit Hit
		var text storedText
		if err := rows.Scan(&id, &hit.Job, &hit.Page, &hit.Run, &hit.Language, &hit.Filename, &created, &text); err != nil {
			return nil, err
		}
		hit.Score = -found[place[id]].score // FTS5 has the best at the bottom
		hit.CreateTime, hit.Snippet = timeFromMicros(created), m.cutSnippet(string(text))
		hits[place[id]] = hit
	}
	return hits, rows.Err()
}
