package jobs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Nothing but this package changes a job's state: the functions of pkg/job that do are called here alone, and the
// tasks that go between stages are made here alone. Tests may do both.
func TestNothingElseChangesAJobsState(t *testing.T) {
	t.Parallel()
	const root = "../.."
	changes := []string{"Transition", "FinishRun", "RestartRun", "Tombstone", "CreateRecord"}
	tasks := []string{"IngestTask", "ScanTask", "RenderTask", "OcrTask", "IndexTask", "FinaliseTask", "RemoveTask"}
	here := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(root, path)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != root || d.Name() == "gen"):
			return filepath.SkipDir
		case d.IsDir(), !strings.HasSuffix(name, ".go"), strings.HasSuffix(name, "_test.go"),
			strings.HasPrefix(name, "pkg/job/"),           // where the changes are defined
			strings.HasSuffix(filepath.Dir(name), "test"), // packages that only tests import
			strings.HasPrefix(name, "services/cli/cmd/"):  // programs that test and measure
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			what := ""
			switch n := n.(type) {
			case *ast.CallExpr:
				if s, ok := n.Fun.(*ast.SelectorExpr); ok && slices.Contains(changes, s.Sel.Name) {
					what = "calls " + s.Sel.Name
				}
			case *ast.CompositeLit:
				if s, ok := n.Type.(*ast.SelectorExpr); ok && slices.Contains(tasks, s.Sel.Name) && len(n.Elts) > 0 {
					what = "makes a " + s.Sel.Name
				}
			}
			switch {
			case what == "":
			case strings.HasPrefix(name, "pkg/jobs/"):
				here++
			default:
				t.Errorf("%s %s; that is for pkg/jobs", name, what)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if here < len(changes)+len(tasks) {
		t.Errorf("found %d changes and tasks in pkg/jobs, want all of them: this test looks in the wrong place", here)
	}
}
