package document_test

import (
	"bytes"
	"encoding/csv"
	"testing"

	"inkstream.dev/pkg/document"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// A cell that a spreadsheet would run is written as text, and numbers stay numbers.
func TestWriteTableCSVRunsNothing(t *testing.T) {
	t.Parallel()
	for text, runs := range map[string]bool{
		"=1+1": true, "=HYPERLINK(\"http://x\")": true, "+1+cmd|' /C calc'!A0": true, "-2+3": true, "-cmd|x": true, "@SUM(A1)": true,
		"\t=1": true, "\r=1": true, "\n=1": true, "＝1+1": true, "＠SUM": true, "- item": true, "+49 (30) 123": true,
		"": false, "-": false, "-12.5": false, "+3": false, "-1.234,56 €": false, "-€ 5": false, "-12 %": false, "- 5": false, "1-2": false,
		"a=b": false, "'=1": false, "−5": false, "-1’000": false,
	} {
		table := &inkstreamv1.Table{Rows: 1, Columns: 2, Cells: []*inkstreamv1.Cell{{Row: 0, Column: 0, Text: "x"}, {Row: 0, Column: 1, Text: text}}}
		for _, raw := range []bool{false, true} {
			want := text
			if runs && !raw {
				want = "'" + text
			}
			var b bytes.Buffer
			if err := document.WriteTableCSV(&b, table, raw); err != nil {
				t.Fatal(err)
			}
			rows, err := csv.NewReader(&b).ReadAll()
			// A reader of CSV takes a carriage return before a line feed for one of the line's end, nothing else.
			if err != nil || len(rows) != 1 || rows[0][1] != want {
				t.Errorf("%q, raw %v: got %q, %v, want %q", text, raw, rows, err, want)
			}
		}
	}
}
