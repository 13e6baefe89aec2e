// Package cli is the inkstream command: the server in one process, and a client of a running one.
//
// Exit codes: 0 success; 1 an error, such as a server that does not answer; 2 wrong usage; 3 some documents ended
// other than SUCCEEDED.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

// Exit codes.
const (
	exitError   = 1
	exitUsage   = 2
	exitPartial = 3
)

// exitHelp is what help says of them.
const exitHelp = "Exit codes: 0 success, 1 error, 2 wrong usage, 3 some documents did not succeed."

// errSomeFailed means that some documents ended other than SUCCEEDED; what became of each has been printed.
var errSomeFailed = errors.New("some documents did not succeed")

// usageError is an error of the caller.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// streams are where a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
	getenv   func(string) string
}

// app is what the commands share: where they read and write, and which server they talk to.
type app struct {
	streams
	conn connection
}

// Main runs the command line and returns the exit code.
func Main(ctx context.Context, args []string) int {
	return runCommandLine(ctx, streams{in: os.Stdin, out: os.Stdout, err: os.Stderr, getenv: os.Getenv}, args)
}

// runCommandLine is Main without the process.
func runCommandLine(ctx context.Context, s streams, args []string) int {
	root := newRootCommand(s)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errSomeFailed):
		return exitPartial
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		fmt.Fprintln(s.err, "inkstream: stopped")
		return exitError
	}
	fmt.Fprintln(s.err, "inkstream:", err)
	if _, ok := errors.AsType[usageError](err); ok || unknownCommand(err) {
		fmt.Fprintln(s.err, "Run 'inkstream --help' or 'inkstream COMMAND --help' for usage.")
		return exitUsage
	}
	return exitError
}

// unknownCommand reports whether an error is that of a word that is no command, for which there is no type.
func unknownCommand(err error) bool { return strings.HasPrefix(err.Error(), "unknown command ") }

// The groups that help lists commands in.
const (
	groupDocuments = "documents"
	groupServer    = "server"
	groupLocal     = "here"
)

// withoutServer marks commands that talk to no server: help leaves the flags out that say which.
const withoutServer = "without-server"

func newRootCommand(s streams) *cobra.Command {
	a := &app{streams: s}
	root := &cobra.Command{
		Use:   "inkstream",
		Short: "Turn PDFs into searchable, structured documents",
		Long: `Inkstream turns PDFs into searchable, structured documents.

'inkstream serve' runs the whole pipeline in one process; 'inkstream process' runs files through it without a server;
the other commands talk to a running server, by default the one of 'inkstream serve' on this machine.

Environment: INKSTREAM_SERVER, INKSTREAM_API_KEY and INKSTREAM_PROFILE stand for the flags of those names; NO_COLOR turns colours off.

` + exitHelp,
		Example: `  inkstream serve                                   run a server
  inkstream submit --wait scans/ 'more/**/*.pdf'    send it folders and files, and wait
  inkstream search 'annual report -draft'           find pages
  inkstream artifacts ID -d out                     fetch what a document has yielded
  inkstream process -o out scans/                   do without a server`,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command,
		err error) error {
		return usageError{fmt.Errorf("%s: %w", cmd.Name(), err)}
	})
	root.SetUsageTemplate(strings.Replace(root.UsageTemplate(), "{{if .HasAvailableInheritedFlags}}",
		`{{if and .HasAvailableInheritedFlags (not (index .Annotations "`+withoutServer+`"))}}`, 1))
	a.conn.registerFlags(root.PersistentFlags())
	completeProfiles(root, s)
	root.AddGroup(
		&cobra.Group{ID: groupDocuments, Title: "Documents on a server:"},
		&cobra.Group{ID: groupServer, Title: "Looking after a server:"},
		&cobra.Group{ID: groupLocal, Title: "On this machine:"},
	)
	addCommands(root, groupDocuments, newSubmitCommand(a), newListCommand(a), newGetCommand(a), newWatchCommand(a),
		newTextCommand(a), newArtifactsCommand(a), newSearchCommand(a), newCancelCommand(a), newRetryCommand(a),
		newDeleteCommand(a), newEventsCommand(a))
	addCommands(root, groupServer, newStagesCommand(a), newDeadLettersCommand(a), newKeysCommand(a),
		newWebhooksCommand(a), newBenchCommand(a))
	addCommands(root, groupLocal, markLocal(newServeCommand(s), newProcessCommand(a), newDoctorCommand(s),
		newIndexCommand(s), newNATSConfigCommand(s), newProvisionCommand(s), newVersionCommand(a), newManCommand(a),
		newHealthcheckCommand(s))...)
	root.AddCommand(&cobra.Command{Use: "profiles", Short: "How to name the servers that are often talked to",
		Long: profileHelp})
	root.SetHelpCommandGroupID(groupLocal)
	root.SetCompletionCommandGroupID(groupLocal)
	return root
}

func addCommands(root *cobra.Command, group string, commands ...*cobra.Command) {
	for _, c := range commands {
		c.GroupID = group
	}
	root.AddCommand(commands...)
}

// markLocal marks commands that talk to no server.
func markLocal(commands ...*cobra.Command) []*cobra.Command {
	for _, c := range commands {
		if c.Annotations == nil {
			c.Annotations = map[string]string{}
		}
		c.Annotations[withoutServer] = "true"
		markLocal(c.Commands()...)
	}
	return commands
}

// newParentCommand returns a command that only has others below it.
func newParentCommand(use, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(commands...)
	return cmd
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

// requireArgs checks that there are at least as many arguments as there are names, and at most so many where most is
// not negative; the error says which is missing.
func requireArgs(most int, names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return usageError{fmt.Errorf("%s: %s is missing; usage: %s", cmd.Name(), names[len(args)], cmd.UseLine())}
		}
		if most >= 0 && len(args) > most {
			return usageError{fmt.Errorf("%s: %q is too much; usage: %s", cmd.Name(), args[most], cmd.UseLine())}
		}
		return nil
	}
}

// requireFiles is for commands that take files, or with --watch the folder alone.
func requireFiles(watch *string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if *watch != "" {
			return requireArgs(0)(cmd, args)
		}
		return requireArgs(-1, "FILE")(cmd, args)
	}
}
