// Children is the program of all children that tests start, without the race detector: see processtest.UsePlainChildren.
package main

import (
	"fmt"
	"os"

	"inkstream.dev/pkg/pdf"
	"inkstream.dev/pkg/sandbox"
	"inkstream.dev/services/ocr"
	"inkstream.dev/services/ocr/enginetest"
)

func main() {
	sandbox.Main(append(append(ocr.Programs(), pdf.Program()), enginetest.Programs()...)...)
	fmt.Fprintln(os.Stderr, "children: only a test's sandbox starts this")
	os.Exit(1)
}
