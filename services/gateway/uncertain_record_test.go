package gateway

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
)

// pdf is the document that is uploaded here.
const pdf = "%PDF-1.7 hello"

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
func startWithBucket(t *testing.T, u *unreliableBucket, change func(*fixtureOptions)) *fixture {
	t.Helper()
	return startGateway(t, func(s *fixtureOptions) {
		s.createTimeout = 300 * time.Millisecond
		s.bucket = func(kv jetstream.KeyValue) jetstream.KeyValue {
			u.KeyValue = kv
			return u
		}
		if change != nil {
			change(s)
		}
	})
}

// wantCompleteJob makes sure that a job has a record that is not gone, and its document.
func (r *fixture) wantCompleteJob(t *testing.T, id string) {
	t.Helper()
	rec, err := r.deps.Jobs.LoadRecord(t.Context(), job.DefaultTenant, job.ID(id))
	if err != nil || rec.State != job.Pending {
		t.Errorf("record of %s: got %+v, %v, want a job that waits", id, rec, err)
	}
	data, err := r.deps.Blobs.ReadBytes(t.Context(), job.SourceKey(job.DefaultTenant, job.ID(id)), 1000)
	if err != nil || string(data) != pdf {
		t.Errorf("document of %s: got %q, %v", id, data, err)
	}
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
			eachAPI(t, r, func(t *testing.T, a testAPI) {
				u.mu.Lock()
				u.outcomes, u.late = tt.happens, nil
				u.mu.Unlock()
				key, before := t.Name()[len(t.Name())-8:], len(r.blobKeys())
				send := func() (string, error) {
					v, err := a.upload(t.Context(), testUpload{data: strings.NewReader(pdf), key: key})
					return v.GetId(), err
				}
				first, err := send()
				checkError(t, err, tt.code)
				if got := len(r.blobKeys()) > before; got != tt.kept {
					t.Errorf("the document is there after the first try: got %t, want %t", got, tt.kept)
				}
				u.stopFailing()
				second, err := send()
				checkError(t, err, "")
				u.deliverLate(t)
				if third, err := send(); err != nil || third != second {
					t.Errorf("the third try: got %s, %v, want %s as the second", third, err, second)
				}
				if (first == second) != tt.same {
					t.Errorf("got jobs %q and %q, want the same: %t", first, second, tt.same)
				}
				r.wantCompleteJob(t, second)
			})
		})
	}
}

// The answer comes too late for the upload, but the record is there: the next try is answered that job, whose
// document must be there too.
func TestRecordWrittenWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	r := startWithBucket(t, &unreliableBucket{outcomes: []writeOutcome{noAnswer}}, nil)
	a := rpcAPI{r.rpc}
	_, err := a.upload(t.Context(), testUpload{data: strings.NewReader(pdf), key: "k"})
	checkError(t, err, fault.Unavailable)
	v, err := a.upload(t.Context(), testUpload{data: strings.NewReader(pdf), key: "k"})
	checkError(t, err, "")
	r.wantCompleteJob(t, v.GetId())
	if n, keys := r.records(), r.blobKeys(); n != 1 || len(keys) != 1 {
		t.Errorf("got %d records and blobs %v, want one of each", n, keys)
	}
}

// An upload that was taken for dead is alive after all: its record finds a tombstone in its place, which is none of
// its own.
func TestUploadWithTakenOverKey(t *testing.T) {
	t.Parallel()
	r := startGateway(t, nil)
	in := &upload{service: r.svc, tenant: job.DefaultTenant, id: job.NewID(), options: job.Options{Lane: "interactive"},
		key: "k"}
	err := in.storeDocument(t.Context(), strings.NewReader(pdf))
	if err == nil {
		_, err = in.claimIdempotencyKey(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	// What another upload with the key does once its patience is over.
	if _, err := r.deps.Jobs.CreateTombstone(t.Context(), in.tenant, in.id, time.Now()); err != nil {
		t.Fatal(err)
	}
	rec, _, err := in.finishUpload(t.Context(), nil)
	if fault.CodeOf(err) != fault.Unavailable || rec != nil {
		t.Errorf("got %+v, %v, want %s", rec, err, fault.Unavailable)
	}
	if keys := r.blobKeys(); len(keys) > 0 {
		t.Errorf("blobs are left: %v", keys)
	}
	v, err := rpcAPI{r.rpc}.upload(t.Context(), testUpload{data: strings.NewReader(pdf), key: "k"})
	checkError(t, err, "")
	if v.GetId() == string(in.id) {
		t.Error("the key still stands for the job that never was")
	}
	r.wantCompleteJob(t, v.GetId())
}

func TestResumableUploadWhoseRecordIsUncertain(t *testing.T) {
	t.Parallel()
	for _, happens := range []writeOutcome{delayed, noResponders} {
		t.Run(string(happens), func(t *testing.T) {
			t.Parallel()
			u := &unreliableBucket{outcomes: []writeOutcome{happens}, repeatLast: true}
			r := startWithBucket(t, u, withTus(t))
			res, body := r.tusRequest("", http.MethodPost, "/v1/uploads", "", map[string]string{tusLengthHeader: "14"})
			at := res.Header.Get("Location")
			if res.StatusCode != http.StatusCreated {
				t.Fatalf("got %d %s", res.StatusCode, body)
			}
			if res, body = r.tusRequest("", http.MethodPatch, at, pdf,
				map[string]string{tusOffsetHeader: "0"}); res.StatusCode != http.StatusServiceUnavailable {
				t.Fatalf("got %d %s, want 503", res.StatusCode, body)
			}
			parts, err := filepath.Glob(filepath.Join(r.svc.cfg.TusDir, "*"+tusBytes))
			if err != nil || len(parts) != 1 {
				t.Fatalf("got %v, %v, want the bytes that came", parts, err)
			}
			if data, err := os.ReadFile(parts[0]); err != nil || string(data) != pdf {
				t.Errorf("got %q, %v, want the document", data, err)
			}
			u.stopFailing()
			res, body = r.tusRequest("", http.MethodPatch, at, "", map[string]string{tusOffsetHeader: "14"})
			id := res.Header.Get(tusJobHeader)
			if res.StatusCode != http.StatusNoContent || id == "" {
				t.Fatalf("the next try: got %d %s", res.StatusCode, body)
			}
			u.deliverLate(t)
			r.wantCompleteJob(t, id)
		})
	}
}
