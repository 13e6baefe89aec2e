package search

import (
	"context"
	"fmt"
	"strconv"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

var maxLabelCountsText = strconv.Itoa(MaxLabelCounts)

// CountStates counts jobs by state.
func (s *clickhouseDocuments) CountStates(ctx context.Context, q JobQuery) (map[string]int64, error) {
	counts := map[string]int64{}
	err := s.countJobs(ctx, q, `SELECT state, toUInt64(count()) FROM `, "", "", ` GROUP BY state`,
		func(r driver.Rows) error {
			var state string
			var jobs uint64
			err := r.Scan(&state, &jobs)
			counts[state] = int64(jobs)
			return err
		})
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
		func(r driver.Rows) error {
			var c LabelCount
			var jobs uint64
			err := r.Scan(&c.Name, &c.Value, &jobs)
			c.Jobs = int64(jobs)
			counts = append(counts, c)
			return err
		})
	return counts, err
}

// CountGroups counts jobs by the values of a label and by state.
func (s *clickhouseDocuments) CountGroups(ctx context.Context, q JobQuery, name, before string) (GroupPage, error) {
	if err := checkLimit(q.Tenant, &q.Limit); err != nil {
		return GroupPage{}, err
	}
	wanted := " AND k = " + quoteString(name)
	if before != "" {
		wanted += " AND v < " + quoteString(before)
	}
	var groups []LabelGroup
	err := s.countJobs(ctx, q, `SELECT v, state, toUInt64(count()), toUInt64(sum(page_count)), toInt64(min(create_time)) FROM `,
		` ARRAY JOIN label_keys AS k, label_values AS v`, wanted,
		` GROUP BY v, state ORDER BY v DESC LIMIT `+strconv.Itoa((q.Limit+1)*groupRows), func(r driver.Rows) error {
			var row groupRow
			var jobs, pages uint64
			err := r.Scan(&row.value, &row.state, &jobs, &pages, &row.created)
			row.jobs, row.pages = int64(jobs), int64(pages)
			groups = appendGroup(groups, row)
			return err
		})
	return newGroupPage(groups, q.Limit), err
}

// countJobs passes on the rows of a statement that counts.
func (s *clickhouseDocuments) countJobs(ctx context.Context, q JobQuery, statement, join, wanted, grouped string,
	each func(driver.Rows) error) error {
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
	from := `(SELECT state, page_count, create_time, label_keys, label_values FROM ` + latestDocuments(q.Tenant, "") + where + `)`
	rows, err := s.conn.Query(ctx, statement+from+join+` WHERE 1 = 1`+wanted+grouped)
	if err != nil {
		return classifyServerError(ctx, "count jobs", err)
	}
	defer closeRows(rows)
	for rows.Next() {
		if err := each(rows); err != nil {
			return classifyServerError(ctx, "count jobs", err)
		}
	}
	return classifyServerError(ctx, "count jobs", rows.Err())
}
