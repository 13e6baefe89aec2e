package search

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"inkstream.dev/pkg/fault"
)

func TestMatchExpression(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		`invoice`:                 `(("invoice" OR "invoiced" OR "invoices" OR "invoicing"))`,
		`tax 2024`:                `("tax" AND "2024")`,
		`"due date" -old`:         `("due date") NOT ("old")`,
		`inv* "net am"*`:          `("inv" * AND "net am" *)`,
		`a AND b OR c NOT d`:      `("a" AND "and" AND "b" AND "or" AND "c" AND "not" AND "d")`,
		`foo -bar -"x y"`:         `("foo") NOT ("bar" OR "x y")`,
		`text:foo`:                `("text foo")`,
		`foo"bar baz"qux`:         `("foo" AND "bar baz" AND "qux")`,
		"foo\x00bar":              `("foo" AND "bar")`,
		`-tax "invoice"`:          `("invoice") NOT ("tax")`,
		`(foo) ^bar {x}:y z\ 'q'`: `("foo" AND "bar" AND "x y" AND "z" AND "q")`,
		"hello \u0301 -\u0301*":   `(("hello" OR "helloed" OR "helloing" OR "hellos"))`, // marks alone are no words
		"\"hello \u0301 dolly\"*": `("hello dolly" *)`,
	} {
		clauses, err := parseQuery(query)
		if err != nil {
			t.Errorf("parse %q: got %v, want no error", query, err)
			continue
		}
		if got := matchExpression(clauses); got != want {
			t.Errorf("expression of %q: got %s, want %s", query, got, want)
		}
	}
}

func FuzzParseQuery(f *testing.F) {
	for _, seed := range []string{`foo`, `"foo bar"* -baz`, `-"x`, `a*`, "\xff\x00", `foo -`, `"" * - "`, `漢*`,
		"\u0301*"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		clauses, err := parseQuery(text)
		if err != nil {
			if fault.CodeOf(err) != fault.InvalidArgument {
				t.Errorf("parse %q: got %v, want INVALID_ARGUMENT", text, err)
			}
			return
		}
		expr := matchExpression(clauses)
		if strings.Count(expr, `"`)%2 != 0 || strings.ContainsRune(expr, 0) || !utf8.ValidString(expr) {
			t.Errorf("expression of %q: got %q, want closed quotation marks in valid text", text, expr)
		}
	})
}

func TestSnippet(t *testing.T) {
	t.Parallel()
	filler := strings.Repeat("lorem ipsum ", 50)
	for _, tt := range []struct{ query, text, want string }{
		{"b", "", ""},
		{"b", "plain\ntext", "plain text"},
		{"b", "a b c", "a [b] c"},
		{`a "b ü"`, "a b\tÜ", "[a] [b Ü]"},
		{"i -b", "<b> & <i> </b>", "&lt;b&gt; &amp; &lt;[i]&gt; &lt;/b&gt;"},
		{"uber", "über\tall über", "[über] all [über]"},
		{"b -x", "b" + strings.Repeat(".", 1000) + "b" + strings.Repeat("-", 1000),
			"[b]" + strings.Repeat(".", 128) + "…[b]" + strings.Repeat("-", 128) + "…"},
		{"éa*", "a " + strings.Repeat("éa", 1000) + " b", "a [" + strings.Repeat("éa", 42) + "é…] b"}, // no character is cut through
		{"end", filler + "end", "…" + strings.Repeat("ipsum lorem ", 15) + "ipsum [end]"},
		{`"` + strings.Repeat("a ", 60) + `"`, "b " + strings.Repeat("a ", 60), "b [" + strings.Repeat("a ", 59) + "a] "},
		{`"m n o p"`, "m n o p " + strings.Repeat("x ", 26) + "m n o p x x",
			"[m n o p] " + strings.Repeat("x ", 26) + "[m n o p]…"},
		{"one two", "one " + filler + "one two " + filler,
			"…" + strings.Repeat("lorem ipsum ", 2) + "[one] [two] " + strings.Repeat("lorem ipsum ", 13) + "…"},
	} {
		m, err := NewMatcher(tt.query)
		if err != nil {
			t.Fatal(err)
		}
		escape := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace
		got := m.cutSnippet(tt.text).MarkHighlights("[", "]", escape)
		if strings.ReplaceAll(got, " …", "…") != strings.ReplaceAll(tt.want, " …", "…") {
			t.Errorf("snippet of %.20q for %s: got %q, want %q", tt.text, tt.query, got, tt.want)
		}
	}
}

func TestCleanText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                       "",
		"as is\nü\t漢":            "as is\nü\t漢",
		"a\x00b\x01\x02c\fd\r\n": "a b  c d \n",
		"\xff\xfeab\xc3":         "\uFFFDab\uFFFD",
	} {
		if got := cleanText(text); got != want {
			t.Errorf("cleanText(%q): got %q, want %q", text, got, want)
		}
	}
}

func TestCursor(t *testing.T) {
	t.Parallel()
	for _, at := range []position{{-1.5, 7, 0, window{1, 2}}, {-1e-9, math.MaxInt64, 3, window{to: math.MaxInt64}}, {},
		{1, -1, -1, window{-1, -1}}} {
		if got, err := parseCursor(99, encodeCursor(99, at)); err != nil || *got != at {
			t.Errorf("cursor of %v: got %v, %v, want it back", at, got, err)
		}
	}
	for _, at := range []jobPosition{{0, "j"}, {-1, strings.Repeat("job", 50)}} {
		if got, err := parseJobCursor(99, encodeJobCursor(99, at)); err != nil || *got != at {
			t.Errorf("cursor of %v: got %v, %v, want it back", at, got, err)
		}
	}
	for name, bad := range map[string]string{
		"with NaN": encodeCursor(99, position{score: math.NaN()}), "of another query": encodeCursor(98, position{}),
		"of jobs": encodeJobCursor(99, jobPosition{job: "j"}),
	} {
		if _, err := parseCursor(99, bad); fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("cursor %s: got %v, want INVALID_ARGUMENT", name, err)
		}
	}
}
