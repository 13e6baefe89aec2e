package search

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
)

// scoredWords are words of which the first are on most pages, the last on few.
var scoredWords = strings.Fields("report year sum form file page total annual item invoice contract payment supplier carrier ledger")

// putScoredPages stores pages of random words, and removes some again.
func putScoredPages(t *testing.T, s *SQLite, pages int) {
	t.Helper()
	random := rand.New(rand.NewPCG(3, 5))
	batch := make([]Page, pages)
	for i := range batch {
		var b strings.Builder
		for range 1 + random.IntN(40) {
			n := int(float64(len(scoredWords)) * math.Pow(random.Float64(), 3))
			b.WriteString(scoredWords[n] + " ")
		}
		batch[i] = Page{Tenant: "acme", Job: fmt.Sprintf("job%03d", i/10), Run: 1, Number: i%10 + 1, Text: b.String()}
	}
	if err := s.PutPages(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteJob(t.Context(), "acme", "job003"); err != nil {
		t.Fatal(err)
	}
}

// What pages are ranked by is FTS5's own bm25, of all queries that there are, as long as words are counted one and all.
func TestScoreIsBM25(t *testing.T) {
	t.Parallel()
	s := openAt(t, filepath.Join(t.TempDir(), "index.db"))
	putScoredPages(t, s, 400)
	tx, err := s.reader.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	for _, text := range []string{
		"report", "reports", "ledger", "report invoice", "contract -ledger", `"report year"`,
		`"report year" invoice -"sum form"`, "sup* car*", `"annual it"*`, "report report", "nothing invoices",
		`"—" report year`, `report "..." invoices`, `report -"—" year`, `year "report year" year`,
	} {
		clauses, err := parseQuery(text)
		if err != nil {
			t.Fatal(err)
		}
		counts, err := countPhrasePages(t.Context(), tx, 1, clauses)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := tx.QueryContext(t.Context(), `SELECT bm25(terms_1), inkstream_score(terms_1, ?, sz)
			FROM terms_1 CROSS JOIN terms_1_docsize AS size ON size.id = terms_1.rowid WHERE terms_1 MATCH ?`,
			counts, matchExpression(clauses))
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		var factor float64 // between the two: 1, but of a single phrase, which is not counted
		found := 0
		for ; rows.Next(); found++ {
			var want, got float64
			if err := rows.Scan(&want, &got); err != nil {
				t.Fatal(err)
			}
			if found == 0 {
				factor = got / want
			}
			if len(counts) > 0 && math.Abs(factor-1) > 1e-9 || math.Abs(got/want/factor-1) > 1e-9 {
				t.Errorf("%s: got score %v of page %d, want %v times %v", text, got, found, want, factor)
			}
		}
		if err := rows.Err(); err != nil || found == 0 && text != "nothing invoices" {
			t.Errorf("%s: got %d pages and error %v, want some and none", text, found, err)
		}
	}
}

// Of words and phrases that many pages have, the newest of them say how many.
func TestPhrasesOfManyPagesAreCountedInPart(t *testing.T) {
	t.Parallel()
	s := openAt(t, filepath.Join(t.TempDir(), "index.db"))
	const pages = countedRows + 2*countedPages
	var batch []Page
	for i := range pages {
		text := "common"
		if i%4 == 0 {
			text += " quarter words"
		}
		if i < countedPages/2 {
			text += " seldom old words"
		}
		batch = append(batch, Page{Tenant: "acme", Job: fmt.Sprintf("job%05d", i/100), Run: 1, Number: i%100 + 1, Text: text})
	}
	if err := s.PutPages(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	tx, err := s.reader.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	clauses, err := parseQuery(`"common" "quarter" "seldom" "missing" "quarter words" "old words" -"words"`)
	if err != nil {
		t.Fatal(err)
	}
	counts, err := countPhrasePages(t.Context(), tx, 1, clauses)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{pages, pages / 4, countedPages / 2, 0, pages / 4, 0} {
		got := math.Float64frombits(binary.NativeEndian.Uint64(counts[8*i:]))
		if math.Abs(got-want) > want/500 {
			t.Errorf("%s: got %v pages, want %v", clauses[i].text, got, want)
		}
	}
	if len(counts) != 8*6 {
		t.Errorf("counts: got %d bytes, want 8 for each of the 6 phrases that a page may have", len(counts))
	}
}
