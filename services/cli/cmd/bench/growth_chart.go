package main

import (
	"bytes"
	"fmt"
	"math"
)

// The sizes of the drawing, in its own units.
const (
	panelWidth, panelHeight = 380, 170
	panelGap                = 70
	chartMargin             = 48
)

// chartLine is a line of a panel.
type chartLine struct {
	name, class string
	of          func(growthCost) float64
}

// drawGrowth draws the costs by size as an SVG picture: on the left those of a page, on the right those of a job; above
// time, below bytes.
func drawGrowth(pages, jobs []growthCost) []byte {
	var b bytes.Buffer
	width, height := 2*chartMargin+2*panelWidth+panelGap, 2*chartMargin+2*panelHeight+panelGap
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" `+
		`aria-label="What a page and a job cost, by how many there are">`+"\n", width, height)
	b.WriteString(`<style>
text{font:12px system-ui,sans-serif;fill:#1f2328}.title{font-weight:600}.tick{fill:#59636e;font-size:11px}
.grid{stroke:#d1d9e0}.cpu,.kept{stroke:#0969da;fill:#0969da}.wall{stroke:#bc4c00;fill:#bc4c00}
.cpu text,.kept text{fill:#0969da}.wall text{fill:#bc4c00}
polyline{fill:none;stroke-width:2}circle,text{stroke:none}rect{fill:#fff}
@media (prefers-color-scheme:dark){text{fill:#e6edf3}.tick{fill:#9198a1}.grid{stroke:#3d444d}rect{fill:#0d1117}
.cpu,.kept{stroke:#4493f8;fill:#4493f8}.wall{stroke:#f0883e;fill:#f0883e}
.cpu text,.kept text{fill:#4493f8}.wall text{fill:#f0883e}}
</style>
<rect width="100%" height="100%"/>
`)
	times := []chartLine{
		{"processor", "cpu", func(c growthCost) float64 { return c.cpu }},
		{"from upload to end", "wall", func(c growthCost) float64 { return c.wall }},
	}
	bytesKept := []chartLine{{"", "kept", func(c growthCost) float64 { return c.kept / 1000 }}}
	right, below := chartMargin+panelWidth+panelGap, chartMargin+panelHeight+panelGap
	drawPanel(&b, chartMargin, chartMargin, "Milliseconds a page, by pages of the document", pages, times)
	drawPanel(&b, right, chartMargin, "Milliseconds a job of one page, by jobs at once", jobs, times)
	drawPanel(&b, chartMargin, below, "Kilobytes kept a page, by pages of the document", pages, bytesKept)
	drawPanel(&b, right, below, "Kilobytes kept a job of one page, by jobs at once", jobs, bytesKept)
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// drawPanel draws one panel, its upper left corner at x and y: sizes along the logarithmic x axis, values from 0 up.
func drawPanel(b *bytes.Buffer, x, y int, title string, costs []growthCost, lines []chartLine) {
	top := 0.0
	for _, line := range lines {
		for _, c := range costs {
			top = max(top, line.of(c))
		}
	}
	top = roundUpToTick(top)
	first, last := math.Log10(float64(costs[0].size)), math.Log10(float64(costs[len(costs)-1].size))
	at := func(size int, value float64) (float64, float64) {
		along := (math.Log10(float64(size)) - first) / max(1, last-first)
		return float64(x) + along*panelWidth, float64(y) + panelHeight*(1-value/top)
	}
	fmt.Fprintf(b, `<text class="title" x="%d" y="%d">%s</text>`+"\n", x, y-20, title)
	const ticks = 4
	for i := range ticks + 1 {
		value := top * float64(i) / ticks
		_, tickY := at(costs[0].size, value)
		fmt.Fprintf(b, `<line class="grid" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/>`+
			`<text class="tick" text-anchor="end" x="%d" y="%.1f">%.4g</text>`+"\n",
			x, x+panelWidth, tickY, tickY, x-6, tickY+4, value)
	}
	for _, c := range costs {
		tickX, _ := at(c.size, 0)
		fmt.Fprintf(b, `<text class="tick" text-anchor="middle" x="%.1f" y="%d">%d</text>`+"\n", tickX,
			y+panelHeight+18, c.size)
	}
	for i, line := range lines {
		fmt.Fprintf(b, `<g class="%s"><polyline points="`, line.class)
		for _, c := range costs {
			px, py := at(c.size, line.of(c))
			fmt.Fprintf(b, "%.1f,%.1f ", px, py)
		}
		b.WriteString(`"/>`)
		for _, c := range costs {
			px, py := at(c.size, line.of(c))
			fmt.Fprintf(b, `<circle r="3.5" cx="%.1f" cy="%.1f"/>`, px, py)
		}
		fmt.Fprintf(b, `<text text-anchor="end" x="%d" y="%d">%s</text></g>`+"\n", x+panelWidth,
			y-4+16*i-16*(len(lines)-1), line.name)
	}
}

// roundUpToTick returns the next round number above v.
func roundUpToTick(v float64) float64 {
	if v <= 0 {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 4, 5, 10} {
		if v <= m*unit {
			return m * unit
		}
	}
	return 10 * unit
}
