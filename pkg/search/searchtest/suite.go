// Package searchtest holds the tests that every search store passes.
package searchtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/search"
)

// Open returns a handle on an index. Handles opened by the same test see the same index, which is empty at first, as
// several processes do that open one file.
type Open func(t *testing.T) search.Store

// Run tests a store. newIndex returns an Open for an index of its own each time. Run closes the handles.
func Run(t *testing.T, newIndex func(t *testing.T) Open) {
	for _, tt := range []struct {
		name string
		test func(*testing.T, Open)
	}{
		{"words, phrases, exclusions and beginnings", testQueries},
		{"snippets show what matched, and where", testSnippets},
		{"case does not matter, nor do Latin accents; any script is found", testUnicode},
		{"words are found in scripts without blanks", testUnspacedScripts},
		{"better pages come first", testRanking},
		{"a cursor goes on in the same order", testPaging},
		{"a cursor goes on though pages are added", testPagingOfGrowingIndex},
		{"a cursor fits its query alone", testCursors},
		{"a second Put replaces the page", testReplace},
		{"an earlier run does not undo a later one", testLaterRuns},
		{"a chunk is stored whole or not at all", testAtomicPuts},
		{"tenants do not see each other", testTenantIsolation},
		{"a tenant's scores do not hang on another's pages", testTenantScores},
		{"a search may be for one job", testOneJob},
		{"DeleteJob removes one job, and is repeatable", testDelete},
		{"documents give hits their file names", testDocuments},
		{"a search may be for some documents", testFilters},
		{"other forms of an English word do as well", testInflections},
		{"jobs are listed by what they are like", testListJobs},
		{"a list goes on where it ended", testListCursors},
		{"long lists", testLongLists}, {"sparse lists", testSparseLists}, {"old lists", testOldLists},
		{"jobs are counted by state and label", testCounts},
		{"jobs are counted by the values of a label", testGroups},
		{"counts follow every change", testCountsFollowChanges},
		{"a trail has each event once, in order", testEvents},
		{"of a job that was removed a tombstone stays", testTombstones},
		{"stages are summed up by time", testStageStats},
		{"bad queries are INVALID_ARGUMENT", testBadQueries},
		{"no query is a syntax error", testHostileQueries},
		{"no text breaks the index", testHostileTexts},
		{"bad pages are refused", testBadPages},
		{"limits are kept", testLimits},
		{"writers and readers do not disturb each other", testConcurrentPuts},
		{"what one handle stores another finds", testTwoHandles},
		{"a done context ends a call", testContext},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			open := newIndex(t)
			tt.test(t, func(t *testing.T) search.Store {
				t.Helper()
				s := open(t)
				t.Cleanup(func() { requireNoError(t, s.Close()) })
				return s
			})
		})
	}
}

// requireNoError fails the test at once if err is one.
func requireNoError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("got error %v, want none", err)
	}
}

const tenant = "acme"

// putPage stores one page of the tenant.
func putPage(t *testing.T, s search.Store, job string, number int, text string) {
	t.Helper()
	requireNoError(t, s.PutPages(t.Context(),
		[]search.Page{{Tenant: tenant, Job: job, Run: 1, Number: number, Language: "en", Text: text}}))
}

// findPages returns the hits as job/page, best first.
func findPages(t *testing.T, s search.Store, text string) []string {
	t.Helper()
	result, err := s.Search(t.Context(), search.Query{Tenant: tenant, Text: text, Limit: search.MaxLimit})
	if err != nil {
		t.Fatalf("search %.50q: got error %v, want none", text, err)
	}
	return hitPlaces(result.Hits)
}

func hitPlaces(hits []search.Hit) []string {
	out := []string{}
	for _, h := range hits {
		out = append(out, fmt.Sprintf("%s/%d", h.Job, h.Page))
	}
	return out
}

// requireHits fails the test unless the query finds exactly those pages, in any order.
func requireHits(t *testing.T, s search.Store, text string, pages ...string) {
	t.Helper()
	got := findPages(t, s, text)
	slices.Sort(got)
	slices.Sort(pages)
	if !slices.Equal(got, pages) {
		t.Errorf("search %.50q: got %q, want %q", text, got, pages)
	}
}

func testQueries(t *testing.T, open Open) {
	s := open(t)
	requireHits(t, s, "nothing") // an index without any tenant
	putPage(t, s, "a", 1, "The quick brown fox jumps over the lazy dog.")
	putPage(t, s, "a", 2, "A brown dog, quick as a fox; well-known and state-of-the-art. Invoice no. 2024-0815 of 3.5 EUR")
	putPage(t, s, "b", 1, "NOT every fox OR dog is brown AND quick NEAR here")
	for query, pages := range map[string][]string{
		"fox":                        {"a/1", "a/2", "b/1"},
		"FOX Lazy":                   {"a/1"},
		"fox  \t\n dog":              {"a/1", "a/2", "b/1"},
		"unicorn":                    nil,
		"fox unicorn":                nil,
		`"quick brown"`:              {"a/1"},
		`"brown quick"`:              nil,
		`"brown dog quick"`:          {"a/2"}, // punctuation parts no phrase
		`"brown dog, quick!"`:        {"a/2"},
		`"quick brown" lazy`:         {"a/1"},
		`lazy"quick brown"`:          {"a/1"},
		"fox -lazy":                  {"a/2", "b/1"},
		`fox -"quick brown"`:         {"a/2", "b/1"},
		`fox -"quick brown" -every`:  {"a/2"},
		"fox -fox":                   nil,
		"-lazy fox --every":          {"a/2"},
		"fox -unicorn":               {"a/1", "a/2", "b/1"},
		"qui*":                       {"a/1", "a/2", "b/1"},
		"jump* laz*":                 {"a/1"},
		"jum":                        nil,
		"fox -ju*":                   {"a/2", "b/1"},
		`"brown fo"*`:                {"a/1"},
		`"brown do"*`:                {"a/2"},
		"well-known":                 {"a/2"},
		"known-well":                 nil,
		"state-of-the-ar*":           {"a/2"},
		"2024-0815":                  {"a/2"},
		"3.5":                        {"a/2"},
		"invoice.":                   {"a/2"},
		"fox - dog":                  {"a/1", "a/2", "b/1"}, // a lone dash is punctuation
		"fox . * ,":                  {"a/1", "a/2", "b/1"},
		"NOT fox":                    {"b/1"}, // words, not operators
		"fox OR lazy":                nil,
		"brown AND fox":              {"a/2", "b/1"},
		"fox NEAR here":              {"b/1"},
		`fox -"" -"..." -- "" "," -`: {"a/1", "a/2", "b/1"},
	} {
		requireHits(t, s, query, pages...)
	}
}

func testSnippets(t *testing.T, open Open) {
	s := open(t)
	filler := strings.Repeat("lorem ipsum dolor sit amet ", 60)
	putPage(t, s, "a", 1, filler+"\nA contract\nfor the Müller account. "+filler)
	putPage(t, s, "b", 1, "short: contract")
	result, err := s.Search(t.Context(), search.Query{Tenant: tenant, Text: `contract -unicorn`})
	requireNoError(t, err)
	if len(result.Hits) != 2 {
		t.Fatalf("hits: got %d, want 2", len(result.Hits))
	}
	for _, hit := range result.Hits {
		if got := highlightedTexts(hit); !slices.Equal(got, []string{"contract"}) {
			t.Errorf("highlights of %s: got %q in %q, want contract once", hit.Job, got, hit.Snippet.Text)
		}
		if len(hit.Snippet.Text) > 400 || strings.ContainsAny(hit.Snippet.Text, "\n\t\x00\x01\x02\x03") {
			t.Errorf("snippet of %s: got %q, want a line of at most 400 bytes", hit.Job, hit.Snippet.Text)
		}
		if hit.Language != "en" || hit.Run != 1 {
			t.Errorf("hit %s: got language %q, run %d, want en, 1", hit.Job, hit.Language, hit.Run)
		}
	}
	result, err = s.Search(t.Context(), search.Query{Tenant: tenant, Text: `muller contr*`})
	requireNoError(t, err)
	if len(result.Hits) != 1 || !slices.Equal(highlightedTexts(result.Hits[0]), []string{"contract", "Müller"}) {
		t.Fatalf("muller contr*: got %+v, want one hit that marks contract and Müller", result.Hits)
	}
	text := result.Hits[0].Snippet.MarkHighlights("<b>", "</b>", nil)
	if !strings.Contains(text, "A <b>contract</b> for the <b>Müller</b> account.") || !strings.HasPrefix(text, "…") {
		t.Errorf("Mark: got %q, want the words marked and a beginning left out", text)
	}
}

// highlightedTexts returns the highlighted pieces of a hit's snippet.
func highlightedTexts(hit search.Hit) []string {
	var out []string
	for _, span := range hit.Snippet.Highlights {
		out = append(out, hit.Snippet.Text[span.Start:span.End])
	}
	return out
}

func testUnicode(t *testing.T, open Open) {
	s := open(t)
	putPage(t, s, "de", 1, "Größe der Straße in Zürich, Ärger über Öl")
	putPage(t, s, "fr", 1, "L'été, le café de Noël; re\u0301sume\u0301 décomposé") // with combining accents
	putPage(t, s, "ru", 1, "Договор аренды, Ёлка")
	putPage(t, s, "gr", 1, "Σύμβαση μίσθωσης ΌΡΟΣ")
	putPage(t, s, "zh", 1, "合同 编号 北京市")
	putPage(t, s, "ja", 1, "契約書 カタカナ ひらがな")
	putPage(t, s, "ar", 1, "عقد الإيجار")
	putPage(t, s, "math", 1, "ﬁnal 𝛼𝛽 H₂O №5 😀 done")
	for query, page := range map[string]string{
		"grosse": "de/1", "große": "de/1", "größe": "de/1", "GRÖSSE": "de/1", "grö*": "de/1", "STRASSE": "de/1",
		"strass*": "de/1", "straß*": "de/1", "zurich": "de/1", "ZÜRICH": "de/1", "arger": "de/1",
		"ete": "fr/1", "cafe": "fr/1", "Noel": "fr/1", "résumé": "fr/1", "resume": "fr/1", "re\u0301sume\u0301": "fr/1",
		"decompose": "fr/1", "договор": "ru/1", "ДОГОВОР арен*": "ru/1", "ёлка": "ru/1",
		"σύμβαση": "gr/1", "ΣΎΜΒΑΣΗ": "gr/1", "όρος": "gr/1", "ΌΡΟΣ": "gr/1",

		"合同": "zh/1", `"合同 编号"`: "zh/1", "北京市": "zh/1", "北*": "zh/1", "契約書": "ja/1", "カタカナ": "ja/1",
		"عقد": "ar/1", "done": "math/1", "5": "math/1", "final": "math/1",
	} {
		requireHits(t, s, query, page)
	}
}

func testUnspacedScripts(t *testing.T, open Open) {
	s := open(t)
	putPage(t, s, "ja", 1, "假定された有機交流\n電燈のひとつの青い照明です（PDF文書）。ｶﾞｲﾄﾞとサーバー、⼀覧")
	putPage(t, s, "ja", 3, "㈱テスト")
	putPage(t, s, "ja", 2, "電車と交流の流れ、燈台、サーバ、ガイド、PDF、文の書")
	putPage(t, s, "zh", 1, "北京市的合同 编号２０２４，甲方是公司")
	putPage(t, s, "ko", 1, "코로나-19 관련 보험은 \u1112\u1161\u11ab국에서") // with one syllable in parts
	putPage(t, s, "th", 1, "เอกสารนี้เป็นความลับ")
	putPage(t, s, "th", 2, "เอกสารนั้นเป็นความลบ")
	putPage(t, s, "hi", 1, "हिन्दी में")
	putPage(t, s, "hi", 2, "हनद मा")
	for query, pages := range map[string][]string{
		"交流電燈": {"ja/1"}, `"交流電燈の"`: {"ja/1"}, "交流": {"ja/1", "ja/2"}, "電燈*": {"ja/1"},
		"燈電": nil, "電 燈": {"ja/1", "ja/2"}, `"電 燈"`: {"ja/1"},
		"交流 -電燈": {"ja/2"}, "交流　－電燈": {"ja/2"}, "„交流電燈“": {"ja/1"},
		"“交流 照明”": nil, "交＊": {"ja/1", "ja/2"}, "交流 -燈": nil, "文書": {"ja/1"},
		"PDF文書": {"ja/1"}, "pdf": {"ja/1", "ja/2"}, `"pdf文"*`: {"ja/1", "ja/2"}, "文書pdf": nil,
		"ガイド": {"ja/1", "ja/2"}, "ｶﾞｲﾄﾞ": {"ja/1", "ja/2"}, "サーバー": {"ja/1"},
		"サーバ": {"ja/1", "ja/2"}, "一覧": {"ja/1"}, "㈱": {"ja/3"}, "(株)テスト": {"ja/3"}, "か": nil, "カ": nil,
		"合同编号2024": {"zh/1"}, "２０２４": {"zh/1"}, "2024*": {"zh/1"}, "公司": {"zh/1"}, "京": {"zh/1"},
		"京合": nil, "北京 公司": {"zh/1"},
		"보험": {"ko/1"}, "보험은": {"ko/1"}, "한국": {"ko/1"}, "코로나19": {"ko/1"}, "코로나-19": {"ko/1"}, "험보": nil,
		"เอกสาร": {"th/1", "th/2"}, "ความลับ": {"th/1"}, "ความลบ": {"th/2"},
		"นี้": {"th/1"}, "हिन्दी": {"hi/1"}, "हनद": {"hi/2"}, "हि*": {"hi/1"},
	} {
		requireHits(t, s, query, pages...)
	}
	for query, marked := range map[string]string{
		"交流電燈": "[交流 電燈]", "照明 pdf": "[照明][PDF]", "文書 PDF": "[PDF][文書]", `"pdf文書"`: "[PDF文書]", "ガイド": "[ｶﾞｲﾄﾞ]", "一": "[⼀]",
	} {
		result, err := s.Search(t.Context(), search.Query{Tenant: tenant, Text: query, Job: "ja"})
		requireNoError(t, err)
		if len(result.Hits) == 0 || markHighlights(result.Hits[len(result.Hits)-1].Snippet) != marked &&
			markHighlights(result.Hits[0].Snippet) != marked {
			t.Errorf("highlights for %s: got %v, want %s in one of them", query, result.Hits, marked)
		}
	}
	requireNoError(t, s.DeleteJob(t.Context(), tenant, "ja"))
	requireHits(t, s, "交流")
	putPage(t, s, "zh", 1, "上海市")
	requireHits(t, s, "北京市")
	requireHits(t, s, "海市", "zh/1")
}

// markHighlights returns what is highlighted.
func markHighlights(s search.Snippet) string {
	var b strings.Builder
	for _, h := range s.Highlights {
		b.WriteString("[" + s.Text[h.Start:h.End] + "]")
	}
	return b.String()
}

func testRanking(t *testing.T, open Open) {
	s := open(t)
	filler := strings.Repeat("other words on this page ", 40)
	putPage(t, s, "rare", 1, "tax "+filler)
	putPage(t, s, "often", 1, "tax tax tax tax "+filler)
	putPage(t, s, "short", 1, "tax and more tax, tax")
	for i := range 20 {
		putPage(t, s, "none", i+1, filler)
	}
	if got := findPages(t, s, "tax"); !slices.Equal(got, []string{"short/1", "often/1", "rare/1"}) {
		t.Errorf("order: got %q, want short/1, often/1, rare/1", got)
	}
	result, err := s.Search(t.Context(), search.Query{Tenant: tenant, Text: "tax"})
	requireNoError(t, err)
	for i, hit := range result.Hits {
		if hit.Score <= 0 || i > 0 && hit.Score > result.Hits[i-1].Score {
			t.Errorf("score %d: got %v, want above 0 and falling", i, hit.Score)
		}
	}
}

func testPaging(t *testing.T, open Open) {
	s := open(t)
	var pages []search.Page
	for i := range 95 { // many with the same score
		text := "report " + strings.Repeat("filler ", i%5)
		pages = append(pages, search.Page{Tenant: tenant, Job: fmt.Sprint("job", i%7), Run: 1, Number: i + 1, Text: text})
	}
	requireNoError(t, s.PutPages(t.Context(), pages))
	whole := findPages(t, s, "report")
	if len(whole) != len(pages) {
		t.Fatalf("all at once: got %d hits, want %d", len(whole), len(pages))
	}
	for _, limit := range []int{1, 7, 10, 94, 95, 96} {
		var got []string
		query := search.Query{Tenant: tenant, Text: "report", Limit: limit}
		for calls := 0; ; calls++ {
			result, err := s.Search(t.Context(), query)
			requireNoError(t, err)
			if len(result.Hits) > limit || calls > len(pages) {
				t.Fatalf("limit %d: got %d hits in call %d, want no more", limit, len(result.Hits), calls)
			}
			got = append(got, hitPlaces(result.Hits)...)
			if query.Cursor = result.NextCursor; query.Cursor == "" {
				break
			}
		}
		if !slices.Equal(got, whole) {
			t.Errorf("limit %d: got %d hits %.60q, want the same as all at once", limit, len(got), got)
		}
	}
}

// testPagingOfGrowingIndex finds each page of a job once, though pages of others are added in between, which change how
// many pages have the word, and how long pages are.
func testPagingOfGrowingIndex(t *testing.T, open Open) {
	const pages = 30
	for _, other := range []string{"report", strings.Repeat("filler ", 400)} {
		s := open(t)
		put := func(job string, n int, text string) {
			t.Helper()
			var out []search.Page
			for i := range n {
				out = append(out, search.Page{Tenant: tenant, Job: job, Run: 1, Number: i + 1, Text: text})
			}
			requireNoError(t, s.PutPages(t.Context(), out))
		}
		put("a", pages, "report of the year")
		var got []string
		query := search.Query{Tenant: tenant, Text: "report", Job: "a", Limit: 7}
		for calls := 1; calls == 1 || query.Cursor != "" && calls < pages; calls++ {
			result, err := s.Search(t.Context(), query)
			requireNoError(t, err)
			got, query.Cursor = append(got, hitPlaces(result.Hits)...), result.NextCursor
			put(fmt.Sprint("b", calls), 20, other)
		}
		slices.Sort(got)
		if distinct := len(slices.Compact(slices.Clone(got))); distinct != pages || len(got) != pages {
			t.Errorf("%.10s: got %d hits, %d of them different, want %d", other, len(got), distinct, pages)
		}
	}
}

func testCursors(t *testing.T, open Open) {
	s := open(t)
	for i := range 3 {
		putPage(t, s, "a", i+1, "some report")
	}
	query := search.Query{Tenant: tenant, Text: "report", Limit: 1}
	result, err := s.Search(t.Context(), query)
	requireNoError(t, err)
	for name, bad := range map[string]search.Query{
		"of another query":  {Tenant: tenant, Text: "some", Cursor: result.NextCursor},
		"of another tenant": {Tenant: "other", Text: "report", Cursor: result.NextCursor},
		"of another job":    {Tenant: tenant, Text: "report", Job: "a", Cursor: result.NextCursor},
		"cut off":           {Tenant: tenant, Text: "report", Cursor: result.NextCursor[:10]},
		"of somebody else":  {Tenant: tenant, Text: "report", Cursor: "' OR 1=1 --"},
	} {
		if _, err := s.Search(t.Context(), bad); fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("cursor %s: got %v, want INVALID_ARGUMENT", name, err)
		}
	}
}

func testOneJob(t *testing.T, open Open) {
	s := open(t)
	for i := range 5 {
		putPage(t, s, "a", i+1, "report of the first")
		putPage(t, s, "b", i+1, "report of the second")
	}
	query := search.Query{Tenant: tenant, Text: "report", Job: "b", Limit: 3}
	first, err := s.Search(t.Context(), query)
	requireNoError(t, err)
	query.Cursor = first.NextCursor
	second, err := s.Search(t.Context(), query)
	requireNoError(t, err)
	got := hitPlaces(append(first.Hits, second.Hits...))
	slices.Sort(got)
	if !slices.Equal(got, []string{"b/1", "b/2", "b/3", "b/4", "b/5"}) || second.NextCursor != "" {
		t.Errorf("hits in job b: got %q and cursor %q, want its five pages and none", got, second.NextCursor)
	}
	none, err := s.Search(t.Context(), search.Query{Tenant: tenant, Text: "report", Job: "c"})
	requireNoError(t, err)
	if len(none.Hits) != 0 {
		t.Errorf("hits in a job without pages: got %d, want 0", len(none.Hits))
	}
}

func testDocuments(t *testing.T, open Open) {
	s := open(t)
	doc := search.Document{
		Tenant: tenant, Job: "a", Filename: "räport \"x\".pdf", SHA256: strings.Repeat("ab", 32), PageCount: 3,
		State:      "RUNNING",
		CreateTime: time.Now(), Labels: map[string]string{"team": "ops"},
	}
	requireNoError(t, s.PutDocument(t.Context(), doc))
	requireNoError(t, s.PutDocument(t.Context(), doc))
	putPage(t, s, "a", 1, "words")
	putPage(t, s, "b", 1, "words")
	doc.State, doc.EndTime, doc.Labels = "SUCCEEDED", time.Now(), nil
	requireNoError(t, s.PutDocument(t.Context(), doc))
	requireNoError(t, s.PutDocument(t.Context(), search.Document{Tenant: "other", Job: "b", Filename: "secret.pdf"}))
	result, err := s.Search(t.Context(), search.Query{Tenant: tenant, Text: "words"})
	requireNoError(t, err)
	for _, hit := range result.Hits {
		if want := map[string]string{"a": doc.Filename, "b": ""}[hit.Job]; hit.Filename != want {
			t.Errorf("file name of %s: got %q, want %q", hit.Job, hit.Filename, want)
		}
	}
	requireHits(t, s, "words", "a/1", "b/1")
	again := doc
	again.State = "FAILED" // of several that are put at once the last counts
	requireNoError(t, s.PutDocuments(t.Context(), []search.Document{doc, again, doc, again}))
	list, err := s.ListJobs(t.Context(), search.JobQuery{Tenant: tenant, Limit: 2})
	if err != nil || len(list.Jobs) != 1 || list.Jobs[0].State != "FAILED" {
		t.Errorf("after the document was put twice at once: got %+v, %v, want it FAILED", list.Jobs, err)
	}
	requireNoError(t, s.PutDocuments(t.Context(), nil))
}

func testConcurrentPuts(t *testing.T, open Open) {
	s := open(t)
	const writers, chunks, size = 4, 6, 8
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for c := range chunks {
				var pages []search.Page
				for i := range size {
					pages = append(pages, search.Page{
						Tenant: tenant, Job: fmt.Sprint("job", w), Run: 1, Number: c*size + i + 1,
						Text: fmt.Sprintf("common writer%d chunk%d", w, c),
					})
				}
				if err := s.PutPages(t.Context(), pages); err != nil {
					t.Errorf("PutPages: got %v, want no error", err)
				}
			}
		})
		all.Go(func() {
			for range chunks {
				result, err := s.Search(t.Context(), search.Query{Tenant: tenant, Text: "common", Limit: search.MaxLimit})
				if err != nil || len(result.Hits)%size != 0 && len(result.Hits) < search.MaxLimit {
					t.Errorf("Search: got %d hits and %v, want whole chunks and no error", len(result.Hits), err)
				}
			}
		})
		all.Go(func() {
			doc := search.Document{Tenant: tenant, Job: fmt.Sprint("job", w), Filename: "f.pdf", State: "RUNNING"}
			if err := s.PutDocument(t.Context(), doc); err != nil {
				t.Errorf("PutDocument: got %v, want no error", err)
			}
		})
	}
	all.Wait()
	for w := range writers {
		if got := findPages(t, s, fmt.Sprintf("common writer%d", w)); len(got) != chunks*size {
			t.Errorf("pages of writer %d: got %d, want %d", w, len(got), chunks*size)
		}
	}
}

func testTwoHandles(t *testing.T, open Open) {
	var handles [2]search.Store
	var all sync.WaitGroup
	for i := range handles { // at once, as services start
		all.Go(func() { handles[i] = open(t) })
	}
	all.Wait()
	a, b := handles[0], handles[1]
	putPage(t, a, "x", 1, "from the first")
	requireHits(t, b, "first", "x/1")
	for i, s := range handles {
		all.Go(func() {
			for n := range 20 {
				put := []search.Page{{Tenant: tenant, Job: fmt.Sprint("both", i), Run: 1, Number: n + 1, Text: "both write"}}
				if err := s.PutPages(t.Context(), put); err != nil {
					t.Errorf("PutPages of handle %d: got %v, want no error", i, err)
				}
			}
		})
	}
	all.Wait()
	for i, s := range handles {
		if got := findPages(t, s, "both write"); len(got) != 40 {
			t.Errorf("handle %d finds %d pages, want 40", i, len(got))
		}
	}
	requireNoError(t, b.DeleteJob(t.Context(), tenant, "both0"))
	if got := findPages(t, a, "both"); len(got) != 20 {
		t.Errorf("after the other handle's DeleteJob: got %d pages, want 20", len(got))
	}
	requireNoError(t, a.PutPages(t.Context(),
		[]search.Page{{Tenant: "new", Job: "j", Run: 1, Number: 1, Text: "new tenant"}}))
	result, err := b.Search(t.Context(), search.Query{Tenant: "new", Text: "tenant"})
	requireNoError(t, err)
	if len(result.Hits) != 1 {
		t.Errorf("a tenant that the other handle made: got %d hits, want 1", len(result.Hits))
	}
}

func testContext(t *testing.T, open Open) {
	s := open(t)
	putPage(t, s, "a", 1, "words")
	requireNoError(t, s.Ping(t.Context()))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, searchErr := s.Search(ctx, search.Query{Tenant: tenant, Text: "words"})
	for name, err := range map[string]error{
		"Search": searchErr, "Ping": s.Ping(ctx), "DeleteJob": s.DeleteJob(ctx, tenant, "a"),
		"PutPages":    s.PutPages(ctx, []search.Page{{Tenant: tenant, Job: "a", Run: 1, Number: 2, Text: "words"}}),
		"PutDocument": s.PutDocument(ctx, search.Document{Tenant: tenant, Job: "a"}),
	} {
		if !errors.Is(err, context.Canceled) || fault.CodeOf(err) == fault.Unavailable {
			t.Errorf("%s: got %v, want context.Canceled and no Busy fault", name, err)
		}
	}
	requireHits(t, s, "words", "a/1")
}
