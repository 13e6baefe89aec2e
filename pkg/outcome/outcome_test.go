package outcome

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"inkstream.dev/pkg/fault"
)

// Outcomes are written by this package's functions alone, and the table in its comment names each package that calls
// them. Tests, and the packages and programs that only test, may write what they like.
func TestOutcomesAreWrittenHereAlone(t *testing.T) {
	t.Parallel()
	const root = "../.."
	want, got := readDocumentedCallers(t), map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(root, path)
		switch folder := filepath.Dir(name); {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != root || d.Name() == "gen" ||
			d.Name() == "node_modules"):
			return filepath.SkipDir
		case d.IsDir(), !strings.HasSuffix(name, ".go"), strings.HasSuffix(name, "_test.go"), folder == "pkg/outcome",
			strings.HasSuffix(folder, "test"), strings.HasPrefix(name, "services/cli/cmd/"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			for _, problem := range findWrites(n) {
				t.Errorf("%s %s; that is for pkg/outcome", name, problem)
			}
			if call, ok := n.(*ast.CallExpr); ok {
				if function, ok := calledHere(call); ok {
					got[function+" "+filepath.ToSlash(filepath.Dir(name))] = true
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(want) < len(Letters) {
		t.Fatalf("the table in the package comment has %d callers, want all: this test cannot read it", len(want))
	}
	for _, call := range slices.Sorted(maps.Keys(got)) {
		if !want[call] {
			t.Errorf("the table in the package comment lacks %q", call)
		}
	}
	for _, call := range slices.Sorted(maps.Keys(want)) {
		if !got[call] {
			t.Errorf("the table in the package comment has %q, which calls nothing", call)
		}
	}
}

// findWrites returns how a node writes an outcome, or spells one out.
func findWrites(n ast.Node) []string {
	var found []string
	switch n := n.(type) {
	case *ast.AssignStmt:
		for _, target := range n.Lhs {
			if s, ok := target.(*ast.SelectorExpr); ok && s.Sel.Name == "Outcome" {
				found = append(found, "sets an outcome")
			}
		}
	case *ast.CompositeLit:
		if s, ok := n.Type.(*ast.SelectorExpr); !ok || s.Sel.Name != "Page" {
			break
		}
		for _, e := range n.Elts {
			if field, ok := e.(*ast.KeyValueExpr); ok {
				if key, ok := field.Key.(*ast.Ident); ok && key.Name == "Outcome" {
					found = append(found, "makes a page with an outcome")
				}
			}
		}
	case *ast.BasicLit: // the words that mean nothing else
		for _, word := range []string{Native, NotSelected, OCRSkipped} {
			if n.Value == `"`+word+`"` {
				found = append(found, "spells out "+word)
			}
		}
	}
	return found
}

// calledHere returns the name of the function of this package that is called and writes an outcome.
func calledHere(call *ast.CallExpr) (string, bool) {
	s, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return "", false
	}
	pkg, ok := s.X.(*ast.Ident)
	return s.Sel.Name, ok && pkg.Name == "outcome"
}

// readDocumentedCallers reads the table of the package comment: "SetNative pkg/pdf/internal/host", …
func readDocumentedCallers(t *testing.T) map[string]bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "outcome.go", nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`^\t(?:\w+ +((?:Set|New)\w+)| +) +((?:pkg|services)/[\w/]+) `)
	callers, function := map[string]bool{}, ""
	for line := range strings.SplitSeq(file.Doc.Text(), "\n") {
		if m := row.FindStringSubmatch(line); m != nil {
			if m[1] != "" {
				function = m[1]
			}
			callers[function+" "+m[2]] = true
		}
	}
	return callers
}

func TestFailedPageSaysWhy(t *testing.T) {
	t.Parallel()
	p := NewFailedPage(7, "ocr", fault.New(fault.PageTimeout, "too long"))
	if p.GetNumber() != 7 || p.GetOutcome() != Failed || p.GetReason() != "timeout" || p.GetError().GetPage() != 7 ||
		p.GetError().GetStage() != "ocr" || p.GetError().GetCode() != string(fault.PageTimeout) ||
		!p.GetError().GetRetryable() {
		t.Errorf("got %v", p)
	}
}
