package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/standalone"
)

func newProcess(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "process FILE|FOLDER...",
		Short: "Run files through the whole pipeline in one go, without a server",
		Long: `Run files through the whole pipeline in one go, without a server.

Folders are searched for *.pdf. Each file's artifacts go to a folder of its own below the output folder. Nothing but them is kept.

Exit codes: 0 every file succeeded, 1 error, 2 wrong usage, 3 some ended otherwise.`,
		Args: usageArgs(cobra.MinimumNArgs(1)),
	}
	out := cmd.Flags().StringP("output", "o", "", "folder for the artifacts (required)")
	languages := cmd.Flags().String("languages", "", "languages to recognise, e.g. eng+deu")
	workers := cmd.Flags().Int("workers", runtime.NumCPU(), "pages worked on at once")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *out == "" {
			return usageError{errors.New("process: --output is missing")}
		}
		if *workers < 1 {
			return usageError{fmt.Errorf("process: --workers %d: want at least 1", *workers)}
		}
		files, err := expand(args)
		if err != nil {
			return usageError{fmt.Errorf("process: %w", err)}
		}
		opts := &inkstreamv1.JobOptions{Languages: *languages, Lane: "batch"}
		return process(cmd.Context(), s, files, *out, *workers, opts)
	}
	return cmd
}

// input is a file and the folder, below the output folder, that its artifacts go to.
type input struct{ path, folder string }

// expand lists the files named by args, and the PDFs in the folders named by them.
func expand(args []string) ([]input, error) {
	var files []input
	taken := make(map[string]bool)
	add := func(path, name string) {
		base := strings.TrimSuffix(name, filepath.Ext(name))
		folder := base
		for n := 2; taken[folder]; n++ {
			folder = fmt.Sprintf("%s-%d", base, n)
		}
		taken[folder] = true
		files = append(files, input{path: path, folder: folder})
	}
	for _, arg := range args {
		info, err := os.Stat(arg)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			add(arg, filepath.Base(arg))
			continue
		}
		err = filepath.WalkDir(arg, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || !strings.EqualFold(filepath.Ext(path), ".pdf") {
				return err
			}
			name, err := filepath.Rel(arg, path)
			if err != nil {
				return err
			}
			add(path, name)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if len(files) == 0 {
		return nil, errors.New("no PDF files found")
	}
	return files, nil
}

// inFlight is how many documents are in the pipeline at once: enough to keep every stage busy.
const inFlight = 32

// process runs files through a pipeline of its own, in a temporary folder.
func process(ctx context.Context, s streams, files []input, out string, workers int, opts *inkstreamv1.JobOptions) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "inkstream-process-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)

	cfg := standalone.ThrowAway(dir, workers)
	results := make([]result, len(files))
	err = standalone.With(ctx, cfg, s.err, func(ctx context.Context, grpcAddr string) error {
		c, err := dial(grpcAddr)
		if err != nil {
			return err
		}
		defer c.conn.Close()
		bar := newProgress(s.err)
		bar.expect(len(files))
		defer bar.finish()
		g, gctx := errgroup.WithContext(ctx)
		g.SetLimit(inFlight)
		for i, f := range files {
			g.Go(func() error {
				results[i] = result{path: f.path}
				return processOne(gctx, c, bar, &results[i], filepath.Join(out, f.folder), opts)
			})
		}
		return g.Wait()
	})
	if err != nil {
		return explain(err)
	}
	printSummary(s.out, results)
	return verdict(results, true)
}

// processOne takes one file through the pipeline. What is wrong with the file is its result; an error is one of the pipeline.
func processOne(
	ctx context.Context, c *client, bar *progress, r *result, folder string, opts *inkstreamv1.JobOptions,
) error {
	j, err := c.upload(ctx, r.path, &inkstreamv1.UploadMetadata{Options: opts})
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		r.err = err
		bar.refused()
		return nil
	}
	if r.job, err = c.follow(ctx, j.GetId(), func(j *inkstreamv1.Job) { bar.set(j.GetId(), j) }); err != nil {
		return err
	}
	list, err := c.ListArtifacts(ctx, &inkstreamv1.ListArtifactsRequest{Id: j.GetId()})
	if err != nil {
		return err
	}
	for _, a := range list.GetArtifacts() {
		path := filepath.Join(folder, filepath.FromSlash(a.GetName()))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := c.download(ctx, j.GetId(), a.GetName(), path); err != nil {
			return err
		}
	}
	return nil
}
