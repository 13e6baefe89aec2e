package search

import (
	"encoding/base64"
	"encoding/binary"
	"hash/fnv"
	"math"

	"inkstream.dev/pkg/fault"
)

// position is a place in the order of a query's hits: after the one with that score and row. Rows break ties.
type position struct {
	score float64
	row   int64
}

const (
	cursorVersion = 1
	cursorBytes   = 1 + 8 + 8 + 8
)

// newCursor writes a position for users to hand back. It holds nothing secret, and with another query it is refused.
func newCursor(q Query, at position) string {
	b := make([]byte, 0, cursorBytes)
	b = append(b, cursorVersion)
	b = binary.BigEndian.AppendUint64(b, queryHash(q))
	b = binary.BigEndian.AppendUint64(b, math.Float64bits(at.score))
	b = binary.BigEndian.AppendUint64(b, uint64(at.row))
	return base64.RawURLEncoding.EncodeToString(b)
}

// parseCursor reads what newCursor wrote for the same query. Anything else is an INVALID_ARGUMENT fault.
func parseCursor(q Query) (position, error) {
	b, err := base64.RawURLEncoding.DecodeString(q.Cursor)
	if err != nil || len(b) != cursorBytes || b[0] != cursorVersion || binary.BigEndian.Uint64(b[1:]) != queryHash(q) {
		return position{}, fault.New(fault.InvalidArgument, "the cursor is none of this query's")
	}
	at := position{score: math.Float64frombits(binary.BigEndian.Uint64(b[9:])), row: int64(binary.BigEndian.Uint64(b[17:]))}
	if math.IsNaN(at.score) {
		return position{}, fault.New(fault.InvalidArgument, "the cursor is none of this query's")
	}
	return at, nil
}

// queryHash tells queries apart, the limit aside: each page of hits may have one of its own.
func queryHash(q Query) uint64 {
	h := fnv.New64a()
	for _, s := range []string{q.Tenant, q.Job, q.Text} {
		h.Write([]byte(s))
		h.Write([]byte{0})
	}
	return h.Sum64()
}
