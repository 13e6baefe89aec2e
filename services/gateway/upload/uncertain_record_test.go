package upload_test

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/services/gateway/gatewaytest"
	"inkstream.dev/services/gateway/upload"
)

// pdf is the document that is uploaded here.

// unreliableBucket is a bucket to which something happens when the records of jobs are created.
type unreliableBucket struct {
	jetstream.KeyValue
	mu sync.Mutex // guards what follows
	// outcomes is what happens next, once each; nothing more once it is empty, if last does not say that it goes on with
	// the last.
	outcomes   []writeOutcome
	repeatLast bool
	// late are the writes that are still on their way.
	late []func(context.Context) error
}

type writeOutcome string

const (
	answerLost   writeOutcome = "the record is written, but the answer does not come"
	noAnswer     writeOutcome = "the record is written, and then the broker says nothing for long"
	delayed      writeOutcome = "the record is on its way for long"
	noResponders writeOutcome = "nobody is there to take it"
)

// Create implements jetstream.KeyValue.
func (u *unreliableBucket) Create(ctx context.Context, key string, value []byte,
	opts ...jetstream.KVCreateOpt) (uint64, error) {
	write := func(ctx context.Context) (uint64, error) { return u.KeyValue.Create(ctx, key, value, opts...) }
	var now writeOutcome
	u.mu.Lock()
	if strings.HasPrefix(key, "job.") && len(u.outcomes) > 0 && !bytes.Contains(value, []byte("DELETED")) {
		if now = u.outcomes[0]; len(u.outcomes) > 1 || !u.repeatLast {
			u.outcomes = u.outcomes[1:]
		}
	}
	if now == delayed {
		u.late = append(u.late, func(ctx context.Context) error {
			_, err := write(ctx)
			return err
		})
	}
	u.mu.Unlock()
	switch now {
	case noResponders:
		return 0, nats.ErrNoResponders
	case answerLost, noAnswer:
		if _, err := write(ctx); err != nil {
			return 0, err
		}
		if now == noAnswer {
			<-ctx.Done()
		}
		return 0, nats.ErrTimeout
	case delayed:
		return 0, nats.ErrTimeout
	}
	return write(ctx)
}

// stopFailing has nothing happen from now on.
func (u *unreliableBucket) stopFailing() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.outcomes = nil
}

// deliverLate has all arrive that is on its way; none of it may find its place.
func (u *unreliableBucket) deliverLate(t *testing.T) {
	t.Helper()
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, write := range u.late {
		if err := write(t.Context()); err == nil {
			t.Error("a record that arrived late was written")
		}
	}
}

// startWithBucket runs a gateway over such a bucket. An upload tries until that has happened, and for 300 ms at most.
func startWithBucket(t *testing.T, u *unreliableBucket, change func(*gatewaytest.Options)) *gatewaytest.Gateway {
	t.Helper()
	return gatewaytest.Start(t, func(s *gatewaytest.Options) {
		s.Cfg.CreateTimeout = 300 * time.Millisecond
		s.Bucket = func(kv jetstream.KeyValue) jetstream.KeyValue {
			u.KeyValue = kv
			return u
		}
		if change != nil {
			change(s)
		}
	})
}

// Whatever becomes of a record's write, the client that tries again under its key has one job, which is whole.
func TestUploadsWithUncertainRecordWrite(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		happens []writeOutcome
		last    bool
		code    fault.Code // of the first try; "" for none
		kept    bool       // the first try's document is, though it was refused
		same    bool       // the second try is answered the first one's job
	}{
		{"the second try finds the record", []writeOutcome{answerLost}, false, "", true, true},
		{"the second try writes the record", []writeOutcome{noResponders}, false, "", true, true},
		{"no answer at all", []writeOutcome{delayed}, true, fault.Unavailable, true, false},
		{"nobody there after a try without an answer", []writeOutcome{delayed, noResponders}, true, fault.Unavailable, true,
			false},
		{"nobody there", []writeOutcome{noResponders}, true, fault.Unavailable, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			u := &unreliableBucket{outcomes: tt.happens, repeatLast: tt.last}
			r := startWithBucket(t, u, nil)
			gatewaytest.EachAPI(t, r, func(t *testing.T, a gatewaytest.API) {
				u.mu.Lock()
				u.outcomes, u.late = tt.happens, nil
				u.mu.Unlock()
				key, before := t.Name()[len(t.Name())-8:], len(r.BlobKeys())
				send := func() (string, error) {
					v, err := a.Upload(t.Context(), gatewaytest.Document{Data: strings.NewReader(gatewaytest.PDF), Key: key})
					return v.GetId(), err
				}
				first, err := send()
				gatewaytest.CheckError(t, err, tt.code)
				if got := len(r.BlobKeys()) > before; got != tt.kept {
					t.Errorf("the document is there after the first try: got %t, want %t", got, tt.kept)
				}
				u.stopFailing()
				second, err := send()
				gatewaytest.CheckError(t, err, "")
				u.deliverLate(t)
				if third, err := send(); err != nil || third != second {
					t.Errorf("the third try: got %s, %v, want %s as the second", third, err, second)
				}
				if (first == second) != tt.same {
					t.Errorf("got jobs %q and %q, want the same: %t", first, second, tt.same)
				}
				r.WantCompleteJob(t, second)
			})
		})
	}
}

// The answer comes too late for the upload, but the record is there: the next try is answered that job, whose
// document must be there too.
func TestRecordWrittenWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	r := startWithBucket(t, &unreliableBucket{outcomes: []writeOutcome{noAnswer}}, nil)
	a := gatewaytest.RPCAPI{C: r.RPC}
	_, err := a.Upload(t.Context(), gatewaytest.Document{Data: strings.NewReader(gatewaytest.PDF), Key: "k"})
	gatewaytest.CheckError(t, err, fault.Unavailable)
	v, err := a.Upload(t.Context(), gatewaytest.Document{Data: strings.NewReader(gatewaytest.PDF), Key: "k"})
	gatewaytest.CheckError(t, err, "")
	r.WantCompleteJob(t, v.GetId())
	if n, keys := r.Records(), r.BlobKeys(); n != 1 || len(keys) != 1 {
		t.Errorf("got %d records and blobs %v, want one of each", n, keys)
	}
}

// An upload that was taken for dead is alive after all: its record finds a tombstone in its place, which is none of
// its own.
func TestUploadWithTakenOverKey(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	in, err := upload.StoreAndClaim(t.Context(), r.Service.Components().Uploads, gatewaytest.PDF, "k")
	if err != nil {
		t.Fatal(err)
	}
	// What another upload with the key does once its patience is over.
	if _, err := r.Deps.Jobs.CreateTombstone(t.Context(), job.DefaultTenant, in.ID(), time.Now()); err != nil {
		t.Fatal(err)
	}
	rec, _, err := in.Finish(t.Context())
	if fault.CodeOf(err) != fault.Unavailable || rec != nil {
		t.Errorf("got %+v, %v, want %s", rec, err, fault.Unavailable)
	}
	if keys := r.BlobKeys(); len(keys) > 0 {
		t.Errorf("blobs are left: %v", keys)
	}
	v, err := gatewaytest.RPCAPI{C: r.RPC}.Upload(t.Context(), gatewaytest.Document{Data: strings.NewReader(gatewaytest.PDF), Key: "k"})
	gatewaytest.CheckError(t, err, "")
	if v.GetId() == string(in.ID()) {
		t.Error("the key still stands for the job that never was")
	}
	r.WantCompleteJob(t, v.GetId())
}

func TestResumableUploadWhoseRecordIsUncertain(t *testing.T) {
	t.Parallel()
	for _, happens := range []writeOutcome{delayed, noResponders} {
		t.Run(string(happens), func(t *testing.T) {
			t.Parallel()
			u := &unreliableBucket{outcomes: []writeOutcome{happens}, repeatLast: true}
			r := startWithBucket(t, u, gatewaytest.WithTus(t))
			res, body := r.TusRequest("", http.MethodPost, "/v1/uploads", "", map[string]string{upload.TusLengthHeader: "14"})
			at := res.Header.Get("Location")
			if res.StatusCode != http.StatusCreated {
				t.Fatalf("got %d %s", res.StatusCode, body)
			}
			if res, body = r.TusRequest("", http.MethodPatch, at, gatewaytest.PDF,
				map[string]string{upload.TusOffsetHeader: "0"}); res.StatusCode != http.StatusServiceUnavailable {
				t.Fatalf("got %d %s, want 503", res.StatusCode, body)
			}
			parts, err := filepath.Glob(filepath.Join(r.Cfg.TusDir, "*"+upload.TusBytes))
			if err != nil || len(parts) != 1 {
				t.Fatalf("got %v, %v, want the bytes that came", parts, err)
			}
			if data, err := os.ReadFile(parts[0]); err != nil || string(data) != gatewaytest.PDF {
				t.Errorf("got %q, %v, want the document", data, err)
			}
			u.stopFailing()
			res, body = r.TusRequest("", http.MethodPatch, at, "", map[string]string{upload.TusOffsetHeader: "14"})
			id := res.Header.Get(upload.TusJobHeader)
			if res.StatusCode != http.StatusNoContent || id == "" {
				t.Fatalf("the next try: got %d %s", res.StatusCode, body)
			}
			u.deliverLate(t)
			r.WantCompleteJob(t, id)
		})
	}
}
