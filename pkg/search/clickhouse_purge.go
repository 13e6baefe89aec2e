package search

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"inkstream.dev/pkg/fault"
)

const (
	// maxPurgeJobs is how many removals go into one statement. Their ids are some 60 bytes each, and statements may have
	// 256 KiB.
	maxPurgeJobs = 500
	// purgeRetention is how long the purge of a job is remembered.
	purgeRetention = 24 * time.Hour
	// purgeTimeout bounds one purge, and purgePoll is the time between two checks whether it is done.
	purgeTimeout = 30 * time.Minute
	purgePoll    = 200 * time.Millisecond
)

// purger takes the rows of deleted jobs off the disk, those of all processes: the table of removals is shared.
type purger struct {
	store *ClickHouse
	every time.Duration
	stop  context.CancelFunc
	done  chan struct{}
	once  sync.Once
}

func newPurger(s *ClickHouse, every time.Duration) *purger {
	ctx, stop := context.WithCancel(context.Background())
	p := &purger{store: s, every: every, stop: stop, done: make(chan struct{})}
	go p.runPurges(ctx)
	return p
}

func (p *purger) stopAndWait() {
	p.once.Do(p.stop)
	<-p.done
}

// runPurges purges once in a while. A process that only writes and reads wakes up for nothing once a period: what
// another one left is its business too.
func (p *purger) runPurges(ctx context.Context) {
	defer close(p.done)
	timer := time.NewTimer(p.every)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if p.store.awaitSchema(ctx) == nil {
			// An error is that of a server that is away or busy: the next round goes on where this one stopped.
			_ = p.store.Purge(ctx)
		}
		timer.Reset(p.every)
	}
}

// Purge takes the rows of deleted jobs, and of those whose time is long over, off the disk, and returns when they
// are. The Store does so by itself once in a while.
func (s *ClickHouse) Purge(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, purgeTimeout)
	defer cancel()
	for {
		jobs, err := s.loadRemovals(ctx)
		if err == nil && len(jobs) > 0 {
			err = s.purgeRemovals(ctx, jobs)
		}
		if err != nil {
			return classifyServerError(ctx, "purge", err)
		}
		if len(jobs) < maxPurgeJobs {
			return classifyServerError(ctx, "purge", s.deleteExpired(ctx))
		}
	}
}

// removal is a job to be purged: its pages up to one version, its document up to another.
type removal struct {
	tenant, job       string
	jid               uint64
	month             uint32
	version, document uint64
	removed           time.Time
}

const removalColumns = `tenant, jid, job, month, version, document, done, removed`

func (r removal) columnValues(done uint8) []any {
	return []any{r.tenant, r.jid, r.job, r.month, r.version, r.document, done, r.removed}
}

// loadRemovals returns jobs that wait to be purged.
func (s *ClickHouse) loadRemovals(ctx context.Context) ([]removal, error) {
	rows, err := s.conn.Query(ctx, `SELECT tenant, jid, job, month, version, document, max(removed) FROM removals
		GROUP BY tenant, jid, job, month, version, document HAVING max(done) = 0 ORDER BY tenant, jid LIMIT `+strconv.Itoa(maxPurgeJobs))
	if err != nil {
		return nil, err
	}
	defer closeRows(rows)
	var out []removal
	for rows.Next() {
		var r removal
		if err := rows.Scan(&r.tenant, &r.jid, &r.job, &r.month, &r.version, &r.document, &r.removed); err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, rows.Err()
}

// purgeRemovals deletes what the tables have of jobs, and notes that it did.
func (s *ClickHouse) purgeRemovals(ctx context.Context, jobs []removal) error {
	var pages, documents, events []string
	for _, r := range jobs {
		job := fmt.Sprintf("tenant = %s AND jid = %d", quoteString(r.tenant), r.jid)
		events = append(events, "("+job+" AND tombstone = 0)")
		if r.document > 0 {
			documents = append(documents, fmt.Sprintf("(%s AND version <= %d)", job, r.document))
		}
		// Of a job that came back, as one that is indexed again, what came back stays.
		back, err := s.loadPageVersions(ctx, r.tenant, r.job)
		if err != nil {
			return err
		}
		which := fmt.Sprintf("month = %d AND %s AND version <= %d", r.month, job, r.version)
		if len(back) > 0 {
			first := back[0].version
			numbers := make([]uint64, len(back))
			for i, p := range back {
				first, numbers[i] = min(first, p.version), uint64(p.page)
			}
			which += fmt.Sprintf(" AND (version < %d OR page NOT IN %s)", first, joinNumbers(numbers))
		}
		pages = append(pages, "("+which+")")
	}
	for table, which := range map[string][]string{"words": pages, "pages": pages, "documents": documents,
		"documents_by_time": documents, "events": events} {
		if len(which) == 0 {
			continue
		}
		if err := s.deleteAndWait(ctx, table, strings.Join(which, " OR ")); err != nil {
			return err
		}
	}
	return s.insertRows(ctx, `removals (`+removalColumns+`)`, len(jobs),
		func(i int) []any { return jobs[i].columnValues(1) })
}

// deleteExpired deletes the notes of purges that were done a while ago, and what is past its time, which later
// servers do by themselves.
func (s *ClickHouse) deleteExpired(ctx context.Context) error {
	past := fmt.Sprintf("expire < toDateTime(%d)", time.Now().Unix())
	for table, where := range map[string]string{
		"pages": past, "words": past, "documents": past, "documents_by_time": past, "events": past,
		"removals": fmt.Sprintf("done = 1 AND removed < toDateTime(%d)", time.Now().Add(-purgeRetention).Unix()),
	} {
		var n uint64
		if err := s.conn.QueryRow(ctx, "SELECT count() FROM "+table+" WHERE "+where).Scan(&n); err != nil {
			return err
		}
		if n == 0 { // as a rule, and then nothing need be looked through part by part
			continue
		}
		if err := s.deleteAndWait(ctx, table, where); err != nil {
			return err
		}
	}
	return nil
}

// deleteAndWait deletes rows, and waits until that is done.
func (s *ClickHouse) deleteAndWait(ctx context.Context, table, where string) error {
	if err := s.conn.Exec(ctx, "ALTER TABLE "+table+" DELETE WHERE "+where); err != nil {
		return err
	}
	tick := time.NewTicker(purgePoll)
	defer tick.Stop()
	for {
		var open uint64
		err := s.conn.QueryRow(ctx, `SELECT count() FROM system.mutations WHERE database = `+
			quoteString(s.options.Auth.Database)+` AND table = `+quoteString(table)+
			` AND is_done = 0`).Scan(&open)
		if err != nil {
			return err
		}
		if open == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fault.New(fault.Unavailable, "the server did not finish deleting in time")
		case <-tick.C:
		}
	}
}
