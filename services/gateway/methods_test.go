package gateway_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// A part of the gateway that grows beyond this becomes two.
func TestNoTypeHasManyMethods(t *testing.T) {
	t.Parallel()
	const maxMethods = 25
	counts := map[string]int{}
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		// The fixture of the tests is no part.
		if err != nil || filepath.Dir(path) == "gatewaytest" || !strings.HasSuffix(path, ".go") ||
			strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv != nil {
				counts[filepath.Dir(path)+"."+receiverName(fn.Recv.List[0].Type)]++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if counts["upload.Service"] == 0 {
		t.Fatalf("found no method of upload.Service among %v", counts)
	}
	for name, n := range counts {
		if n > maxMethods {
			t.Errorf("%s has %d methods, want at most %d", name, n, maxMethods)
		}
	}
}

func receiverName(receiver ast.Expr) string {
	switch r := receiver.(type) {
	case *ast.StarExpr:
		return receiverName(r.X)
	case *ast.IndexExpr:
		return receiverName(r.X)
	case *ast.Ident:
		return r.Name
	default:
		return ""
	}
}
