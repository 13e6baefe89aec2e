package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"inkstream.dev/pkg/pdftest/pagegen"
	"inkstream.dev/pkg/pdftest/score"
)

// summarise returns the rows of the summary: each target, met or not, for each typesetter and for scans.
func (s *generatedSet) summarise() []summaryFigure {
	var out []summaryFigure
	for _, typesetter := range []string{pagegen.Chromium, pagegen.LuaLaTeX, pagegen.LibreOffice} {
		if all, byFamily := s.sumFigures(false, typesetter); all["Inkstream"].documents > 0 {
			out = append(out, summariseDigital(s.label+", "+typesetter, all, byFamily)...)
		}
	}
	return append(out, s.summariseScans()...)
}

// showBest shows the best value of a peer.
func showBest(by map[string]figures, of func(figures) float64) string {
	value, name, found := bestPeer(by, of)
	if !found {
		return absent
	}
	return formatRatio(value) + " " + name
}

// summariseDigital returns the rows of born-digital documents that one typesetter set.
func summariseDigital(label string, all map[string]figures, byFamily map[string]map[string]figures) []summaryFigure {
	var out []summaryFigure
	add := func(what string, value float64, peer, target string, met bool) {
		out = append(out, summaryFigure{label + ": " + what, formatRatio(value), peer, target, met})
	}
	ours := all["Inkstream"]
	add("whole paragraphs", ours.wholeShare(), showBest(all, figures.wholeShare), "≥ 0.99", ours.wholeShare() >= 0.99)
	add("order of neighbours", ours.orderShare(), showBest(all, figures.orderShare), "≥ 0.985", ours.orderShare() >= 0.985)
	add("documents whole and in order", ours.inOrderShare(), showBest(all, figures.inOrderShare), "≥ 0.90", ours.inOrderShare() >= 0.9)
	right := share(ours.tablesRight, ours.structured)
	wrong := float64(ours.falseTables) / float64(max(1, ours.structured))
	loader, hasLoader := all["OpenDataLoader"]
	beside := func(of func(figures) float64) string {
		if !hasLoader || loader.structured == 0 {
			return absent
		}
		return formatRatio(of(loader)) + " OpenDataLoader"
	}
	add("documents with the right number of tables", right, beside(func(f figures) float64 { return share(f.tablesRight, f.structured) }), "≥ 0.92", right >= 0.92)
	add("documents with false tables", wrong, beside(func(f figures) float64 { return share(f.falseTables, f.structured) }), "≤ 0.02", wrong <= 0.02)
	add("cell F1, ruled tables", ours.ruled.F1(), beside(func(f figures) float64 { return f.ruled.F1() }), "≥ 0.95", ours.ruled.F1() >= 0.95)
	add("cell F1, half-ruled and plain tables", ours.plain.F1(), beside(func(f figures) float64 { return f.plain.F1() }), "≥ 0.90", ours.plain.F1() >= 0.9)
	add("heading F1", ours.headingF1(), beside(figures.headingF1), "≥ 0.90", ours.headingF1() >= 0.9)
	add("paragraphs that are one block of Markdown", ours.oneBlockShare(), beside(figures.oneBlockShare), "≥ 0.98", ours.oneBlockShare() >= 0.98)
	behind := 0
	for _, by := range byFamily {
		if value, _, found := bestPeer(by, figures.wholeShare); found && by["Inkstream"].wholeShare() < value-0.01 {
			behind++
		}
	}
	return append(out, summaryFigure{label + ": families behind the best peer", fmt.Sprintf("%d of %d", behind, len(byFamily)), absent, "0", behind == 0})
}

// summariseScans returns the rows of the scans.
func (s *generatedSet) summariseScans() []summaryFigure {
	scans, _ := s.sumFigures(true, "")
	own, found := scans["Inkstream"]
	if !found {
		return nil
	}
	target, peer, worse := 0.975*(1-own.misreadShare()), scans["tesseract"], s.countWorseScans()
	ofPeer := own.meanErrorRate() / max(peer.meanErrorRate(), 1e-9)
	return []summaryFigure{
		{s.label + ", scans: whole paragraphs", formatRatio(own.wholeShare()), showBest(scans, figures.wholeShare), fmt.Sprintf("≥ %.4f", target),
			own.wholeShare() >= target},
		{s.label + ", scans: mean character error", formatRatio(own.meanErrorRate()), formatRatio(peer.meanErrorRate()) + " tesseract", "≤ 0.9 × tesseract",
			peer.documents > 0 && ofPeer <= 0.9},
		{s.label + ", scans: character error, all characters", formatRatio(own.errorRate()), formatRatio(peer.errorRate()) + " tesseract", "", false},
		{s.label + ", scans: paragraphs that are one block of Markdown", formatRatio(own.oneBlockShare()), absent, "", false},
		{s.label + ", scans: worse than tesseract by more than 0.05", fmt.Sprint(worse), absent, "0", worse == 0},
	}
}

func (s *generatedSet) countWorseScans() int {
	worse := 0
	for _, d := range s.documents {
		if peer, found := d.figures["tesseract"]; d.scan && found && d.figures["Inkstream"].errorRate() > peer.errorRate()+0.05 {
			worse++
		}
	}
	return worse
}

// tabulate returns the tables of a set: families, the worst documents, time.
func (s *generatedSet) tabulate() []reportTable {
	_, byFamily := s.sumFigures(false, "")
	readers := []string{"Inkstream", "OpenDataLoader", "pdftotext", "mutool", "LiteParse"}
	digital := reportTable{title: "Born-digital by family, whole paragraphs, " + s.label,
		columns: append(append([]string{"Family", "Documents"}, readers...), "Order", "In order", "Tables right", "False tables", "Cells", "Headings", "One block")}
	for _, family := range slices.Sorted(maps.Keys(byFamily)) {
		ours := byFamily[family]["Inkstream"]
		row := []string{family, fmt.Sprint(ours.documents)}
		for _, name := range readers {
			row = append(row, formatShare(byFamily[family], name, figures.wholeShare))
		}
		digital.addRow(append(row, formatRatio(ours.orderShare()), fmt.Sprint(ours.inOrder), fmt.Sprint(ours.tablesRight), fmt.Sprint(ours.falseTables),
			formatCells(ours.ruled.Add(ours.plain)), formatRatio(ours.headingF1()), formatRatio(ours.oneBlockShare()))...)
	}
	_, scanned := s.sumFigures(true, "")
	readers = []string{"Inkstream", "tesseract", "OCRmyPDF"}
	scans := reportTable{title: "Scans by family, character error, then whole paragraphs, " + s.label, columns: append(append([]string{"Family", "Documents"}, readers...), readers...)}
	for _, family := range slices.Sorted(maps.Keys(scanned)) {
		row := []string{family, fmt.Sprint(scanned[family]["Inkstream"].documents)}
		for _, of := range []func(figures) float64{figures.errorRate, figures.wholeShare} {
			for _, name := range readers {
				row = append(row, formatShare(scanned[family], name, of))
			}
		}
		scans.addRow(row...)
	}
	speed := reportTable{title: "Seconds a page by the clock, " + s.label, columns: []string{"Reader", "Seconds"}}
	for _, name := range slices.Sorted(maps.Keys(s.seconds)) {
		speed.addRow(name, fmt.Sprintf("%.3f", s.seconds[name]))
	}
	return []reportTable{digital, scans, s.listWorst(), speed}
}

// listWorst returns the documents that were read worst.
func (s *generatedSet) listWorst() reportTable {
	worst := slices.Clone(s.documents)
	slices.SortStableFunc(worst, func(x, y *generatedDocument) int {
		return cmp.Compare(x.figures["Inkstream"].merit(), y.figures["Inkstream"].merit())
	})
	out := reportTable{title: "Worst documents, " + s.label, columns: []string{"File", "State", "Whole", "Order", "Tables right", "False tables", "Cells", "Character error"}}
	for _, d := range worst[:min(2*worstKept, len(worst))] {
		f := d.figures["Inkstream"]
		out.addRow(strings.TrimPrefix(d.Path, "generated/"), d.state, formatRatio(f.wholeShare()), formatRatio(f.orderShare()), fmt.Sprint(f.tablesRight), fmt.Sprint(f.falseTables),
			formatCells(f.ruled.Add(f.plain)), formatRatio(f.errorRate()))
	}
	return out
}

func formatShare(by map[string]figures, name string, of func(figures) float64) string {
	f, found := by[name]
	if !found {
		return absent
	}
	return formatRatio(of(f))
}

func formatCells(c score.Cells) string {
	if c.Truth == 0 {
		return absent
	}
	return formatRatio(c.F1())
}
