package main

import (
	"errors"
	"fmt"
	"go/ast"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// maxMethods is how many methods a type may have. One that grows beyond it becomes two.
const maxMethods = 25

// largeTypesFile lists the exceptions, in the folder of the repository.
const largeTypesFile = "pkg/tools/words/large_types.txt"

// readLargeTypes reads how many methods the exceptions may have.
func readLargeTypes(root string) (map[string]int, error) {
	list, err := os.ReadFile(filepath.Join(root, largeTypesFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	allowed := map[string]int{}
	for line := range strings.Lines(string(list)) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		if len(words) < 3 {
			return nil, fmt.Errorf("large types: %q, want a type, its methods and why", strings.TrimSpace(line))
		}
		most, err := strconv.Atoi(words[1])
		if err != nil {
			return nil, fmt.Errorf("large types: methods of %s: %w", words[0], err)
		}
		allowed[words[0]] = most
	}
	return allowed, nil
}

// countMethod counts a function that is a method of a type of the file's folder.
func (m *measures) countMethod(file string, fn *ast.FuncDecl) {
	if fn.Recv == nil {
		return
	}
	if m.methods == nil {
		m.methods = map[string]int{}
	}
	m.methods[filepath.ToSlash(filepath.Dir(file))+"."+receiverName(fn.Recv.List[0].Type)]++
}

func receiverName(receiver ast.Expr) string {
	switch r := receiver.(type) {
	case *ast.StarExpr:
		return receiverName(r.X)
	case *ast.IndexExpr:
		return receiverName(r.X)
	case *ast.IndexListExpr:
		return receiverName(r.X)
	case *ast.Ident:
		return r.Name
	default:
		return ""
	}
}

// largeTypes lists the types over the bound.
func (m *measures) largeTypes() (names []string) {
	for _, name := range slices.Sorted(maps.Keys(m.methods)) {
		if m.methods[name] > maxMethods {
			names = append(names, name)
		}
	}
	return names
}

// checkMethods returns an error that names the types over the bound that have more methods than the exceptions allow,
// and the exceptions that nothing needs.
func (m *measures) checkMethods(allowed map[string]int) error {
	var errs []error
	for _, name := range m.largeTypes() {
		if most := max(maxMethods, allowed[name]); m.methods[name] > most {
			errs = append(errs, fmt.Errorf("%s has %d methods, want at most %d", name, m.methods[name], most))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(allowed)) {
		if m.methods[name] <= maxMethods {
			errs = append(errs, fmt.Errorf("%s has %d methods, and needs no exception", name, m.methods[name]))
		}
	}
	return errors.Join(errs...)
}
