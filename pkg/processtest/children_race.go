//go:build race

package processtest

import (
	"fmt"
	"os"
	"os/exec"

	"inkstream.dev/pkg/sandbox"
)

// UsePlainChildren has the sandbox's children run a program without the race detector, which every test of a package with
// PDFs or engines otherwise pays for: a child that starts and reads one page takes 1.0 s of CPU time with it and 0.24 s
// without. The tests of pkg/sandbox and of the engines themselves run theirs with it. TestMain calls it, after sandbox.Main.
func UsePlainChildren() {
	program, err := buildProgram("children", func(root, program string) *exec.Cmd {
		cmd := exec.Command("go", "build", "-race=false", "-o", program, "./services/ocr/enginetest/children")
		cmd.Dir = root
		return cmd
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "children without the race detector:", err)
		os.Exit(1)
	}
	sandbox.SetChildFile(program)
}
