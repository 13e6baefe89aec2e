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

// output is a format that a flag chooses. It is a pflag.Value, so that a wrong one is found before anything is done.
type output string

// String returns the format.
func (o *output) String() string { return string(*o) }

// Type names the values in help.
func (o *output) Type() string { return "format" }

// Set chooses a format. text is what table was called once.
func (o *output) Set(v string) error {
	if v == "text" {
		v = asTable
	}
	if !slices.Contains(formats, v) {
		return fmt.Errorf("want one of %s", strings.Join(formats, ", "))
	}
	*o = output(v)
	return nil
}

func (o *output) machine() bool { return *o == asJSON || *o == asYAML }

// outputFlag adds -o.
func outputFlag(cmd *cobra.Command) *output {
	o := output(asTable)
	cmd.Flags().VarP(&o, "output", "o", strings.Join(formats, ", "))
	completeValues(cmd, "output", formats...)
	return &o
}

// completeValues has a flag completed with values that are known.
func completeValues(cmd *cobra.Command, flag string, values ...string) {
	// The one error is that there is no such flag, or that it is completed already: a slip that shows at once.
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err)
	}
}

// sheet is something to show: a table for people, and for programs the things themselves.
type sheet struct {
	// head names the columns. The plain table has the first plain of them, and the last; the wide one has all.
	head  []string
	plain int
	rows  [][]string
	// data is a proto.Message, a slice of them made by list, or anything that encoding/json takes.
	data any
	// none is what people are told where there are no rows.
	none string
}

// list makes messages one thing that can be written as JSON.
func list[M proto.Message](messages []M) []proto.Message {
	all := make([]proto.Message, len(messages))
	for i, m := range messages {
		all[i] = m
	}
	return all
}

// show prints a sheet.
func (s streams) show(how output, t sheet) error {
	if how.machine() {
		return s.encode(how, t.data)
	}
	if len(t.rows) == 0 && t.none != "" {
		fmt.Fprintln(s.err, t.none)
		return nil
	}
	return s.grid(t, how == asWide)
}

// encode writes data as JSON or YAML.
func (s streams) encode(how output, data any) error {
	text, err := marshal(data)
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

// marshal writes data as JSON in one form, whatever it is made of.
func marshal(data any) ([]byte, error) {
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

const gap = "  "

// grid prints the rows in columns.
func (s streams) grid(t sheet, wide bool) error {
	last := len(t.head) - 1
	var columns []int
	for i := range t.head {
		if wide || t.plain == 0 || i < t.plain || i == last {
			columns = append(columns, i)
		}
	}
	widths := make([]int, len(t.head))
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], runewidth.StringWidth(cell))
		}
	}
	var b bytes.Buffer
	line := func(row []string, paint bool) {
		for n, i := range columns {
			cell := row[i]
			if n < len(columns)-1 {
				cell = runewidth.FillRight(cell, widths[i]) + gap
			}
			if paint {
				cell = s.paintState(cell)
			}
			b.WriteString(cell)
		}
		b.WriteByte('\n')
	}
	if slices.ContainsFunc(t.head, func(h string) bool { return h != "" }) {
		line(t.head, false)
	}
	for _, row := range t.rows {
		line(row, true)
	}
	_, err := s.out.Write(b.Bytes())
	return err
}

// The looks of text on a terminal.
const (
	bold   = "\x1b[1m"
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	dim    = "\x1b[2m"
	plain  = "\x1b[0m"
)

// stateLook is how the states of jobs look.
var stateLook = map[string]string{
	"SUCCEEDED": green, "PARTIAL": yellow, "FAILED": red, "REJECTED": red, "REFUSED": red, "CANCELLED": yellow, "EXPIRED": dim, "DELETED": dim,
}

func (s streams) paintState(cell string) string {
	word := strings.TrimRight(cell, " ")
	look, ok := stateLook[word]
	if !ok || !s.coloured() {
		return cell
	}
	return look + word + plain + cell[len(word):]
}

// paint gives text a look where there is a terminal that shows it.
func (s streams) paint(look, text string) string {
	if !s.coloured() {
		return text
	}
	return look + text + plain
}

// coloured reports whether what is printed may have colours.
func (s streams) coloured() bool {
	return terminal(s.out) && s.getenv("NO_COLOR") == "" && s.getenv("TERM") != "dumb"
}

// terminal reports whether a writer is one.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// printable makes text of unknown origin, such as a file's name, safe for a terminal: what is not to be seen is shown as a question mark.
func printable(text string) string {
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

// clock writes a time for people; an unset one is a hyphen.
func clock(t *timestamppb.Timestamp) string {
	if t == nil {
		return "-"
	}
	return t.AsTime().Local().Format(time.DateTime)
}

// dash stands where there is nothing.
func dash(text string) string {
	if text == "" {
		return "-"
	}
	return printable(text)
}

// span writes a length of time for people: 340ms, 2.1s, 3m20s.
func span(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	default:
		return d.Round(time.Second).String()
	}
}
