package search

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

const (
	// weightScale makes whole numbers of weights: sums of fractions come out differently from one run to the next.
	weightScale = 1_000_000
	// idfScale does the same for what a word's rarity multiplies them by.
	idfScale = 1000
	// idfPages stands for the number of pages in that rarity. The true one would have to be counted, and changes only how much rarity counts.
	idfPages = 1e7
	// These are those of BM25, with an average page for the average.
	bm25K, bm25B, bm25Words = 1.2, 0.75, 300
	// rareWord is how many pages with a word are gathered in memory first, where other words of the query are much more frequent.
	rareWord = 50_000
	// maxLooked bounds how many pages a call reads to find those that really match: of phrases, only the words are known beforehand. A Result
	// may have fewer hits than wanted for it, and a cursor.
	maxLooked = 4096
	// phraseCandidates is how many pages with all words of a phrase are asked for at once.
	phraseCandidates = 2048
)

// weightOf says how much a word counts for a page that has it n times among total words: BM25 without rarity.
func weightOf(n, total int) uint32 {
	tf := float64(n)
	return uint32(math.Round(weightScale * tf / (tf + bm25K*(1-bm25B+bm25B*float64(total)/bm25Words))))
}

// str, strs and nums write literals.
func str(s string) string {
	return "'" + strings.NewReplacer("\\", "\\\\", "'", "\\'", "\x00", "\\0").Replace(s) + "'"
}

func strs(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = str(s)
	}
	return "(" + strings.Join(quoted, ", ") + ")"
}

func nums(list []uint64) string {
	var b strings.Builder
	for i, n := range list {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.FormatUint(n, 10))
	}
	return "(" + b.String() + ")"
}

// candidate is a page that the words say may match.
type candidate struct {
	jid   uint64
	page  uint32
	score uint64
}

func (c candidate) position() position {
	return position{score: float64(c.score), row: int64(c.jid), sub: int64(c.page)}
}

// Search finds pages: the words suggest candidates in the order of their scores, and the pages say which of them match.
func (s *ClickHouse) Search(ctx context.Context, q Query) (Result, error) {
	clauses, after, err := q.check()
	if err != nil {
		return Result{}, err
	}
	if err := ctx.Err(); err != nil {
		return Result{}, fmt.Errorf("search: %w", err)
	}
	if err := s.await(ctx); err != nil {
		return Result{}, err
	}
	result, err := s.search(ctx, q, newMatcher(clauses), after)
	return result, chClassify(ctx, "search", err)
}

func (s *ClickHouse) search(ctx context.Context, q Query, m *Matcher, after *position) (Result, error) {
	terms, err := s.terms(ctx, q.Tenant, m)
	if err != nil || terms == nil {
		return Result{}, err
	}
	// Words lead straight to the pages, but for rows of earlier texts. Of a phrase's candidates only some have its words side by side; finding
	// candidates costs more than reading some, so more of them are asked for at once.
	fetch := q.Limit + q.Limit/2 + 8
	if m.phrases() {
		fetch = phraseCandidates
	}
	var result Result
	for looked := 0; ; {
		found, err := s.candidates(ctx, q, terms, after, fetch)
		if err != nil {
			return Result{}, err
		}
		last, full, err := s.take(ctx, q, m, terms, found, &result)
		if err != nil {
			return Result{}, err
		}
		if looked += len(found); !full && len(found) == fetch && looked < maxLooked {
			after = &last
			continue
		}
		if full || len(found) == fetch {
			result.NextCursor = newCursor(q.hash(), last)
		}
		return result, s.nameFiles(ctx, q.Tenant, result.Hits)
	}
}

// take reads candidates, some more each time, until there are as many hits as the query wants and one more. It returns the position of the last hit, or
// of the last candidate if it took all of them, and whether it left a hit out.
func (s *ClickHouse) take(ctx context.Context, q Query, m *Matcher, terms []term, found []candidate, result *Result) (last position, full bool, err error) {
	for size := q.Limit + q.Limit/2 + 8; len(found) > 0; size = min(2*size, 512) {
		part := found[:min(size, len(found))]
		found = found[len(part):]
		hits, err := s.verify(ctx, q, m, terms, part)
		if err != nil {
			return last, false, err
		}
		for i, c := range part {
			if len(hits[i]) > 0 && len(result.Hits) >= q.Limit {
				return last, true, nil
			}
			result.Hits = append(result.Hits, hits[i]...)
			last = c.position()
		}
	}
	return last, false, nil
}

// term is a word that a page must have, or must not have, in any of its forms.
type term struct {
	forms  []string
	prefix bool // forms has one word, and words that begin with it do
	not    bool
	pages  uint64 // about how many have it; 0 if nobody asked
}

// where writes the condition on a row of words.
func (t term) where() string {
	if !t.prefix {
		if len(t.forms) == 1 {
			return "word = " + str(t.forms[0])
		}
		return "word IN " + strs(t.forms)
	}
	if end := afterPrefix(t.forms[0]); end != "" {
		return "(word >= " + str(t.forms[0]) + " AND word < " + str(end) + ")"
	}
	return "word >= " + str(t.forms[0])
}

// afterPrefix returns the first string, by bytes, that comes after all that begin with prefix.
func afterPrefix(prefix string) string {
	b := []byte(prefix)
	for len(b) > 0 {
		if b[len(b)-1] < 0xff {
			b[len(b)-1]++
			return string(b)
		}
		b = b[:len(b)-1]
	}
	return ""
}

// rarity is what a term's weights are multiplied by.
func (t term) rarity() uint64 {
	pages := max(1, float64(t.pages))
	if t.pages == 0 { // a beginning, which is nothing rare
		pages = 10_000
	}
	return uint64(math.Round(idfScale * math.Log1p(idfPages/pages)))
}

// terms returns the query's words, those that a page must have first and the rarest of them at the front; nil if no page has one of them. Phrases that
// pages must not have are left out: only a page's text tells.
func (s *ClickHouse) terms(ctx context.Context, tenant string, m *Matcher) ([]term, error) {
	var terms []term
	var all []string
	for _, p := range m.clauses {
		if p.not && len(p.words) > 1 {
			continue
		}
		for i, forms := range p.words {
			t := term{forms: forms, prefix: p.prefix && i == len(p.words)-1, not: p.not}
			if !t.prefix {
				all = append(all, forms...)
			}
			terms = append(terms, t)
		}
	}
	if len(all) > 1 {
		if err := s.count(ctx, tenant, all, terms); err != nil {
			return nil, err
		}
		for i := range terms {
			if !terms[i].not && !terms[i].prefix && terms[i].pages == 0 {
				return nil, nil
			}
		}
		terms = slices.DeleteFunc(terms, func(t term) bool { return t.not && !t.prefix && t.pages == 0 })
	}
	slices.SortStableFunc(terms, func(a, b term) int {
		return slices.Compare([]uint64{bit(a.not), bit(a.prefix), a.pages}, []uint64{bit(b.not), bit(b.prefix), b.pages})
	})
	return terms, nil
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// count asks how many pages have each word, and drops forms that none has.
func (s *ClickHouse) count(ctx context.Context, tenant string, all []string, terms []term) error {
	slices.Sort(all)
	rows, err := s.conn.Query(ctx, `SELECT word, count() FROM words WHERE tenant = `+str(tenant)+` AND word IN `+strs(slices.Compact(all))+` GROUP BY word`)
	if err != nil {
		return err
	}
	defer end(rows)
	counts := map[string]uint64{}
	for rows.Next() {
		var w string
		var n uint64
		if err := rows.Scan(&w, &n); err != nil {
			return err
		}
		counts[w] = n
	}
	for i := range terms {
		if terms[i].prefix {
			continue
		}
		var there []string
		for _, f := range terms[i].forms {
			if counts[f] > 0 {
				there = append(there, f)
				terms[i].pages += counts[f]
			}
		}
		terms[i].forms = there
	}
	return rows.Err()
}

// simple reports whether the rows of one word are the candidates as they are.
func simple(terms []term) bool {
	return len(terms) == 1 && !terms[0].prefix && len(terms[0].forms) == 1
}

// candidates returns the best pages by their words, after a position.
func (s *ClickHouse) candidates(ctx context.Context, q Query, terms []term, after *position, limit int) ([]candidate, error) {
	where := "tenant = " + str(q.Tenant) + narrow(q)
	var statement string
	if simple(terms) {
		statement = `SELECT jid, page, toUInt64(weight) * ` + strconv.FormatUint(terms[0].rarity(), 10) + ` AS score FROM words WHERE ` + where +
			` AND ` + terms[0].where()
		if after != nil {
			statement += ` AND ` + beyond(*after)
		}
	} else {
		statement = grouped(q.Tenant, terms, where)
		if after != nil {
			statement += ` AND ` + beyond(*after)
		}
	}
	rows, err := s.conn.Query(ctx, statement+` ORDER BY score DESC, jid, page LIMIT `+strconv.Itoa(limit))
	if err != nil {
		return nil, err
	}
	return scanCandidates(rows)
}

func scanCandidates(rows driver.Rows) ([]candidate, error) {
	defer end(rows)
	var found []candidate
	for rows.Next() {
		var c candidate
		if err := rows.Scan(&c.jid, &c.page, &c.score); err != nil {
			return nil, err
		}
		found = append(found, c)
	}
	return found, rows.Err()
}

// beyond writes that a row comes after a position.
func beyond(at position) string {
	score, jid, page := uint64(at.score), uint64(at.row), uint64(at.sub)
	return fmt.Sprintf("(score < %d OR (score = %d AND (jid > %d OR (jid = %d AND page > %d))))", score, score, jid, jid, page)
}

// narrow writes the conditions beside the words, each after an AND.
func narrow(q Query) string {
	var b strings.Builder
	if q.Job != "" {
		b.WriteString(" AND jid = " + strconv.FormatUint(jobID(q.Job), 10))
	}
	if q.Language != "" {
		b.WriteString(" AND language = " + str(q.Language))
	}
	if !q.Filter.empty() {
		b.WriteString(" AND jid IN (SELECT jid FROM " + latestDocuments(q.Tenant, "") + " WHERE deleted = 0" + q.Filter.clickhouse() + ")")
	}
	return b.String()
}

// grouped writes the query for several words. Where rows of an earlier version of a page are still there, those of the highest that one of the words has
// are the page: it must have all others in that version too, and none that it must not have.
func grouped(tenant string, terms []term, where string) string {
	var either, having, score []string
	first := "max(if(" + terms[0].where() + ", version, 0))"
	for i, t := range terms {
		either = append(either, t.where())
		version := "max(if(" + t.where() + ", version, 0))"
		switch {
		case t.not:
			having = append(having, version+" < "+first)
			continue
		case i == 0:
			having = append(having, first+" > 0")
		default:
			having = append(having, version+" = "+first)
		}
		score = append(score, fmt.Sprintf("toUInt64(max(if(%s, weight, 0))) * %d", t.where(), t.rarity()))
	}
	if must := len(score); must > 1 && !terms[0].prefix && terms[0].pages <= rareWord && terms[1].pages > 4*terms[0].pages {
		where += " AND (jid, page) IN (SELECT jid, page FROM words WHERE tenant = " + str(tenant) + " AND " + terms[0].where() + ")"
	}
	return `SELECT jid, page, ` + strings.Join(score, " + ") + ` AS score FROM words WHERE ` + where + ` AND (` + strings.Join(either, " OR ") +
		`) GROUP BY jid, page HAVING ` + strings.Join(having, " AND ")
}

// pageRow is a page as its table has it.
type pageRow struct {
	job      string
	version  uint64
	run      int
	deleted  bool
	language string
	text     string
}

// verify returns the hits that each candidate stands for: as a rule one, none if its words are of an earlier text or do not make the phrase.
func (s *ClickHouse) verify(ctx context.Context, q Query, m *Matcher, terms []term, found []candidate) ([][]Hit, error) {
	hits := make([][]Hit, len(found))
	if len(found) == 0 {
		return hits, nil
	}
	rows, err := s.readPages(ctx, q.Tenant, found)
	if err != nil {
		return nil, err
	}
	seen := map[candidate]bool{}
	for i, c := range found {
		key := candidate{jid: c.jid, page: c.page}
		if seen[key] {
			continue
		}
		for _, row := range rows[key] {
			if row.deleted || q.Job != "" && row.job != q.Job || q.Language != "" && row.language != q.Language {
				continue
			}
			var folded []string
			for _, w := range words(row.text) {
				folded = append(folded, w)
			}
			// Ungrouped rows of an earlier text stand at another place in the order than the page does.
			if !m.hit(folded) || simple(terms) && !weighs(folded, terms[0], c.score) {
				continue
			}
			seen[key] = true
			hits[i] = append(hits[i], Hit{
				Job: row.job, Page: int(c.page), Run: row.run, Language: row.language, Snippet: m.cutSnippet(row.text),
				Score: float64(c.score) / (weightScale * idfScale),
			})
		}
	}
	return hits, nil
}

// weighs reports whether a page's one word gives it that score.
func weighs(folded []string, t term, score uint64) bool {
	n := 0
	for _, w := range folded {
		if w == t.forms[0] {
			n++
		}
	}
	return uint64(weightOf(n, len(folded)))*t.rarity() == score
}

// readPages returns the latest rows of pages. Of jobs whose numbers are the same, which are more than unlikely, each has its own.
func (s *ClickHouse) readPages(ctx context.Context, tenant string, found []candidate) (map[candidate][]pageRow, error) {
	var jids, pages []uint64
	pairs := make([]string, 0, len(found))
	for _, c := range found {
		jids, pages = append(jids, c.jid), append(pages, uint64(c.page))
		pairs = append(pairs, fmt.Sprintf("(%d, %d)", c.jid, c.page))
	}
	slices.Sort(jids)
	slices.Sort(pages)
	// The pairs say which; the rest is for the primary key, which is looked up by columns.
	rows, err := s.conn.Query(ctx, `SELECT jid, page, job, version, run, deleted, language, text FROM pages WHERE tenant = `+str(tenant)+
		` AND jid IN `+nums(slices.Compact(jids))+` AND page IN `+nums(slices.Compact(pages))+` AND (jid, page) IN (`+strings.Join(pairs, ", ")+`)`)
	if err != nil {
		return nil, err
	}
	defer end(rows)
	out := map[candidate][]pageRow{}
	for rows.Next() {
		var key candidate
		var row pageRow
		var run uint32
		var deleted uint8
		if err := rows.Scan(&key.jid, &key.page, &row.job, &row.version, &run, &deleted, &row.language, &row.text); err != nil {
			return nil, err
		}
		row.run, row.deleted = int(run), deleted == 1
		i := slices.IndexFunc(out[key], func(r pageRow) bool { return r.job == row.job })
		switch {
		case i < 0:
			out[key] = append(out[key], row)
		case out[key][i].version < row.version:
			out[key][i] = row
		}
	}
	return out, rows.Err()
}
