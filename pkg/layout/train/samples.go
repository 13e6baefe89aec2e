package main

import (
	"inkstream.dev/pkg/layout"
	"inkstream.dev/pkg/layout/internal/boost"
	"inkstream.dev/pkg/pdftest/pagegen"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// agreement is the least share of the word pairs at a gutter that must say the same for it to be a sample.
const agreement = 0.8

// labelWords returns the number of the block, from 1, in which each word of a page stands. Words of what may be read
// as a table or as text have none.
func labelWords(page *inkstreamv1.Page, truth *pagegen.Document, number int) map[*inkstreamv1.Word]int {
	labels := map[*inkstreamv1.Word]int{}
	for _, b := range page.GetBlocks() {
		for _, l := range b.GetLines() {
			for _, w := range l.GetWords() {
				if n := findBlock(truth, number, w.GetBbox()); n > 0 {
					labels[w] = n
				}
			}
		}
	}
	return labels
}

// findBlock returns the number of the block that a box stands in, from 1; 0 for none.
func findBlock(truth *pagegen.Document, page int, box []float32) int {
	x, y := float64(box[0]+box[2])/2, float64(box[1]+box[3])/2
	for i := range truth.Blocks {
		b := &truth.Blocks[i]
		if b.Table != nil && b.Table.Optional {
			continue
		}
		for _, part := range b.Parts {
			rects := part.Lines
			if b.Table != nil || len(rects) == 0 {
				rects = []pagegen.Rect{part.Box}
			}
			for _, r := range rects {
				if part.Page == page && x >= r[0]-0.5 && x <= r[2]+0.5 && y >= r[1]-1 && y <= r[3]+1 {
					return i + 1
				}
			}
		}
	}
	return 0
}

// judgeGutters arranges a page with the right answer at each gutter that has one, and returns those gutters. Words of
// one block on both sides make it a gap within a table, and so do blocks that are read across; other words of different
// blocks make it a gutter between columns. The gutters of a page share its weight, so that pages with many do not outweigh
// the others.
func judgeGutters(page *inkstreamv1.Page, truth *pagegen.Document, blocks map[*inkstreamv1.Word]int, weight float64) []boost.Sample {
	var samples []boost.Sample
	layout.ArrangeJudged(page, layout.Judge{Gutter: func(g layout.GutterSample) bool {
		same, different := 0, 0
		for i := range g.Left {
			left, right := blocks[g.Left[i]], blocks[g.Right[i]]
			switch {
			case left == 0 || right == 0:
			case left == right || isReadAcross(truth, blocks, g, i):
				same++
			default:
				different++
			}
		}
		if both := same + different; both == 0 || float64(max(same, different)) < agreement*float64(both) {
			return g.Column
		}
		samples = append(samples, boost.Sample{X: g.Features, Positive: different > same})
		return different > same
	}})
	return weigh(samples, weight)
}

// isReadAcross reports whether the text right of a gutter is read between the text on its left at that line and that
// below.
func isReadAcross(truth *pagegen.Document, blocks map[*inkstreamv1.Word]int, g layout.GutterSample, line int) bool {
	left, right := blocks[g.Left[line]], blocks[g.Right[line]]
	if truth.Blocks[left-1].Flow != truth.Blocks[right-1].Flow || left > right {
		return false
	}
	for _, below := range g.Left[line+1:] {
		if n := blocks[below]; n > right && truth.Blocks[n-1].Flow == truth.Blocks[right-1].Flow {
			return true
		}
	}
	return false
}
