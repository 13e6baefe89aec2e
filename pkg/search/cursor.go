package search

import (
	"encoding/base64"
	"encoding/binary"
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"strings"

	"inkstream.dev/pkg/fault"
)

// position is a place in the order of a query's hits: after the one with that score and row, in a window. Rows break
// ties; a store whose rows are known by two numbers has the second in sub.
type position struct {
	score float64
	row   int64
	sub   int64
	in    window
}

// window is the part of an index whose pages are ranked against each other: from ≤ n < to, where n is a number that
// the store orders pages by.
type window struct{ from, to int64 }

const (
	cursorVersion = 3
	cursorBytes   = 1 + 6*8
)

// encodeCursor writes a position for users to hand back. It holds nothing secret, and with another query it is refused.
func encodeCursor(hash uint64, at position) string {
	b := make([]byte, 0, cursorBytes)
	b = append(b, cursorVersion)
	for _, v := range []uint64{hash, math.Float64bits(at.score), uint64(at.row), uint64(at.sub), uint64(at.in.from),
		uint64(at.in.to)} {
		b = binary.BigEndian.AppendUint64(b, v)
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// parseCursor reads what encodeCursor wrote for a query of the same hash; nil if the cursor is empty. Anything else
// is an INVALID_ARGUMENT fault.
func parseCursor(hash uint64, cursor string) (*position, error) {
	if cursor == "" {
		return nil, nil //nolint:nilnil // to begin at the beginning is no error
	}
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(b) != cursorBytes || b[0] != cursorVersion || binary.BigEndian.Uint64(b[1:]) != hash {
		return nil, fault.New(fault.InvalidArgument, "the cursor is none of this query's")
	}
	number := func(i int) int64 { return int64(binary.BigEndian.Uint64(b[1+8*i:])) }
	at := position{
		score: math.Float64frombits(uint64(number(1))), row: number(2), sub: number(3),
		in: window{from: number(4), to: number(5)},
	}
	if math.IsNaN(at.score) || math.IsInf(at.score, 0) {
		return nil, fault.New(fault.InvalidArgument, "the cursor is none of this query's")
	}
	return &at, nil
}

// jobPosition is a place in a list of jobs.
type jobPosition struct {
	created int64
	job     string
}

const jobCursorBytes = 1 + 8 + 8

// encodeJobCursor writes the position of a job for users to hand back.
func encodeJobCursor(hash uint64, at jobPosition) string {
	b := binary.BigEndian.AppendUint64([]byte{cursorVersion}, hash)
	b = binary.BigEndian.AppendUint64(b, uint64(at.created))
	return base64.RawURLEncoding.EncodeToString(append(b, at.job...))
}

// parseJobCursor reads what encodeJobCursor wrote for a query of the same hash; nil if the cursor is empty. Anything
// else is an INVALID_ARGUMENT fault.
func parseJobCursor(hash uint64, cursor string) (*jobPosition, error) {
	if cursor == "" {
		return nil, nil //nolint:nilnil // to begin at the beginning is no error
	}
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(b) <= jobCursorBytes || b[0] != cursorVersion || binary.BigEndian.Uint64(b[1:]) != hash {
		return nil, fault.New(fault.InvalidArgument, "the cursor is none of this query's")
	}
	return &jobPosition{created: int64(binary.BigEndian.Uint64(b[9:])), job: string(b[jobCursorBytes:])}, nil
}

// queryHash tells queries apart, the limit aside: each page of hits may have one of its own.
func (q *Query) queryHash() uint64 {
	return hashParts(append([]string{"pages", q.Tenant, q.Job, q.Text, q.Language}, q.Filter.hashInputs()...))
}

// queryHash tells queries apart, the limit aside.
func (q *JobQuery) queryHash() uint64 {
	states := slices.Sorted(slices.Values(q.States))
	return hashParts(append([]string{"jobs", q.Tenant, strconv.FormatBool(q.OldestFirst), strings.Join(states, ",")},
		q.Filter.hashInputs()...))
}

// hashParts hashes strings and where they end.
func hashParts(parts []string) uint64 {
	h := fnv.New64a()
	for _, s := range parts {
		h.Write([]byte(s))
		h.Write([]byte{0})
	}
	return h.Sum64()
}
