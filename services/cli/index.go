package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/projection"
	"inkstream.dev/pkg/search"
)

func newIndexCommand(s streams) *cobra.Command {
	return newParentCommand("index", "Look after the search index", newIndexRebuildCommand(s), newIndexMigrateCommand(s))
}

// schemaStore is a store that knows the version of its schema.
type schemaStore interface {
	Schema(ctx context.Context) (server string, schema int, err error)
}

const (
	// migrateTimeout is how long 'index migrate' waits for a server, and migrateInterval the time between two tries.
	migrateTimeout, migrateInterval = 10 * time.Minute, time.Second
)

func newIndexMigrateCommand(s streams) *cobra.Command {
	index, timeout := s.getenv("INDEX"), migrateTimeout
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the search index's schema to this version",
		Long: `Bring the search index's schema to this version, making the index where it is missing. It can be run again at any time. The index service does
the same at its start: this is for seeing it done before, and for learning why it cannot be done. It waits for a server that does not answer yet.

An older index service works on until it is replaced, but what it has to write then waits; and it does not start with a newer schema.`,
		Example: `  inkstream index migrate --index clickhouse://user:password@clickhouse:9000/inkstream`,
		Args:    usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if index == "" {
				return usageError{errors.New("--index: empty, want the URL of the index")}
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			return migrateIndex(ctx, s, index)
		},
	}
	cmd.Flags().StringVar(&index, "index", index, "URL of the index")
	cmd.Flags().DurationVar(&timeout, "timeout", timeout, "how long it may take, the wait for a server included")
	return cmd
}

func migrateIndex(ctx context.Context, s streams, index string) (err error) {
	store, err := search.Open(ctx, index)
	if err != nil {
		return fmt.Errorf("index: %w", err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	known, ok := store.(schemaStore)
	if !ok {
		return errors.New("index: this kind has no schema")
	}
	told := ""
	for {
		server, schema, err := known.Schema(ctx)
		if err == nil {
			fmt.Fprintf(s.out, "the index has version %d of the schema, in %s\n", schema, server)
			return nil
		}
		if fault.KindOf(err) != fault.Busy || ctx.Err() != nil {
			return fmt.Errorf("index: %w", err)
		}
		if told != err.Error() {
			told = err.Error()
			fmt.Fprintln(s.err, "waiting:", told)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("index: %w", err)
		case <-time.After(migrateInterval):
		}
	}
}

// rebuildFlags say what 'index rebuild' reads and fills.
type rebuildFlags struct {
	dataDir, blobs, index string
	nats                  natsFlags
}

func newIndexRebuildCommand(s streams) *cobra.Command {
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
		RunE: func(cmd *cobra.Command, _ []string) error { return rebuildIndex(cmd.Context(), s, &f) },
	}
	cmd.Flags().StringVar(&f.dataDir, "data-dir", f.dataDir, "data folder of 'inkstream serve'")
	cmd.Flags().StringVar(&f.blobs, "blobs", s.getenv("BLOBS"),
		"URL of the blob store; the folder below the data folder if empty")
	cmd.Flags().StringVar(&f.index, "index", s.getenv("INDEX"),
		"URL of the index; the file below the data folder if empty")
	cmd.Flags().StringVar(&f.nats.url, "nats", s.getenv("NATS"), "URL of the NATS server, for the jobs' records")
	f.nats.registerFlags(cmd, s, string(bus.Index))
	return cmd
}

func rebuildIndex(ctx context.Context, s streams, f *rebuildFlags) (err error) {
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
	r := projection.Rebuilder{Blobs: blobs, Store: store, OnProgress: func(d projection.RebuildCounts) {
		if d.Jobs%100 == 0 && d.Jobs > 0 {
			fmt.Fprintf(s.err, "%d jobs, %d pages\n", d.Jobs, d.Pages)
		}
	}, OnDamaged: func(err error) { fmt.Fprintf(s.err, "left out: %v\n", err) }}
	if f.nats.url != "" {
		b, err := f.nats.connectBus("index rebuild")
		if err != nil {
			return err
		}
		defer b.Close()
		if err := b.AwaitProvisioned(ctx, bus.Index); err != nil {
			return fmt.Errorf("nats: %w", err)
		}
		kv, err := b.OpenJobBucket(ctx)
		if err != nil {
			return err
		}
		r.LoadRecord = job.NewStore(kv).LoadRecord
		if err := projection.CopyEvents(ctx, b, store); err != nil {
			return fmt.Errorf("audit trail: %w", err)
		}
	}
	done, err := r.Run(ctx)
	return reportRebuild(s, done, err)
}

// reportRebuild says what a rebuilding has done.
func reportRebuild(s streams, done projection.RebuildCounts, err error) error {
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
