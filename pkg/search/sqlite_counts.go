package search

import (
	"context"
	"database/sql"
	"errors"
	"strings"
)

// CountStates counts jobs by state.
func (s *SQLite) CountStates(ctx context.Context, q JobQuery) (map[string]int64, error) {
	counts := map[string]int64{}
	err := s.countJobs(ctx, q, `SELECT d.state, '', count(*) FROM documents AS d WHERE d.tenant = ?`, nil,
		` GROUP BY d.state`, func(c LabelCount) { counts[c.Name] = c.Jobs })
	return counts, classifyError(ctx, "count jobs", err)
}

// CountLabels counts jobs by label.
func (s *SQLite) CountLabels(ctx context.Context, q JobQuery, name string) ([]LabelCount, error) {
	wanted := conditions{}
	if name == "" {
		wanted.addCondition(`l.key NOT LIKE '~%'`)
	} else {
		wanted.addCondition(`l.key = ?`, name)
	}
	var counts []LabelCount
	err := s.countJobs(ctx, q,
		`SELECT l.key, l.value, count(*) AS jobs FROM documents AS d, json_each(d.labels) AS l WHERE d.tenant = ?`, &wanted,
		` GROUP BY l.key, l.value ORDER BY jobs DESC, l.key, l.value LIMIT `+maxLabelCountsText,
		func(c LabelCount) { counts = append(counts, c) })
	return counts, classifyError(ctx, "count labels", err)
}

// countJobs passes on the rows of a statement that counts: two texts and a number each.
func (s *SQLite) countJobs(ctx context.Context, q JobQuery, statement string, more *conditions, grouped string,
	each func(LabelCount)) error {
	if _, err := q.prepareQuery(); err != nil {
		return err
	}
	tx, err := s.reader.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // nothing was written
	tenant, err := findTenant(ctx, tx, q.Tenant)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	where, args := q.Filter.sqliteConditions()
	b := conditions{sql: where, args: append([]any{tenant}, args...)}
	if len(q.States) > 0 {
		states := make([]any, len(q.States))
		for i, state := range q.States {
			states[i] = state
		}
		b.addCondition("d.state IN (?"+strings.Repeat(", ?", len(states)-1)+")", states...)
	}
	if more != nil {
		b.sql, b.args = b.sql+more.sql, append(b.args, more.args...)
	}
	rows, err := tx.QueryContext(ctx, statement+b.sql+grouped, b.args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var c LabelCount
		if err := rows.Scan(&c.Name, &c.Value, &c.Jobs); err != nil {
			return err
		}
		each(c)
	}
	return rows.Err()
}
