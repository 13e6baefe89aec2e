package search

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

const (
	// weightScale makes whole numbers of weights: sums of fractions come out differently from one run to the next.
	weightScale = 1_000_000
	// idfScale does the same for what a word's rarity multiplies them by.
	idfScale = 1000
	// idfPages stands for the number of pages in that rarity. The true one would have to be counted, and changes only
	// how much rarity counts.
	idfPages = 1e7
	// These are those of BM25, with an average page for the average.
	bm25K, bm25B, bm25Words = 1.2, 0.75, 300
	// scanRows is about how many rows of words one statement brings together by their pages, and scanSingleRows how many
	// it goes through: what a server does in some 50 ms of a core. Where a query has more, pages are ranked within
	// windows of jobs, one after the other.
	scanRows, scanSingleRows = 1 << 16, 1 << 19
	// sampleShare is the part of the jobs that words are counted in, and sampleEnough how many rows of a word there say
	// how many there are.
	sampleShare, sampleEnough = 32, 64
	// maxPagesRead bounds how many pages a call reads to find those that really match: of phrases, only the words and
	// about where they stand are known beforehand. A Result may have fewer hits than wanted for it, and a cursor.
	maxPagesRead = 4096
	// phraseCandidates is how many pages with all words of a phrase are asked for at once, which costs hardly more than a
	// few, and many times less than to ask again.
	phraseCandidates = 2048
	// maxPagesAtOnce bounds how many texts are in memory.
	maxPagesAtOnce = 512
)

// computeWeight says how much a word counts for a page that has it n times among total words: BM25 without rarity.
func computeWeight(n, total int) uint32 {
	tf := float64(n)
	return uint32(math.Round(weightScale * tf / (tf + bm25K*(1-bm25B+bm25B*float64(total)/bm25Words))))
}

// quoteString, strs and nums write literals.
func quoteString(s string) string {
	return "'" + strings.NewReplacer("\\", "\\\\", "'", "\\'", "\x00", "\\0").Replace(s) + "'"
}

func quoteStrings(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = quoteString(s)
	}
	return "(" + strings.Join(quoted, ", ") + ")"
}

func joinNumbers(list []uint64) string {
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
	jid     uint64
	page    uint32
	version uint64
	score   uint64
}

func (c candidate) toPosition(in window) position {
	return position{score: float64(c.score), row: int64(c.jid), sub: int64(c.page), in: in}
}

// clickhouseSearch answers queries from the tables of pages and words, with names from that of documents.
type clickhouseSearch struct {
	*clickhouseServer
	documents *clickhouseDocuments
}

// Search finds pages: the words suggest candidates in the order of their scores, and the pages say which of them match.
func (s *clickhouseSearch) Search(ctx context.Context, q Query) (Result, error) {
	clauses, after, err := q.prepareQuery()
	if err != nil {
		return Result{}, err
	}
	if err := ctx.Err(); err != nil {
		return Result{}, fmt.Errorf("search: %w", err)
	}
	if err := s.awaitSchema(ctx); err != nil {
		return Result{}, err
	}
	result, err := s.searchPages(ctx, q, newMatcher(clauses), after)
	return result, classifyServerError(ctx, "search", err)
}

func (s *clickhouseSearch) searchPages(ctx context.Context, q Query, m *Matcher, after *position) (Result, error) {
	terms, err := s.resolveTerms(ctx, q.Tenant, m)
	if err != nil || terms == nil {
		return Result{}, err
	}
	in := firstWindow(q, terms)
	if after != nil {
		in = after.in
	}
	fetch := firstPages(q) // words lead straight to the pages, but for rows of earlier texts
	if m.hasPhrases() {
		fetch = phraseCandidates
	}
	var result Result
	for looked := 0; ; {
		found, err := s.findCandidates(ctx, q, terms, in, after, fetch)
		if err != nil {
			return Result{}, err
		}
		last, full, err := s.collectHits(ctx, q, m, found, in, &result)
		if err != nil {
			return Result{}, err
		}
		looked += len(found)
		switch more := len(found) == fetch; {
		case !full && more && looked < maxPagesRead:
			after, fetch = &last, phraseCandidates
			continue
		case full || more:
			result.NextCursor = encodeCursor(q.queryHash(), last)
		case in.to != 0:
			in, after = in.nextWindow(), nil
			continue
		}
		return result, s.documents.fillDocumentNames(ctx, q.Tenant, result.Hits)
	}
}

// firstWindow returns the window to begin with: everything, unless the words have too many rows for one statement.
// Windows are of the numbers of jobs, in which jobs of all times lie mixed; a window ends before to, or with the last
// number if that is 0.
func firstWindow(q Query, terms []term) window {
	var rows, must uint64
	for _, t := range terms {
		rows += t.pages
		must += 1 - boolToUint(t.not)
	}
	windows := 1 + rows/scanSingleRows
	switch {
	case hasSelectiveTerm(terms):
		windows += must * terms[0].pages / scanRows
	case !isSingleWord(terms):
		windows += rows / scanRows
	}
	if windows == 1 || q.Job != "" {
		return window{}
	}
	return window{to: int64(math.MaxUint64 / windows)}
}

// hasSelectiveTerm reports whether a query's rarest word leaves so few pages that they are gathered first.
func hasSelectiveTerm(terms []term) bool {
	return len(terms) > 1 && !terms[1].not && !terms[0].prefix && (terms[1].prefix || terms[1].pages > 2*terms[0].pages)
}

// nextWindow returns the window after one that has an end, twice as wide: the fewer pages of the last one matched,
// the more may be looked through.
func (w window) nextWindow() window {
	from, to := uint64(w.from), uint64(w.to)
	if width := 2 * (to - from); width > to-from && math.MaxUint64-to > width {
		return window{from: w.to, to: int64(to + width)}
	}
	return window{from: w.to}
}

// windowCondition writes the window as a condition, after an AND.
func (w window) windowCondition() string {
	var s string
	if w.from != 0 {
		s = fmt.Sprintf(" AND jid >= %d", uint64(w.from))
	}
	if w.to != 0 {
		s += fmt.Sprintf(" AND jid < %d", uint64(w.to))
	}
	return s
}

// firstPages is how many pages are read first: where nearly all match, they do.
func firstPages(q Query) int { return q.Limit + q.Limit/2 + 8 }

// collectHits reads candidates, so many each time as those before let expect to do, until there are as many hits as the
// query wants and one more. It returns the position of the last hit, or of the last candidate if it took all of them,
// and whether it left a hit out.
func (s *clickhouseSearch) collectHits(ctx context.Context, q Query, m *Matcher, found []candidate, in window,
	result *Result) (last position, full bool, err error) {
	read, matched := 0, 0
	for size := firstPages(q); len(found) > 0; size = nextPages(size, read, matched, q.Limit+1-len(result.Hits)) {
		part := found[:min(size, len(found))]
		found = found[len(part):]
		hits, err := s.verifyCandidates(ctx, q, m, part)
		if err != nil {
			return last, false, err
		}
		for i, c := range part {
			if len(hits[i]) > 0 && len(result.Hits) >= q.Limit {
				return last, true, nil
			}
			result.Hits = append(result.Hits, hits[i]...)
			matched += len(hits[i])
			last = c.toPosition(in)
		}
		read += len(part)
	}
	return last, false, nil
}

// nextPages returns how many pages to read after so many: those among which the wanted hits are, and a quarter more, if
// as many match as did; at least as many as the last time.
func nextPages(size, read, matched, wanted int) int {
	return min(max(size, wanted*read/max(matched, 1)*5/4), maxPagesAtOnce)
}

// term is a word that a page must have, or must not have, in any of its forms.
type term struct {
	forms    []string
	prefix   bool // forms has one word, and words that begin with it do
	not      bool
	pages    uint64 // about how many have it; 0 of beginnings, which are not counted
	alone    bool   // a page must have no other
	phrase   int    // of which phrase it is, from 1; 0 of none
	position int    // its place in the phrase
}

// termCondition writes the condition on a row of words.
func (t term) termCondition() string {
	if !t.prefix {
		if len(t.forms) == 1 {
			return "word = " + quoteString(t.forms[0])
		}
		return "word IN " + quoteStrings(t.forms)
	}
	if end := afterPrefix(t.forms[0]); end != "" {
		return "(word >= " + quoteString(t.forms[0]) + " AND word < " + quoteString(end) + ")"
	}
	return "word >= " + quoteString(t.forms[0])
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

// rarityWeight is what a term's weights are multiplied by. It rounds the count of pages to a power of two, so that it
// is the same for nearly every part of a query's hits although pages come. That of a term alone tells no page from
// another, and is always the same.
func (t term) rarityWeight() uint64 {
	if t.alone {
		return idfScale
	}
	pages := float64(uint64(1) << bits.Len64(t.pages))
	if t.pages == 0 { // a beginning, which is nothing rare
		pages = 10_000
	}
	return uint64(math.Round(idfScale * math.Log1p(idfPages/pages)))
}

// resolveTerms returns the query's words, those that a page must have first and the rarest of them at the front; nil
// if no page has one of them. Phrases that pages must not have are left out: only a page's text tells.
func (s *clickhouseSearch) resolveTerms(ctx context.Context, tenant string, m *Matcher) ([]term, error) {
	var terms []term
	var all []string
	for n, p := range m.clauses {
		if p.not && len(p.words) > 1 {
			continue
		}
		for i, forms := range p.words {
			t := term{forms: forms, prefix: p.prefix && i == len(p.words)-1, not: p.not}
			if len(p.words) > 1 {
				t.phrase, t.position = n+1, i
			}
			if !t.prefix {
				all = append(all, forms...)
			}
			terms = append(terms, t)
		}
	}
	if err := s.countTerms(ctx, tenant, all, terms); err != nil {
		return nil, err
	}
	for _, t := range terms {
		if !t.not && !t.prefix && t.pages == 0 {
			return nil, nil
		}
	}
	terms = slices.DeleteFunc(terms, func(t term) bool { return t.not && !t.prefix && t.pages == 0 })
	if must := slices.IndexFunc(terms, func(t term) bool { return !t.not }); must >= 0 {
		terms[must].alone = !slices.ContainsFunc(terms[must+1:], func(t term) bool { return !t.not })
	}
	slices.SortStableFunc(terms, func(a, b term) int {
		return slices.Compare([]uint64{boolToUint(a.not), boolToUint(a.prefix), a.pages},
			[]uint64{boolToUint(b.not), boolToUint(b.prefix), b.pages})
	})
	return terms, nil
}

func boolToUint(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// countTerms finds out how many pages have each word, and drops forms that none has. Frequent words are counted in a
// part of the jobs.
func (s *clickhouseSearch) countTerms(ctx context.Context, tenant string, all []string, terms []term) error {
	if len(all) == 0 {
		return nil
	}
	slices.Sort(all)
	all = slices.Compact(all)
	counts, err := s.countInWindow(ctx, tenant, all, window{to: math.MaxUint64 / sampleShare})
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(w string) bool { return counts[w] >= sampleEnough })
	for w := range counts {
		counts[w] *= sampleShare
	}
	if len(all) > 0 {
		exact, err := s.countInWindow(ctx, tenant, all, window{})
		if err != nil {
			return err
		}
		maps.Copy(counts, exact)
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
	return nil
}

// countInWindow counts the rows of words in a window.
func (s *clickhouseSearch) countInWindow(ctx context.Context, tenant string, all []string,
	in window) (map[string]uint64, error) {
	rows, err := s.conn.Query(ctx, `SELECT word, count() FROM words WHERE tenant = `+quoteString(tenant)+` AND word IN `+
		quoteStrings(all)+in.windowCondition()+` GROUP BY word`)
	if err != nil {
		return nil, err
	}
	defer closeRows(rows)
	counts := map[string]uint64{}
	for rows.Next() {
		var w string
		var n uint64
		if err := rows.Scan(&w, &n); err != nil {
			return nil, err
		}
		counts[w] = n
	}
	return counts, rows.Err()
}

// isSingleWord reports whether the rows of one word are the candidates as they are.
func isSingleWord(terms []term) bool {
	return len(terms) == 1 && !terms[0].prefix && len(terms[0].forms) == 1
}

// findCandidates returns the best pages of a window by their words, after a position.
func (s *clickhouseSearch) findCandidates(ctx context.Context, q Query, terms []term, in window, after *position,
	limit int) ([]candidate, error) {
	where := "tenant = " + quoteString(q.Tenant) + in.windowCondition() + filterConditions(q)
	var statement string
	if isSingleWord(terms) {
		statement = `SELECT jid, page, version, toUInt64(weight) * ` + strconv.FormatUint(terms[0].rarityWeight(), 10) +
			` AS score FROM words WHERE ` + where +
			` AND ` + terms[0].termCondition()
	} else {
		statement = buildGroupedQuery(q.Tenant, terms, where, in)
	}
	if after != nil {
		statement += ` AND ` + positionCondition(*after)
	}
	rows, err := s.conn.Query(ctx, statement+` ORDER BY score DESC, jid, page LIMIT `+strconv.Itoa(limit))
	if err != nil {
		return nil, err
	}
	defer closeRows(rows)
	var found []candidate
	for rows.Next() {
		var c candidate
		if err := rows.Scan(&c.jid, &c.page, &c.version, &c.score); err != nil {
			return nil, err
		}
		found = append(found, c)
	}
	return found, rows.Err()
}

// positionCondition writes that a row comes after a position.
func positionCondition(at position) string {
	score, jid, page := uint64(at.score), uint64(at.row), uint64(at.sub)
	return fmt.Sprintf("(score < %d OR (score = %d AND (jid > %d OR (jid = %d AND page > %d))))", score, score, jid, jid,
		page)
}

// filterConditions writes the conditions beside the words, each after an AND.
func filterConditions(q Query) string {
	var b strings.Builder
	if q.Job != "" {
		b.WriteString(" AND jid = " + strconv.FormatUint(hashJobID(q.Job), 10))
	}
	if q.Language != "" {
		b.WriteString(" AND language = " + quoteString(q.Language))
	}
	if !q.Filter.isUnrestricted() {
		b.WriteString(" AND jid IN (SELECT jid FROM " + latestDocuments(q.Tenant, "") + " WHERE deleted = 0" +
			q.Filter.clickhouseConditions() + ")")
	}
	return b.String()
}

// buildGroupedQuery writes the query for several words. Rows of one version of a page, which may be an earlier one
// whose rows are still there, are brought together: it must have all words, and none that it must not have. Words of
// a phrase must stand beside each other, as far as their places tell.
func buildGroupedQuery(tenant string, terms []term, where string, in window) string {
	var either, having, score []string
	phrases := map[int]string{}
	for _, t := range terms {
		either = append(either, t.termCondition())
		weight := "max(if(" + t.termCondition() + ", weight, 0))"
		if t.not {
			having = append(having, weight+" = 0")
			continue
		}
		having = append(having, weight+" > 0")
		score = append(score, fmt.Sprintf("toUInt64(%s) * %d", weight, t.rarityWeight()))
		if t.phrase > 0 {
			places := "groupBitOr(if(" + t.termCondition() + ", places, 0))"
			if t.position > 0 {
				places = fmt.Sprintf("bitRotateRight(%s, %d)", places, t.position%64)
			}
			if before, ok := phrases[t.phrase]; ok {
				places = "bitAnd(" + before + ", " + places + ")"
			}
			phrases[t.phrase] = places
		}
	}
	for _, places := range phrases {
		having = append(having, places+" != 0")
	}
	from := " FROM words"
	if hasSelectiveTerm(terms) {
		// Pages by the sum of their numbers: a set of numbers is searched twice as fast as one of pairs, and what has the
		// sum of another page by chance lacks the word. It goes first, so that only the rest of the columns of what it
		// leaves are read.
		from += " PREWHERE jid + page IN (SELECT jid + page FROM words WHERE tenant = " + quoteString(tenant) +
			in.windowCondition() + " AND " + terms[0].termCondition() + ")"
	}
	return `SELECT jid, page, version, ` + strings.Join(score, " + ") + ` AS score` + from + ` WHERE ` + where + ` AND (` +
		strings.Join(either, " OR ") +
		`) GROUP BY jid, page, version HAVING ` + strings.Join(having, " AND ")
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

// verifyCandidates returns the hits that each candidate stands for: as a rule one, none if its words are of an
// earlier text or do not make the phrase.
func (s *clickhouseSearch) verifyCandidates(ctx context.Context, q Query, m *Matcher, found []candidate) ([][]Hit, error) {
	hits := make([][]Hit, len(found))
	if len(found) == 0 {
		return hits, nil
	}
	rows, err := s.readPageRows(ctx, q.Tenant, found)
	if err != nil {
		return nil, err
	}
	for i, c := range found {
		for _, row := range rows[candidate{jid: c.jid, page: c.page}] {
			if row.version != c.version || row.deleted || q.Job != "" && row.job != q.Job || q.Language != "" &&
				row.language != q.Language {
				continue
			}
			if m.hasPhrases() && !m.matchesPage(foldWords(row.text)) {
				continue
			}
			hits[i] = append(hits[i], Hit{
				Job: row.job, Page: int(c.page), Run: row.run, Language: row.language, Snippet: m.cutSnippet(row.text),
				Score: float64(c.score) / (weightScale * idfScale),
			})
		}
	}
	return hits, nil
}

// readPageRows returns the latest rows of pages. Of jobs whose numbers are the same, which are more than unlikely,
// each has its own.
func (s *clickhouseSearch) readPageRows(ctx context.Context, tenant string,
	found []candidate) (map[candidate][]pageRow, error) {
	var jids, pages []uint64
	pairs := make([]string, 0, len(found))
	for _, c := range found {
		jids, pages = append(jids, c.jid), append(pages, uint64(c.page))
		pairs = append(pairs, fmt.Sprintf("(%d, %d)", c.jid, c.page))
	}
	slices.Sort(jids)
	slices.Sort(pages)
	// The pairs say which; the rest is for the primary key, which is looked up by columns.
	// Texts come last, for those rows that the pairs leave.
	rows,
		err := s.conn.Query(ctx,
		`SELECT jid, page, job, version, run, deleted, language, text FROM pages PREWHERE tenant = `+quoteString(tenant)+
			` AND jid IN `+joinNumbers(slices.Compact(jids))+` AND page IN `+joinNumbers(slices.Compact(pages))+
			` AND (jid, page) IN (`+strings.Join(pairs, ", ")+`)`)
	if err != nil {
		return nil, err
	}
	defer closeRows(rows)
	out := map[candidate][]pageRow{}
	for rows.Next() {
		var key candidate
		var row pageRow
		var run uint32
		var deleted uint8
		if err := rows.Scan(&key.jid, &key.page, &row.job, &row.version, &run, &deleted, &row.language,
			&row.text); err != nil {
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
