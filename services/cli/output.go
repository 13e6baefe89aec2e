package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/mattn/go-isatty"
	"github.com/mattn/go-runewidth"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// The ways in which things are shown.
const (
	asTable = "table"
	asWide  = "wide"
	asJSON  = "json"
	asYAML  = "yaml"
)

var formats = []string{asTable, asWide, asJSON, asYAML}

// outputFormat is a format that a flag chooses. It is a pflag.Value, so that a wrong one is found before anything is
// done.
type outputFormat string

// String returns the format.
func (o *outputFormat) String() string { return string(*o) }

// Type names the values in help.
func (o *outputFormat) Type() string { return "format" }

// Set chooses a format. text is what table was called once.
func (o *outputFormat) Set(v string) error {
	if v == "text" {
		v = asTable
	}
	if !slices.Contains(formats, v) {
		return fmt.Errorf("want one of %s", strings.Join(formats, ", "))
	}
	*o = outputFormat(v)
	return nil
}

func (o *outputFormat) isMachineReadable() bool { return *o == asJSON || *o == asYAML }

// addOutputFlag adds -o.
func addOutputFlag(cmd *cobra.Command) *outputFormat {
	o := outputFormat(asTable)
	cmd.Flags().VarP(&o, "output", "o", strings.Join(formats, ", "))
	completeValues(cmd, "output", formats...)
	return &o
}

// completeValues has a flag completed with values that are known.
func completeValues(cmd *cobra.Command, flag string, values ...string) {
	// The one error is that there is no such flag, or that it is completed already: a slip that shows at once.
	if err := cmd.RegisterFlagCompletionFunc(flag,
		cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err)
	}
}

// table is something to show: a table for people, and for programs the things themselves.
type table struct {
	// columns names the columns. The plain table has the first plain of them, and the last; the wide one has all.
	columns      []string
	plainColumns int
	rows         [][]string
	// data is a proto.Message, a slice of them made by list, or anything that encoding/json takes.
	data any
	// emptyText is what people are told where there are no rows.
	emptyText string
}

// protoMessages makes messages one thing that can be written as JSON.
func protoMessages[M proto.Message](messages []M) []proto.Message {
	all := make([]proto.Message, len(messages))
	for i, m := range messages {
		all[i] = m
	}
	return all
}

// printTable prints a sheet.
func (s streams) printTable(how outputFormat, t table) error {
	if how.isMachineReadable() {
		return s.printEncoded(how, t.data)
	}
	if len(t.rows) == 0 && t.emptyText != "" {
		fmt.Fprintln(s.err, t.emptyText)
		return nil
	}
	return s.printColumns(t, how == asWide)
}

// printEncoded writes data as JSON or YAML.
func (s streams) printEncoded(how outputFormat, data any) error {
	text, err := marshalJSON(data)
	if err != nil {
		return err
	}
	if how == asYAML {
		if text, err = yaml.JSONToYAML(text); err != nil {
			return err
		}
	}
	_, err = s.out.Write(text)
	return err
}

// marshalJSON writes data as JSON in one form, whatever it is made of.
func marshalJSON(data any) ([]byte, error) {
	var raw []byte
	var err error
	switch d := data.(type) {
	case proto.Message:
		raw, err = marshalMessage(d)
	case []proto.Message:
		parts := make([]json.RawMessage, len(d))
		for i, m := range d {
			if parts[i], err = marshalMessage(m); err != nil {
				return nil, err
			}
		}
		raw, err = json.Marshal(parts)
	default:
		raw, err = json.Marshal(d)
	}
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

// marshalMessage writes a message with its zeroes, so that programs need not know what may be missing.
func marshalMessage(m proto.Message) (json.RawMessage, error) {
	return protojson.MarshalOptions{EmitDefaultValues: true}.Marshal(m)
}

const columnGap = "  "

// printColumns prints the rows in columns.
func (s streams) printColumns(t table, wide bool) error {
	last := len(t.columns) - 1
	var columns []int
	for i := range t.columns {
		if wide || t.plainColumns == 0 || i < t.plainColumns || i == last {
			columns = append(columns, i)
		}
	}
	widths := make([]int, len(t.columns))
	for _, row := range append([][]string{t.columns}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], runewidth.StringWidth(cell))
		}
	}
	var b bytes.Buffer
	line := func(row []string, paint bool) {
		for n, i := range columns {
			cell := row[i]
			if n < len(columns)-1 {
				cell = runewidth.FillRight(cell, widths[i]) + columnGap
			}
			if paint {
				cell = s.styleState(cell)
			}
			b.WriteString(cell)
		}
		b.WriteByte('\n')
	}
	if slices.ContainsFunc(t.columns, func(h string) bool { return h != "" }) {
		line(t.columns, false)
	}
	for _, row := range t.rows {
		line(row, true)
	}
	_, err := s.out.Write(b.Bytes())
	return err
}

// The looks of text on a terminal.
const (
	styleBold   = "\x1b[1m"
	styleRed    = "\x1b[31m"
	styleGreen  = "\x1b[32m"
	styleYellow = "\x1b[33m"
	styleDim    = "\x1b[2m"
	styleReset  = "\x1b[0m"
)

// stateStyles is how the states of jobs look.
var stateStyles = map[string]string{
	"SUCCEEDED": styleGreen, "PARTIAL": styleYellow, "FAILED": styleRed, "REJECTED": styleRed, "REFUSED": styleRed,
	"CANCELLED": styleYellow, "EXPIRED": styleDim, "DELETED": styleDim,
}

func (s streams) styleState(cell string) string {
	word := strings.TrimRight(cell, " ")
	look, ok := stateStyles[word]
	if !ok || !s.colorEnabled() {
		return cell
	}
	return look + word + styleReset + cell[len(word):]
}

// applyStyle gives text a look where there is a terminal that shows it.
func (s streams) applyStyle(look, text string) string {
	if !s.colorEnabled() {
		return text
	}
	return look + text + styleReset
}

// colorEnabled reports whether what is printed may have colours.
func (s streams) colorEnabled() bool {
	return isTerminal(s.out) && s.getenv("NO_COLOR") == "" && s.getenv("TERM") != "dumb"
}

// isTerminal reports whether a writer is one.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// printableText makes text of unknown origin, such as a file's name, safe for a terminal: what is not to be seen is
// shown as a question mark.
func printableText(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		// Controls, and the marks that turn the direction of text around.
		if r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0xfffd {
			return '?'
		}
		return r
	}, text)
}

// formatTime writes a time for people; an unset one is a hyphen.
func formatTime(t *timestamppb.Timestamp) string {
	if t == nil {
		return "-"
	}
	return t.AsTime().Local().Format(time.DateTime)
}

// dashIfEmpty stands where there is nothing.
func dashIfEmpty(text string) string {
	if text == "" {
		return "-"
	}
	return printableText(text)
}

// formatDuration writes a length of time for people: 340ms, 2.1s, 3m20s.
func formatDuration(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	default:
		return d.Round(time.Second).String()
	}
}
