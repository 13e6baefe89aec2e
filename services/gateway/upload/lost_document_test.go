package upload_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/blob/blobtest"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/services/gateway/gatewaytest"
	"inkstream.dev/services/gateway/rest"
)

// hookedBucket calls a function before the record of a job is created.
type hookedBucket struct {
	jetstream.KeyValue
	before func(ctx context.Context, key string)
}

// Create implements jetstream.KeyValue.
func (h *hookedBucket) Create(ctx context.Context, key string, value []byte, opts ...jetstream.KVCreateOpt) (uint64, error) {
	if strings.HasPrefix(key, "job.") {
		h.before(ctx, key)
	}
	return h.KeyValue.Create(ctx, key, value, opts...)
}

// An upload sleeps until its document was discarded and the tombstone for that has gone too, or until the clock has jumped
// so far. It is not acknowledged, and a repeat makes a job that has its document.
func TestUploadWhoseDocumentIsGoneIsNotAcknowledged(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"", "one-key"} {
		var blobs *blob.Store
		var slept sync.Once
		r := gatewaytest.Start(t, func(s *gatewaytest.Options) {
			s.Blobs = func(b *blob.Store) *blob.Store { blobs = b; return b }
			s.Bucket = func(kv jetstream.KeyValue) jetstream.KeyValue {
				return &hookedBucket{kv, func(ctx context.Context, key string) {
					slept.Do(func() {
						parts := strings.Split(key, ".")
						if err := blobs.DeletePrefix(ctx, job.Folder(parts[1], job.ID(parts[2]))); err != nil {
							t.Error(err)
						}
					})
				}}
			}
		})
		post := func() (int, string) {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.BaseURL+"/v1/jobs", strings.NewReader("%PDF"))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", rest.PDFType)
			if key != "" {
				req.Header.Set("Idempotency-Key", key)
			}
			res, err := r.Web.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			return res.StatusCode, res.Header.Get("Location")
		}
		if code, at := post(); code != http.StatusServiceUnavailable {
			t.Errorf("key %q: an upload without its document is answered %d %s, want 503", key, code, at)
		}
		code, at := post()
		if code != http.StatusAccepted {
			t.Fatalf("key %q: repeated: got %d, want 202", key, code)
		}
		id := job.ID(strings.TrimPrefix(at, "/v1/jobs/"))
		if data, err := r.Deps.Blobs.ReadBytes(t.Context(), job.SourceKey(job.DefaultTenant, id), 100); err != nil || string(data) != "%PDF" {
			t.Errorf("key %q: the repeat's document: %q, %v", key, data, err)
		}
	}
}

// A store that does not say whether the document is there has the client try again; under its key it has one job then.
func TestUploadWhoseDocumentIsNotSeenIsNotAcknowledged(t *testing.T) {
	t.Parallel()
	var failing sync.Once
	r := gatewaytest.Start(t, func(s *gatewaytest.Options) {
		s.Blobs = func(b *blob.Store) *blob.Store {
			return blobtest.NewFaultyStore(b, func(op blobtest.Op, key string) (f blobtest.Fault) {
				if op == blobtest.Stat && strings.HasSuffix(key, "source.pdf") {
					failing.Do(func() { f.Err = blobtest.ErrInjected })
				}
				return f
			})
		}
	})
	api := gatewaytest.RPCAPI{C: r.RPC}
	send := func() (string, error) {
		v, err := api.Upload(t.Context(), gatewaytest.Document{Data: strings.NewReader("%PDF"), Key: "one-key"})
		return v.GetId(), err
	}
	_, err := send()
	gatewaytest.CheckError(t, err, fault.Unavailable)
	if _, err := send(); err != nil {
		t.Errorf("the repeat: got %v, want a job", err)
	}
	if n := len(r.BlobKeys()); n != 1 {
		t.Errorf("%d blobs, want the one document", n)
	}
}
