package main

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/pdftest/score"
)

// wantsTables takes files whose tables are known.
func wantsTables(f pdftest.CorpusFile) bool {
	return isPDF(f) && (f.HasTags("table-truth") || f.HasTags("table-expected"))
}

// The targets.
const minRuled, minUnruled = 0.95, 0.80

//go:embed unruled.txt
var unruledFiles string

func hasRuledTables(f pdftest.CorpusFile) bool {
	return !slices.Contains(strings.Fields(unruledFiles), f.Path)
}

// tableComparison is how the tables of a file agree with the truth.
type tableComparison struct {
	*sample
	cells           []score.Cells // of each table of the truth
	spurious        int           // tables that are like none of the truth's
	sum             score.Cells
	peer            score.Cells
	peerReadNothing bool // the peer reads nothing in the file
	note            string
}

func scoreTables(ctx context.Context, b *qualityRun, samples []*sample) (section, error) {
	all, err := forEachSample(ctx, b, samples, b.compareTables)
	if err != nil {
		return section{}, err
	}
	sec := section{method: "F1 of the cells with text of tables/*.csv against the tables of the truth. A cell is right where it holds the same text, " +
		"white space aside, in the same place of the most similar subtable (as in GriTS, so that a row too many costs its own cells only). Each " +
		"table is compared with the one of its page that has the most cells right. Where the truth lists all tables of a file (ICDAR 2013) the " +
		"cells of all others count as wrong. Ruled are tables whose rows and columns are all parted by lines. The figure is the mean over files. " +
		"Peer: pdftotext -layout, whose lines with wide gaps are rows, and gaps through all of them part columns; over the files in which it " +
		"reads something.",
	}
	for _, kind := range []struct {
		name   string
		ruled  bool
		target float64
	}{{"ruled", true, minRuled}, {"unruled", false, minUnruled}} {
		var f1s, peers []float64
		var sum, peer score.Cells
		for _, t := range all {
			if hasRuledTables(t.CorpusFile) != kind.ruled {
				continue
			}
			f1s, sum = append(f1s, t.sum.F1()), sum.Add(t.sum)
			if !t.peerReadNothing {
				peers, peer = append(peers, t.peer.F1()), peer.Add(t.peer)
			}
		}
		if len(f1s) == 0 {
			continue
		}
		of := [2]string{absent, absent}
		if len(peers) > 0 {
			of = [2]string{formatRatio(meanOf(peers)) + " pdftotext", formatRatio(peer.F1()) + " pdftotext"}
		}
		sec.summary = append(sec.summary,
			summaryFigure{"cell F1, " + kind.name + " tables, mean over files", formatRatio(meanOf(f1s)), of[0],
				fmt.Sprintf("≥ %.2f", kind.target), meanOf(f1s) >= kind.target},
			summaryFigure{"cell F1, " + kind.name + " tables, all cells", formatRatio(sum.F1()), of[1], "", false})
	}
	byFile := reportTable{title: "Tables by file, worst first",
		columns: strings.Split("File,Kind,Tables,Cells,Right,Got,F1,pdftotext,F1 of each,Spurious,Note", ",")}
	slices.SortStableFunc(all, func(x, y tableComparison) int { return cmp.Compare(x.sum.F1(), y.sum.F1()) })
	for _, t := range all {
		kind := map[bool]string{true: "ruled", false: "unruled"}[hasRuledTables(t.CorpusFile)]
		var of []string
		for _, c := range t.cells {
			of = append(of, fmt.Sprintf("%.2f", c.F1()))
		}
		peer := absent
		if !t.peerReadNothing {
			peer = formatRatio(t.peer.F1())
		}
		byFile.addRow(t.Path, kind, fmt.Sprint(len(t.cells)), fmt.Sprint(t.sum.Truth), fmt.Sprint(t.sum.Equal),
			fmt.Sprint(t.sum.Got), formatRatio(t.sum.F1()), peer, strings.Join(of, " "),
			fmt.Sprint(t.spurious), t.note)
	}
	sec.tables = []reportTable{byFile}
	return sec, nil
}

// compareTables compares the tables of a file, and those that the peer finds in it, with the truth.
func (b *qualityRun) compareTables(ctx context.Context, s *sample) (tableComparison, error) {
	t := tableComparison{sample: s}
	truth, complete, err := b.readTrueTables(s.CorpusFile)
	if err != nil {
		return t, err
	}
	got, err := s.readTables()
	if err != nil {
		return t, err
	}
	if len(got) == 0 {
		t.note = "tables/ " + absentArtifact + ": " + s.state
	}
	t.cells, t.spurious, t.sum = matchTables(truth, got, complete)
	text, err := b.peers.cachedText(ctx, s.CorpusFile, "pdftotext", "-layout", "-enc", "UTF-8", inputFile, "-")
	if _, err = noteForFailure(err); err != nil {
		return t, err
	}
	if t.peerReadNothing = strings.TrimSpace(text) == ""; !t.peerReadNothing {
		_, _, t.peer = matchTables(truth, parseSpacedTables(text), complete)
	}
	return t, nil
}

// matchTables compares tables with those of the truth; complete says that those are all.
func matchTables(truth, got []score.PlacedTable, complete bool) (cells []score.Cells, spurious int, sum score.Cells) {
	cells, others := score.MatchTables(truth, got)
	for _, c := range cells {
		sum = sum.Add(c)
	}
	if complete {
		sum.Got += score.CountFilledCells(others)
	}
	return cells, len(others), sum
}

// parseSpacedTables reads tables out of pages of text that is laid out with blanks: rows are lines that follow each
// other and have a gap of two blanks or more within, and columns are parted by such gaps through all rows. Form feeds
// end pages.
func parseSpacedTables(text string) []score.PlacedTable {
	var out []score.PlacedTable
	for i, page := range strings.Split(text, "\f") {
		var rows [][]rune
		end := func() {
			if len(rows) > 1 {
				out = append(out, score.PlacedTable{Page: i + 1, Grid: splitSpacedColumns(rows)})
			}
			rows = nil
		}
		for line := range strings.Lines(page) {
			line = strings.TrimRight(line, " \n")
			switch {
			case line == "": // rows may be set apart
			case strings.Contains(strings.TrimLeft(line, " "), "  "):
				rows = append(rows, []rune(line))
			default:
				end()
			}
		}
		end()
	}
	return out
}

// splitSpacedColumns cuts rows where all of them have two blanks or more.
func splitSpacedColumns(rows [][]rune) score.Grid {
	blank := func(at int) bool {
		return !slices.ContainsFunc(rows, func(row []rune) bool { return at < len(row) && row[at] != ' ' })
	}
	width := len(slices.MaxFunc(rows, func(a, b []rune) int { return cmp.Compare(len(a), len(b)) }))
	var columns [][2]int
	for at, gap := 0, 2; at < width; at++ {
		switch {
		case blank(at):
			gap++
			continue
		case gap >= 2:
			columns = append(columns, [2]int{at, at})
		}
		columns[len(columns)-1][1], gap = at+1, 0
	}
	grid := make(score.Grid, len(rows))
	for i, row := range rows {
		for _, c := range columns {
			grid[i] = append(grid[i], strings.TrimSpace(string(row[min(c[0], len(row)):min(c[1], len(row))])))
		}
	}
	return grid
}

// readTrueTables reads the tables of the truth, and whether those are all that the file has.
func (b *qualityRun) readTrueTables(f pdftest.CorpusFile) (tables []score.PlacedTable, complete bool, err error) {
	root := filepath.Join(b.corpus, filepath.FromSlash(f.TruthPath))
	data, err := os.ReadFile(filepath.Join(root, "tables.json"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, false, err
	}
	var list []struct {
		File string `json:"file"`
		Page int    `json:"page"`
	}
	if complete = err == nil; complete {
		if err := json.Unmarshal(data, &list); err != nil {
			return nil, false, fmt.Errorf("tables.json: %w", err)
		}
	}
	pages := map[string]int{}
	for _, t := range list {
		pages[t.File] = t.Page
	}
	names, err := filepath.Glob(filepath.Join(root, "*.csv"))
	if err != nil {
		return nil, false, err
	}
	for _, name := range names {
		g, err := readCSVGrid(name)
		if err != nil {
			return nil, false, err
		}
		tables = append(tables, score.PlacedTable{Page: pages[filepath.Base(name)], Grid: g})
	}
	return tables, complete, nil
}

func readCSVGrid(path string) (score.Grid, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return score.ReadCSV(f)
}

// readTables reads tables/<page>-<n>.csv.
func (s *sample) readTables() ([]score.PlacedTable, error) {
	var out []score.PlacedTable
	for _, name := range s.listArtifacts("tables/*.csv") {
		g, err := readCSVGrid(s.artifactPath(name))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		number, _, _ := strings.Cut(path.Base(filepath.ToSlash(name)), "-")
		page, err := strconv.Atoi(number)
		if err != nil {
			return nil, fmt.Errorf("%s: no page number: %w", name, err)
		}
		out = append(out, score.PlacedTable{Page: page, Grid: g})
	}
	return out, nil
}
