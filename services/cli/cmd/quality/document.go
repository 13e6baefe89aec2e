package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"inkstream.dev/pkg/outcome"
	"inkstream.dev/pkg/pdftest/score"
)

// document is what is measured of document.json.
type document struct {
	Pages []page `json:"pages"`
}

type page struct {
	Number  int     `json:"number"`
	Outcome string  `json:"outcome"`
	Reason  string  `json:"reason"`
	Quality float64 `json:"quality"`
	Blocks  []block `json:"blocks"`
	Images  []image `json:"images"`
}

type block struct {
	Lines []line `json:"lines"`
}

type line struct {
	Words []word `json:"words"`
}

type word struct {
	Text string    `json:"text"`
	Bbox []float64 `json:"bbox"`
	// Confidence is set for recognised words only.
	Confidence *float64 `json:"confidence"`
}

type image struct {
	Name   string `json:"name"`
	Kind   string `json:"kind"`
	SHA256 string `json:"sha256"`
	Mask   bool   `json:"mask"`
}

// recognisedLines returns the lines of the page that hold words which were read from its raster, with those words
// only. On a page with a text of its own these are the words in its pictures.
func (p *page) recognisedLines() [][]word {
	var out [][]word
	for _, b := range p.Blocks {
		for _, l := range b.Lines {
			read := slices.DeleteFunc(slices.Clone(l.Words),
				func(w word) bool { return w.Confidence == nil || strings.TrimSpace(w.Text) == "" })
			if len(read) > 0 {
				out = append(out, read)
			}
		}
	}
	return out
}

// recognisedBoxes returns the recognised words with their places.
func (p *page) recognisedBoxes() []score.Box {
	var out []score.Box
	for _, l := range p.recognisedLines() {
		for _, w := range l {
			if len(w.Bbox) == 4 {
				out = append(out, score.Box{Text: w.Text, At: [4]float64(w.Bbox)})
			}
		}
	}
	return out
}

// recognisedText returns the recognised words, a line a line.
func (p *page) recognisedText() string {
	var out strings.Builder
	for _, l := range p.recognisedLines() {
		for _, w := range l {
			out.WriteString(w.Text)
			out.WriteByte(' ')
		}
		out.WriteByte('\n')
	}
	return out.String()
}

// describeOutcomes says how many pages ended otherwise than with their native text; empty if none did.
func (d *document) describeOutcomes() string {
	count := map[string]int{}
	for _, p := range d.Pages {
		count[p.Outcome]++
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(count)) {
		if name != outcome.Native {
			out = append(out, fmt.Sprintf("%d of %d pages %s", count[name], len(d.Pages), name))
		}
	}
	return strings.Join(out, ", ")
}

// recognisedWords returns the words that were read from rasters, as they are compared.
func (d *document) recognisedWords() []string {
	var out []string
	for i := range d.Pages {
		out = append(out, comparedWords(d.Pages[i].recognisedText())...)
	}
	return out
}
