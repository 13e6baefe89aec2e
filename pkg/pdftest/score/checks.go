package score

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Check is one of the statements about a document that olmOCR's benchmark makes: that a text is there, is not there
// (a running header, a page number), comes before another, or that a table's cell has a certain neighbour or heading.
type Check struct {
	ID            string `json:"id"`
	Type          string `json:"type"` // present, absent, order or table
	Text          string `json:"text"`
	CaseSensitive *bool  `json:"case_sensitive"` // unset means true
	Before        string `json:"before"`
	After         string `json:"after"`
	Cell          string `json:"cell"`
	Up            string `json:"up"`
	Down          string `json:"down"`
	Left          string `json:"left"`
	Right         string `json:"right"`
	TopHeading    string `json:"top_heading"`
	LeftHeading   string `json:"left_heading"`
}

// ReadChecks reads checks, one a line.
func ReadChecks(r io.Reader) ([]Check, error) {
	var out []Check
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		var c Check
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			return nil, fmt.Errorf("check %d: %w", len(out)+1, err)
		}
		if !slices.Contains([]string{"present", "absent", "order", "table"}, c.Type) {
			return nil, fmt.Errorf("check %s: unknown type %q", c.ID, c.Type)
		}
		out = append(out, c)
	}
	return out, lines.Err()
}

// HoldsFor reports whether the document is as the check says. An empty document fulfils none, not even that a text is
// absent.
func (c Check) HoldsFor(d Markdown) bool {
	o := Options{Lenient: true, IgnoreCase: c.CaseSensitive != nil && !*c.CaseSensitive}
	norm := func(s string) string { return NormaliseText(s, o) }
	text := norm(d.Text)
	if text == "" {
		return false
	}
	switch c.Type {
	case "present":
		return strings.Contains(text, norm(c.Text))
	case "absent":
		return len(findWholeWords(text, norm(c.Text))) == 0
	case "order":
		before, after := findWholeWords(text, norm(c.Before)), findWholeWords(text, norm(c.After))
		return len(before) > 0 && len(after) > 0 && before[0] < after[len(after)-1]
	default:
		return slices.ContainsFunc(d.Tables, func(g Grid) bool { return c.holdsInTable(g, norm) })
	}
}

// findWholeWords returns where the needle stands in the text without letters or digits right before or behind it.
func findWholeWords(text, needle string) []int {
	var out []int
	for at := 0; needle != ""; {
		i := strings.Index(text[at:], needle)
		if i < 0 {
			break
		}
		start, end := at+i, at+i+len(needle)
		before, _ := utf8.DecodeLastRuneInString(text[:start])
		behind, _ := utf8.DecodeRuneInString(text[end:])
		if !(isWordRune(before) && isWordRune(firstRune(needle))) && !(isWordRune(behind) && isWordRune(lastRune(needle))) {
			out = append(out, start)
		}
		at = end
	}
	return out
}

func firstRune(s string) rune { r, _ := utf8.DecodeRuneInString(s); return r }
func lastRune(s string) rune  { r, _ := utf8.DecodeLastRuneInString(s); return r }

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// holdsInTable reports whether some cell of the table is as the check says.
func (c Check) holdsInTable(g Grid, norm func(string) string) bool {
	cell := func(i, j int) string {
		if i < 0 || i >= len(g) || j < 0 {
			return ""
		}
		return norm(cellAt(g[i], j))
	}
	is := func(want, got string) bool { return want == "" || norm(want) == got }
	for i, row := range g {
		for j := range row {
			if cell(i, j) == norm(c.Cell) && is(c.Up, cell(i-1, j)) && is(c.Down, cell(i+1, j)) && is(c.Left, cell(i, j-1)) &&
				is(c.Right, cell(i, j+1)) && c.hasTopHeading(i, j, cell, norm) && c.hasLeftHeading(i, j, cell, norm) {
				return true
			}
		}
	}
	return false
}

// hasTopHeading reports whether the heading that the check wants stands above the cell. One that spans columns holds
// its text at the first of them, so that empty cells take it from the left.
func (c Check) hasTopHeading(i, j int, cell func(i, j int) string, norm func(string) string) bool {
	if c.TopHeading == "" {
		return true
	}
	for r := range i {
		k := j
		for k > 0 && cell(r, k) == "" {
			k--
		}
		if strings.Contains(cell(r, k), norm(c.TopHeading)) {
			return true
		}
	}
	return false
}

func (c Check) hasLeftHeading(i, j int, cell func(i, j int) string, norm func(string) string) bool {
	if c.LeftHeading == "" {
		return true
	}
	for k := range j {
		if strings.Contains(cell(i, k), norm(c.LeftHeading)) {
			return true
		}
	}
	return false
}

// String says what the check wants, in a few words.
func (c Check) String() string {
	switch c.Type {
	case "order":
		return fmt.Sprintf("%q before %q", clipText(c.Before), clipText(c.After))
	case "table":
		return fmt.Sprintf("cell %q", clipText(c.Cell))
	default:
		return fmt.Sprintf("%s %q", c.Type, clipText(c.Text))
	}
}

func clipText(s string) string {
	if r := []rune(s); len(r) > 30 {
		return string(r[:30]) + "…"
	}
	return s
}
