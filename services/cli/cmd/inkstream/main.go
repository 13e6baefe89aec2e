// Command inkstream runs the pipeline, or talks to a running one.
package main

import (
	"context"
	"os"

	"inkstream.dev/pkg/lifecycle"
	"inkstream.dev/pkg/sandbox"
	"inkstream.dev/services/cli"
	"inkstream.dev/services/standalone"
)

func main() {
	sandbox.Main(standalone.ChildPrograms()...)
	ctx, stop := lifecycle.SignalContext(context.Background())
	code := cli.Main(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}
