package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
)

// section is what one measure found.
type section struct {
	title string
	// method says in a few sentences what was compared with what.
	method  string
	summary []summaryFigure
	tables  []reportTable
}

// summaryFigure is a line of the summary.
type summaryFigure struct {
	label, ours, peer string
	// target is empty where there is none.
	target string
	met    bool
}

// reportTable is a table of the record.
type reportTable struct {
	title   string
	columns []string
	rows    [][]string
}

func (t *reportTable) addRow(cells ...string) { t.rows = append(t.rows, cells) }

// met says what became of the target.
func (f summaryFigure) targetResult() string {
	switch {
	case f.target == "":
		return ""
	case f.met:
		return "met"
	default:
		return "not met"
	}
}

// absent stands in a cell where there is nothing to compare; absentArtifact where the job lacks what it should have,
// which counts as a miss.
const (
	absent         = "–"
	absentArtifact = "not there"
)

func formatRatio(v float64) string { return fmt.Sprintf("%.4f", v) }

// medianOf returns the median; 0 of nothing.
func medianOf(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	if len(s) == 0 {
		return 0
	}
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

func meanOf(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	if len(v) == 0 {
		return 0
	}
	return sum / float64(len(v))
}

var summaryColumns = []string{"Measure", "What", "Inkstream", "Best peer", "Target", ""}

func (s section) summaryRows(bold bool) [][]string {
	var rows [][]string
	for _, f := range s.summary {
		verdict := f.targetResult()
		if bold && verdict != "" {
			verdict = "**" + verdict + "**"
		}
		rows = append(rows, []string{s.title, f.label, f.ours, f.peer, f.target, verdict})
	}
	return rows
}

// printSections writes the sections for a terminal, with the summary at the end, where it is seen.
func printSections(w io.Writer, sections []section) {
	summary := reportTable{title: "Summary", columns: summaryColumns}
	for _, s := range sections {
		fmt.Fprintf(w, "\n=== %s\n\n%s\n", s.title, s.method)
		for _, t := range s.tables {
			printTable(w, t)
		}
		summary.rows = append(summary.rows, s.summaryRows(false)...)
	}
	printTable(w, summary)
	fmt.Fprintf(w, "\n%s", summariseTargets(summary.rows))
}

// summariseTargets says how many of the targets among the rows of a summary are met, and names those that are not.
func summariseTargets(rows [][]string) string {
	met := 0
	var missed strings.Builder
	for _, row := range rows {
		switch strings.Trim(row[len(row)-1], "*") {
		case "met":
			met++
		case "not met":
			fmt.Fprintf(&missed, "- %s, %s: %s, target %s\n", row[0], row[1], row[2], row[4])
		}
	}
	n := strings.Count(missed.String(), "\n")
	if n == 0 {
		return fmt.Sprintf("All %d targets are met.\n", met)
	}
	return fmt.Sprintf("%d of %d targets are met. Not met:\n\n%s", met, met+n, missed.String())
}

func printTable(w io.Writer, t reportTable) {
	fmt.Fprintf(w, "\n%s\n\n", t.title)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, strings.Join(t.columns, "\t"))
	for _, row := range t.rows {
		fmt.Fprintln(tw, strings.Join(row, "\t"))
	}
	_ = tw.Flush() // to the console
}

const recordHead = `# Quality

What ` + "`make quality`" + ` measured last: the pipeline's artifacts on the corpus, against known contents and against other programs on the same
files. It is kept in the repository, so that the difference a change makes can be seen in the change. A dash stands where there is nothing
to compare; "` + absentArtifact + `" is an artifact that the job lacks, and counts as a miss.

`

// qualityRecord is the file that the results are kept in.
type qualityRecord struct {
	summary  [][]string        // rows of the table
	sections map[string]string // by title, with their headings
}

// parseRecord takes apart what writeRecord wrote; what is not there is empty.
func parseRecord(text string) qualityRecord {
	r := qualityRecord{sections: map[string]string{}}
	parts := strings.Split("\n"+text, "\n## ")
	for _, part := range parts[1:] {
		title, _, _ := strings.Cut(part, "\n")
		if title != "Summary" {
			r.sections[title] = "## " + strings.TrimRight(part, "\n") + "\n"
			continue
		}
		for line := range strings.SplitSeq(part, "\n") {
			if strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| "+summaryColumns[0]+" ") &&
				!strings.HasPrefix(line, "| --") {
				r.summary = append(r.summary, splitTableRow(line))
			}
		}
	}
	return r
}

// splitTableRow takes apart what writeRow wrote.
func splitTableRow(line string) []string {
	const bar = "\x00"
	row := strings.Split(strings.Trim(strings.ReplaceAll(line, `\|`, bar), "|"), "|")
	for i, cell := range row {
		row[i] = strings.ReplaceAll(strings.TrimSpace(cell), bar, "|")
	}
	return row
}

// writeRecord writes the sections into the record; those that are not among them stay in it as they are.
func writeRecord(path string, sections []section, peers string) error {
	old, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(parseRecord(string(old)).withSections(sections, peers)), 0o644)
}

// withSections returns the text of the record with the sections in place of those of the same title.
func (r qualityRecord) withSections(sections []section, peers string) string {
	var summary [][]string
	var bodies []string
	for _, m := range measures {
		if i := slices.IndexFunc(sections, func(s section) bool { return s.title == m.title }); i >= 0 {
			summary = append(summary, sections[i].summaryRows(true)...)
			bodies = append(bodies, sections[i].formatMarkdown())
			continue
		}
		for _, row := range r.summary {
			if row[0] == m.title {
				summary = append(summary, row)
			}
		}
		if body := r.sections[m.title]; body != "" {
			bodies = append(bodies, body)
		}
	}
	var b strings.Builder
	b.WriteString(recordHead)
	fmt.Fprintf(&b, "Peers: %s.\n\n## Summary\n\n%s\n", peers, summariseTargets(summary))
	writeHeader(&b, summaryColumns)
	for _, row := range summary {
		writeRow(&b, row)
	}
	for _, body := range bodies {
		b.WriteString("\n" + body)
	}
	return b.String()
}

func (s section) formatMarkdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n%s\n", s.title, s.method)
	for _, t := range s.tables {
		fmt.Fprintf(&b, "\n### %s\n\n", t.title)
		writeHeader(&b, t.columns)
		for _, row := range t.rows {
			writeRow(&b, row)
		}
	}
	return b.String()
}

func writeHeader(b *strings.Builder, columns []string) {
	writeRow(b, columns)
	b.WriteString("|" + strings.Repeat(" --- |", len(columns)) + "\n")
}

func writeRow(b *strings.Builder, cells []string) {
	for _, cell := range cells {
		b.WriteString("| " + strings.ReplaceAll(cell, "|", `\|`) + " ")
	}
	b.WriteString("|\n")
}
