// Command words measures how the repository's Go code reads: how long names and lines are, how often comments use a
// banned word, and how many methods types have. Generated code is left out. Tests are measured apart, for information.
package main

import (
	"bytes"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// The bounds that -check holds.
const (
	minMedian    = 10   // letters of a function's name
	maxShort     = 0.20 // share of names of at most shortName letters
	maxLongLines = 0.01 // share of lines over maxColumns
)

const (
	shortName  = 5
	maxColumns = 120 // a tab counts as one column, as golangci-lint's lll has it
)

//go:embed banned.txt
var bannedList string

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "words:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("words", flag.ContinueOnError)
	root := flags.String("root", ".", "folder of the repository")
	list := flags.String("list", "", "print each `kind` with its file and line: short, long-lines or banned")
	tests := flags.Bool("tests", false, "list what tests hold too")
	check := flags.Bool("check", false, "fail if a bound is broken")
	if err := flags.Parse(args); err != nil {
		return err
	}
	code, testCode, err := measureTree(*root, compileBanned(bannedList))
	if err != nil {
		return err
	}
	if *list != "" {
		listed := code
		if *tests {
			listed = testCode
		}
		return listed.printList(out, *list)
	}
	fmt.Fprintf(out, "%-28s %9s %9s %9s\n", "", "code", "bound", "tests")
	fmt.Fprintf(out, "%-28s %9d %9s %9d\n", "functions and methods", len(code.names), "", len(testCode.names))
	fmt.Fprintf(out, "%-28s %9d %9s %9d\n", "median length of a name", code.medianName(), fmt.Sprintf(">= %d", minMedian),
		testCode.medianName())
	fmt.Fprintf(out, "%-28s %8.1f%% %9s %8.1f%%\n", fmt.Sprintf("names of %d letters or fewer", shortName),
		100*code.shortShare(), fmt.Sprintf("<= %.0f%%", 100*maxShort), 100*testCode.shortShare())
	fmt.Fprintf(out, "%-28s %9d %9s %9d\n", "banned words in comments", len(code.banned), "0", len(testCode.banned))
	fmt.Fprintf(out, "%-28s %8.1f%% %9s %8.1f%%\n", fmt.Sprintf("lines over %d columns", maxColumns),
		100*code.longShare(), fmt.Sprintf("<= %.0f%%", 100*maxLongLines), 100*testCode.longShare())
	fmt.Fprintf(out, "%-28s %9d %9s\n", fmt.Sprintf("types over %d methods", maxMethods), len(code.largeTypes()), "0")
	if *check {
		return errors.Join(code.checkBounds(), code.checkMethods())
	}
	return nil
}

// measures are what was counted in a set of files.
type measures struct {
	names  []finding // one per function or method
	banned []finding
	long   []finding
	lines  int
	// methods counts those of each type, by folder and name.
	methods map[string]int
}

// finding is a text and where it stands.
type finding struct {
	file string
	line int
	text string
}

// measureTree measures every Go file under root, code and tests apart. It skips generated files and folders that
// start with a dot.
func measureTree(root string, banned *regexp.Regexp) (code, tests measures, err error) {
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name != "." && strings.HasPrefix(entry.Name(), ".") || name == filepath.Join("proto", "gen") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		into := &code
		if strings.HasSuffix(name, "_test.go") {
			into = &tests
		}
		return into.addFile(name, source, banned)
	})
	return code, tests, err
}

func (m *measures) addFile(name string, source []byte, banned *regexp.Regexp) error {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	if ast.IsGenerated(file) {
		return nil
	}
	for _, decl := range file.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok {
			m.names = append(m.names, finding{name, fset.Position(fn.Name.Pos()).Line, fn.Name.Name})
			m.countMethod(name, fn)
		}
	}
	for _, group := range file.Comments {
		start := fset.Position(group.Pos()).Offset
		text := source[start:fset.Position(group.End()).Offset]
		for _, hit := range banned.FindAllIndex(text, -1) {
			line := 1 + bytes.Count(source[:start+hit[0]], []byte("\n"))
			m.banned = append(m.banned, finding{name, line, string(text[hit[0]:hit[1]])})
		}
	}
	line := 0
	for text := range bytes.Lines(source) {
		line++
		text = bytes.TrimRight(text, "\r\n")
		if columns := utf8.RuneCount(text); columns > maxColumns {
			m.long = append(m.long, finding{name, line, fmt.Sprintf("%d columns", columns)})
		}
	}
	m.lines += line
	return nil
}

func (m *measures) medianName() int {
	if len(m.names) == 0 {
		return 0
	}
	lengths := make([]int, len(m.names))
	for i, name := range m.names {
		lengths[i] = utf8.RuneCountInString(name.text)
	}
	slices.Sort(lengths)
	return lengths[len(lengths)/2]
}

func (m *measures) shortNames() []finding {
	var short []finding
	for _, name := range m.names {
		if utf8.RuneCountInString(name.text) <= shortName {
			short = append(short, name)
		}
	}
	return short
}

func (m *measures) shortShare() float64 { return share(len(m.shortNames()), len(m.names)) }

func (m *measures) longShare() float64 { return share(len(m.long), m.lines) }

func share(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// checkBounds returns an error that names every bound that is broken.
func (m *measures) checkBounds() error {
	var broken []string
	if median := m.medianName(); median < minMedian {
		broken = append(broken, fmt.Sprintf("the median name has %d letters", median))
	}
	if short := m.shortShare(); short > maxShort {
		broken = append(broken, fmt.Sprintf("%.1f%% of names are short", 100*short))
	}
	if hits := len(m.banned); hits > 0 {
		broken = append(broken, fmt.Sprintf("%d banned words in comments", hits))
	}
	if long := m.longShare(); long > maxLongLines {
		broken = append(broken, fmt.Sprintf("%.1f%% of lines are long", 100*long))
	}
	if len(broken) > 0 {
		return fmt.Errorf("%s; list them with -list short, banned or long-lines", strings.Join(broken, ", "))
	}
	return nil
}

func (m *measures) printList(out io.Writer, kind string) error {
	var found []finding
	switch kind {
	case "short":
		found = m.shortNames()
	case "banned":
		found = m.banned
	case "long-lines":
		found = m.long
	default:
		return fmt.Errorf("-list %s: short, long-lines or banned", kind)
	}
	for _, f := range found {
		fmt.Fprintf(out, "%s:%d: %s\n", f.file, f.line, strings.Join(strings.Fields(f.text), " "))
	}
	return nil
}

// compileBanned returns a pattern that finds every word and turn of list, also where a comment breaks the line within
// a turn.
func compileBanned(list string) *regexp.Regexp {
	var turns []string
	for line := range strings.Lines(list) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		words := strings.Fields(line)
		for i, word := range words {
			words[i] = regexp.QuoteMeta(word)
		}
		turns = append(turns, strings.Join(words, `[\s/*]+`))
	}
	return regexp.MustCompile(`(?i)\b(?:` + strings.Join(turns, "|") + `)\b`)
}
