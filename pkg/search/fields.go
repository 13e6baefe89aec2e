package search

import (
	"strconv"
	"strings"
	"time"

	"inkstream.dev/pkg/fault"
)

// fields are what ParseFields knows, each with what it does to the query; the error says what it wants.
var fields = map[string]struct {
	wants string
	set   func(q *Query, value string) bool
}{
	"filename": {"a part of a file name", func(q *Query, v string) bool {
		q.Filter.Filename = v
		return v != ""
	}},
	"label":    {"label:name=value, or label:name for any value", func(q *Query, v string) bool { return q.Filter.AddLabel(v) }},
	"language": {"a language tag such as de", setLanguage},
	"lang":     {"a language tag such as de", setLanguage},
	"job":      {"the id of a job", func(q *Query, v string) bool { q.Job = v; return v != "" }},
	"after":    {"a day such as 2026-01-31, or a time such as 2026-01-31T12:00:00Z", func(q *Query, v string) bool { return setTime(&q.Filter.From, v) }},
	"before":   {"a day such as 2026-01-31, or a time such as 2026-01-31T12:00:00Z", func(q *Query, v string) bool { return setTime(&q.Filter.Before, v) }},
	"pages":    {"a page count such as 3, 3-10, 3- or -10", setPages},
}

func setLanguage(q *Query, v string) bool {
	q.Language = strings.ToLower(v)
	return v != ""
}

// setTime reads a time, or the beginning of a day in UTC.
func setTime(to *time.Time, v string) bool {
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(layout, strings.ToUpper(v)); err == nil {
			*to = t
			return true
		}
	}
	return false
}

// setPages reads a range of page counts.
func setPages(q *Query, v string) bool {
	first, last, isRange := strings.Cut(v, "-")
	if !isRange {
		last = first
	}
	number := func(s string, to *int) bool {
		if s == "" {
			return isRange
		}
		n, err := strconv.Atoi(s)
		*to = n
		return err == nil && n > 0
	}
	return v != "-" && number(first, &q.Filter.MinPages) && number(last, &q.Filter.MaxPages)
}

// ParseFields takes field:value out of the query's Text, as users type it into one line, and sets what it stands for:
//
//	filename:invoice   a part of the file name          label:team=ops       a label; label:team for any value
//	after:2026-01-31   made on that day or later        before:2026-02-28    made before that day; both take times as well
//	lang:de            pages in a language              pages:3-10           documents of so many pages; also 3, 3- and -10
//	job:ID             pages of one job
//
// A value with blanks stands in quotation marks: filename:"annual report". Words that are followed by a colon but name no field stay what they are. A value
// that a field does not take is an INVALID_ARGUMENT fault.
func (q *Query) ParseFields() error {
	var rest []string
	for _, word := range splitQuoted(cleanText(q.Text)) {
		name, value, ok := strings.Cut(word, ":")
		field, known := fields[strings.ToLower(name)]
		if !ok || !known {
			rest = append(rest, word)
			continue
		}
		if !field.set(q, strings.Trim(value, `"`)) {
			return fault.New(fault.InvalidArgument, "%s: want %s", strings.ToLower(name), field.wants)
		}
	}
	q.Text = strings.Join(rest, " ")
	return nil
}

// splitQuoted splits a text at blanks that are not within quotation marks, which stay.
func splitQuoted(text string) []string {
	quoted := false
	return strings.FieldsFunc(text, func(r rune) bool {
		if r == '"' {
			quoted = !quoted
		}
		return !quoted && (r == ' ' || r == '\t' || r == '\n')
	})
}
