package searchtest

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/search"
)

func testReplace(t *testing.T, open Open) {
	s := open(t)
	putPage(t, s, "a", 1, "first text stays away")
	putPage(t, s, "a", 2, "second page")
	for range 3 { // the same again, as after a redelivered message
		putPage(t, s, "a", 1, "other text instead")
		requireHits(t, s, "text", "a/1")
		requireHits(t, s, "instead", "a/1")
		requireHits(t, s, "away")
		requireHits(t, s, `"first text"`)
	}
	requireNoError(t, s.PutPages(t.Context(), []search.Page{
		{Tenant: tenant, Job: "a", Run: 1, Number: 2, Text: "earlier in the chunk"},
		{Tenant: tenant, Job: "a", Run: 1, Number: 1, Text: "third text"},
		{Tenant: tenant, Job: "a", Run: 1, Number: 2, Text: "later in the chunk"},
	}))
	requireHits(t, s, "instead")
	requireHits(t, s, "earlier")
	requireHits(t, s, "second")
	requireHits(t, s, "third", "a/1")
	requireHits(t, s, "later", "a/2")
	putPage(t, s, "a", 1, "")
	requireHits(t, s, "third")
	putPage(t, s, "a", 1, "back again")
	requireHits(t, s, "again", "a/1")
}

func testLaterRuns(t *testing.T, open Open) {
	s := open(t)
	page := func(run int, text string) []search.Page {
		return []search.Page{{Tenant: tenant, Job: "a", Run: run, Number: 1, Text: text}}
	}
	requireNoError(t, s.PutPages(t.Context(), page(2, "second run")))
	requireNoError(t, s.PutPages(t.Context(), page(1, "first run, late")))
	requireHits(t, s, "run", "a/1")
	requireHits(t, s, "late")
	requireNoError(t, s.PutPages(t.Context(), page(3, "second run")))
	requireNoError(t, s.PutPages(t.Context(), page(3, "third run")))
	requireHits(t, s, "third", "a/1")
	requireHits(t, s, "second")
}

func testAtomicPuts(t *testing.T, open Open) {
	s := open(t)
	err := s.PutPages(t.Context(), []search.Page{
		{Tenant: tenant, Job: "a", Run: 1, Number: 1, Text: "good"},
		{Tenant: tenant, Job: "a", Run: 1, Number: 0, Text: "good, but its number"},
	})
	if fault.CodeOf(err) != fault.InvalidArgument {
		t.Errorf("PutPages with page 0: got %v, want INVALID_ARGUMENT", err)
	}
	requireHits(t, s, "good")
	requireNoError(t, s.PutPages(t.Context(), nil))
	// Pages of several jobs and tenants in one call, in no order.
	var pages []search.Page
	for i := range 12 {
		tenants := []string{tenant, "other"}
		pages = append(pages, search.Page{Tenant: tenants[i%2], Job: fmt.Sprint("job", i%3), Run: 1, Number: 12 - i,
			Text: "mixed"})
	}
	requireNoError(t, s.PutPages(t.Context(), pages))
	requireHits(t, s, "mixed", "job0/12", "job2/10", "job1/8", "job0/6", "job2/4", "job1/2")
}

func testTenantIsolation(t *testing.T, open Open) {
	s := open(t)
	tenants := []string{"acme", "ACME", "acme2", `ac"me`, "ac'me; DROP TABLE tenants", "ac%", "ацме", "acme "}
	for i, name := range tenants {
		page := search.Page{Tenant: name, Job: "same", Run: 1, Number: 1, Text: fmt.Sprintf("shared secret%d", i)}
		requireNoError(t, s.PutPages(t.Context(), []search.Page{page}))
		requireNoError(t, s.PutDocument(t.Context(),
			search.Document{Tenant: name, Job: "same", Filename: fmt.Sprintf("%d.pdf", i)}))
	}
	search1 := func(name, text string) []search.Hit {
		result, err := s.Search(t.Context(), search.Query{Tenant: name, Text: text})
		requireNoError(t, err)
		return result.Hits
	}
	for i, name := range tenants {
		hits := search1(name, "shared")
		if len(hits) != 1 || hits[0].Filename != fmt.Sprintf("%d.pdf", i) ||
			!strings.Contains(hits[0].Snippet.Text, fmt.Sprint("secret", i)) {
			t.Errorf("tenant %q: got %+v, want its own page alone", name, hits)
		}
		if hits := search1(name, fmt.Sprintf("secret%d", (i+1)%len(tenants))); len(hits) != 0 {
			t.Errorf("tenant %q looks for another's word: got %d hits, want 0", name, len(hits))
		}
	}
	requireNoError(t, s.DeleteJob(t.Context(), "ACME", "same"))
	for i, name := range tenants {
		if got, want := len(search1(name, "shared")), min(1, abs(i-1)); got != want {
			t.Errorf("tenant %q after ACME deleted its job: got %d hits, want %d", name, got, want)
		}
	}
	if hits := search1("nobody", "shared"); len(hits) != 0 {
		t.Errorf("a tenant without pages: got %d hits, want 0", len(hits))
	}
	if _, err := s.Search(t.Context(), search.Query{Text: "shared"}); fault.CodeOf(err) != fault.InvalidArgument {
		t.Errorf("search without a tenant: got %v, want INVALID_ARGUMENT", err)
	}
}

func abs(n int) int { return max(n, -n) }

func testTenantScores(t *testing.T, open Open) {
	s := open(t)
	putPage(t, s, "a", 1, "tax report")
	putPage(t, s, "a", 2, "some other words")
	putPage(t, s, "a", 3, "more of them")
	score := func() float64 {
		result, err := s.Search(t.Context(), search.Query{Tenant: tenant, Text: "tax"})
		requireNoError(t, err)
		if len(result.Hits) != 1 {
			t.Fatalf("hits: got %d, want 1", len(result.Hits))
		}
		return result.Hits[0].Score
	}
	before := score()
	for i := range 20 {
		page := search.Page{Tenant: "other", Job: "b", Run: 1, Number: i + 1, Text: strings.Repeat("tax ", i+1)}
		requireNoError(t, s.PutPages(t.Context(), []search.Page{page}))
	}
	if after := score(); math.Abs(after-before) > 1e-12 {
		t.Errorf("score after another tenant stored pages: got %v, want %v as before", after, before)
	}
}

func testDelete(t *testing.T, open Open) {
	s := open(t)
	requireNoError(t, s.DeleteJob(t.Context(), tenant, "never"))
	var pages []search.Page
	for i := range 150 { // more than goes at once
		pages = append(pages, search.Page{Tenant: tenant, Job: "gone", Run: 1, Number: i + 1,
			Text: fmt.Sprint("word number ", i)})
	}
	requireNoError(t, s.PutPages(t.Context(), pages))
	requireNoError(t, s.PutDocument(t.Context(), search.Document{Tenant: tenant, Job: "gone", Filename: "gone.pdf"}))
	putPage(t, s, "kept", 1, "word number 7")
	for range 2 {
		requireNoError(t, s.DeleteJob(t.Context(), tenant, "gone"))
		requireHits(t, s, "word", "kept/1")
		requireHits(t, s, "wor*", "kept/1")
		requireHits(t, s, `"number 7"`, "kept/1")
	}
	putPage(t, s, "gone", 1, "word that came back")
	requireHits(t, s, "word", "kept/1", "gone/1")
	result, err := s.Search(t.Context(), search.Query{Tenant: tenant, Text: "back"})
	requireNoError(t, err)
	if result.Hits[0].Filename != "" {
		t.Errorf("file name after DeleteJob: got %q, want none", result.Hits[0].Filename)
	}
	for _, bad := range [][2]string{{"", "gone"}, {tenant, ""}} {
		if err := s.DeleteJob(t.Context(), bad[0], bad[1]); fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("DeleteJob(%q, %q): got %v, want INVALID_ARGUMENT", bad[0], bad[1], err)
		}
	}
}

func testBadQueries(t *testing.T, open Open) {
	s := open(t)
	putPage(t, s, "a", 1, "some words")
	for name, query := range map[string]search.Query{
		"empty":               {Text: ""},
		"blank":               {Text: " \n\t "},
		"punctuation":         {Text: "... --- *** ()"},
		"exclusions alone":    {Text: `-words -"some words"`},
		"an open quotation":   {Text: `some "words`},
		"a lone quotation":    {Text: `"`},
		"a beginning too low": {Text: "w*"},
		"too long":            {Text: strings.Repeat("word ", 300)},
		"too many words":      {Text: strings.Repeat("w ", 33)},
		"a negative limit":    {Text: "words", Limit: -1},
	} {
		query.Tenant = tenant
		_, err := s.Search(t.Context(), query)
		if fault.CodeOf(err) != fault.InvalidArgument || fault.KindOf(err) != fault.Permanent {
			t.Errorf("%s: got %v, want a permanent INVALID_ARGUMENT", name, err)
		}
		if query.Text != "" && len(query.Text) < 100 && len(query.Text) > 3 &&
			strings.Contains(fault.UserMessageOf(err), query.Text) {
			t.Errorf("%s: the message %q repeats the query", name, fault.UserMessageOf(err))
		}
	}
}

// hostileStrings are strings with a special meaning in SQL, in a query's syntax, in Unicode or in another language.
var hostileStrings = []string{
	`'; DROP TABLE pages_1; --`, `" OR 1=1 --`, `words MATCH 'x'`, `text : foo`, `text:foo`, `{text} : foo`,
	`- text : foo`, `^foo`, `foo^`,
	`foo + bar`, `NEAR(foo bar, 2)`, `NEAR("foo" "bar")`, `foo AND`, `AND OR NOT`, `NOT NOT foo`, `(foo`, `foo)`,
	`((((((((((`, `foo OR (`,
	`"foo""bar"`, `"foo" "bar"`, `""foo""`, `"""foo"""`, `foo*bar*`, `*foo`, `**foo**`, `foo * *`, `"foo" *`, `-*foo`,
	`--foo*`, `-"-foo"`,
	`foo\`, `\"foo\"`, `%foo%`, `f_o`, `?1`, `:foo`, `@foo`, `$foo`, `{foo`, `[foo]`, `foo;`, `foo,bar`, `foo|bar`,
	`foo&bar`, `<foo>`,
	"foo\x00bar", "\x00", "foo\x01\x02", "\xff\xfefoo", "foo\xc3", "\xed\xa0\x80", "\u202efoo", "\ufefffoo",
	"foo\u00a0bar",
	"\u0301", "a\u0301\u0301\u0301",
	"😀", "foo😀bar", "\U0001E900\U0001E901", "\U0010FFFD", "ꟹ𐐷", "𞤀*", "ﷺ", "İstanbul", "ǅ", "ß*",
	"²³", "½", "Ⅷ", "々", "ー", "\u200d", "\u0600foo",
	"_", "__proto__", "-", "--", "-0", "1e309", "0x41", "rank", "rowid", "NULL", "words_1", "-- comment", "/* foo */",
	"foo/*", "🏳️‍🌈*",
}

func testHostileQueries(t *testing.T, open Open) {
	s := open(t)
	putPage(t, s, "a", 1, "foo bar words and text")
	for _, h := range hostileStrings {
		for _, text := range []string{h, "foo " + h + " -" + h, h + "* foo", "foo \"" + h + "\"*"} {
			_, err := s.Search(t.Context(), search.Query{Tenant: tenant, Text: text, Job: h})
			if err != nil && fault.CodeOf(err) != fault.InvalidArgument {
				t.Errorf("search %q: got %v, want hits, none, or INVALID_ARGUMENT", text, err)
			}
		}
	}
	requireHits(t, s, "foo", "a/1")
}

// hostileJobName names a job in a hostile way.
func hostileJobName(i int, text string) string { return fmt.Sprint(text[:min(len(text), 20)], i) }

func testHostileTexts(t *testing.T, open Open) {
	s := open(t)
	texts := append([]string{"", " ", strings.Repeat("\x00", 5000), strings.Repeat("x", 50_000),
		strings.Repeat("y ", 20_000)}, hostileStrings...)
	for round := range 2 { // the second round deletes what the first stored
		var pages []search.Page
		for i, text := range texts {
			job := hostileJobName(i, text)
			text += fmt.Sprintf(" needle%d round%d", i, round)
			pages = append(pages, search.Page{Tenant: tenant, Job: job, Run: 1, Number: i + 1, Text: text})
		}
		requireNoError(t, s.PutPages(t.Context(), pages))
		for i, text := range texts {
			result, err := s.Search(t.Context(), search.Query{Tenant: tenant, Text: fmt.Sprintf("needle%d round%d", i, round)})
			requireNoError(t, err)
			if len(result.Hits) != 1 || result.Hits[0].Page != i+1 {
				t.Errorf("text %.20q: got %d hits, want its page", text, len(result.Hits))
				continue
			}
			if got := highlightedTexts(result.Hits[0]); len(got) == 0 || !strings.HasPrefix(got[0], "needle") {
				t.Errorf("text %.20q: highlights %q, want the needle", text, got)
			}
		}
	}
	requireHits(t, s, "round0")
	for i, text := range texts {
		requireNoError(t, s.DeleteJob(t.Context(), tenant, hostileJobName(i, text)))
	}
	requireHits(t, s, "needle*")
}

func testBadPages(t *testing.T, open Open) {
	s := open(t)
	for name, page := range map[string]search.Page{
		"no tenant": {Job: "a", Number: 1}, "no job": {Tenant: tenant, Number: 1}, "page 0": {Tenant: tenant, Job: "a"},
		"page -1": {Tenant: tenant, Job: "a", Number: -1},
	} {
		if err := s.PutPages(t.Context(), []search.Page{page}); fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("PutPages with %s: got %v, want INVALID_ARGUMENT", name, err)
		}
	}
	for name, doc := range map[string]search.Document{"no tenant": {Job: "a"}, "no job": {Tenant: tenant}} {
		if err := s.PutDocument(t.Context(), doc); fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("PutDocument with %s: got %v, want INVALID_ARGUMENT", name, err)
		}
	}
}

func testLimits(t *testing.T, open Open) {
	s := open(t)
	var pages []search.Page
	for i := range search.MaxLimit + 10 {
		pages = append(pages, search.Page{Tenant: tenant, Job: "a", Run: 1, Number: i + 1, Text: "same on every page"})
	}
	requireNoError(t, s.PutPages(t.Context(), pages))
	for limit, hits := range map[int]int{0: search.DefaultLimit, 1: 1, 99: 99, search.MaxLimit: search.MaxLimit,
		1 << 40: search.MaxLimit} {
		result, err := s.Search(t.Context(), search.Query{Tenant: tenant, Text: "same", Limit: limit})
		requireNoError(t, err)
		if len(result.Hits) != hits || result.NextCursor == "" {
			t.Errorf("limit %d: got %d hits and cursor %q, want %d and one", limit, len(result.Hits), result.NextCursor, hits)
		}
	}
}
