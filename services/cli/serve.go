package cli

import (
	"errors"
	"flag"
	"fmt"

	"github.com/spf13/cobra"

	"inkstream.dev/services/standalone"
)

func newServe(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve [flags]",
		Short: "Run every service in one process, with an embedded NATS server",
		// The flags are those of the services, each also an environment variable; the standard flag package reads them.
		DisableFlagParsing: true,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cfg := standalone.DefaultConfig()
		fs := flag.NewFlagSet("serve", flag.ContinueOnError)
		fs.SetOutput(s.out)
		err := cfg.Parse(fs, args, s.getenv)
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		if err != nil {
			return usageError{fmt.Errorf("serve: %w", err)}
		}
		return standalone.Serve(cmd.Context(), cfg, s.out, s.err)
	}
	return cmd
}
