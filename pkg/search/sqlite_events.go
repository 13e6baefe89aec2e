package search

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"math"
	"time"
)

// storedStage is a StageRun as a document's row has it, in microseconds.
type storedStage struct {
	End     int64 `json:"end"`
	Units   int   `json:"units"`
	Busy    int64 `json:"busy"`
	Elapsed int64 `json:"elapsed"`
}

func encodeStages(stages map[string]StageRun) map[string]storedStage {
	out := make(map[string]storedStage, len(stages))
	for name, r := range stages {
		out[name] = storedStage{End: timeToMicros(r.End), Units: r.Units, Busy: r.Busy.Microseconds(),
			Elapsed: r.End.Sub(r.Start).Microseconds()}
	}
	return out
}

// PutEvents stores events in one transaction, and takes off what is past its time.
func (s *SQLite) PutEvents(ctx context.Context, events []Event) error {
	if err := checkEvents(events); err != nil {
		return err
	}
	if len(events) == 0 {
		return nil
	}
	return s.writeInTransaction(ctx, "put events", func(ctx context.Context, tx *transaction) error {
		for _, e := range events {
			if err := insertEvent(ctx, tx, e); err != nil {
				return err
			}
		}
		_, err := tx.execPrepared(ctx, 0, `DELETE FROM events WHERE expire_time < ?`, time.Now().UnixMicro())
		return err
	})
}

func insertEvent(ctx context.Context, tx *transaction, e Event) error {
	tenant, err := createTenant(ctx, tx, e.Tenant)
	if err != nil {
		return err
	}
	attributes, err := json.Marshal(e.Attributes)
	if err != nil {
		return err
	}
	if e.Tombstone {
		if err := deleteEvents(ctx, tx, tenant, e.Job); err != nil {
			return err
		}
	}
	expire := int64(math.MaxInt64)
	if !e.ExpireTime.IsZero() {
		expire = timeToMicros(e.ExpireTime)
	}
	const put = `INSERT OR IGNORE INTO events (tenant, job, id, sequence, type, run, stage, page, code, time, attributes, tombstone, expire_time)
		SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13
		WHERE ?12 OR NOT EXISTS (SELECT 1 FROM events WHERE tenant = ?1 AND job = ?2 AND tombstone)`
	_, err = tx.execPrepared(ctx, 0, put, tenant, e.Job, e.ID, int64(e.Sequence), e.Type, e.Run, e.Stage, e.Page, e.Code,
		timeToMicros(e.Time), string(attributes),
		e.Tombstone, expire)
	return err
}

// deleteEvents removes a job's events but its tombstone.
func deleteEvents(ctx context.Context, tx *transaction, tenant int64, job string) error {
	_, err := tx.execPrepared(ctx, 0, `DELETE FROM events WHERE tenant = ? AND job = ? AND NOT tombstone`, tenant, job)
	return err
}

// JobEvents reads a job's events.
func (s *SQLite) JobEvents(ctx context.Context, tenant, job string) ([]Event, error) {
	if err := checkTenantAndJob(tenant, job); err != nil {
		return nil, err
	}
	events, err := queryEvents(ctx, s.reader, `WHERE t.name = ? AND e.job = ? ORDER BY e.sequence`, tenant, job)
	return visibleEvents(events), classifyError(ctx, "read events", err)
}

// LastEvent reads the event with the highest sequence.
func (s *SQLite) LastEvent(ctx context.Context) (Event, error) {
	events, err := queryEvents(ctx, s.reader, `ORDER BY e.sequence DESC LIMIT 1`)
	if err != nil || len(events) == 0 {
		return Event{}, classifyError(ctx, "read the last event", err)
	}
	return events[0], nil
}

// queryEvents reads those events that the end of the statement says.
func queryEvents(ctx context.Context, db *sql.DB, which string, args ...any) ([]Event, error) {
	const read = `SELECT t.name, e.job, e.id, e.sequence, e.type, e.run, e.stage, e.page, e.code, e.time, e.attributes, e.tombstone
		FROM events AS e JOIN tenants AS t ON t.id = e.tenant `
	rows, err := db.QueryContext(ctx, read+which, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []Event
	for rows.Next() {
		var e Event
		var sequence, at int64
		var attributes []byte
		if err := rows.Scan(&e.Tenant, &e.Job, &e.ID, &sequence, &e.Type, &e.Run, &e.Stage, &e.Page, &e.Code, &at,
			&attributes, &e.Tombstone); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(attributes, &e.Attributes); err != nil {
			return nil, err
		}
		e.Sequence, e.Time = uint64(sequence), timeFromMicros(at)
		out = append(out, e)
	}
	return out, rows.Err()
}

// StageStats sums up what the documents' rows say of the stages.
func (s *SQLite) StageStats(ctx context.Context, q StatsQuery) ([]StageStat, error) {
	if err := q.checkQuery(); err != nil {
		return nil, err
	}
	stats, err := s.queryStageStats(ctx, q)
	return stats, classifyError(ctx, "sum up stages", err)
}

func (s *SQLite) queryStageStats(ctx context.Context, q StatsQuery) ([]StageStat, error) {
	tenant, err := findTenant(ctx, s.reader, q.Tenant)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	const ended = `json_extract(s.value, '$.end')`
	b := conditions{args: []any{q.Every.Microseconds(), q.Every.Microseconds(), tenant}}
	if !q.From.IsZero() {
		b.addCondition(ended+` >= ?`, timeToMicros(q.From))
	}
	if !q.Before.IsZero() {
		b.addCondition(ended+` < ?`, timeToMicros(q.Before))
	}
	rows, err := s.reader.QueryContext(ctx, `SELECT `+ended+` / ? * ? AS at, s.key, d.lane, count(*), sum(json_extract(s.value, '$.units')),
		sum(json_extract(s.value, '$.busy')), sum(json_extract(s.value, '$.elapsed'))
		FROM documents AS d, json_each(d.stages) AS s WHERE d.tenant = ?`+b.sql+` GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`, b.args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []StageStat
	for rows.Next() {
		var st StageStat
		var at, busy, elapsed int64
		if err := rows.Scan(&at, &st.Stage, &st.Lane, &st.Jobs, &st.Units, &busy, &elapsed); err != nil {
			return nil, err
		}
		st.Time, st.Busy, st.Elapsed = timeFromMicros(at), time.Duration(busy)*time.Microsecond,
			time.Duration(elapsed)*time.Microsecond
		out = append(out, st)
	}
	return out, rows.Err()
}
