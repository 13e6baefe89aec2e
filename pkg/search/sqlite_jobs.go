package search

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strings"
)

// ListJobs lists documents.
func (s *SQLite) ListJobs(ctx context.Context, q JobQuery) (JobPage, error) {
	after, err := q.prepareQuery()
	if err != nil {
		return JobPage{}, err
	}
	page, err := s.queryJobs(ctx, q, after)
	return page, classifyError(ctx, "list jobs", err)
}

func (s *SQLite) queryJobs(ctx context.Context, q JobQuery, after *jobPosition) (JobPage, error) {
	tx, err := s.reader.BeginTx(ctx, nil)
	if err != nil {
		return JobPage{}, err
	}
	defer tx.Rollback() //nolint:errcheck // nothing was written
	tenant, err := findTenant(ctx, tx, q.Tenant)
	if errors.Is(err, sql.ErrNoRows) {
		return JobPage{}, nil
	}
	if err != nil {
		return JobPage{}, err
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
	order := jobOrderClause(q, after, &b)
	statement := `SELECT job, filename, sha256, page_count, state, create_time, end_time, labels FROM documents AS d WHERE d.tenant = ?` +
		b.sql + ` ORDER BY ` + order + ` LIMIT ?`
	rows, err := tx.QueryContext(ctx, statement, append(b.args, q.Limit+1)...)
	if err != nil {
		return JobPage{}, err
	}
	defer rows.Close()
	var docs []Document
	for rows.Next() {
		doc := Document{Tenant: q.Tenant}
		var created, ended int64
		var labels []byte
		if err := rows.Scan(&doc.Job, &doc.Filename, &doc.SHA256, &doc.PageCount, &doc.State, &created, &ended,
			&labels); err != nil {
			return JobPage{}, err
		}
		if err := json.Unmarshal(labels, &doc.Labels); err != nil {
			return JobPage{}, err
		}
		doc.CreateTime, doc.EndTime = timeFromMicros(created), timeFromMicros(ended)
		docs = append(docs, doc)
	}
	return newJobPage(q, docs), rows.Err()
}

// jobOrderClause returns the order of a list, and adds the condition that begins it after a job.
func jobOrderClause(q JobQuery, after *jobPosition, b *conditions) string {
	direction, beyond := " DESC", "<"
	if q.OldestFirst {
		direction, beyond = "", ">"
	}
	if after != nil {
		b.addCondition("(create_time "+beyond+" ? OR create_time = ? AND job "+beyond+" ?)", after.created, after.created,
			after.job)
	}
	column := "create_time"
	if _, ok := q.Filter.Labels[batchLabel]; ok {
		column = "+create_time" // a batch has few documents: they are looked up and sorted, not picked out of all in order
	}
	return column + direction + ", job" + direction
}

// newJobPage cuts what was found, one more than wanted, to a page.
func newJobPage(q JobQuery, docs []Document) JobPage {
	if len(docs) <= q.Limit {
		return JobPage{Jobs: docs}
	}
	docs = docs[:q.Limit]
	last := docs[len(docs)-1]
	return JobPage{Jobs: docs, NextCursor: encodeJobCursor(q.queryHash(),
		jobPosition{created: timeToMicros(last.CreateTime), job: last.Job})}
}
