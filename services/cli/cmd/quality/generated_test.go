package main

import (
	"testing"

	"inkstream.dev/pkg/pdftest/pagegen"
	"inkstream.dev/pkg/pdftest/score"
)

func TestMeasureReading(t *testing.T) {
	t.Parallel()
	table := &pagegen.Table{Ruling: pagegen.Ruled, Rows: 2, Columns: 2, Cells: []pagegen.Cell{{Text: "a"}, {Column: 1, Text: "b"},
		{Row: 1, Text: "c"}, {Row: 1, Column: 1, Text: "d"}}}
	truth := &pagegen.Document{Family: "report", Blocks: []pagegen.Block{
		{Kind: pagegen.KindHeading, Text: "First things", Flow: "main"},
		{Kind: pagegen.KindParagraph, Text: "one two three four five six", Flow: "main"},
		{Kind: pagegen.KindParagraph, Text: "seven eight nine ten eleven twelve", Flow: "main"},
		{Kind: pagegen.KindTable, Text: "a b c d", Table: table, Parts: []pagegen.Part{{Page: 1}}},
	}}
	right := reading{structured: true, text: "First things\none two three four five six\nseven eight nine ten eleven twelve\na b c d",
		headings: []score.Heading{{Level: 2, Text: "First things"}}, tables: []score.PlacedTable{{Page: 1, Grid: table.Grid()}}}
	if f := measureReading(truth, right); f.wholeShare() != 1 || f.orderShare() != 1 || f.inOrder != 1 || f.tablesRight != 1 || f.falseTables != 0 ||
		f.ruled.F1() != 1 || f.headingF1() != 1 || f.errorRate() != 0 {
		t.Errorf("a perfect reading has %+v", f)
	}
	wrong := reading{structured: true, text: "seven eight nine ten eleven twelve\none two three four five six\na b c d",
		tables: []score.PlacedTable{{Page: 1, Grid: score.Grid{{"one two three", "seven eight nine"}}}}}
	if f := measureReading(truth, wrong); f.wholeShare() != 1 || f.orderShare() != 0 || f.inOrder != 0 || f.falseTables != 1 ||
		f.ruled.F1() != 0 || f.headingF1() != 0 {
		t.Errorf("a reading in the wrong order with a false table has %+v", f)
	}
}
