package search

import (
	"slices"
	"time"

	"inkstream.dev/pkg/fault"
)

// Event is one thing that happened to a job: a line of its audit trail.
type Event struct {
	Tenant string
	Job    string
	// ID tells a job's events apart: of two with the same the first counts.
	ID string
	// Sequence is the event's place among the events of all jobs.
	Sequence uint64
	Type     string
	Run      int
	Stage    string
	// Page is 0 where it is no single page's.
	Page int
	Code string
	Time time.Time
	// Attributes are facts, never a document's text or name.
	Attributes map[string]string
	// Tombstone says that the event is what stays of a job that was removed.
	Tombstone bool
	// ExpireTime is when the event may go by itself, zero for never.
	ExpireTime time.Time
}

// StageRun is a stage's share in a job's run.
type StageRun struct {
	Start, End time.Time
	Units      int
	// Busy is the time spent in handlers, summed over the units.
	Busy time.Duration
}

// StatsQuery asks for statistics of stages.
type StatsQuery struct {
	Tenant string
	// From and Before bound the time at which a stage was done with a job: From ≤ time < Before. Zero is no bound.
	From, Before time.Time
	// Every is how much time goes into one row: an hour if 0, at least a minute.
	Every time.Duration
}

// StageStat is what a stage did in some time, for the jobs that are kept.
type StageStat struct {
	// Time is when it begins, in whole multiples of the query's Every since 1970.
	Time        time.Time
	Stage, Lane string
	Jobs, Units int
	// Busy is the time spent in handlers, Elapsed that between each job's first and last work there.
	Busy, Elapsed time.Duration
}

func (q *StatsQuery) checkQuery() error {
	if q.Tenant == "" {
		return fault.New(fault.InvalidArgument, "tenant must not be empty")
	}
	if q.Every == 0 {
		q.Every = time.Hour
	}
	if q.Every < time.Minute {
		return fault.New(fault.InvalidArgument, "statistics by %s, want at least a minute", q.Every)
	}
	return nil
}

func checkEvents(events []Event) error {
	for _, e := range events {
		if err := checkTenantAndJob(e.Tenant, e.Job); err != nil {
			return err
		}
		if e.ID == "" {
			return fault.New(fault.InvalidArgument, "the id of an event must not be empty")
		}
	}
	return nil
}

// visibleEvents returns a job's events as they are shown: of a job that was removed only what stays.
func visibleEvents(events []Event) []Event {
	if slices.ContainsFunc(events, func(e Event) bool { return e.Tombstone }) {
		return slices.DeleteFunc(events, func(e Event) bool { return !e.Tombstone })
	}
	return events
}
