package search

import (
	"context"
	"fmt"
	"strconv"
)

var maxLabelCountsText = strconv.Itoa(MaxLabelCounts)

// CountStates counts jobs by state.
func (s *clickhouseDocuments) CountStates(ctx context.Context, q JobQuery) (map[string]int64, error) {
	counts := map[string]int64{}
	err := s.countJobs(ctx, q, `SELECT state, '', toUInt64(count()) FROM `, "", "", ` GROUP BY state`,
		func(c LabelCount) { counts[c.Name] = c.Jobs })
	return counts, err
}

// CountLabels counts jobs by label.
func (s *clickhouseDocuments) CountLabels(ctx context.Context, q JobQuery, name string) ([]LabelCount, error) {
	wanted := " AND k NOT LIKE '~%'"
	if name != "" {
		wanted = " AND k = " + quoteString(name)
	}
	var counts []LabelCount
	err := s.countJobs(ctx, q, `SELECT k, v, toUInt64(count()) AS jobs FROM `, ` ARRAY JOIN label_keys AS k, label_values AS v`,
		wanted, ` GROUP BY k, v ORDER BY jobs DESC, k, v LIMIT `+maxLabelCountsText,
		func(c LabelCount) { counts = append(counts, c) })
	return counts, err
}

// countJobs passes on the rows of a statement that counts: two texts and a number each.
func (s *clickhouseDocuments) countJobs(ctx context.Context, q JobQuery, statement, join, wanted, grouped string,
	each func(LabelCount)) error {
	if _, err := q.prepareQuery(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("count jobs: %w", err)
	}
	if err := s.awaitSchema(ctx); err != nil {
		return err
	}
	where := " WHERE deleted = 0" + q.Filter.clickhouseConditions()
	if len(q.States) > 0 {
		where += " AND state IN " + quoteStrings(q.States)
	}
	from := `(SELECT state, label_keys, label_values FROM ` + latestDocuments(q.Tenant, "") + where + `)`
	rows, err := s.conn.Query(ctx, statement+from+join+` WHERE 1 = 1`+wanted+grouped)
	if err != nil {
		return classifyServerError(ctx, "count jobs", err)
	}
	defer closeRows(rows)
	for rows.Next() {
		var c LabelCount
		var jobs uint64
		if err := rows.Scan(&c.Name, &c.Value, &jobs); err != nil {
			return classifyServerError(ctx, "count jobs", err)
		}
		c.Jobs = int64(jobs)
		each(c)
	}
	return classifyServerError(ctx, "count jobs", rows.Err())
}
