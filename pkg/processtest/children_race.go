//go:build race

package processtest

import (
	"fmt"
	"os"
)

// UsePlainChildren has the sandbox's children run a program without the race detector, which every test of a package
// with PDFs or engines otherwise pays for: a child that starts and reads one page takes 1.0 s of CPU time with it and
// 0.24 s without. The tests of pkg/sandbox and of the engines themselves run theirs with it. TestMain calls it, after
// sandbox.Main, with sandbox.SetChildFile: tests that run other programs alone need not be linked with the sandbox.
func UsePlainChildren(setChildFile func(path string)) {
	program, err := BuildPlainProgram("children", "./services/ocr/enginetest/children")
	if err != nil {
		fmt.Fprintln(os.Stderr, "children without the race detector:", err)
		os.Exit(1)
	}
	setChildFile(program)
}
