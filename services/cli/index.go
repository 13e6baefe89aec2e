package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/projection"
	"inkstream.dev/pkg/search"
)

func newIndex(s streams) *cobra.Command {
	return parent("index", "Look after the search index", newIndexRebuild(s))
}

// rebuildFlags say what 'index rebuild' reads and fills.
type rebuildFlags struct {
	dataDir, blobs, index string
	nats                  natsFlags
}

func newIndexRebuild(s streams) *cobra.Command {
	f := rebuildFlags{dataDir: "inkstream-data"}
	cmd := &cobra.Command{
		Use:   "rebuild",
		Short: "Fill the search index anew from the stored pages",
		Long: `Fill the search index anew from the stored pages, in SQLite or ClickHouse. It can be run beside working services, and again after it broke
off; what is in the index already stays, or is replaced by what is the same. To begin with nothing, move the old index away first.

Without flags it works on the data folder of 'inkstream serve' in this folder. With --nats each job's record says what became of it, and the audit
trail is copied as well; without, jobs that have results count as SUCCEEDED.`,
		Example: `  inkstream index rebuild
  inkstream index rebuild --nats nats://nats:4222 --blobs 's3://bucket' --index clickhouse://user:password@clickhouse:9000/inkstream`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return rebuild(cmd.Context(), s, &f) },
	}
	cmd.Flags().StringVar(&f.dataDir, "data-dir", f.dataDir, "data folder of 'inkstream serve'")
	cmd.Flags().StringVar(&f.blobs, "blobs", s.getenv("BLOBS"), "URL of the blob store; the folder below the data folder if empty")
	cmd.Flags().StringVar(&f.index, "index", s.getenv("INDEX"), "URL of the index; the file below the data folder if empty")
	cmd.Flags().StringVar(&f.nats.url, "nats", s.getenv("NATS"), "URL of the NATS server, for the jobs' records")
	f.nats.register(cmd, s, string(bus.Index))
	return cmd
}

func rebuild(ctx context.Context, s streams, f *rebuildFlags) (err error) {
	dir, err := filepath.Abs(f.dataDir)
	if err != nil {
		return err
	}
	if f.blobs == "" || f.index == "" {
		if _, err := os.Stat(dir); err != nil {
			return usageError{fmt.Errorf("there is no data folder at %s: name one with --data-dir, or --blobs and --index", dir)}
		}
	}
	if f.blobs == "" {
		f.blobs = "file://" + filepath.Join(dir, "blobs")
	}
	if f.index == "" {
		f.index = "sqlite://" + filepath.Join(dir, "index.db")
	}
	blobs, err := blob.Open(ctx, f.blobs)
	if err != nil {
		return fmt.Errorf("blob store: %w", err)
	}
	defer func() { _ = blobs.Close() }() // it was only read
	store, err := search.Open(ctx, f.index)
	if err != nil {
		return fmt.Errorf("index: %w", err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if err := store.Ping(ctx); err != nil {
		return fmt.Errorf("index: %w", err)
	}
	r := projection.Rebuilder{Blobs: blobs, Store: store, Progress: func(d projection.Done) {
		if d.Jobs%100 == 0 && d.Jobs > 0 {
			fmt.Fprintf(s.err, "%d jobs, %d pages\n", d.Jobs, d.Pages)
		}
	}, Bad: func(err error) { fmt.Fprintf(s.err, "left out: %v\n", err) }}
	if f.nats.url != "" {
		b, err := f.nats.connect("index rebuild")
		if err != nil {
			return err
		}
		defer b.Close()
		if err := b.Await(ctx, bus.Index); err != nil {
			return fmt.Errorf("nats: %w", err)
		}
		kv, err := b.Jobs(ctx)
		if err != nil {
			return err
		}
		r.Record = job.NewStore(kv).Load
		if err := projection.CopyEvents(ctx, b, store); err != nil {
			return fmt.Errorf("audit trail: %w", err)
		}
	}
	done, err := r.Run(ctx)
	return told(s, done, err)
}

// told says what a rebuilding has done.
func told(s streams, done projection.Done, err error) error {
	if err == nil && done.Damaged > 0 {
		err = fmt.Errorf("%d pages or jobs are left out, because their blobs are damaged", done.Damaged)
	}
	fmt.Fprintf(s.out, "%d jobs with %d pages are in the index", done.Jobs, done.Pages)
	if done.Skipped > 0 {
		fmt.Fprintf(s.out, "; %d were left out, which are no jobs or are gone", done.Skipped)
	}
	fmt.Fprintln(s.out)
	return err
}
