package cli

import (
	"cmp"

	"github.com/spf13/cobra"

	"inkstream.dev/pkg/service"
)

// newHealthcheckCommand returns the command that an image's health check runs. It is hidden: people have doctor.
func newHealthcheckCommand(s streams) *cobra.Command {
	addr := cmp.Or(s.getenv("HTTP"), "127.0.0.1:8080")
	cmd := &cobra.Command{
		Use: "healthcheck", Short: "Ask the server on this machine whether it is ready", Hidden: true,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return service.CheckReady(cmd.Context(), addr, s.getenv("TLS_CERT") != "")
		},
	}
	cmd.Flags().StringVar(&addr, "http", addr, "address of the server's REST API")
	return cmd
}
