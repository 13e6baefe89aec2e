package search

import (
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// The constants of BM25, as FTS5 has them.
const (
	bm25Saturation = 1.2  // k1
	bm25Length     = 0.75 // b
	bm25LeastIDF   = 1e-6 // of a phrase that more than half of the pages have
)

const (
	// countedPages is how many of the newest pages with a word say how many there are, by the rows that they are spread
	// over.
	countedPages = 1024
	// countedRows is how many of the newest rows say how many pages have a phrase of several words. Each page that has the
	// words is looked at for it, and few may have it.
	countedRows = 8192
)

// countPhrasePages returns about how many pages have each phrase of FTS5 that a page of the clauses may have, in their
// order, as scoreFunction takes it. Of a word that few pages have, the number is exact.
func countPhrasePages(ctx context.Context, tx *sql.Tx, tenant int64, clauses []clause) ([]byte, error) {
	var first, last int64
	const ends = `SELECT coalesce((SELECT min(id) FROM pages_{t}), 0), coalesce((SELECT max(id) FROM pages_{t}), 0)`
	if err := tx.QueryRowContext(ctx, expandTenant(ends, tenant)).Scan(&first, &last); err != nil {
		return nil, err
	}
	var phrases [][2]any // each, and the row from which on it is counted
	for _, c := range clauses {
		from := first
		if c.hasManyWords() {
			from = max(first, last-countedRows+1)
		}
		for _, phrase := range c.phrases() {
			if !c.not {
				phrases = append(phrases, [2]any{phrase, from})
			}
		}
	}
	if len(phrases) == 1 { // whose weight multiplies all scores
		return nil, nil
	}
	list, err := json.Marshal(phrases)
	if err != nil {
		return nil, err
	}
	const count = `WITH phrase AS MATERIALIZED (SELECT key, value ->> 0 AS text, value ->> 1 AS first FROM json_each(?4))
		SELECT (SELECT count(*) * (?1 + 1.0 - ?2) / (?1 + 1 - iif(count(*) < ?3, phrase.first, min(page))) FROM (
			SELECT rowid AS page FROM terms_{t} WHERE terms_{t} MATCH phrase.text AND rowid >= phrase.first
			ORDER BY rowid DESC LIMIT ?3))
		FROM phrase ORDER BY key`
	rows, err := tx.QueryContext(ctx, expandTenant(count, tenant), last, first, countedPages, string(list))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var counts []byte
	for rows.Next() {
		var n float64
		if err := rows.Scan(&n); err != nil {
			return nil, err
		}
		counts = binary.NativeEndian.AppendUint64(counts, math.Float64bits(n))
	}
	return counts, rows.Err()
}

// scoreFunction is the name of scorePage in SQL. Its arguments are the table of words, what countPhrasePages returned, and
// a page's size as FTS5 keeps it. Phrases that are not counted, such as those that a page must not have, come last.
//
// It is FTS5's bm25, which counts each phrase in the whole index and looks each size up by a statement of its own: the
// one is, for a phrase of words that most pages have, the work of finding its pages once more, the other two thirds of
// what a score costs.
const scoreFunction = "inkstream_score"

// registerScoreFunction has every connection that is opened from now on know scorePage. The driver has no way to add a
// function to FTS5, so it is added as SQLite's extensions are.
func registerScoreFunction() error {
	tls := libc.NewTLS()
	defer tls.Close()
	if code := sqlite3.Xsqlite3_auto_extension(tls, pointerTo(addScoreFunction)); code != sqlite3.SQLITE_OK {
		return fmt.Errorf("add %s to SQLite: code %d", scoreFunction, code)
	}
	return nil
}

// addScoreFunction adds scorePage to the FTS5 of a connection, and returns SQLite's code.
func addScoreFunction(tls *libc.TLS, db, _, _ uintptr) int32 {
	statement := tls.Alloc(16)
	defer tls.Free(16)
	fts5 := statement + 8
	*valueAt[uintptr](fts5) = 0
	code := sqlite3.Xsqlite3_prepare_v2(tls, db, constant("SELECT fts5(?)\x00"), -1, statement, 0)
	if code != sqlite3.SQLITE_OK {
		return code
	}
	prepared := *valueAt[uintptr](statement)
	sqlite3.Xsqlite3_bind_pointer(tls, prepared, 1, fts5, constant("fts5_api_ptr\x00"), 0)
	sqlite3.Xsqlite3_step(tls, prepared)
	code = sqlite3.Xsqlite3_finalize(tls, prepared)
	if code != sqlite3.SQLITE_OK {
		return code
	}
	api := *valueAt[uintptr](fts5)
	create := functionAt[func(*libc.TLS, uintptr, uintptr, uintptr, uintptr, uintptr) int32](
		valueAt[sqlite3.Tfts5_api](api).FxCreateFunction)
	return create(tls, api, constant(scoreFunction+"\x00"), 0, pointerTo(scorePage), 0)
}

// scorePage computes the score of the page that an FTS5 cursor is at: the lower the better.
func scorePage(tls *libc.TLS, api, cursor, result uintptr, _ int32, args uintptr) {
	fts5 := valueAt[sqlite3.TFts5ExtensionApi](api)
	values := unsafe.Slice(valueAt[uintptr](args), 2)
	weights, code := findPhraseWeights(tls, fts5, cursor, values[0])
	var score float64
	if code == sqlite3.SQLITE_OK {
		words := float64(decodeVarint(blobOf(tls, values[1])))
		score, code = computeScore(tls, fts5, cursor, weights, words)
	}
	if code != sqlite3.SQLITE_OK {
		sqlite3.Xsqlite3_result_error_code(tls, result, code)
		return
	}
	sqlite3.Xsqlite3_result_double(tls, result, -score)
}

// computeScore returns the score of a page of so many words, the higher the better, and SQLite's code.
func computeScore(tls *libc.TLS, fts5 *sqlite3.TFts5ExtensionApi, cursor uintptr, weights phraseWeights,
	words float64) (float64, int32) {
	// An iterator of two pointers, and the column and the offset of what it is at.
	iterator := tls.Alloc(24)
	defer tls.Free(24)
	column, offset := iterator+16, iterator+20
	first := functionAt[func(*libc.TLS, uintptr, int32, uintptr, uintptr, uintptr) int32](fts5.FxPhraseFirst)
	next := functionAt[func(*libc.TLS, uintptr, uintptr, uintptr, uintptr)](fts5.FxPhraseNext)
	length := bm25Saturation * (1 - bm25Length + bm25Length*words/weights.averageWords())
	score := 0.0
	for i, idf := range weights.inverseFrequencies() {
		if code := first(tls, cursor, int32(i), iterator, column, offset); code != sqlite3.SQLITE_OK {
			return 0, code
		}
		frequency := 0.0
		for *valueAt[int32](column) >= 0 {
			frequency++
			next(tls, cursor, iterator, column, offset)
		}
		score += idf * frequency * (bm25Saturation + 1) / (frequency + length)
	}
	return score, sqlite3.SQLITE_OK
}

// phraseWeights is what is the same for all pages of a query: how many words a page has on average, and the IDF of each
// phrase.
type phraseWeights []float64

func (w phraseWeights) averageWords() float64         { return w[0] }
func (w phraseWeights) inverseFrequencies() []float64 { return w[1:] }

// findPhraseWeights returns a query's weights, which it computes for the first page and leaves to the cursor, and
// SQLite's code.
func findPhraseWeights(tls *libc.TLS, fts5 *sqlite3.TFts5ExtensionApi, cursor, counts uintptr) (phraseWeights, int32) {
	size := 1 + functionAt[func(*libc.TLS, uintptr) int32](fts5.FxPhraseCount)(tls, cursor)
	memory := functionAt[func(*libc.TLS, uintptr, int32) uintptr](fts5.FxGetAuxdata)(tls, cursor, 0)
	if memory != 0 {
		return unsafe.Slice(valueAt[float64](memory), size), sqlite3.SQLITE_OK
	}
	pages := tls.Alloc(16)
	defer tls.Free(16)
	words := pages + 8
	code := functionAt[func(*libc.TLS, uintptr, uintptr) int32](fts5.FxRowCount)(tls, cursor, pages)
	if code == sqlite3.SQLITE_OK {
		code = functionAt[func(*libc.TLS, uintptr, int32, uintptr) int32](fts5.FxColumnTotalSize)(tls, cursor, -1, words)
	}
	if code != sqlite3.SQLITE_OK {
		return nil, code
	}
	if memory = sqlite3.Xsqlite3_malloc(tls, 8*size); memory == 0 {
		return nil, sqlite3.SQLITE_NOMEM
	}
	weights := phraseWeights(unsafe.Slice(valueAt[float64](memory), size))
	total := float64(*valueAt[int64](pages))
	weights[0] = float64(*valueAt[int64](words)) / total
	known := blobOf(tls, counts)
	for i := range weights.inverseFrequencies() {
		n := 0.0
		if len(known) >= 8 {
			n, known = min(total, math.Float64frombits(binary.NativeEndian.Uint64(known))), known[8:]
		}
		weights.inverseFrequencies()[i] = max(bm25LeastIDF, math.Log((total-n+0.5)/(n+0.5)))
	}
	keep := functionAt[func(*libc.TLS, uintptr, uintptr, uintptr) int32](fts5.FxSetAuxdata)
	return weights, keep(tls, cursor, memory, pointerTo(sqlite3.Xsqlite3_free))
}

// decodeVarint reads one of SQLite's numbers.
func decodeVarint(b []byte) (n uint64) {
	for _, digit := range b {
		n = n<<7 | uint64(digit&0x7f)
	}
	return n
}

// blobOf returns the bytes of an argument, which are SQLite's.
func blobOf(tls *libc.TLS, value uintptr) []byte {
	start := sqlite3.Xsqlite3_value_blob(tls, value)
	return unsafe.Slice(valueAt[byte](start), sqlite3.Xsqlite3_value_bytes(tls, value))
}

// pointerTo returns a function of this program as SQLite holds functions.
func pointerTo(function any) uintptr { return (*[2]uintptr)(unsafe.Pointer(&function))[1] }

// constant returns where a constant is, which ends with a zero.
func constant(s string) uintptr { return uintptr(unsafe.Pointer(unsafe.StringData(s))) }

// functionAt returns a function that SQLite holds.
func functionAt[F any](pointer uintptr) F { return *(*F)(unsafe.Pointer(&pointer)) }

// valueAt returns a value in SQLite's memory, which Go's collector neither moves nor frees.
func valueAt[T any](address uintptr) *T { return *(**T)(unsafe.Pointer(&address)) }
