package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"syscall"

	"github.com/spf13/cobra"

	"inkstream.dev/pkg/config"
	"inkstream.dev/services/standalone"
)

func newServeCommand(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve [flags]",
		Short: "Run every service in one process, with an embedded NATS server",
		Long: `Run every service in one process, with an embedded NATS server.

Each flag is an environment variable too: --ocr.workers is OCR_WORKERS. A flag goes before the variable.`,
		Example: `  inkstream serve
  inkstream serve --data-dir /var/lib/inkstream --http 0.0.0.0:8080 --auth keys --tls.cert cert.pem --tls.key key.pem`,
		// The flags are those of the services, each also an environment variable; the standard flag package reads them.
		DisableFlagParsing: true,
	}
	described := newServeFlagSet()
	cmd.Flags().AddGoFlagSet(described) // for the manual page
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var names []string
		described.VisitAll(func(f *flag.Flag) { names = append(names, "--"+f.Name+"\t"+f.Usage) })
		return names, cobra.ShellCompDirectiveDefault
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cfg := standalone.DefaultConfig()
		fs := flag.NewFlagSet("serve", flag.ContinueOnError)
		fs.SetOutput(io.Discard) // a slip in a line needs no hundred lines of help
		err := cfg.Parse(fs, args, s.getenv)
		if errors.Is(err, flag.ErrHelp) {
			fs.SetOutput(s.out)
			fmt.Fprintf(s.out, "%s\n\nExamples:\n%s\n\n", cmd.Long, cmd.Example)
			config.PrintUsage(fs)
			return nil
		}
		if err != nil {
			return usageError{fmt.Errorf("serve: %w", err)}
		}
		err = standalone.Serve(cmd.Context(), cfg, s.out, s.err)
		if errors.Is(err, syscall.EADDRINUSE) {
			err = fmt.Errorf("%w\nAnother program listens there, perhaps another 'inkstream serve': end that, or name other addresses with --http, --grpc and --nats", err)
		}
		return err
	}
	return cmd
}

// newServeFlagSet returns the flags of serve. They are registered by the one who reads them, so they are read from a
// line that only asks for help.
func newServeFlagSet() *flag.FlagSet {
	cfg := standalone.DefaultConfig()
	fs := flag.NewFlagSet("serve", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	_ = cfg.Parse(fs, []string{"-help"}, func(string) string { return "" }) // it is flag.ErrHelp
	return fs
}
