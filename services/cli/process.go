package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"inkstream.dev/services/standalone"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// processFlags are the flags of process.
type processFlags struct {
	out, watch string
	workers    int
	how        outputFormat
	options    func() (*inkstreamv1.JobOptions, error)
}

func newProcessCommand(a *app) *cobra.Command {
	f := &processFlags{how: asTable}
	cmd := &cobra.Command{
		Use:   "process FILE|FOLDER|PATTERN...",
		Short: "Run files through the whole pipeline in one go, without a server",
		Long: `Run files through the whole pipeline in one go, without a server.

Folders are searched for *.pdf; a pattern such as 'scans/**/*.pdf' in quotes is looked up by inkstream itself. Each file's artifacts go to a
folder of its own below the output folder. Nothing but them is kept.

With --watch the command stays, and takes every PDF that is put into the folder.

` + watchHelp + `

Exit codes: 0 every file succeeded, 1 error, 2 wrong usage, 3 some ended otherwise.`,
		Example: `  inkstream process -o out scan.pdf
  inkstream process -o out --artifacts markdown,tables scans/
  inkstream process --watch inbox`,
		ValidArgsFunction: completePDFs,
	}
	cmd.Args = requireFiles(&f.watch)
	flags := cmd.Flags()
	flags.StringVarP(&f.out, "output", "o", "", "`folder` for the artifacts (required, but with --watch)")
	flags.StringVar(&f.watch, "watch", "", "take the files that are put into this `folder`, until Ctrl-C")
	flags.IntVar(&f.workers, "workers", runtime.NumCPU(), "pages worked on at once")
	flags.Var(&f.how, "format", "how the summary is shown: table, wide, json, yaml")
	f.options = addOptionFlags(cmd, "retention")
	completeValues(cmd, "format", formats...)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return a.processFiles(cmd.Context(), args, f) }
	return cmd
}

func (a *app) processFiles(ctx context.Context, args []string, f *processFlags) error {
	if f.out == "" && f.watch == "" {
		return usageError{errors.New("process: --output is missing")}
	}
	if f.workers < 1 {
		return usageError{fmt.Errorf("process: --workers %d: want at least 1", f.workers)}
	}
	opts, err := f.options()
	if err != nil {
		return usageError{fmt.Errorf("process: %w", err)}
	}
	opts.Lane = "batch"
	meta := &inkstreamv1.UploadMetadata{Options: opts}
	if f.watch != "" {
		return a.withOwnPipeline(ctx, f.workers,
			func(ctx context.Context, c *client) error { return a.watchFolder(ctx, c, f.watch, f.out, meta) })
	}
	files, err := expandInputs(args)
	if err != nil {
		return usageError{fmt.Errorf("process: %w", err)}
	}
	if err := os.MkdirAll(f.out, 0o755); err != nil {
		return err
	}
	var results []uploadResult
	err = a.withOwnPipeline(ctx, f.workers, func(ctx context.Context, c *client) error {
		e := &uploader{client: c, progress: newProgress(a.streams, len(files)), meta: meta, wait: true}
		e.artifactFolder = func(i int) string { return filepath.Join(f.out, files[i].folder) }
		defer e.progress.finishBars()
		var err error
		results, err = e.uploadFiles(ctx, files)
		return err
	})
	if err != nil {
		return explainError(err)
	}
	if err := a.printSummary(f.how, results); err != nil {
		return err
	}
	return resultsError(results, true)
}

// withOwnPipeline runs a pipeline of its own, in a temporary folder, while use does.
func (a *app) withOwnPipeline(ctx context.Context, workers int, use func(ctx context.Context, c *client) error) error {
	dir, err := os.MkdirTemp("", "inkstream-process-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	return standalone.RunWith(ctx, standalone.EphemeralConfig(dir, workers), a.err,
		func(ctx context.Context, grpcAddr string) error {
			c, err := dialServer("grpc://" + grpcAddr)
			if err != nil {
				return err
			}
			defer c.conn.Close()
			return use(ctx, c)
		})
}
