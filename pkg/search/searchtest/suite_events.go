package searchtest

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/search"
)

// newEvent returns an event of a job.
func newEvent(job, kind string, sequence uint64) search.Event {
	return search.Event{
		Tenant: tenant, Job: job, ID: job + ".1.event." + kind, Sequence: sequence, Type: kind, Run: 1,
		Time:      dayOfMonth(1).Add(time.Duration(sequence) * time.Second),
		Tombstone: kind == "deleted", ExpireTime: time.Now().Add(time.Hour),
	}
}

// eventTypes returns the types of a job's events in order.
func eventTypes(t *testing.T, s search.Store, job string) string {
	t.Helper()
	events, err := s.JobEvents(t.Context(), tenant, job)
	requireNoError(t, err)
	var kinds []string
	for _, e := range events {
		kinds = append(kinds, fmt.Sprint(e.Type, e.Sequence))
	}
	return strings.Join(kinds, " ")
}

func testEvents(t *testing.T, open Open) {
	s := open(t)
	if last, err := s.LastEvent(t.Context()); err != nil || last.ID != "" {
		t.Errorf("last event of an empty index: got %+v, %v, want none", last, err)
	}
	failed := newEvent("a", "page_failed", 7)
	failed.Stage, failed.Page, failed.Code, failed.Attributes = "index", 3, "PAGE_TIMEOUT",
		map[string]string{"it's": `"q" \\ 'x'`, "n": ""}
	again := newEvent("a", "scanned", 9) // a repeat that the broker let through
	first := []search.Event{newEvent("a", "scanned", 5), newEvent("b", "uploaded", 4), newEvent("a", "uploaded", 2),
		failed}
	requireNoError(t, s.PutEvents(t.Context(), nil))
	for range 2 { // the second time after a restart, from the beginning
		requireNoError(t, s.PutEvents(t.Context(), first))
		requireNoError(t, s.PutEvents(t.Context(), []search.Event{again}))
	}
	if got, want := eventTypes(t, s, "a"), "uploaded2 scanned5 page_failed7"; got != want {
		t.Errorf("trail: got %q, want %q", got, want)
	}
	events, err := s.JobEvents(t.Context(), tenant, "a")
	requireNoError(t, err)
	got := events[2]
	got.ExpireTime = failed.ExpireTime // it need not be told
	if !got.Time.Equal(failed.Time) {
		t.Errorf("time: got %v, want %v", got.Time, failed.Time)
	}
	if got.Time = failed.Time; !reflect.DeepEqual(got, failed) {
		t.Errorf("event: got %+v, want %+v", got, failed)
	}
	other := newEvent("a", "uploaded", 11)
	other.Tenant = "other"
	requireNoError(t, s.PutEvents(t.Context(), []search.Event{other}))
	if got := eventTypes(t, s, "a"); strings.Contains(got, "11") {
		t.Errorf("trail: got %q, want nothing of another tenant", got)
	}
	if last, err := s.LastEvent(t.Context()); err != nil || last.ID != other.ID || last.Sequence != 11 ||
		last.Tenant != "other" {
		t.Errorf("last event: got %+v, %v, want %+v", last, err, other)
	}
	for name, bad := range map[string]search.Event{"no tenant": {Job: "a", ID: "i"}, "no job": {Tenant: tenant, ID: "i"},
		"no id": {Tenant: tenant, Job: "a"}} {
		if err := s.PutEvents(t.Context(), []search.Event{bad}); fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("PutEvents with %s: got %v, want INVALID_ARGUMENT", name, err)
		}
	}
}

func testTombstones(t *testing.T, open Open) {
	s := open(t)
	for _, job := range []string{"gone", "kept", "refused"} {
		requireNoError(t, s.PutEvents(t.Context(), []search.Event{newEvent(job, "uploaded", 1), newEvent(job, "ended", 2)}))
	}
	putPage(t, s, "gone", 1, "words")
	putPage(t, s, "kept", 1, "words")
	for _, job := range []string{"gone", "refused"} { // the latter never had anything else
		requireNoError(t, s.DeleteJob(t.Context(), tenant, job))
		if got := eventTypes(t, s, job); got != "" {
			t.Errorf("trail of %s after DeleteJob: got %q, want none", job, got)
		}
	}
	// What was on its way when the job was removed, and its tombstone.
	requireNoError(t, s.PutEvents(t.Context(),
		[]search.Event{newEvent("gone", "chunk_done", 3), newEvent("gone", "deleted", 4)}))
	requireNoError(t, s.PutEvents(t.Context(), []search.Event{newEvent("gone", "late", 5)}))
	for range 2 {
		if got := eventTypes(t, s, "gone"); got != "deleted4" {
			t.Errorf("trail of a job that was removed: got %q, want its tombstone", got)
		}
		requireNoError(t, s.DeleteJob(t.Context(), tenant, "gone")) // once more, after a crash
	}
	if got := eventTypes(t, s, "kept"); got != "uploaded1 ended2" {
		t.Errorf("trail of another job: got %q, want it as it was", got)
	}
}

func testStageStats(t *testing.T, open Open) {
	s := open(t)
	run := func(end time.Time, units int, busy, elapsed time.Duration) search.StageRun {
		return search.StageRun{Start: end.Add(-elapsed), End: end, Units: units, Busy: busy}
	}
	at := dayOfMonth(3).Truncate(time.Hour)
	for job, doc := range map[string]search.Document{
		"a": {Lane: "batch", Stages: map[string]search.StageRun{
			"scan": run(at.Add(time.Minute), 1, time.Second, time.Second),
			"ocr":  run(at.Add(2*time.Minute), 9, 8*time.Second, 5*time.Second),
		}},
		"b": {Lane: "batch", Stages: map[string]search.StageRun{"ocr": run(at.Add(59*time.Minute), 1, 2*time.Second,
			3*time.Second)}},
		"c": {Lane: "interactive", Stages: map[string]search.StageRun{"ocr": run(at.Add(time.Hour), 2, 3*time.Second,
			4*time.Second)}},
		"d": {},
		"e": {Lane: "batch", Stages: map[string]search.StageRun{"ocr": run(at, 1, time.Second, time.Second)}},
	} {
		doc.Tenant, doc.Job, doc.CreateTime = tenant, job, at
		for range 2 { // a repeat counts once
			requireNoError(t, s.PutDocument(t.Context(), doc))
		}
	}
	requireNoError(t, s.PutDocument(t.Context(),
		search.Document{Tenant: "other", Job: "a", Stages: map[string]search.StageRun{"ocr": run(at, 1, 1, 1)}}))
	requireNoError(t, s.DeleteJob(t.Context(), tenant, "e"))
	row := func(at time.Time, stage, lane string, jobs, units, busy, elapsed int) search.StageStat {
		return search.StageStat{
			Time: at, Stage: stage, Lane: lane, Jobs: jobs, Units: units, Busy: time.Duration(busy) * time.Second,
			Elapsed: time.Duration(elapsed) * time.Second,
		}
	}
	ocr, scan := row(at, "ocr", "batch", 2, 10, 10, 8), row(at, "scan", "batch", 1, 1, 1, 1)
	later, daily := row(at.Add(time.Hour), "ocr", "interactive", 1, 2, 3, 4), at.Truncate(24*time.Hour)
	for _, tt := range []struct {
		name  string
		query search.StatsQuery
		want  []search.StageStat
	}{
		{"by the hour", search.StatsQuery{}, []search.StageStat{ocr, scan, later}},
		{"from", search.StatsQuery{From: at.Add(time.Hour)}, []search.StageStat{later}},
		{"before", search.StatsQuery{Before: at.Add(time.Hour)}, []search.StageStat{ocr, scan}},
		{"by the day", search.StatsQuery{Every: 24 * time.Hour}, []search.StageStat{
			row(daily, "ocr", "batch", 2, 10, 10, 8), row(daily, "ocr", "interactive", 1, 2, 3, 4),
			row(daily, "scan", "batch", 1, 1, 1, 1),
		}},
	} {
		tt.query.Tenant = tenant
		got, err := s.StageStats(t.Context(), tt.query)
		if err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: got %+v, %v, want %+v", tt.name, got, err, tt.want)
		}
	}
	for name, bad := range map[string]search.StatsQuery{"without a tenant": {},
		"by the second": {Tenant: tenant, Every: time.Second}} {
		if _, err := s.StageStats(t.Context(), bad); fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("statistics %s: got %v, want INVALID_ARGUMENT", name, err)
		}
	}
	if got, err := s.StageStats(t.Context(), search.StatsQuery{Tenant: "nobody"}); err != nil || len(got) != 0 {
		t.Errorf("statistics of nobody: got %v, %v, want none", got, err)
	}
}
