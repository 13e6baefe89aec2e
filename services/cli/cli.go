// Package cli is the inkstream command: the server in one process, and a client of a running one.
//
// Exit codes: 0 success; 1 an error, such as a server that does not answer; 2 wrong usage; 3 some documents ended other than SUCCEEDED.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
)

// Exit codes.
const (
	exitError = 1
	exitUsage = 2
	exitSome  = 3
)

// errSome means that some documents ended other than SUCCEEDED; what became of each has been printed.
var errSome = errors.New("some documents did not succeed")

// usageError is an error of the caller.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// streams are where a command reads and writes.
type streams struct {
	out, err io.Writer
	getenv   func(string) string
}

// Main runs the command line and returns the exit code.
func Main(ctx context.Context, args []string) int {
	return run(ctx, streams{out: os.Stdout, err: os.Stderr, getenv: os.Getenv}, args)
}

// run is Main without the process.
func run(ctx context.Context, s streams, args []string) int {
	root := newRoot(s)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errSome):
		return exitSome
	}
	fmt.Fprintln(s.err, "inkstream:", err)
	if _, ok := errors.AsType[usageError](err); ok {
		fmt.Fprintln(s.err, "Run 'inkstream --help' or 'inkstream COMMAND --help' for usage.")
		return exitUsage
	}
	return exitError
}

func newRoot(s streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "inkstream",
		Short: "Turn PDFs into searchable, structured documents",
		Long: `Inkstream turns PDFs into searchable, structured documents.

'inkstream serve' runs the whole pipeline in one process; 'inkstream process' runs files through it without a server;
the other commands talk to a running server.

Exit codes: 0 success, 1 error, 2 wrong usage, 3 some documents did not succeed.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          usageArgs(cobra.NoArgs),
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(newServe(s), newProcess(s), newSubmit(s), newGet(s), newWatch(s), newText(s),
		newCancel(s), newRetry(s), newDelete(s), newEvents(s), newDeadLetters(s))
	return root
}

// usageArgs makes an error of an argument check one of usage.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usageError{fmt.Errorf("%s: %w", cmd.Name(), err)}
		}
		return nil
	}
}
