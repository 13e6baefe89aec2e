package fault

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write codes.md anew")

// tried says what becomes of a task that fails with an error of a kind; pkg/bus does it, and tests that it does so.
var tried = map[Kind]string{
	Permanent:   "never; dead-lettered at once",
	Transient:   "7 times after 1 s, 5 s, 15 s, 30 s, 1 min, 2 min and 5 min (each less up to a half), then dead-lettered",
	Busy:        "every 2 s (less up to a half) until it passes; not counted",
	EngineCrash: "once, after 0.2 s, then the page has failed; where it is no page's, dead-lettered",
}

// document returns codes.md.
func document() string {
	var b strings.Builder
	b.WriteString("# Codes and their retry classes\n\nWritten from `code.go` by `go test ./fault -update`, and checked by `go test ./fault`.\n" +
		"Failed tries are counted in the job's record by task and shown as `failedTries`; redeliveries after a crash or a deploy count for nothing.\n\n" +
		"| Class | Tried again |\n|---|---|\n")
	for _, k := range []Kind{Transient, Busy, Permanent, EngineCrash} {
		fmt.Fprintf(&b, "| %s | %s |\n", k, tried[k])
	}
	b.WriteString("\nAn error without a code is transient.\n\n| Code | Class | Reason in outcomes and metrics | May the same upload succeed later | Meaning |\n|---|---|---|---|---|\n")
	for _, c := range slices.Sorted(maps.Keys(codeTable)) {
		later := "no"
		if c.IsRetryable() {
			later = "yes"
		}
		fmt.Fprintf(&b, "| `%s` | %s | `%s` | %s | %s |\n", c, c.lookUpKind(), c.ShortReason(), later, c.DescribeCode())
	}
	return b.String()
}

func TestCodesAreDocumented(t *testing.T) {
	t.Parallel()
	if *update {
		if err := os.WriteFile("codes.md", []byte(document()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile("codes.md")
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(document(), "\n")
	for i, line := range strings.Split(string(got), "\n") {
		if i >= len(want) || line != want[i] {
			t.Fatalf("codes.md, line %d: got %q, want what code.go says; go test ./fault -update writes it", i+1, line)
		}
	}
}

// Every code that there is has a line in the table: one without would pass for a transient one.
func TestEveryCodeIsInTheTable(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("code.go")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(source)) {
		_, value, ok := strings.Cut(line, " Code = ")
		if !ok {
			continue
		}
		n++
		if c := Code(strings.Trim(strings.TrimSpace(value), `"`)); codeTable[c].description == "" ||
			codeTable[c].reason == "" {
			t.Errorf("%s has no line in the table", c)
		}
	}
	if n != len(codeTable) {
		t.Errorf("%d codes are declared, the table has %d", n, len(codeTable))
	}
}
