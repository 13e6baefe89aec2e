package main

import (
	"errors"
	"fmt"
	"go/ast"
	"maps"
	"path/filepath"
	"slices"
)

// maxMethods is how many methods a type may have. One that grows beyond it becomes two.
const maxMethods = 25

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

// checkMethods returns an error that names the types over the bound.
func (m *measures) checkMethods() error {
	var errs []error
	for _, name := range m.largeTypes() {
		errs = append(errs, fmt.Errorf("%s has %d methods, want at most %d", name, m.methods[name], maxMethods))
	}
	return errors.Join(errs...)
}
