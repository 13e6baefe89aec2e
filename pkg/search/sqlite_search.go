package search

import (
	"context"
	"database/sql"
	"errors"
)

// snippetWords is how many words a snippet has at most; FTS5 takes up to 64.
const snippetWords = 32

// Search finds pages. It reads from one state of the index, whatever is written meanwhile.
func (s *SQLite) Search(ctx context.Context, q Query) (Result, error) {
	clauses, after, err := q.check()
	if err != nil {
		return Result{}, err
	}
	result, err := s.search(ctx, q, matchExpression(clauses), after)
	return result, classify(ctx, "search", err)
}

func (s *SQLite) search(ctx context.Context, q Query, match string, after *position) (Result, error) {
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
	found, err := rank(ctx, tx, tenant, q, match, after)
	if err != nil {
		return Result{}, err
	}
	var result Result
	if len(found) > q.Limit {
		found = found[:q.Limit]
		result.NextCursor = newCursor(q.hash(), found[q.Limit-1])
	}
	for _, at := range found {
		hit, err := describe(ctx, tx, tenant, match, at)
		if err != nil {
			return Result{}, err
		}
		result.Hits = append(result.Hits, hit)
	}
	return result, nil
}

// rank returns where the best pages are, one more than the query wants. Snippets come later, for the few that are shown: here they
// would be made for every page that matches.
func rank(ctx context.Context, tx *sql.Tx, tenant int64, q Query, match string, after *position) ([]position, error) {
	statement := `SELECT rowid, bm25(words_{t}) AS score FROM words_{t} WHERE words_{t} MATCH ?`
	args := []any{match}
	if q.Job != "" {
		// The plus keeps SQLite from matching row by row.
		statement += ` AND +rowid IN (SELECT id FROM pages_{t} WHERE job = ?)`
		args = append(args, q.Job)
	}
	if q.Language != "" {
		// By row: the pages' table is long for its texts, and most queries match few.
		statement += ` AND (SELECT language FROM pages_{t} WHERE id = words_{t}.rowid) = ?`
		args = append(args, q.Language)
	}
	if !q.Filter.empty() {
		where, more := q.Filter.sqlite()
		statement += ` AND +rowid IN (SELECT p.id FROM documents AS d JOIN pages_{t} AS p ON p.job = d.job WHERE d.tenant = ?` + where + `)`
		args = append(append(args, tenant), more...)
	}
	if after != nil {
		statement += ` AND (bm25(words_{t}), +rowid) > (?, ?)`
		args = append(args, after.score, after.row)
	}
	statement += ` ORDER BY score, rowid LIMIT ?`
	rows, err := tx.QueryContext(ctx, forTenant(statement, tenant), append(args, q.Limit+1)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var found []position
	for rows.Next() {
		var at position
		if err := rows.Scan(&at.row, &at.score); err != nil {
			return nil, err
		}
		found = append(found, at)
	}
	return found, rows.Err()
}

// describe returns the hit at a position.
func describe(ctx context.Context, tx *sql.Tx, tenant int64, match string, at position) (Hit, error) {
	const statement = `SELECT p.job, p.page, p.run, p.language, coalesce(d.filename, ''), snippet(words_{t}, 0, ?, ?, '…', ?)
		FROM words_{t} JOIN pages_{t} AS p ON p.id = words_{t}.rowid
		LEFT JOIN documents AS d ON d.tenant = ? AND d.job = p.job
		WHERE words_{t} MATCH ? AND words_{t}.rowid = ?`
	hit := Hit{Score: -at.score} // FTS5 has the best at the bottom
	var marked string
	err := tx.QueryRowContext(ctx, forTenant(statement, tenant), string(markBegin), string(markEnd), snippetWords, tenant, match, at.row).
		Scan(&hit.Job, &hit.Page, &hit.Run, &hit.Language, &hit.Filename, &marked)
	hit.Snippet = newSnippet(marked)
	return hit, err
}
