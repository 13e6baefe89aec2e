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

// prepareQuery reads a query's text and cursor, sets its limit, and finds what makes no sense.
func (q *Query) prepareQuery() ([]clause, *position, error) {
	if err := checkLimit(q.Tenant, &q.Limit); err != nil {
		return nil, nil, err
	}
	if err := q.Filter.checkFilter(); err != nil {
		return nil, nil, err
	}
	clauses, err := parseQuery(q.Text)
	if err != nil {
		return nil, nil, err
	}
	after, err := parseCursor(q.queryHash(), q.Cursor)
	return clauses, after, err
}

// prepareQuery reads a query's cursor, sets its limit, and finds what makes no sense.
func (q *JobQuery) prepareQuery() (*jobPosition, error) {
	if err := checkLimit(q.Tenant, &q.Limit); err != nil {
		return nil, err
	}
	if err := q.Filter.checkFilter(); err != nil {
		return nil, err
	}
	return parseJobCursor(q.queryHash(), q.Cursor)
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

func (f *Filter) checkFilter() error {
	switch {
	case f.MinPages < 0 || f.MaxPages < 0:
		return fault.New(fault.InvalidArgument, "a page count below 0")
	case f.MaxPages > 0 && f.MinPages > f.MaxPages:
		return fault.New(fault.InvalidArgument, "at least %d and at most %d pages, which no document has", f.MinPages,
			f.MaxPages)
	case !f.From.IsZero() && !f.Before.IsZero() && !f.From.Before(f.Before):
		return fault.New(fault.InvalidArgument, "a time range that ends before it begins")
	case len(f.Filename) > maxQueryRunes || len(f.Labels)+len(f.LabelNames) > maxClauses:
		return fault.New(fault.InvalidArgument, "a filter with too long a file name, or too many labels")
	}
	return nil
}

// isUnrestricted reports whether the filter leaves no document out.
func (f *Filter) isUnrestricted() bool {
	return f.Filename == "" && len(f.Labels) == 0 && len(f.LabelNames) == 0 && f.From.IsZero() && f.Before.IsZero() &&
		f.MinPages == 0 && f.MaxPages == 0
}

// hashInputs returns what tells filters apart.
func (f *Filter) hashInputs() []string {
	out := []string{f.Filename, strconv.FormatInt(timeToMicros(f.From), 10),
		strconv.FormatInt(timeToMicros(f.Before), 10), fmt.Sprint(f.MinPages, f.MaxPages)}
	for _, name := range slices.Sorted(maps.Keys(f.Labels)) {
		out = append(out, name, f.Labels[name])
	}
	return append(append(out, "names"), slices.Sorted(slices.Values(f.LabelNames))...)
}

// sqliteConditions writes the filter as conditions, each after an AND, on documents named d.
func (f *Filter) sqliteConditions() (string, []any) {
	var b conditions
	if f.Filename != "" {
		b.addCondition(`instr(d.folded, ?) > 0`, foldText(cleanText(f.Filename)))
	}
	for _, name := range slices.Sorted(maps.Keys(f.Labels)) {
		if name == batchLabel {
			b.addCondition(inBatch, f.Labels[name], f.Labels[name])
			continue
		}
		// json_each and no path, in which a label's name would have to be quoted.
		b.addCondition(`EXISTS (SELECT 1 FROM json_each(d.labels) AS l WHERE l.key = ? AND l.value = ?)`, name,
			f.Labels[name])
	}
	for _, name := range f.LabelNames {
		b.addCondition(`EXISTS (SELECT 1 FROM json_each(d.labels) AS l WHERE l.key = ?)`, name)
	}
	f.addCommonConditions(&b, "d.")
	return b.sql, b.args
}

// addCommonConditions writes what both stores say alike.
func (f *Filter) addCommonConditions(b *conditions, table string) {
	if !f.From.IsZero() {
		b.addCondition(table+`create_time >= ?`, timeToMicros(f.From))
	}
	if !f.Before.IsZero() {
		b.addCondition(table+`create_time < ?`, timeToMicros(f.Before))
	}
	if f.MinPages > 0 {
		b.addCondition(table+`page_count >= ?`, f.MinPages)
	}
	if f.MaxPages > 0 {
		b.addCondition(table+`page_count <= ?`, f.MaxPages)
	}
}

// conditions gathers the conditions of a statement, each after an AND.
type conditions struct {
	sql  string
	args []any
}

func (c *conditions) addCondition(sql string, args ...any) {
	c.sql += " AND " + sql
	c.args = append(c.args, args...)
}

// timeFromMicros is the reverse of micros.
func timeFromMicros(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}
