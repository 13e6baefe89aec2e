package search

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
)

const eventColumns = `tenant, jid, id, job, version, deleted, tombstone, expire, sequence, type, run, stage, page, code, time, attribute_keys, attribute_values`

// clickhouseEvents is the table of events.
type clickhouseEvents struct{ *clickhouseServer }

// PutEvents stores events as one block.
func (s *clickhouseEvents) PutEvents(ctx context.Context, events []Event) error {
	if err := checkEvents(events); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("put events: %w", err)
	}
	if len(events) == 0 {
		return nil
	}
	if err := s.awaitSchema(ctx); err != nil {
		return err
	}
	return classifyServerError(ctx, "put events", s.storeEvents(ctx, events))
}

func (s *clickhouseEvents) storeEvents(ctx context.Context, events []Event) error {
	if err := s.insertEvents(ctx, events, false); err != nil {
		return err
	}
	for _, e := range events {
		if !e.Tombstone {
			continue
		}
		if err := s.hideEvents(ctx, e.Tenant, e.Job); err != nil {
			return err
		}
	}
	return nil
}

// insertEvents stores rows of events, or such that hide them. Of several rows of an event the one with the lowest
// sequence has the highest version.
func (s *clickhouseEvents) insertEvents(ctx context.Context, events []Event, deleted bool) error {
	return s.insertRows(ctx, `events (`+eventColumns+`)`, len(events), func(i int) []any {
		e := events[i]
		version := math.MaxInt64 - min(e.Sequence, math.MaxInt64)
		if deleted {
			version = math.MaxUint64
		}
		keys, values := mapToArrays(e.Attributes)
		return []any{
			e.Tenant, hashJobID(e.Job), e.ID, e.Job, version, uint8(boolToUint(deleted)), uint8(boolToUint(e.Tombstone)),
			expiryTime(e.ExpireTime), e.Sequence, e.Type,
			uint32(max(0, e.Run)), e.Stage, uint32(max(0, e.Page)), e.Code, timeToMicros(e.Time), keys, values,
		}
	})
}

// hideEvents hides a job's events but its tombstone, and sees to it that they are purged.
func (s *clickhouseEvents) hideEvents(ctx context.Context, tenant, job string) error {
	events, err := s.readJobEvents(ctx, tenant, job)
	if err != nil {
		return err
	}
	events = slices.DeleteFunc(events, func(e Event) bool { return e.Tombstone })
	if len(events) == 0 {
		return nil
	}
	r := removal{tenant: tenant, job: job, jid: hashJobID(job), month: monthOfJob(job), removed: time.Now()}
	if err := s.insertRows(ctx, `removals (`+removalColumns+`)`, 1,
		func(int) []any { return r.columnValues(0) }); err != nil {
		return err
	}
	for i := range events { // what the job was about does not stay in what hides it
		e := &events[i]
		*e = Event{Tenant: tenant, Job: job, ID: e.ID, Sequence: e.Sequence}
	}
	return s.insertEvents(ctx, events, true)
}

// JobEvents reads a job's events.
func (s *clickhouseEvents) JobEvents(ctx context.Context, tenant, job string) ([]Event, error) {
	if err := checkTenantAndJob(tenant, job); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	if err := s.awaitSchema(ctx); err != nil {
		return nil, err
	}
	events, err := s.readJobEvents(ctx, tenant, job)
	return visibleEvents(events), classifyServerError(ctx, "read events", err)
}

func (s *clickhouseEvents) readJobEvents(ctx context.Context, tenant, job string) ([]Event, error) {
	return s.queryEvents(ctx, `SELECT `+eventColumns+` FROM (SELECT `+eventColumns+` FROM events WHERE tenant = `+
		quoteString(tenant)+
		` AND jid = `+strconv.FormatUint(hashJobID(job), 10)+` AND job = `+quoteString(job)+
		` ORDER BY version DESC LIMIT 1 BY id) WHERE deleted = 0 ORDER BY sequence`)
}

// LastEvent reads the event with the highest sequence.
func (s *clickhouseEvents) LastEvent(ctx context.Context) (Event, error) {
	if err := s.awaitSchema(ctx); err != nil {
		return Event{}, err
	}
	events, err := s.queryEvents(ctx, `SELECT `+eventColumns+
		` FROM events WHERE sequence = (SELECT max(sequence) FROM events) LIMIT 1`)
	if err != nil || len(events) == 0 {
		return Event{}, classifyServerError(ctx, "read the last event", err)
	}
	return events[0], nil
}

func (s *clickhouseEvents) queryEvents(ctx context.Context, statement string) ([]Event, error) {
	rows, err := s.conn.Query(ctx, statement)
	if err != nil {
		return nil, err
	}
	defer closeRows(rows)
	var out []Event
	for rows.Next() {
		var e Event
		var jid, version uint64
		var deleted, tombstone uint8
		var expire time.Time
		var run, page uint32
		var at int64
		var keys, values []string
		if err := rows.Scan(&e.Tenant, &jid, &e.ID, &e.Job, &version, &deleted, &tombstone, &expire, &e.Sequence, &e.Type,
			&run, &e.Stage, &page, &e.Code, &at,
			&keys, &values); err != nil {
			return nil, err
		}
		e.Run, e.Page, e.Time, e.Tombstone = int(run), int(page), timeFromMicros(at), tombstone == 1
		e.Attributes = arraysToMap(keys, values)
		out = append(out, e)
	}
	return out, rows.Err()
}

// StageStats sums up what the documents' rows say of the stages.
func (s *clickhouseEvents) StageStats(ctx context.Context, q StatsQuery) ([]StageStat, error) {
	if err := q.checkQuery(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("sum up stages: %w", err)
	}
	if err := s.awaitSchema(ctx); err != nil {
		return nil, err
	}
	stats, err := s.queryStageStats(ctx, q)
	return stats, classifyServerError(ctx, "sum up stages", err)
}

func (s *clickhouseEvents) queryStageStats(ctx context.Context, q StatsQuery) ([]StageStat, error) {
	where := "deleted = 0"
	if !q.From.IsZero() {
		where += fmt.Sprintf(" AND ended >= %d", timeToMicros(q.From))
	}
	if !q.Before.IsZero() {
		where += fmt.Sprintf(" AND ended < %d", timeToMicros(q.Before))
	}
	every := q.Every.Microseconds()
	rows, err := s.conn.Query(ctx, fmt.Sprintf(`SELECT intDiv(ended, %d) * %d AS at, stage, lane, count(), sum(units), sum(busy), sum(elapsed) FROM (
			SELECT deleted, lane, stage, ended, units, busy, elapsed FROM (
				SELECT version, deleted, lane, stages, stage_ends, stage_units, stage_busy, stage_elapsed FROM documents WHERE tenant = %s
				ORDER BY version DESC LIMIT 1 BY jid, job)
			ARRAY JOIN stages AS stage, stage_ends AS ended, stage_units AS units, stage_busy AS busy, stage_elapsed AS elapsed)
		WHERE %s GROUP BY at, stage, lane ORDER BY at, stage, lane`, every, every, quoteString(q.Tenant), where))
	if err != nil {
		return nil, err
	}
	defer closeRows(rows)
	var out []StageStat
	for rows.Next() {
		var st StageStat
		var jobs uint64
		var at, units, busy, elapsed int64
		if err := rows.Scan(&at, &st.Stage, &st.Lane, &jobs, &units, &busy, &elapsed); err != nil {
			return nil, err
		}
		st.Time, st.Jobs, st.Units = timeFromMicros(at), int(jobs), int(units)
		st.Busy, st.Elapsed = time.Duration(busy)*time.Microsecond, time.Duration(elapsed)*time.Microsecond
		out = append(out, st)
	}
	return out, rows.Err()
}
