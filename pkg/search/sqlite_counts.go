package search

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"
)

// CountStates counts jobs by state.
func (s *SQLite) CountStates(ctx context.Context, q JobQuery) (map[string]int64, error) {
	counts := map[string]int64{}
	statement := `SELECT d.state, count(*) FROM documents AS d WHERE d.tenant = ?`
	if q.Filter.isUnrestricted() {
		statement = `SELECT d.state, sum(d.total) FROM document_counts AS d WHERE d.total > 0 AND d.tenant = ?`
	}
	err := s.countJobs(ctx, q, statement, nil, ` GROUP BY d.state`,
		func(r *sql.Rows) error {
			var state string
			var jobs int64
			err := r.Scan(&state, &jobs)
			counts[state] = jobs
			return err
		})
	return counts, classifyError(ctx, "count jobs", err)
}

// CountLabels counts jobs by label.
func (s *SQLite) CountLabels(ctx context.Context, q JobQuery, name string) ([]LabelCount, error) {
	wanted := conditions{}
	statement := `SELECT l.key, l.value, count(*) AS jobs FROM documents AS d, json_each(d.labels) AS l WHERE d.tenant = ?`
	grouped := ` GROUP BY l.key, l.value ORDER BY jobs DESC, l.key, l.value LIMIT ` + maxLabelCountsText
	switch {
	case name == "":
		wanted.addCondition(`l.key NOT LIKE '~%'`)
	case name == codeLabel && q.Filter.isUnrestricted():
		statement = `SELECT '` + codeLabel + `', d.code, sum(d.total) AS jobs FROM document_counts AS d
			WHERE d.code <> '' AND d.total > 0 AND d.tenant = ?`
		grouped = ` GROUP BY d.code ORDER BY jobs DESC, d.code LIMIT ` + maxLabelCountsText
	default:
		wanted.addCondition(`l.key = ?`, name)
	}
	var counts []LabelCount
	err := s.countJobs(ctx, q, statement, &wanted, grouped,
		func(r *sql.Rows) error {
			var c LabelCount
			err := r.Scan(&c.Name, &c.Value, &c.Jobs)
			counts = append(counts, c)
			return err
		})
	return counts, classifyError(ctx, "count labels", err)
}

// CountGroups counts jobs by the values of a label and by state.
func (s *SQLite) CountGroups(ctx context.Context, q JobQuery, name, before string) (GroupPage, error) {
	if err := checkLimit(q.Tenant, &q.Limit); err != nil {
		return GroupPage{}, err
	}
	value, from, wanted := `l.value`, `documents AS d, json_each(d.labels) AS l`, conditions{}
	if name == batchLabel {
		value, from = batchOf("d."), `documents AS d`
		wanted.addCondition(value + ` IS NOT NULL`)
	} else {
		wanted.addCondition(`l.key = ?`, name)
	}
	if before != "" {
		wanted.addCondition(value+` < ?`, before)
	}
	var groups []LabelGroup
	err := s.countJobs(ctx, q, `SELECT `+value+`, d.state, count(*), sum(d.page_count), min(d.create_time) FROM `+from+`
		WHERE d.tenant = ?`, &wanted,
		` GROUP BY `+value+`, d.state ORDER BY `+value+` DESC, d.state DESC LIMIT `+strconv.Itoa((q.Limit+1)*groupRows),
		func(r *sql.Rows) error {
			var row groupRow
			err := r.Scan(&row.value, &row.state, &row.jobs, &row.pages, &row.created)
			groups = appendGroup(groups, row)
			return err
		})
	return newGroupPage(groups, q.Limit), classifyError(ctx, "count groups", err)
}

// countJobs passes on the rows of a statement that counts.
func (s *SQLite) countJobs(ctx context.Context, q JobQuery, statement string, more *conditions, grouped string,
	each func(*sql.Rows) error) error {
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
		if err := each(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
