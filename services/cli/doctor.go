package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/services/cli/doctor"
)

func newDoctorCommand(s streams) *cobra.Command {
	cfg := doctor.DefaultConfig()
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check what the server stands on, and say what to do where something is wrong",
		Long: `Check what the server stands on: NATS with its streams and what it does for durability, the blob store, the index, both engines,
the walls around them, disk space and the clock. Each problem comes with what to do about it.

Without flags it looks at the server of 'inkstream serve' in this folder, whether it runs or not. It never starts a server, takes no
lock, and deletes the probes that it writes. For services on their own name what they use: --nats, --blobs and --index.

Exit codes: 0 all is well (warnings aside), 1 something is wrong, 2 wrong usage.`,
		Example: `  inkstream doctor
  inkstream doctor --nats nats://nats:4222 --nats-monitor http://nats:8222 \
    --blobs 's3://bucket?endpoint=https://s3.example.com' --index clickhouse://user:password@clickhouse:9000/inkstream
  inkstream doctor -o json | jq -r '.checks[] | select(.status == "fail") | .fix'`,
		Args: usageArgs(cobra.NoArgs),
	}
	credentials := natsFlags{}
	credentials.registerFlags(cmd, s, bus.AdminUser)
	f := cmd.Flags()
	f.StringVar(&cfg.DataDir, "data-dir", cfg.DataDir, "data folder of 'inkstream serve'")
	f.StringVar(&cfg.NATS, "nats", s.getenv("NATS"),
		"URL of the NATS server; that of a running 'inkstream serve' if empty")
	f.StringVar(&cfg.Monitor, "nats-monitor", "", "URL of the NATS server's monitoring port, which tells whether it syncs")
	f.StringVar(&cfg.Blobs, "blobs", s.getenv("BLOBS"), "URL of the blob store; the folder below the data folder if empty")
	f.StringVar(&cfg.Index, "index", s.getenv("INDEX"), "URL of the index; the file below the data folder if empty")
	f.StringVar(&cfg.HTTP, "http", cfg.HTTP, "address of the server's REST API")
	f.StringVar(&cfg.Languages, "languages", cfg.Languages, "languages that pages are recognised in, e.g. eng+deu")
	how := addOutputFlag(cmd)
	f.DurationVar(&cfg.Timeout, "timeout", cfg.Timeout, "how long each check may take")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := credentials.credentials.Validate(); err != nil {
			return usageError{err}
		}
		cfg.Credentials = credentials.credentials
		report := doctor.Run(cmd.Context(), cfg, slog.New(slog.DiscardHandler))
		if err := printReport(s, report, *how); err != nil {
			return err
		}
		if !report.OK {
			return errors.New("something is wrong: see above")
		}
		return nil
	}
	return cmd
}

func printReport(s streams, report doctor.Report, how outputFormat) error {
	if how.isMachineReadable() {
		return s.printEncoded(how, report)
	}
	width := 0
	for _, c := range report.Checks {
		width = max(width, len(c.Name))
	}
	for _, c := range report.Checks {
		fmt.Fprintf(s.out, "%-4s  %-*s  %s\n", c.Status, width, c.Name, c.Detail)
		if c.Fix != "" {
			fmt.Fprintf(s.out, "%s  what to do: %s\n", strings.Repeat(" ", width+6), c.Fix)
		}
	}
	return nil
}
