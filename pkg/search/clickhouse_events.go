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

// PutEvents stores events as one block.
func (s *ClickHouse) PutEvents(ctx context.Context, events []Event) error {
	if err := checkEvents(events); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("put events: %w", err)
	}
	if len(events) == 0 {
		return nil
	}
	if err := s.await(ctx); err != nil {
		return err
	}
	return chClassify(ctx, "put events", s.putEvents(ctx, events))
}

func (s *ClickHouse) putEvents(ctx context.Context, events []Event) error {
	if err := s.insertEvents(ctx, events, false); err != nil {
		return err
	}
	for _, e := range events {
		if !e.Tombstone {
			continue
		}
		if err := s.deleteEvents(ctx, e.Tenant, e.Job); err != nil {
			return err
		}
	}
	return nil
}

// insertEvents stores rows of events, or such that hide them. Of several rows of an event the one with the lowest sequence has the highest version.
func (s *ClickHouse) insertEvents(ctx context.Context, events []Event, deleted bool) error {
	return s.insert(ctx, `events (`+eventColumns+`)`, len(events), func(i int) []any {
		e := events[i]
		version := math.MaxInt64 - min(e.Sequence, math.MaxInt64)
		if deleted {
			version = math.MaxUint64
		}
		keys, values := arrays(e.Attributes)
		return []any{
			e.Tenant, jobID(e.Job), e.ID, e.Job, version, uint8(bit(deleted)), uint8(bit(e.Tombstone)), expiry(e.ExpireTime), e.Sequence, e.Type,
			uint32(max(0, e.Run)), e.Stage, uint32(max(0, e.Page)), e.Code, micros(e.Time), keys, values,
		}
	})
}

// deleteEvents hides a job's events but its tombstone, and sees to it that they are purged.
func (s *ClickHouse) deleteEvents(ctx context.Context, tenant, job string) error {
	events, err := s.jobEvents(ctx, tenant, job)
	if err != nil {
		return err
	}
	events = slices.DeleteFunc(events, func(e Event) bool { return e.Tombstone })
	if len(events) == 0 {
		return nil
	}
	r := removal{tenant: tenant, job: job, jid: jobID(job), month: monthOf(job), removed: time.Now()}
	if err := s.insert(ctx, `removals (`+removalColumns+`)`, 1, func(int) []any { return r.row(0) }); err != nil {
		return err
	}
	for i := range events { // what the job was about does not stay in what hides it
		e := &events[i]
		*e = Event{Tenant: tenant, Job: job, ID: e.ID, Sequence: e.Sequence}
	}
	return s.insertEvents(ctx, events, true)
}

// Events reads a job's events.
func (s *ClickHouse) Events(ctx context.Context, tenant, job string) ([]Event, error) {
	if err := checkIDs(tenant, job); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	if err := s.await(ctx); err != nil {
		return nil, err
	}
	events, err := s.jobEvents(ctx, tenant, job)
	return trailOf(events), chClassify(ctx, "read events", err)
}

func (s *ClickHouse) jobEvents(ctx context.Context, tenant, job string) ([]Event, error) {
	return s.events(ctx, `SELECT `+eventColumns+` FROM (SELECT `+eventColumns+` FROM events WHERE tenant = `+str(tenant)+
		` AND jid = `+strconv.FormatUint(jobID(job), 10)+` AND job = `+str(job)+` ORDER BY version DESC LIMIT 1 BY id) WHERE deleted = 0 ORDER BY sequence`)
}

// LastEvent reads the event with the highest sequence.
func (s *ClickHouse) LastEvent(ctx context.Context) (Event, error) {
	if err := s.await(ctx); err != nil {
		return Event{}, err
	}
	events, err := s.events(ctx, `SELECT `+eventColumns+` FROM events WHERE sequence = (SELECT max(sequence) FROM events) LIMIT 1`)
	if err != nil || len(events) == 0 {
		return Event{}, chClassify(ctx, "read the last event", err)
	}
	return events[0], nil
}

func (s *ClickHouse) events(ctx context.Context, statement string) ([]Event, error) {
	rows, err := s.conn.Query(ctx, statement)
	if err != nil {
		return nil, err
	}
	defer end(rows)
	var out []Event
	for rows.Next() {
		var e Event
		var jid, version uint64
		var deleted, tombstone uint8
		var expire time.Time
		var run, page uint32
		var at int64
		var keys, values []string
		if err := rows.Scan(&e.Tenant, &jid, &e.ID, &e.Job, &version, &deleted, &tombstone, &expire, &e.Sequence, &e.Type, &run, &e.Stage, &page, &e.Code, &at,
			&keys, &values); err != nil {
			return nil, err
		}
		e.Run, e.Page, e.Time, e.Tombstone = int(run), int(page), timeOf(at), tombstone == 1
		e.Attributes = fromArrays(keys, values)
		out = append(out, e)
	}
	return out, rows.Err()
}

// StageStats sums up what the documents' rows say of the stages.
func (s *ClickHouse) StageStats(ctx context.Context, q StatsQuery) ([]StageStat, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("sum up stages: %w", err)
	}
	if err := s.await(ctx); err != nil {
		return nil, err
	}
	stats, err := s.stageStats(ctx, q)
	return stats, chClassify(ctx, "sum up stages", err)
}

func (s *ClickHouse) stageStats(ctx context.Context, q StatsQuery) ([]StageStat, error) {
	where := "deleted = 0"
	if !q.From.IsZero() {
		where += fmt.Sprintf(" AND ended >= %d", micros(q.From))
	}
	if !q.Before.IsZero() {
		where += fmt.Sprintf(" AND ended < %d", micros(q.Before))
	}
	every := q.Every.Microseconds()
	rows, err := s.conn.Query(ctx, fmt.Sprintf(`SELECT intDiv(ended, %d) * %d AS at, stage, lane, count(), sum(units), sum(busy), sum(elapsed) FROM (
			SELECT deleted, lane, stage, ended, units, busy, elapsed FROM (
				SELECT version, deleted, lane, stages, stage_ends, stage_units, stage_busy, stage_elapsed FROM documents WHERE tenant = %s
				ORDER BY version DESC LIMIT 1 BY jid, job)
			ARRAY JOIN stages AS stage, stage_ends AS ended, stage_units AS units, stage_busy AS busy, stage_elapsed AS elapsed)
		WHERE %s GROUP BY at, stage, lane ORDER BY at, stage, lane`, every, every, str(q.Tenant), where))
	if err != nil {
		return nil, err
	}
	defer end(rows)
	var out []StageStat
	for rows.Next() {
		var st StageStat
		var jobs uint64
		var at, units, busy, elapsed int64
		if err := rows.Scan(&at, &st.Stage, &st.Lane, &jobs, &units, &busy, &elapsed); err != nil {
			return nil, err
		}
		st.Time, st.Jobs, st.Units = timeOf(at), int(jobs), int(units)
		st.Busy, st.Elapsed = time.Duration(busy)*time.Microsecond, time.Duration(elapsed)*time.Microsecond
		out = append(out, st)
	}
	return out, rows.Err()
}
