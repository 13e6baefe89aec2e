package search

import (
	"reflect"
	"testing"
	"time"

	"inkstream.dev/pkg/fault"
)

func TestParseFields(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)
	for text, want := range map[string]Query{
		"":                                  {},
		`tax "due date" -draft`:             {Text: `tax "due date" -draft`},
		`text:foo http://x : a:b`:           {Text: `text:foo http://x : a:b`},
		`tax filename:report`:               {Text: "tax", Filter: Filter{Filename: "report"}},
		`FILENAME:"annual report" tax`:      {Text: "tax", Filter: Filter{Filename: "annual report"}},
		`"a filename:b" tax`:                {Text: `"a filename:b" tax`},
		`label:team label:kind=x tax`:       {Text: "tax", Filter: Filter{Labels: map[string]string{"kind": "x"}, LabelNames: []string{"team"}}},
		`label:team=ops label:kind=x=y tax`: {Text: "tax", Filter: Filter{Labels: map[string]string{"team": "ops", "kind": "x=y"}}},
		`tax lang:DE job:j1`:                {Text: "tax", Language: "de", Job: "j1"},
		`after:2026-01-31 tax`:              {Text: "tax", Filter: Filter{From: day}},
		`before:2026-01-31T00:00:00z tax`:   {Text: "tax", Filter: Filter{Before: day}},
		`pages:3 tax`:                       {Text: "tax", Filter: Filter{MinPages: 3, MaxPages: 3}},
		`pages:3-10 tax`:                    {Text: "tax", Filter: Filter{MinPages: 3, MaxPages: 10}},
		`pages:3- tax`:                      {Text: "tax", Filter: Filter{MinPages: 3}},
		`pages:-10 tax`:                     {Text: "tax", Filter: Filter{MaxPages: 10}},
	} {
		q := Query{Text: text}
		if err := q.ParseFields(); err != nil || !reflect.DeepEqual(q, want) {
			t.Errorf("fields of %q: got %+v, %v, want %+v", text, q, err, want)
		}
	}
	for _, text := range []string{
		"filename:", `filename:""`, "label:", "label:=x", "lang:", "after:yesterday", "before:", "pages:0", "pages:-", "pages:a", "pages:3-x", "job:",
	} {
		q := Query{Text: text}
		if err := q.ParseFields(); fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("fields of %q: got %v, want INVALID_ARGUMENT", text, err)
		}
	}
}
