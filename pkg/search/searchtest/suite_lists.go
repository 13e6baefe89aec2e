package searchtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/search"
)

// dayOfMonth returns a time of day n of a month, to the microsecond, which is what is kept.
func dayOfMonth(n int) time.Time { return time.Date(2026, 3, n, 12, 30, 15, 123456000, time.UTC) }

// putLibrary stores documents of one page each, that all have the word common.
func putLibrary(t *testing.T, s search.Store) {
	t.Helper()
	for i, doc := range []search.Document{
		{Job: "a", Filename: "Rechnung Müller 2026.pdf", PageCount: 1, State: "SUCCEEDED",
			Labels: map[string]string{"team": "ops", "kind": "invoice"}},
		{Job: "b", Filename: "contract_50%.pdf", PageCount: 12, State: "SUCCEEDED",
			Labels: map[string]string{"team": "legal"}},
		{Job: "c", Filename: "scan.pdf", PageCount: 300, State: "FAILED"},
		{Job: "d", Filename: "RECHNUNG.PDF", PageCount: 2, State: "RUNNING",
			Labels: map[string]string{"team": "ops", "it's": `"q" \ 'x'`}},
	} {
		doc.Tenant, doc.CreateTime = tenant, dayOfMonth(i+1)
		requireNoError(t, s.PutDocument(t.Context(), doc))
		requireNoError(t, s.PutPages(t.Context(), []search.Page{
			{Tenant: tenant, Job: doc.Job, Run: 1, Number: 1, Language: []string{"de", "en"}[i%2],
				Text: "common words of " + doc.Job},
		}))
	}
	requireNoError(t, s.PutDocument(t.Context(),
		search.Document{Tenant: "other", Job: "x", Filename: "Rechnung.pdf", PageCount: 1, CreateTime: dayOfMonth(1),
			State: "SUCCEEDED"}))
	putPage(t, s, "loose", 1, "common, but of no document")
}

// filterCases are what each finds among the library's documents.
var filterCases = map[string]struct {
	filter search.Filter
	jobs   string
}{
	"a part of the file name":      {search.Filter{Filename: "rechnung"}, "a d"},
	"with accents":                 {search.Filter{Filename: "MULLER"}, "a"},
	"with what means something":    {search.Filter{Filename: "50%."}, "b"},
	"with a lone wildcard":         {search.Filter{Filename: "_50"}, "b"},
	"with a quotation mark":        {search.Filter{Filename: "'"}, ""},
	"a label":                      {search.Filter{Labels: map[string]string{"team": "ops"}}, "a d"},
	"two labels":                   {search.Filter{Labels: map[string]string{"team": "ops", "kind": "invoice"}}, "a"},
	"a label with another's value": {search.Filter{Labels: map[string]string{"kind": "ops"}}, ""},
	"a label with quotation marks": {search.Filter{Labels: map[string]string{"it's": `"q" \ 'x'`}}, "d"},
	"a label with any value":       {search.Filter{LabelNames: []string{"kind"}}, "a"},
	"a label with any, and another": {search.Filter{LabelNames: []string{"it's"},
		Labels: map[string]string{"team": "ops"}}, "d"},
	"a label that is only a value": {search.Filter{LabelNames: []string{"ops"}}, ""},
	"from a time":                  {search.Filter{From: dayOfMonth(3)}, "c d"},
	"before a time":                {search.Filter{Before: dayOfMonth(3)}, "a b"},
	"a range":                      {search.Filter{From: dayOfMonth(2), Before: dayOfMonth(4)}, "b c"},
	"at least so many pages":       {search.Filter{MinPages: 12}, "b c"},
	"at most so many pages":        {search.Filter{MaxPages: 2}, "a d"},
	"so many pages":                {search.Filter{MinPages: 2, MaxPages: 12}, "b d"},
	"all of it": {search.Filter{Filename: "rech", Labels: map[string]string{"team": "ops"},
		From: dayOfMonth(1), Before: dayOfMonth(9), MinPages: 2}, "d"},
	"nothing that is":                {search.Filter{Filename: "unicorn"}, ""},
	"a file name with a NUL, and \\": {search.Filter{Filename: "a\x00b\\"}, ""},
}

func testFilters(t *testing.T, open Open) {
	s := open(t)
	putLibrary(t, s)
	for name, tt := range filterCases {
		result, err := s.Search(t.Context(), search.Query{Tenant: tenant, Text: "common", Filter: tt.filter})
		if err != nil {
			t.Errorf("%s: got %v, want no error", name, err)
			continue
		}
		var got []string
		for _, h := range result.Hits {
			got = append(got, h.Job)
		}
		slices.Sort(got)
		if strings.Join(got, " ") != tt.jobs {
			t.Errorf("search with %s: got %q, want %q", name, got, tt.jobs)
		}
	}
	for language, want := range map[string]int{"de": 2, "en": 3, "fr": 0, "": 5} {
		result, err := s.Search(t.Context(), search.Query{Tenant: tenant, Text: "common words", Language: language})
		requireNoError(t, err)
		if language == "" || language == "en" {
			want-- // the loose page has no "words"
		}
		if len(result.Hits) != want {
			t.Errorf("search in language %q: got %d hits, want %d", language, len(result.Hits), want)
		}
	}
	for name, bad := range map[string]search.Filter{
		"pages below 0": {MinPages: -1}, "fewer at most than at least": {MinPages: 3, MaxPages: 2},
		"an empty range": {From: dayOfMonth(2), Before: dayOfMonth(2)},
	} {
		_, searchErr := s.Search(t.Context(), search.Query{Tenant: tenant, Text: "common", Filter: bad})
		_, listErr := s.ListJobs(t.Context(), search.JobQuery{Tenant: tenant, Filter: bad})
		if fault.CodeOf(searchErr) != fault.InvalidArgument || fault.CodeOf(listErr) != fault.InvalidArgument {
			t.Errorf("%s: got %v and %v, want INVALID_ARGUMENT", name, searchErr, listErr)
		}
	}
}

// listAllJobs returns the jobs of a list, all of its pages.
func listAllJobs(t *testing.T, s search.Store, q search.JobQuery) string {
	t.Helper()
	var got []string
	for {
		page, err := s.ListJobs(t.Context(), q)
		requireNoError(t, err)
		for _, d := range page.Jobs {
			got = append(got, d.Job)
		}
		if q.Cursor = page.NextCursor; q.Cursor == "" {
			return strings.Join(got, " ")
		}
	}
}

func testListJobs(t *testing.T, open Open) {
	s := open(t)
	if got := listAllJobs(t, s, search.JobQuery{Tenant: tenant}); got != "" {
		t.Errorf("an empty index: got %q, want nothing", got)
	}
	putLibrary(t, s)
	for name, tt := range filterCases {
		if got := listAllJobs(t, s, search.JobQuery{Tenant: tenant, Filter: tt.filter, OldestFirst: true}); got != tt.jobs {
			t.Errorf("list with %s: got %q, want %q", name, got, tt.jobs)
		}
	}
	for _, limit := range []int{1, 2, 3, 4, 5} {
		if got := listAllJobs(t, s, search.JobQuery{Tenant: tenant, Limit: limit}); got != "d c b a" {
			t.Errorf("newest first, %d at a time: got %q, want d c b a", limit, got)
		}
	}
	if got := listAllJobs(t, s, search.JobQuery{Tenant: tenant, States: []string{"FAILED", "RUNNING"}}); got != "d c" {
		t.Errorf("by states: got %q, want d c", got)
	}
	if got := listAllJobs(t, s, search.JobQuery{Tenant: "other"}); got != "x" {
		t.Errorf("another tenant: got %q, want x", got)
	}
	page, err := s.ListJobs(t.Context(), search.JobQuery{Tenant: tenant, Filter: search.Filter{Filename: "müller"}})
	requireNoError(t, err)
	if len(page.Jobs) != 1 {
		t.Fatalf("jobs: got %d, want 1", len(page.Jobs))
	}
	got := page.Jobs[0]
	if got.Tenant != tenant || got.Filename != "Rechnung Müller 2026.pdf" || !got.CreateTime.Equal(dayOfMonth(1)) ||
		!got.EndTime.IsZero() ||
		got.State != "SUCCEEDED" || got.PageCount != 1 || len(got.Labels) != 2 || got.Labels["team"] != "ops" {
		t.Errorf("document: got %+v, want it as it was put", got)
	}
	// A job that changes takes its new place in the answers, and none twice.
	got.State, got.EndTime, got.Labels = "PARTIAL", dayOfMonth(5), nil
	requireNoError(t, s.PutDocument(t.Context(), got))
	if got := listAllJobs(t, s, search.JobQuery{Tenant: tenant, States: []string{"SUCCEEDED"}}); got != "b" {
		t.Errorf("by its earlier state: got %q, want b", got)
	}
	if got := listAllJobs(t, s, search.JobQuery{Tenant: tenant, States: []string{"PARTIAL"}}); got != "a" {
		t.Errorf("by its state: got %q, want a", got)
	}
	requireNoError(t, s.DeleteJob(t.Context(), tenant, "a"))
	if got := listAllJobs(t, s, search.JobQuery{Tenant: tenant}); got != "d c b" {
		t.Errorf("after DeleteJob: got %q, want d c b", got)
	}
}

func testListCursors(t *testing.T, open Open) {
	s := open(t)
	at := func(job string, n int) {
		requireNoError(t, s.PutDocument(t.Context(),
			search.Document{Tenant: tenant, Job: job, CreateTime: dayOfMonth(n), State: "SUCCEEDED"}))
	}
	for i := range 9 { // three at a time
		at(fmt.Sprint("job", i), 1+i/3)
	}
	query := search.JobQuery{Tenant: tenant, Limit: 4}
	first, err := s.ListJobs(t.Context(), query)
	requireNoError(t, err)
	at("new", 9) // comes before what was listed: neither it nor anything twice
	requireNoError(t, s.DeleteJob(t.Context(), tenant, first.Jobs[3].Job))
	query.Cursor = first.NextCursor
	if got := listAllJobs(t, s, query); got != "job4 job3 job2 job1 job0" {
		t.Errorf("after the cursor: got %q, want job4 to job0", got)
	}
	for name, bad := range map[string]search.JobQuery{
		"of another order":  {Tenant: tenant, OldestFirst: true, Cursor: first.NextCursor},
		"of another tenant": {Tenant: "other", Cursor: first.NextCursor},
		"of another filter": {Tenant: tenant, States: []string{"FAILED"}, Cursor: first.NextCursor},
		"of somebody else":  {Tenant: tenant, Cursor: "' OR 1=1 --"},
		"cut off":           {Tenant: tenant, Cursor: first.NextCursor[:8]},
		"with a bad limit":  {Tenant: tenant, Limit: -1},
		"without a tenant":  {},
	} {
		if _, err := s.ListJobs(t.Context(), bad); fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("cursor %s: got %v, want INVALID_ARGUMENT", name, err)
		}
	}
}

// testLongLists lists many documents, of which filters leave few, in both orders.
func testLongLists(t *testing.T, open Open) {
	s := open(t)
	const all = 150
	var docs []search.Document
	var names, failed []string // oldest first
	for i := range all {
		doc := search.Document{Tenant: tenant, Job: fmt.Sprintf("job%03d", i), State: "PENDING",
			CreateTime: dayOfMonth(1).Add(time.Duration(i/2) * time.Second)} // two at a time
		docs = append(docs, doc)
		if i%50 == 7 {
			failed = append(failed, doc.Job)
		}
		if i%10 != 3 {
			names = append(names, doc.Job)
		}
	}
	requireNoError(t, s.PutDocuments(t.Context(), docs))
	for i := range docs { // again, as each of them ends or goes
		docs[i].State, docs[i].EndTime = "SUCCEEDED", dayOfMonth(2)
		if i%50 == 7 {
			docs[i].State = "FAILED"
		}
	}
	requireNoError(t, s.PutDocuments(t.Context(), docs))
	for i := 3; i < all; i += 10 {
		requireNoError(t, s.DeleteJob(t.Context(), tenant, docs[i].Job))
	}
	for _, limit := range []int{1, 4, all} {
		q := search.JobQuery{Tenant: tenant, Limit: limit, OldestFirst: true}
		if got, want := listAllJobs(t, s, q), strings.Join(names, " "); got != want {
			t.Errorf("oldest first, %d at a time:\n got %s\nwant %s", limit, got, want)
		}
		q.States = []string{"FAILED"}
		if got, want := listAllJobs(t, s, q), strings.Join(failed, " "); got != want {
			t.Errorf("failed, oldest first, %d at a time: got %s, want %s", limit, got, want)
		}
		q.States, q.OldestFirst = []string{"PENDING"}, false
		if got := listAllJobs(t, s, q); got != "" {
			t.Errorf("pending, %d at a time: got %s, want none", limit, got)
		}
		q.States = nil
		newest := slices.Clone(names)
		slices.Reverse(newest)
		if got, want := listAllJobs(t, s, q), strings.Join(newest, " "); got != want {
			t.Errorf("newest first, %d at a time:\n got %s\nwant %s", limit, got, want)
		}
	}
	// One that is recreated has another time, and is where that is.
	again := docs[all-1]
	again.CreateTime = dayOfMonth(1).Add(-time.Second)
	requireNoError(t, s.PutDocument(t.Context(), again))
	page, err := s.ListJobs(t.Context(), search.JobQuery{Tenant: tenant, Limit: 1})
	requireNoError(t, err)
	if len(page.Jobs) != 1 || page.Jobs[0].Job != docs[all-2].Job {
		t.Errorf("the newest, when another is recreated: got %+v, want %s", page.Jobs, docs[all-2].Job)
	}
}

// testSparseLists lists documents that are years apart at first and milliseconds apart at last, as far as the clock has
// come and beyond.
func testSparseLists(t *testing.T, open Open) {
	s := open(t)
	var names []string // newest first
	at := time.Now().Add(time.Minute)
	for i := range 60 {
		doc := search.Document{Tenant: tenant, Job: fmt.Sprintf("job%03d", i), State: "PENDING", CreateTime: at}
		requireNoError(t, s.PutDocument(t.Context(), doc))
		names = append(names, doc.Job)
		at = at.Add(-time.Millisecond << (i * 40 / 60)) // up to 17 years
	}
	for _, limit := range []int{1, 2, 7, len(names)} {
		q := search.JobQuery{Tenant: tenant, Limit: limit}
		for range 2 { // again, from what the first has shown
			if got, want := listAllJobs(t, s, q), strings.Join(names, " "); got != want {
				t.Errorf("%d at a time:\n got %s\nwant %s", limit, got, want)
			}
		}
	}
}

// testOldLists lists documents of which all are as old as archives may be: few of them, and then more.
func testOldLists(t *testing.T, open Open) {
	s := open(t)
	const year = 365 * 24 * time.Hour
	for _, age := range []time.Duration{4 * year, 6 * year, 9*year + year/2, 11 * year, 200 * year} {
		tenant := fmt.Sprint("archive", age)
		var docs []search.Document
		for i := range 12 {
			docs = append(docs, search.Document{Tenant: tenant, Job: fmt.Sprintf("job%03d", i), State: "SUCCEEDED",
				CreateTime: time.Now().Add(-age - time.Duration(i)*time.Second)})
		}
		requireNoError(t, s.PutDocuments(t.Context(), docs))
		for _, limit := range []int{1, 50} {
			page, err := s.ListJobs(t.Context(), search.JobQuery{Tenant: tenant, Limit: limit})
			requireNoError(t, err)
			if want := min(limit, len(docs)); len(page.Jobs) != want || page.Jobs[0].Job != docs[0].Job {
				t.Errorf("of %s ago: got %d documents, want %d, the newest first", age, len(page.Jobs), want)
			}
		}
	}
}

func testInflections(t *testing.T, open Open) {
	s := open(t)
	putPage(t, s, "a", 1, "The invoices were planned and billed by several companies")
	putPage(t, s, "b", 1, "One invoice, the company plans its billing")
	for query, pages := range map[string][]string{
		"invoice": {"a/1", "b/1"}, "invoices": {"a/1", "b/1"}, "Company": {"a/1", "b/1"}, "billing": {"a/1", "b/1"},
		"bill":      {"a/1", "b/1"},
		`"invoice"`: {"b/1"}, `"invoices"`: {"a/1"}, "invoice companies": {"a/1", "b/1"}, "companies -billed": nil,
		`companies -"billed"`: {"b/1"},
		"plans":               {"a/1", "b/1"}, "invoic*": {"a/1", "b/1"}, "billi*": {"b/1"}, "sever": nil, "on": nil,
	} {
		requireHits(t, s, query, pages...)
	}
	m, err := search.NewMatcher(`company -unicorn "its billing"`)
	requireNoError(t, err)
	words := strings.Fields("One invoice, the company plans its billing")
	var got []string
	for _, match := range m.FindMatches(words) {
		got = append(got, words[match.Word][match.Span.Start:match.Span.End])
	}
	if !slices.Equal(got, []string{"company", "its", "billing"}) {
		t.Errorf("words that match: got %q, want company, its and billing", got)
	}
}
