package main

import (
	"inkstream.dev/pkg/layout"
	"inkstream.dev/pkg/layout/internal/boost"
	"inkstream.dev/pkg/pdftest/pagegen"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// judgeTables arranges a page with the right answer for all that may be a table, and returns those. Most words of a table
// stand in one table of the truth; hardly any of what is none stands in one. What is neither, and lines of text that have
// several places, such as a name and a number, tell nothing. With whole, no gutter parts columns, so that columns of text
// are looked at as tables too.
func judgeTables(page *inkstreamv1.Page, truth *pagegen.Document, blocks map[*inkstreamv1.Word]int, weight float64, whole bool) []boost.Sample {
	var samples []boost.Sample
	gutter := func(s layout.GutterSample) bool { return s.Column && !whole }
	layout.ArrangeJudged(page, layout.Judge{Gutter: gutter, Table: func(s layout.TableSample) bool {
		inTables, known, lines := map[int]int{}, 0, 0
		for _, w := range s.Words {
			n := blocks[w]
			switch {
			case n == 0:
				continue
			case truth.Blocks[n-1].Table != nil:
				inTables[n]++
			case truth.Blocks[n-1].Kind == pagegen.KindText:
				lines++
			}
			known++
		}
		most, all := 0, 0
		for _, n := range inTables {
			most, all = max(most, n), all+n
		}
		is := float64(most) >= agreement*float64(known)
		if known == 0 || float64(lines) >= agreement*float64(known) || !is && float64(all) > (1-agreement)*float64(known) {
			return s.Table
		}
		samples = append(samples, boost.Sample{X: s.Features, Positive: is})
		return is
	}})
	return weigh(samples, weight)
}
