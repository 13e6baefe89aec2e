package job_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/outcome"
)

func TestPageRanges(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		pages []int
		want  string
	}{
		{nil, ""},
		{[]int{3}, "3"},
		{[]int{9, 3, 8, 7, 3}, "3,7-9"},
		{[]int{1, 2, 4, 5, 6, 10}, "1-2,4-6,10"},
	} {
		if got := job.FormatPageRanges(tt.pages); got != tt.want {
			t.Errorf("FormatPageRanges(%v) = %q, want %q", tt.pages, got, tt.want)
		}
		if got := job.FormatPageRanges(job.ParsePageRanges(tt.want)); got != tt.want {
			t.Errorf("round trip of %q gives %q", tt.want, got)
		}
	}
}

func TestProgressCountsEachPageOnce(t *testing.T) {
	t.Parallel()
	p := job.NewProgress(1, 4)
	for _, tt := range []struct {
		name     string
		outcomes []job.Outcome
		fresh    int
		done     int
	}{
		{
			name: "two pages",
			outcomes: []job.Outcome{{Page: 1, Kind: outcome.Native},
				{Page: 3, Kind: outcome.Failed, Code: fault.PageTimeout}},
			fresh: 2, done: 2,
		},
		{name: "a repeat", outcomes: []job.Outcome{{Page: 1, Kind: outcome.OCR}}, done: 2},
		{
			name:     "a repeat and a new one",
			outcomes: []job.Outcome{{Page: 3, Kind: outcome.OCR}, {Page: 4, Kind: outcome.Blank}}, fresh: 1,
			done: 3,
		},
		{name: "the last", outcomes: []job.Outcome{{Page: 2, Kind: outcome.OCR}}, fresh: 1, done: 4},
	} {
		fresh, err := p.SetOutcomes(tt.outcomes)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if fresh != tt.fresh || p.CountDonePages() != tt.done {
			t.Errorf("%s: %d fresh, %d done, want %d and %d", tt.name, fresh, p.CountDonePages(), tt.fresh, tt.done)
		}
	}
	if got, want := p.Pages, "nofb"; got != want {
		t.Errorf("pages %q, want %q", got, want)
	}
	if !p.AllPagesDone() || p.PageFaultCode(3) != fault.PageTimeout || p.PageFaultCode(2) != "" ||
		p.PageOutcome(4) != outcome.Blank {
		t.Errorf("progress %+v", p)
	}
	if _, err := p.SetOutcomes([]job.Outcome{{Page: 5, Kind: outcome.OCR}}); err == nil {
		t.Error("a page beyond the last was accepted")
	}
	sum := 0
	for _, n := range p.CountOutcomes() {
		sum += n
	}
	if sum != 4 {
		t.Errorf("outcomes sum to %d, want 4", sum)
	}
}

func TestTransitions(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, tt := range []struct {
		from, to job.State
		legal    bool
	}{
		{job.Pending, job.Running, true},
		{job.Pending, job.Partial, false},
		{job.Running, job.Succeeded, true},
		{job.Running, job.Pending, false},
		{job.Succeeded, job.Failed, false},
		{job.Succeeded, job.Running, false},
		{job.Rejected, job.Running, false},
		{job.Partial, job.Running, true},
		{job.Succeeded, job.Expired, true},
		{job.Expired, job.Running, false},
	} {
		r := job.Record{State: tt.from}
		if err := r.Transition(tt.to, now); (err == nil) != tt.legal {
			t.Errorf("%s to %s: %v, want legal %t", tt.from, tt.to, err, tt.legal)
		}
	}
}

func TestFinish(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		pages string
		want  job.State
		code  fault.Code
	}{
		{"nnob", job.Succeeded, ""},
		{"nnfb", job.Partial, ""},
		{"ff", job.Failed, fault.AllPagesFailed},
	} {
		r := job.Record{State: job.Running, PageCount: len(tt.pages)}
		if err := r.FinishRun(&job.Progress{Run: 1, Pages: tt.pages}, time.Now()); err != nil {
			t.Fatalf("%s: %v", tt.pages, err)
		}
		var code fault.Code
		if r.Error != nil {
			code = r.Error.Code
		}
		if r.State != tt.want || code != tt.code {
			t.Errorf("%s: state %s, code %q, want %s and %q", tt.pages, r.State, code, tt.want, tt.code)
		}
	}
}

func TestConcurrentUpdatesLoseNothing(t *testing.T) {
	t.Parallel()
	jobs := bustest.NewJobStore(t, bustest.New(t))
	const pages = 100
	record := &job.Record{ID: job.NewID(), Tenant: "default", Run: 1, PageCount: pages, ChunkPages: 16}
	id := record.ID
	var mu sync.Mutex // guards fresh and completers
	fresh, completers := 0, 0
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			p, err := record.ImpliedProgress() // as this worker has seen it last
			if err != nil || p == nil {
				t.Errorf("no progress is implied (%v)", err)
				return
			}
			for i := range pages {
				page := (i+w*13)%pages + 1 // every page comes from every worker
				n := 0
				set := func(p *job.Progress) error {
					var err error
					n, err = p.SetOutcomes([]job.Outcome{{Page: page, Kind: outcome.Native}})
					if n == 0 && err == nil {
						return job.ErrUnchanged
					}
					return err
				}
				if w%2 == 0 && i > 0 {
					p, err = jobs.UpdateProgress(t.Context(), "default", id, set)
				} else {
					p, err = jobs.UpdateProgressFrom(t.Context(), "default", id, p, set)
				}
				if err != nil {
					t.Errorf("page %d: %v", page, err)
					return
				}
				mu.Lock()
				fresh += n
				if n > 0 && p.AllPagesDone() {
					completers++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if fresh != pages || completers != 1 {
		t.Errorf("%d pages counted by %d completers, want %d by 1", fresh, completers, pages)
	}
}

// What is known may be old by now: nothing that was written since is lost, and nothing is judged by it.
func TestUpdateRecordFrom(t *testing.T) {
	t.Parallel()
	jobs := bustest.NewJobStore(t, bustest.New(t))
	r := &job.Record{ID: job.NewID(), Tenant: "default", Run: 1, State: job.Pending, CreateTime: time.Now().UTC()}
	if err := jobs.CreateRecord(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	rename := func(name string) func(*job.Record) error {
		return func(r *job.Record) error { r.Filename = name; return nil }
	}
	old, err := jobs.UpdateRecordFrom(t.Context(), r, rename("a.pdf"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := jobs.UpdateRecord(t.Context(), r.Tenant, r.ID,
		func(r *job.Record) error { r.PageCount = 7; return nil }); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("no pages")
	for _, tt := range []struct {
		name   string
		change func(*job.Record) error
		err    error
		pages  int
		file   string
		calls  int
	}{
		{name: "a change", change: rename("b.pdf"), pages: 7, file: "b.pdf", calls: 2},
		{name: "nothing to change by what is old", change: func(r *job.Record) error {
			if r.PageCount == 0 {
				return job.ErrUnchanged
			}
			r.PageCount++
			return nil
		}, err: nil, pages: 8, file: "b.pdf", calls: 2},
		{name: "an error by what is old", change: func(r *job.Record) error {
			if r.PageCount == 0 {
				return broken
			}
			r.PageCount++
			return nil
		}, err: nil, pages: 9, file: "b.pdf", calls: 2},
		{name: "an error by what is there", change: func(*job.Record) error { return broken }, err: broken,
			pages: 9, file: "b.pdf", calls: 2},
		{name: "nothing to change", change: func(*job.Record) error { return job.ErrUnchanged }, pages: 9,
			file: "b.pdf", calls: 2},
	} {
		calls := 0
		_, err := jobs.UpdateRecordFrom(t.Context(), old, func(r *job.Record) error { calls++; return tt.change(r) })
		if !errors.Is(err, tt.err) || calls != tt.calls {
			t.Errorf("%s: %v after %d calls, want %v after %d", tt.name, err, calls, tt.err, tt.calls)
		}
		got, err := jobs.LoadRecord(t.Context(), r.Tenant, r.ID)
		if err != nil || got.PageCount != tt.pages || got.Filename != tt.file {
			t.Errorf("%s: stored %+v, %v, want %d pages of %s", tt.name, got, err, tt.pages, tt.file)
		}
	}
}

func TestStore(t *testing.T) {
	t.Parallel()
	jobs := bustest.NewJobStore(t, bustest.New(t))
	ctx := t.Context()
	r := &job.Record{ID: job.NewID(), Tenant: "default", Run: 1, State: job.Pending, Filename: "a.pdf",
		CreateTime: time.Now().UTC()}
	if _, err := jobs.LoadRecord(ctx, r.Tenant, r.ID); !errors.Is(err, job.ErrNotFound) {
		t.Errorf("load before create: %v, want ErrNotFound", err)
	}
	if err := jobs.CreateRecord(ctx, r); err != nil {
		t.Fatal(err)
	}
	if err := jobs.CreateRecord(ctx, r); !errors.Is(err, job.ErrExists) {
		t.Errorf("second create: %v, want ErrExists", err)
	}
	got, err := jobs.UpdateRecord(ctx, r.Tenant, r.ID,
		func(r *job.Record) error { return r.Transition(job.Running, time.Now()) })
	if err != nil || got.State != job.Running {
		t.Fatalf("update: %v, %v", got, err)
	}
	if _, err := jobs.UpdateRecord(ctx, r.Tenant, r.ID,
		func(r *job.Record) error { return r.Transition(job.Pending, time.Now()) }); err == nil {
		t.Error("an illegal transition was stored")
	}
	if got, err = jobs.LoadRecord(ctx, r.Tenant, r.ID); err != nil || got.State != job.Running || got.Filename != "a.pdf" {
		t.Errorf("load: %+v, %v", got, err)
	}
	if _, err := jobs.LoadRecord(ctx, "other", r.ID); !errors.Is(err, job.ErrNotFound) {
		t.Errorf("another tenant's load: %v, want ErrNotFound", err)
	}
}

func TestClaim(t *testing.T) {
	t.Parallel()
	jobs := bustest.NewJobStore(t, bustest.New(t))
	var mu sync.Mutex // guards winners
	winners := map[job.ID]bool{}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			c := job.Claim{Job: job.ID(fmt.Sprintf("job%d", i)), Fingerprint: "f", Time: time.Now().UTC().Truncate(time.Second)}
			got, err := jobs.ClaimIdempotencyKey(t.Context(), "default", "key ü", c)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			winners[got.Job] = true
			mu.Unlock()
		})
	}
	wg.Wait()
	if len(winners) != 1 {
		t.Errorf("claims went to %v, want one job", winners)
	}
}

// A claim that was replaced is forgotten in its time, like any other.
func TestReplaceClaim(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	jobs := bustest.NewJobStore(t, b)
	claim := func(id job.ID) job.Claim {
		return job.Claim{Job: id, Fingerprint: "f", Time: time.Now().UTC().Truncate(time.Second)}
	}
	first, second := claim("job1"), claim("job2")
	if _, err := jobs.ClaimIdempotencyKey(t.Context(), "default", "key", first); err != nil {
		t.Fatal(err)
	}
	if err := jobs.ReplaceClaim(t.Context(), "default", "key", first, second); err != nil {
		t.Fatal(err)
	}
	if err := jobs.ReplaceClaim(t.Context(), "default", "key", first, claim("job3")); !errors.Is(err, job.ErrExists) {
		t.Errorf("replaced once more: %v, want ErrExists", err)
	}
	if got, err := jobs.ClaimIdempotencyKey(t.Context(), "default", "key", claim("job4")); err != nil || got != second {
		t.Errorf("the key is tied to %+v, %v, want %+v", got, err, second)
	}
	s, err := b.JetStream().Stream(t.Context(), "KV_"+bus.JobBucket)
	if err != nil {
		t.Fatal(err)
	}
	msg, err := s.GetLastMsgForSubject(t.Context(), "$KV."+bus.JobBucket+".idem.>")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := time.ParseDuration(msg.Header.Get(jetstream.MsgTTLHeader)); err != nil || got != job.ClaimTTL {
		t.Errorf("the key is kept for %s (%v), want %s", got, err, job.ClaimTTL)
	}
}

func TestParseID(t *testing.T) {
	t.Parallel()
	id := job.NewID()
	if got, err := job.ParseID(string(id)); err != nil || got != id {
		t.Errorf("ParseID(%q) = %q, %v", id, got, err)
	}
	for _, bad := range []string{"", "x", "../../etc", string(id) + "0", "job.default.*"} {
		if _, err := job.ParseID(bad); err == nil {
			t.Errorf("ParseID(%q) was accepted", bad)
		}
	}
}
