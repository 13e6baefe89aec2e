package searchtest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/search"
)

func testCounts(t *testing.T, open Open) {
	s := open(t)
	query := search.JobQuery{Tenant: tenant}
	states, err := s.CountStates(t.Context(), query)
	requireNoError(t, err)
	if len(states) != 0 {
		t.Errorf("an empty index: got %v, want nothing", states)
	}
	var docs []search.Document
	for i := range 250 {
		docs = append(docs, search.Document{Tenant: tenant, Job: fmt.Sprint("many", i), CreateTime: dayOfMonth(1),
			State: "RUNNING", Labels: map[string]string{"n": fmt.Sprint(i)}})
	}
	requireNoError(t, s.PutDocuments(t.Context(), docs))
	many, err := s.CountLabels(t.Context(), query, "")
	requireNoError(t, err)
	if len(many) != search.MaxLabelCounts {
		t.Errorf("got %d labels, want no more than %d", len(many), search.MaxLabelCounts)
	}
	putCountedDocuments(t, s)
	query.Filter.From = dayOfMonth(2)
	for _, tt := range []struct {
		name  string
		query search.JobQuery
		want  string
	}{
		{"all", query, "map[FAILED:3 SUCCEEDED:1]"},
		{"a state", search.JobQuery{Tenant: tenant, States: []string{"FAILED"}}, "map[FAILED:3]"},
		{"a label", search.JobQuery{Tenant: tenant, Filter: search.Filter{Labels: map[string]string{"~code": "TIMEOUT"}}},
			"map[FAILED:1]"},
		{"a file", search.JobQuery{Tenant: tenant, Filter: search.Filter{Filename: "scan2"}}, "map[SUCCEEDED:1]"},
		{"another tenant", search.JobQuery{Tenant: "other"}, "map[FAILED:1]"},
	} {
		states, err := s.CountStates(t.Context(), tt.query)
		requireNoError(t, err)
		if got := fmt.Sprint(states); got != tt.want {
			t.Errorf("states of %s: got %s, want %s", tt.name, got, tt.want)
		}
	}
	checkLabelCounts(t, s, query)
	if _, err := s.CountStates(t.Context(), search.JobQuery{}); fault.CodeOf(err) != fault.InvalidArgument {
		t.Errorf("without a tenant: got %v, want INVALID_ARGUMENT", err)
	}
}

// testGroups checks counts by the values of a label, in pages.
func testGroups(t *testing.T, open Open) {
	s := open(t)
	for i, state := range []string{"SUCCEEDED", "RUNNING", "SUCCEEDED", "FAILED", "SUCCEEDED"} {
		requireNoError(t, s.PutDocument(t.Context(), search.Document{Tenant: tenant, Job: fmt.Sprint("job", i), PageCount: i + 1,
			CreateTime: dayOfMonth(10 - i), State: state, Labels: map[string]string{"~batch": []string{"a", "c", "b"}[i%3], "x": "y"}}))
	}
	requireNoError(t, s.PutDocument(t.Context(), search.Document{Tenant: tenant, Job: "alone", CreateTime: dayOfMonth(1),
		State: "RUNNING"}))
	requireNoError(t, s.PutDocument(t.Context(), search.Document{Tenant: "other", Job: "theirs", CreateTime: dayOfMonth(1),
		State: "RUNNING", Labels: map[string]string{"~batch": "z"}}))
	for _, tt := range []struct {
		name, before string
		query        search.JobQuery
		want         string
	}{
		{"all", "", search.JobQuery{Tenant: tenant},
			"c map[RUNNING:1 SUCCEEDED:1] 7 6,b map[SUCCEEDED:1] 3 8,a map[FAILED:1 SUCCEEDED:1] 5 7,"},
		{"one", "", search.JobQuery{Tenant: tenant, Limit: 1}, "c map[RUNNING:1 SUCCEEDED:1] 7 6,more"},
		{"what follows", "c", search.JobQuery{Tenant: tenant, Limit: 1}, "b map[SUCCEEDED:1] 3 8,more"},
		{"a state", "", search.JobQuery{Tenant: tenant, States: []string{"FAILED"}}, "a map[FAILED:1] 4 7,"},
		{"the end", "a", search.JobQuery{Tenant: tenant}, ""},
	} {
		page, err := s.CountGroups(t.Context(), tt.query, "~batch", tt.before)
		requireNoError(t, err)
		got := ""
		for _, g := range page.Groups {
			got += fmt.Sprintf("%s %v %d %d,", g.Value, g.States, g.Pages, g.FirstTime.Day())
		}
		if page.More {
			got += "more"
		}
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
	if _, err := s.CountGroups(t.Context(), search.JobQuery{}, "~batch", ""); fault.CodeOf(err) != fault.InvalidArgument {
		t.Errorf("without a tenant: got %v, want INVALID_ARGUMENT", err)
	}
}

// testCountsFollowChanges changes documents at random, and compares what is counted of all with what is counted of those
// that a filter finds, which are all as well.
func testCountsFollowChanges(t *testing.T, open Open) {
	s := open(t)
	const seed, changes, batch = 7, 8, 25
	random := rand.New(rand.NewPCG(seed, seed))
	pick := func(from ...string) string { return from[random.IntN(len(from))] }
	all := search.JobQuery{Tenant: tenant}
	filtered := all
	filtered.Filter.MinPages = 1
	for range changes {
		var docs []search.Document
		for range batch {
			doc := search.Document{Tenant: pick(tenant, tenant, "other"), Job: fmt.Sprint("job", random.IntN(2*batch)), PageCount: 1,
				CreateTime: dayOfMonth(3), State: pick("RUNNING", "FAILED", "PARTIAL"), Labels: map[string]string{"case": pick("1", "2")}}
			if code := pick("", "DAMAGED", "TIMEOUT"); code != "" {
				doc.Labels["~code"] = code
			}
			docs = append(docs, doc)
		}
		requireNoError(t, s.PutDocuments(t.Context(), docs))
		requireNoError(t, s.DeleteJob(t.Context(), tenant, docs[0].Job))
		for _, states := range [][]string{nil, {"FAILED", "PARTIAL"}} {
			all.States, filtered.States = states, states
			got, err := s.CountStates(t.Context(), all)
			requireNoError(t, err)
			want, err := s.CountStates(t.Context(), filtered)
			requireNoError(t, err)
			if !maps.Equal(got, want) {
				t.Fatalf("seed %d: the states of all are %v, want %v", seed, got, want)
			}
			gotCodes, err := s.CountLabels(t.Context(), all, "~code")
			requireNoError(t, err)
			wantCodes, err := s.CountLabels(t.Context(), filtered, "~code")
			requireNoError(t, err)
			if !slices.Equal(gotCodes, wantCodes) {
				t.Fatalf("seed %d: the codes of all are %v, want %v", seed, gotCodes, wantCodes)
			}
		}
	}
}

// checkLabelCounts checks the counts of the labels of the documents that query finds.
func checkLabelCounts(t *testing.T, s search.Store, query search.JobQuery) {
	t.Helper()
	for name, want := range map[string]string{
		"": `team=ops:3 it's="q":3 team=law:1`, "~code": "~code=DAMAGED:3 ~code=TIMEOUT:1", "none": "",
	} {
		counts, err := s.CountLabels(t.Context(), query, name)
		requireNoError(t, err)
		got := map[string]bool{}
		last := int64(1 << 30)
		for _, c := range counts {
			got[fmt.Sprintf("%s=%s:%d", c.Name, c.Value, c.Jobs)] = true
			if c.Jobs > last {
				t.Errorf("labels of %q: got %v, want the most frequent first", name, counts)
			}
			last = c.Jobs
		}
		for _, w := range strings.Fields(want) {
			if !got[w] {
				t.Errorf("labels of %q: got %v, want %s", name, counts, w)
			}
		}
		if len(got) != len(strings.Fields(want)) {
			t.Errorf("labels of %q: got %v, want %s", name, counts, want)
		}
	}
}

// putCountedDocuments puts four documents of the tenant and one of another, with states and labels.
func putCountedDocuments(t *testing.T, s search.Store) {
	t.Helper()
	for i, state := range []string{"FAILED", "FAILED", "SUCCEEDED", "FAILED"} {
		doc := search.Document{Tenant: tenant, Job: fmt.Sprint("job", i), Filename: fmt.Sprintf("scan%d.pdf", i),
			CreateTime: dayOfMonth(2 + i), State: state, Labels: map[string]string{"team": "ops", "~code": "DAMAGED", "it's": `"q"`}}
		if i == 3 {
			doc.Labels = map[string]string{"team": "law", "~code": "TIMEOUT"}
		}
		requireNoError(t, s.PutDocument(t.Context(), doc))
	}
	requireNoError(t, s.PutDocument(t.Context(), search.Document{Tenant: "other", Job: "x", CreateTime: dayOfMonth(3),
		State: "FAILED", Labels: map[string]string{"team": "ops"}}))
}
