package search

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"inkstream.dev/pkg/fault"
)

// check reads a query's text and cursor, sets its limit, and finds what makes no sense.
func (q *Query) check() ([]clause, *position, error) {
	if err := checkLimit(q.Tenant, &q.Limit); err != nil {
		return nil, nil, err
	}
	if err := q.Filter.check(); err != nil {
		return nil, nil, err
	}
	clauses, err := parseQuery(q.Text)
	if err != nil {
		return nil, nil, err
	}
	after, err := parseCursor(q.hash(), q.Cursor)
	return clauses, after, err
}

// check reads a query's cursor, sets its limit, and finds what makes no sense.
func (q *JobQuery) check() (*jobPosition, error) {
	if err := checkLimit(q.Tenant, &q.Limit); err != nil {
		return nil, err
	}
	if err := q.Filter.check(); err != nil {
		return nil, err
	}
	return parseJobCursor(q.hash(), q.Cursor)
}

func checkLimit(tenant string, limit *int) error {
	if tenant == "" {
		return fault.New(fault.InvalidArgument, "tenant must not be empty")
	}
	if *limit < 0 {
		return fault.New(fault.InvalidArgument, "limit %d, want at least 1, or 0 for %d", *limit, DefaultLimit)
	}
	if *limit == 0 {
		*limit = DefaultLimit
	}
	*limit = min(*limit, MaxLimit)
	return nil
}

// AddLabel adds a label that must be there: name=value, or name for any value. It reports whether it is one.
func (f *Filter) AddLabel(label string) bool {
	name, value, ok := strings.Cut(label, "=")
	switch {
	case name == "":
		return false
	case !ok:
		f.LabelNames = append(f.LabelNames, name)
		return true
	case f.Labels == nil:
		f.Labels = map[string]string{}
	}
	f.Labels[name] = value
	return true
}

func (f *Filter) check() error {
	switch {
	case f.MinPages < 0 || f.MaxPages < 0:
		return fault.New(fault.InvalidArgument, "a page count below 0")
	case f.MaxPages > 0 && f.MinPages > f.MaxPages:
		return fault.New(fault.InvalidArgument, "at least %d and at most %d pages, which no document has", f.MinPages, f.MaxPages)
	case !f.From.IsZero() && !f.Before.IsZero() && !f.From.Before(f.Before):
		return fault.New(fault.InvalidArgument, "a time range that ends before it begins")
	case len(f.Filename) > maxQueryRunes || len(f.Labels)+len(f.LabelNames) > maxClauses:
		return fault.New(fault.InvalidArgument, "a filter with too long a file name, or too many labels")
	}
	return nil
}

// empty reports whether the filter leaves no document out.
func (f *Filter) empty() bool {
	return f.Filename == "" && len(f.Labels) == 0 && len(f.LabelNames) == 0 && f.From.IsZero() && f.Before.IsZero() && f.MinPages == 0 && f.MaxPages == 0
}

// parts returns what tells filters apart.
func (f *Filter) parts() []string {
	out := []string{f.Filename, strconv.FormatInt(micros(f.From), 10), strconv.FormatInt(micros(f.Before), 10), fmt.Sprint(f.MinPages, f.MaxPages)}
	for _, name := range slices.Sorted(maps.Keys(f.Labels)) {
		out = append(out, name, f.Labels[name])
	}
	return append(append(out, "names"), slices.Sorted(slices.Values(f.LabelNames))...)
}

// sqlite writes the filter as conditions, each after an AND, on documents named d.
func (f *Filter) sqlite() (string, []any) {
	var b conditions
	if f.Filename != "" {
		b.add(`instr(d.folded, ?) > 0`, foldText(cleanText(f.Filename)))
	}
	for _, name := range slices.Sorted(maps.Keys(f.Labels)) {
		// json_each and no path, in which a label's name would have to be quoted.
		b.add(`EXISTS (SELECT 1 FROM json_each(d.labels) AS l WHERE l.key = ? AND l.value = ?)`, name, f.Labels[name])
	}
	for _, name := range f.LabelNames {
		b.add(`EXISTS (SELECT 1 FROM json_each(d.labels) AS l WHERE l.key = ?)`, name)
	}
	f.bounds(&b, "d.")
	return b.sql, b.args
}

// bounds writes what both stores say alike.
func (f *Filter) bounds(b *conditions, table string) {
	if !f.From.IsZero() {
		b.add(table+`create_time >= ?`, micros(f.From))
	}
	if !f.Before.IsZero() {
		b.add(table+`create_time < ?`, micros(f.Before))
	}
	if f.MinPages > 0 {
		b.add(table+`page_count >= ?`, f.MinPages)
	}
	if f.MaxPages > 0 {
		b.add(table+`page_count <= ?`, f.MaxPages)
	}
}

// conditions gathers the conditions of a statement, each after an AND.
type conditions struct {
	sql  string
	args []any
}

func (c *conditions) add(sql string, args ...any) {
	c.sql += " AND " + sql
	c.args = append(c.args, args...)
}

// timeOf is the reverse of micros.
func timeOf(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}
