package job_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
)

// unresponsiveKV is a bucket whose server died with the request on its way.
type unresponsiveKV struct{ jetstream.KeyValue }

func (unresponsiveKV) Get(ctx context.Context, _ string) (jetstream.KeyValueEntry, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (unresponsiveKV) Create(ctx context.Context, _ string, _ []byte, _ ...jetstream.KVCreateOpt) (uint64, error) {
	<-ctx.Done()
	return 0, ctx.Err()
}

func (unresponsiveKV) Purge(ctx context.Context, _ string, _ ...jetstream.KVDeleteOpt) error {
	<-ctx.Done()
	return ctx.Err()
}

// A handler may take many minutes, but it must not wait so long for an answer that will never come.
func TestUnansweredRequestsTimeOut(t *testing.T) {
	t.Parallel()
	store := job.NewStore(unresponsiveKV{})
	for name, call := range map[string]func(context.Context) error{
		"load":   func(ctx context.Context) error { _, err := store.LoadRecord(ctx, "t", "j"); return err },
		"create": func(ctx context.Context) error { return store.CreateRecord(ctx, &job.Record{ID: "j", Tenant: "t"}) },
		"update": func(ctx context.Context) error {
			_, err := store.UpdateRecord(ctx, "t", "j", func(*job.Record) error { return nil })
			return err
		},
		"drop": func(ctx context.Context) error { return store.DeleteProgress(ctx, "t", "j") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				start := time.Now()
				err := call(ctx)
				if took := time.Since(start); fault.KindOf(err) != fault.Busy || took > 10*time.Second {
					t.Errorf("%v after %s, want a busy error within 10 s", err, took)
				}
			})
		})
	}
}
