package score

import (
	"slices"
	"strings"
)

// BlockIndex finds paragraphs among the blocks of a Markdown document.
type BlockIndex struct {
	blocks []Block
	words  []int            // of each block
	places map[string][]int // of each run of words, the block in which it begins and ends, or -1 if it goes over a border
}

// NewBlockIndex indexes the blocks of a document in their order.
func NewBlockIndex(blocks []Block) *BlockIndex {
	index := &BlockIndex{blocks: blocks, places: map[string][]int{}}
	var words []string
	var owners []int // of each word
	for i, b := range blocks {
		own := splitRunWords(b.Text)
		index.words = append(index.words, len(own))
		words = append(words, own...)
		owners = append(owners, slices.Repeat([]int{i}, len(own))...)
	}
	for i := 0; i+runLength <= len(words); i++ {
		owner := owners[i]
		if owner != owners[i+runLength-1] {
			owner = -1
		}
		run := strings.Join(words[i:i+runLength], " ")
		index.places[run] = append(index.places[run], owner)
	}
	return index
}

// shortestParagraph is the least number of runs by which a paragraph is told from others.
const shortestParagraph = 4

// IsOneBlock reports whether a paragraph is one block, as it should be: nine tenths of the runs that were read stand in
// one block that is not code and has a quarter more words at most. It is not judged if it is short or half of it was
// not read.
func (x *BlockIndex) IsOneBlock(paragraph string) (one, judged bool) {
	runs := listRuns(paragraph)
	read, byBlock := 0, map[int]int{}
	for _, run := range runs {
		owners := x.places[run]
		if len(owners) == 0 {
			continue
		}
		read++
		slices.Sort(owners)
		for _, owner := range slices.Compact(slices.Clone(owners)) {
			byBlock[owner]++
		}
	}
	if len(runs) < shortestParagraph || 2*read < len(runs) {
		return false, false
	}
	longest := (len(runs) + runLength - 1) * 5 / 4
	for owner, n := range byBlock {
		if owner >= 0 && !x.blocks[owner].Code && 10*n >= 9*read && x.words[owner] <= longest {
			return true, true
		}
	}
	return false, true
}
