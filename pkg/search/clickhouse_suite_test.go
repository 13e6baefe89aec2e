package search_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/search"
	"inkstream.dev/pkg/search/searchtest"
)

func TestClickHouse(t *testing.T) {
	t.Parallel()
	server := searchtest.NewClickHouse(t)
	searchtest.Run(t, func(*testing.T) searchtest.Open {
		url := server.URL()
		return func(t *testing.T) search.Store {
			s, err := search.Open(t.Context(), url)
			if err != nil {
				t.Errorf("Open: got %v, want no error", err)
			}
			return s
		}
	})
}

// What is deleted is off the disk after the next purge, and what came back stays.
func TestClickHousePurge(t *testing.T) {
	t.Parallel()
	server := searchtest.NewClickHouse(t)
	s := search.TestedClickHouse(t, server.URL())
	var pages []search.Page
	for i := range 40 {
		for _, job := range []string{"gone", "kept", "back"} {
			pages = append(pages, search.Page{Tenant: "acme", Job: job, Run: 1 + i%2, Number: i + 1,
				Text: "four words each page"})
		}
	}
	put := func(pages ...search.Page) {
		t.Helper()
		if err := s.PutPages(t.Context(), pages); err != nil {
			t.Fatal(err)
		}
	}
	put(pages...)
	put(pages...) // the same again is not stored again
	for _, job := range []string{"gone", "kept", "back"} {
		if err := s.PutDocument(t.Context(), search.Document{Tenant: "acme", Job: job, Filename: job + ".pdf"}); err != nil {
			t.Fatal(err)
		}
	}
	wantRows := func(when, table string, want int) {
		t.Helper()
		if got := search.CountRows(t, s, table); got != want {
			t.Errorf("rows of %s %s: got %d, want %d", table, when, got, want)
		}
	}
	wantRows("at first", "pages", 120)
	wantRows("at first", "words", 480)
	for range 2 {
		for _, job := range []string{"gone", "back"} {
			if err := s.DeleteJob(t.Context(), "acme", job); err != nil {
				t.Fatal(err)
			}
		}
	}
	put(search.Page{Tenant: "acme", Job: "back", Run: 1, Number: 1, Text: "back again"})
	if err := s.Purge(t.Context()); err != nil {
		t.Fatalf("Purge: got %v, want no error", err)
	}
	wantRows("after the purge", "words", 162)
	wantRows("after the purge", "documents", 1)
	wantRows("after the purge", "documents_by_time", 1)
	for text, want := range map[string]int{"words": 40, "again": 1} {
		result, err := s.Search(t.Context(), search.Query{Tenant: "acme", Text: text, Limit: search.MaxLimit})
		if err != nil || len(result.Hits) != want {
			t.Errorf("search %s after the purge: got %d hits, %v, want %d", text, len(result.Hits), err, want)
		}
	}
	if err := s.Purge(t.Context()); err != nil {
		t.Errorf("another Purge: got %v, want no error", err)
	}
}

// A server that was away comes back, with what it acknowledged.
func TestClickHouseRestart(t *testing.T) {
	t.Parallel()
	server := searchtest.NewClickHouse(t)
	s := search.TestedClickHouse(t, server.URL())
	page := []search.Page{{Tenant: "acme", Job: "j", Run: 1, Number: 1, Text: "words"}}
	if err := s.PutPages(t.Context(), page); err != nil {
		t.Fatal(err)
	}
	server.Stop()
	page[0].Number = 2
	if err := s.PutPages(t.Context(), page); fault.KindOf(err) != fault.Busy || fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("PutPages with the server away: got %v, want a Busy fault UNAVAILABLE", err)
	}
	if _, err := s.Search(t.Context(), search.Query{Tenant: "acme", Text: "words"}); fault.KindOf(err) != fault.Busy {
		t.Errorf("Search with the server away: got %v, want a Busy fault", err)
	}
	server.Start(t)
	if err := s.PutPages(t.Context(), page); err != nil {
		t.Errorf("PutPages with the server back: got %v, want no error", err)
	}
	result, err := s.Search(t.Context(), search.Query{Tenant: "acme", Text: "words"})
	if err != nil || len(result.Hits) != 2 {
		t.Errorf("Search with the server back: got %d hits, %v, want 2", len(result.Hits), err)
	}
}

// A write of which a part failed is made good by the next try, whatever the part was.
func TestClickHouseHalfWritten(t *testing.T) {
	t.Parallel()
	s := search.TestedClickHouse(t, searchtest.NewClickHouse(t).URL())
	for i, table := range []string{"words", "pages"} {
		page := []search.Page{{Tenant: "acme", Job: "j", Run: 1, Number: i + 1, Text: "words of " + table}}
		search.Exec(t, s, "RENAME TABLE "+table+" TO hidden")
		if err := s.PutPages(t.Context(), page); err == nil {
			t.Errorf("PutPages without the table %s: got no error, want one", table)
		}
		search.Exec(t, s, "RENAME TABLE hidden TO "+table)
		if err := s.PutPages(t.Context(), page); err != nil {
			t.Errorf("PutPages with the table %s back: got %v, want no error", table, err)
		}
		result, err := s.Search(t.Context(), search.Query{Tenant: "acme", Text: table})
		if err != nil || len(result.Hits) != 1 {
			t.Errorf("search after the table %s was away: got %d hits, %v, want 1", table, len(result.Hits), err)
		}
	}
}

// requireListed checks which jobs of a tenant a list has, newest first.
func requireListed(t *testing.T, s search.Store, when string, want ...string) {
	t.Helper()
	page, err := s.ListJobs(t.Context(), search.JobQuery{Tenant: "acme"})
	if err != nil {
		t.Fatalf("list %s: got %v, want no error", when, err)
	}
	var got []string
	for _, d := range page.Jobs {
		got = append(got, d.Job)
	}
	if !slices.Equal(got, want) {
		t.Errorf("list %s: got %q, want %q", when, got, want)
	}
}

// A document whose row in the order of lists failed to be written, or to be hidden, is there, or gone, after the next try.
func TestClickHouseHalfListed(t *testing.T) {
	t.Parallel()
	s := search.TestedClickHouse(t, searchtest.NewClickHouse(t).URL())
	doc := search.Document{Tenant: "acme", Job: "j", CreateTime: time.Unix(1_700_000_000, 0)}
	for _, step := range []struct {
		name  string
		write func() error
		want  []string
	}{
		{"put", func() error { return s.PutDocument(t.Context(), doc) }, []string{"j"}},
		{"deleted", func() error { return s.DeleteJob(t.Context(), "acme", "j") }, nil},
	} {
		search.Exec(t, s, "RENAME TABLE documents_by_time TO hidden")
		if err := step.write(); err == nil {
			t.Errorf("%s without the table of lists: got no error, want one", step.name)
		}
		search.Exec(t, s, "RENAME TABLE hidden TO documents_by_time")
		if err := step.write(); err != nil {
			t.Errorf("%s with the table of lists back: got %v, want no error", step.name, err)
		}
		requireListed(t, s, step.name, step.want...)
	}
}

// A document that is stored as it is, as by each process that follows the records, costs no row.
func TestClickHouseStoresDocumentOnce(t *testing.T) {
	t.Parallel()
	url := searchtest.NewClickHouse(t).URL()
	s, other := search.TestedClickHouse(t, url), search.TestedClickHouse(t, url)
	doc := search.Document{Tenant: "acme", Job: "j", State: "RUNNING", CreateTime: time.Unix(1_700_000_000, 0),
		Labels: map[string]string{"a": "1", "b": "2"}, Stages: map[string]search.StageRun{"ocr": {Units: 1}, "scan": {}}}
	put := func(s *search.ClickHouse) {
		t.Helper()
		if err := s.PutDocument(t.Context(), doc); err != nil {
			t.Fatal(err)
		}
	}
	wantInserts := func(when string, want int) {
		t.Helper()
		if got := search.CountInserts(t, s, "documents"); got != want {
			t.Errorf("inserts %s: got %d, want %d", when, got, want)
		}
	}
	put(s)
	put(other)
	put(s)
	wantInserts("of one document", 1)
	doc.State = "SUCCEEDED"
	put(other)
	put(s)
	wantInserts("of a document that changed", 2)
	if err := s.DeleteJob(t.Context(), "acme", "j"); err != nil {
		t.Fatal(err)
	}
	put(other)
	put(s)
	wantInserts("of a document that was deleted and came back", 4)
	requireListed(t, s, "after it came back", "j")
}

// Documents that were stored before there was a table in the order of lists are listed as they were last.
func TestClickHouseListsEarlierDocuments(t *testing.T) {
	t.Parallel()
	url := searchtest.NewClickHouse(t).URL()
	before := search.TestedClickHouse(t, url)
	for _, statement := range []string{"DROP TABLE documents_to_time", "DROP TABLE documents_by_time", "DROP TABLE schema_migrations"} {
		search.Exec(t, before, statement)
	}
	at := time.Unix(1_700_000_000, 0)
	for i, job := range []string{"first", "second", "gone", "first"} {
		doc := search.Document{Tenant: "acme", Job: job, CreateTime: at.Add(time.Duration(i) * time.Hour)}
		if err := before.PutDocument(t.Context(), doc); err != nil {
			t.Fatal(err)
		}
	}
	if err := before.DeleteJob(t.Context(), "acme", "gone"); err != nil {
		t.Fatal(err)
	}
	requireListed(t, search.TestedClickHouse(t, url), "after the migration", "first", "second")
}

// A document that a process of the version before hides, which does not know of lists' order, leaves lists with the next
// purge.
func TestClickHouseListsWhatEarlierVersionsDelete(t *testing.T) {
	t.Parallel()
	s := search.TestedClickHouse(t, searchtest.NewClickHouse(t).URL())
	for _, job := range []string{"gone", "kept"} {
		doc := search.Document{Tenant: "acme", Job: job, CreateTime: time.Unix(1_700_000_000, 0)}
		if err := s.PutDocument(t.Context(), doc); err != nil {
			t.Fatal(err)
		}
	}
	search.Exec(t, s, `INSERT INTO removals (tenant, jid, job, month, version, document, done, removed)
		SELECT tenant, jid, job, 0, 0, version + 1, 0, now() FROM documents WHERE job = 'gone'`)
	search.Exec(t, s, `INSERT INTO documents (tenant, jid, job, version, deleted)
		SELECT tenant, jid, job, version + 1, 1 FROM documents WHERE job = 'gone'`)
	if err := s.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	requireListed(t, s, "after the purge", "kept")
}

// A phrase of words that nearly all pages have, and few beside each other, is looked for in many texts. They are read
// in as few queries as may be, because each costs a few milliseconds.
func TestClickHouseRarePhrases(t *testing.T) {
	t.Parallel()
	s := search.TestedClickHouse(t, searchtest.NewClickHouse(t).URL())
	const pages, every, limit = 900, 30, 20
	apart := "alpha" + strings.Repeat(" and", 64) + " beta" // as far as the words' rows tell, beside each other
	var all []search.Page
	for n := 1; n <= pages; n++ {
		p := search.Page{Tenant: "acme", Job: "j", Run: 1, Number: n, Text: apart + " alpha and beta"}
		if n%every == 0 { // as many words, so that it scores the same
			p.Text = apart + " and alpha beta"
		}
		all = append(all, p)
	}
	if err := s.PutPages(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	var found search.Result
	queries := search.CountQueries(s, func() {
		var err error
		if found, err = s.Search(t.Context(), search.Query{Tenant: "acme", Text: `"alpha beta"`, Limit: limit}); err != nil {
			t.Fatal(err)
		}
	})
	if len(found.Hits) != limit || found.NextCursor == "" {
		t.Errorf("got %d hits, cursor %q, want %d and more", len(found.Hits), found.NextCursor, limit)
	}
	// Two count the words, one finds the candidates, one reads the documents' names.
	if most := 4 + 3; queries > most {
		t.Errorf("%d queries, want at most %d", queries, most)
	}
}

// What a caller's context does after a write does not close the connection, which another caller may have by then: the
// driver looks at a batch's context in a goroutine that may come too late.
func TestClickHouseWatchesNoContext(t *testing.T) {
	t.Parallel()
	s := search.TestedClickHouse(t, searchtest.NewClickHouse(t).URL())
	batches, watching := search.WatchedBatches(s, func() {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if err := errors.Join(
			s.PutPages(ctx, []search.Page{{Tenant: "acme", Job: "j", Run: 1, Number: 1, Text: "words"}}),
			s.PutDocument(ctx, search.Document{Tenant: "acme", Job: "j", State: "SUCCEEDED"}),
			s.PutEvents(ctx, []search.Event{{Tenant: "acme", Job: "j", ID: "e", Sequence: 1, Type: "ended"}}),
		); err != nil {
			t.Error(err)
		}
	})
	if batches < 3 || len(watching) > 0 {
		t.Errorf("%d batches, of which the driver watches %q, want at least 3 and none", batches, watching)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.PutEvents(ended, []search.Event{{Tenant: "acme", Job: "j", ID: "late", Sequence: 2,
		Type: "ended"}}); !errors.Is(err, context.Canceled) {
		t.Errorf("PutEvents with a context that has ended: got %v, want %v", err, context.Canceled)
	}
}
