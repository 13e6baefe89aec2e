package upload_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/blob/blobtest"
	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/gatewaytest"
	"inkstream.dev/services/gateway/internal/apierror"
	"inkstream.dev/services/gateway/options"
	"inkstream.dev/services/gateway/rest"
)

func TestUploadStoresQueuesAndAnswers(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	gatewaytest.EachAPI(t, r, func(t *testing.T, a gatewaytest.API) {
		data := bytes.Repeat([]byte("%PDF-1.7 "+t.Name()), 40_000)
		sum := sha256.Sum256(data)
		v, err := a.Upload(t.Context(), gatewaytest.Document{Data: bytes.NewReader(data), Filename: "Bericht 1.pdf", Lane: "batch",
			Languages: "eng+deu"})
		if err != nil {
			t.Fatalf("upload: %v", err)
		}
		want := &inkstreamv1.Job{
			Id: v.GetId(), State: inkstreamv1.Job_PENDING, Filename: "Bericht 1.pdf", SizeBytes: uint32(len(data)),
			Sha256: hex.EncodeToString(sum[:]), Run: 1, CreateTime: v.GetCreateTime(), ExpireTime: v.GetExpireTime(),
			Options: options.ToProto(job.Options{Lane: "batch", Languages: "eng+deu"}),
		}
		if got := protojson.Format(v); got != protojson.Format(want) {
			t.Errorf("got job %s, want %s", got, protojson.Format(want))
		}
		if kept := v.GetExpireTime().AsTime().Sub(v.GetCreateTime().AsTime()); kept != 30*24*time.Hour {
			t.Errorf("kept for %s, want 30 days", kept)
		}
		r.WantStored(t, job.ID(v.GetId()), data)
		r.WantQueued(t, v, bus.Batch)
	})
}

func TestUploadRefusesBadRequests(t *testing.T) {
	t.Parallel()
	const limit = 100_000
	r := gatewaytest.Start(t, func(s *gatewaytest.Options) { s.Cfg.MaxUploadBytes = limit })
	for _, tt := range []struct {
		name string
		u    func() gatewaytest.Document
		want fault.Code
	}{
		{"empty file", func() gatewaytest.Document { return gatewaytest.Document{Data: strings.NewReader("")} }, fault.EmptyFile},
		{"too large, length not known", func() gatewaytest.Document { return gatewaytest.Document{Data: gatewaytest.Zeros(limit + 1)} }, fault.TooLarge},
		{"too large, length known", func() gatewaytest.Document {
			return gatewaytest.Document{Data: gatewaytest.Zeros(limit + 1), Length: limit + 1}
		},
			fault.TooLarge},
		{"much too large", func() gatewaytest.Document { return gatewaytest.Document{Data: gatewaytest.Zeros(limit * 100)} }, fault.TooLarge},
		{"unknown lane", func() gatewaytest.Document { return gatewaytest.Document{Data: gatewaytest.Zeros(1), Lane: "fast"} }, fault.InvalidOption},
		{"languages that are a path", func() gatewaytest.Document {
			return gatewaytest.Document{Data: gatewaytest.Zeros(1), Languages: "../eng"}
		},
			fault.InvalidOption},
		{"the same language twice", func() gatewaytest.Document {
			return gatewaytest.Document{Data: gatewaytest.Zeros(1), Languages: "eng+eng"}
		},
			fault.InvalidOption},
		{"long idempotency key", func() gatewaytest.Document {
			return gatewaytest.Document{Data: gatewaytest.Zeros(1), Key: strings.Repeat("k", 65)}
		},
			fault.InvalidArgument},
		{"idempotency key with an umlaut", func() gatewaytest.Document {
			return gatewaytest.Document{Data: gatewaytest.Zeros(1), Key: "schlüssel"}
		},
			fault.InvalidArgument},
	} {
		t.Run(tt.name, func(t *testing.T) {
			gatewaytest.EachAPI(t, r, func(t *testing.T, a gatewaytest.API) {
				_, err := a.Upload(t.Context(), tt.u())
				if err != nil && strings.Contains(err.Error(), "connection reset") && tt.want == fault.TooLarge {
					return // the server hung up before this client had sent it all; clients that look for the answer early see it
				}
				gatewaytest.CheckError(t, err, tt.want)
				r.WantNoJobs()
			})
		})
	}
	t.Run("exactly as large as allowed", func(t *testing.T) {
		gatewaytest.EachAPI(t, r, func(t *testing.T, a gatewaytest.API) {
			_, err := a.Upload(t.Context(), gatewaytest.Document{Data: gatewaytest.Zeros(limit)})
			gatewaytest.CheckError(t, err, "")
		})
	})
}

func TestRESTUploadRefusesBadBodies(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	const form = "multipart/form-data; boundary=B"
	file := func(extra string) string {
		return "--B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.pdf\"\r\n" + extra + "\r\n%PDF\r\n"
	}
	field := func(name, value string) string {
		return fmt.Sprintf("--B\r\nContent-Disposition: form-data; name=%q\r\n\r\n%s\r\n", name, value)
	}
	const end = "--B--\r\n"
	for _, tt := range []struct {
		name, query, contentType, encoding, body string
		want                                     fault.Code
		says                                     string // the message holds it
	}{
		{"no content type", "", "", "", "%PDF", fault.UnsupportedMedia, "application/pdf"},
		{"curl --data-binary without a type", "", "application/x-www-form-urlencoded", "", "%PDF", fault.UnsupportedMedia,
			"application/pdf"},
		{"JSON without a source", "", "application/json", "", "{}", fault.InvalidArgument, "source"},
		{"JSON that is none", "", "application/json", "", "%PDF", fault.InvalidArgument, "JSON"},
		{"JSON with a field that nobody knows", "", "application/json", "", `{"source":"s3://b/a.pdf","colour":1}`,
			fault.InvalidArgument, `"colour"`},
		{"compressed", "", rest.PDFType, "gzip", "%PDF", fault.UnsupportedMedia, "encoding"},
		{"raw, empty", "", rest.PDFType, "", "", fault.EmptyFile, ""},
		{"unknown query parameter", "?lang=eng", rest.PDFType, "", "%PDF", fault.InvalidOption, `"lang"`},
		{"option twice in the query", "?lane=batch&lane=batch", rest.PDFType, "", "%PDF", fault.InvalidOption, `"lane"`},
		{"form without a boundary", "", "multipart/form-data", "", "x", fault.InvalidArgument, "boundary"},
		{"form that is none", "", form, "", "%PDF-1.7 but no form", fault.InvalidArgument, "malformed"},
		{"form without the file", "", form, "", field("lane", "batch") + end, fault.InvalidArgument, "file"},
		{"empty form", "", form, "", end, fault.InvalidArgument, "file"},
		{"file under another name", "", form, "", strings.Replace(file(""), `"file"`, `"document"`, 1) + end,
			fault.InvalidOption, `"document"`},
		{"two files and a name", "", form, "", field("filename", "x.pdf") + file("") + file("") + end, fault.InvalidArgument,
			"several"},
		{"labels that are no object", "?labels=%7B%22a%22:1%7D", rest.PDFType, "", "%PDF", fault.InvalidArgument, "JSON object"},
		{"labels that are none", "?labels=a", rest.PDFType, "", "%PDF", fault.InvalidArgument, "name=value"},
		{"a label twice", "?labels=a%3Db,a%3Dc", rest.PDFType, "", "%PDF", fault.InvalidArgument, "once"},
		{"a label of the server's", "", form, "", field("labels", "~batch=x") + file("") + end, fault.InvalidArgument,
			"letters"},
		{"a webhook without a secret", "?webhook_url=https%3A%2F%2Fexample.org", rest.PDFType, "", "%PDF", apierror.WebhookForbidden,
			"secret"},
		{"form that ends within the file", "", form, "", file(""), fault.InvalidArgument, "ends early"},
		{"form that ends within a header", "", form, "", file("") + "--B\r\nContent-Dis", fault.InvalidArgument,
			"ends early"},
		{"unknown field before the file", "", form, "", field("colour", "yes") + file("") + end, fault.InvalidOption,
			`"colour"`},
		{"unknown field after the file", "", form, "", file("") + field("colour", "yes") + end, fault.InvalidOption,
			`"colour"`},
		{"bad option after the file", "", form, "", file("") + field("lane", "slow") + end, fault.InvalidOption, `"slow"`},
		{"option in the query and in the form", "?lane=batch", form, "", file("") + field("lane", "batch") + end,
			fault.InvalidOption, "once"},
		{"option that is too long", "", form, "", field("languages", strings.Repeat("e", 5000)) + file("") + end,
			fault.InvalidOption, "longer"},
		{"file in base64", "", form, "", file("Content-Transfer-Encoding: base64\r\n") + end, fault.UnsupportedMedia,
			"transfer encoding"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.BaseURL+"/v1/jobs"+tt.query,
				strings.NewReader(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			if tt.contentType != "" {
				req.Header.Set("Content-Type", tt.contentType)
			}
			if tt.encoding != "" {
				req.Header.Set("Content-Encoding", tt.encoding)
			}
			res, err := r.Web.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			err = gatewaytest.ErrorOf(res)
			gatewaytest.CheckError(t, err, tt.want)
			if err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want it to say %q", err, tt.says)
			}
			r.WantNoJobs()
		})
	}
}

func TestRESTUploadRefusesLargeBodyBeforeReadingIt(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	for _, contentType := range []string{rest.PDFType, "multipart/form-data; boundary=B"} {
		conn := r.Dial(t)
		fmt.Fprintf(conn,
			"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\nContent-Length: 600000000\r\n\r\n", contentType)
		answer, err := io.ReadAll(io.LimitReader(conn, 12))
		if err != nil || string(answer) != "HTTP/1.1 413" {
			t.Errorf("%s: got %q (%v), want HTTP/1.1 413 before the body", contentType, answer, err)
		}
	}
}

func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	gatewaytest.EachAPI(t, r, func(t *testing.T, a gatewaytest.API) {
		send := func(key, data, lane string) (*inkstreamv1.Job, error) {
			return a.Upload(t.Context(), gatewaytest.Document{Data: strings.NewReader(data), Key: key, Lane: lane})
		}
		key := t.Name()[len(t.Name())-8:] + " 1!"
		first, err := send(key, "%PDF one", "")
		gatewaytest.CheckError(t, err, "")
		before := len(r.BlobKeys())
		again, err := send(key, "%PDF one", "interactive")
		gatewaytest.CheckError(t, err, "")
		if again.GetId() != first.GetId() {
			t.Errorf("the same upload made job %s, want %s again", again.GetId(), first.GetId())
		}
		for _, other := range [][2]string{{"%PDF two", ""}, {"%PDF one", "batch"}} {
			_, err = send(key, other[0], other[1])
			gatewaytest.CheckError(t, err, fault.IdempotencyConflict)
			if e, ok := errors.AsType[*gatewaytest.APIError](err); ok && e.Job != first.GetId() {
				t.Errorf("the conflict names job %q, want %s, which has the key", e.Job, first.GetId())
			}
		}
		if after := len(r.BlobKeys()); after != before {
			t.Errorf("%d blobs after the repeats, want %d as before", after, before)
		}
		other, err := send(key+"x", "%PDF one", "")
		gatewaytest.CheckError(t, err, "")
		if other.GetId() == first.GetId() {
			t.Error("another key answered the same job")
		}
		if _, err := r.RPC.DeleteJob(t.Context(), &inkstreamv1.DeleteJobRequest{Id: first.GetId()}); err != nil {
			t.Fatal(err)
		}
		_, err = send(key, "%PDF one", "")
		gatewaytest.CheckError(t, err, apierror.JobDeleted)
		if e, ok := errors.AsType[*gatewaytest.APIError](err); ok && e.Job != first.GetId() {
			t.Errorf("the answer names job %q, want %s, which has the key and is gone", e.Job, first.GetId())
		}
	})
}

func TestIdempotencyKeyUsedAtOnceMakesOneJob(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	apis := []gatewaytest.API{gatewaytest.RPCAPI{C: r.RPC}, gatewaytest.RESTAPI{Gateway: r, Form: true}, gatewaytest.RESTAPI{Gateway: r}}
	ids := make([]string, 24)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			v, err := apis[i%len(apis)].Upload(t.Context(),
				gatewaytest.Document{Data: strings.NewReader("%PDF same"), Key: "same", Filename: "f"})
			gatewaytest.CheckError(t, err, "")
			ids[i] = v.GetId()
		})
	}
	wg.Wait()
	for _, id := range ids {
		if id != ids[0] || id == "" {
			t.Fatalf("got jobs %v, want one", ids)
		}
	}
	if n, keys := r.Records(), r.BlobKeys(); n != 1 || len(keys) != 1 {
		t.Errorf("got %d records and blobs %v, want one of each", n, keys)
	}
}

func TestIdempotencyClaimOfDeadUploadIsTakenOver(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, func(s *gatewaytest.Options) { s.Cfg.CreateTimeout = 200 * time.Millisecond })
	dead := job.Claim{Job: job.NewID(), Fingerprint: "whatever", Time: time.Now()}
	if _, err := r.Deps.Jobs.ClaimIdempotencyKey(t.Context(), job.DefaultTenant, "k", dead); err != nil {
		t.Fatalf("claim: %v", err)
	}
	send := func() *inkstreamv1.Job {
		v, err := gatewaytest.RPCAPI{C: r.RPC}.Upload(t.Context(), gatewaytest.Document{Data: strings.NewReader("%PDF"), Key: "k"})
		gatewaytest.CheckError(t, err, "")
		return v
	}
	first := send()
	if again := send(); again.GetId() != first.GetId() || first.GetId() == string(dead.Job) {
		t.Errorf("got jobs %s and %s, want one that is not %s", first.GetId(), again.GetId(), dead.Job)
	}
}

func TestUploadThatTheClientAbandonsLeavesNothing(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	idle := func() bool { return r.Service.Components().Limits.UploadsUnderWay() == 0 }
	for _, head := range []string{
		"Content-Type: application/pdf\r\nContent-Length: 1000000\r\n\r\n",
		"Content-Type: application/pdf\r\nTransfer-Encoding: chunked\r\n\r\n400\r\n",
		"Content-Type: multipart/form-data; boundary=B\r\nContent-Length: 1000000\r\n\r\n" +
			"--B\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\n",
	} {
		conn := r.Dial(t)
		fmt.Fprintf(conn, "POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\n%s%s", head, strings.Repeat("x", 500))
		gatewaytest.Eventually(t, "the upload has begun", func() bool { return !idle() })
		conn.Close()
		gatewaytest.Eventually(t, "the upload has ended", idle)
		r.WantNoJobs()
	}
	ctx, cancel := context.WithCancel(t.Context())
	pr, pw := io.Pipe()
	done := make(chan error)
	go func() {
		_, err := gatewaytest.RPCAPI{C: r.RPC}.Upload(ctx, gatewaytest.Document{Data: pr})
		done <- err
	}()
	if _, err := pw.Write([]byte("%PDF")); err != nil {
		t.Fatal(err)
	}
	gatewaytest.Eventually(t, "the upload has begun", func() bool { return !idle() })
	cancel()
	pw.Close()
	if err := <-done; err == nil {
		t.Error("the cancelled upload succeeded")
	}
	gatewaytest.Eventually(t, "the upload has ended", idle)
	r.WantNoJobs()
}

func TestUploadThatStandsStillIsEnded(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, func(s *gatewaytest.Options) { s.Cfg.StallTimeout = 300 * time.Millisecond })
	for _, a := range []gatewaytest.API{gatewaytest.RPCAPI{C: r.RPC}, gatewaytest.RESTAPI{Gateway: r, Form: true}, gatewaytest.RESTAPI{Gateway: r}} {
		pr, pw := io.Pipe()
		released := make(chan struct{})
		go func() {
			_, _ = pw.Write([]byte("%PDF"))
			<-released
			pw.Close()
		}()
		if rpc, ok := a.(gatewaytest.RPCAPI); ok {
			a = stalledRPC{rpc}
		}
		_, err := a.Upload(t.Context(), gatewaytest.Document{Data: pr, Filename: "a"})
		close(released)
		pr.Close()
		gatewaytest.CheckError(t, err, apierror.RequestTimeout)
		gatewaytest.Eventually(t, "the upload has ended", func() bool { return r.Service.Components().Limits.UploadsUnderWay() == 0 })
		r.WantNoJobs()
	}
}

// stalledRPC sends the metadata and nothing more.
type stalledRPC struct{ gatewaytest.RPCAPI }

// Upload sends the metadata of a document, and waits.
func (a stalledRPC) Upload(ctx context.Context, _ gatewaytest.Document) (*inkstreamv1.Job, error) {
	stream, err := a.C.UploadDocument(ctx)
	if err != nil {
		return nil, err
	}
	m := &inkstreamv1.UploadDocumentRequest{Part: &inkstreamv1.UploadDocumentRequest_Metadata{Metadata: &inkstreamv1.UploadMetadata{}}}
	if err := stream.Send(m); err != nil {
		return nil, err
	}
	res := &inkstreamv1.Job{}
	return nil, gatewaytest.RPCError(stream.RecvMsg(res))
}

func TestGRPCUploadRefusesBadMessages(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	meta := &inkstreamv1.UploadDocumentRequest{Part: &inkstreamv1.UploadDocumentRequest_Metadata{Metadata: &inkstreamv1.UploadMetadata{}}}
	data := func(n int) *inkstreamv1.UploadDocumentRequest {
		return &inkstreamv1.UploadDocumentRequest{Part: &inkstreamv1.UploadDocumentRequest_Data{Data: make([]byte, n)}}
	}
	for _, tt := range []struct {
		name string
		msgs []*inkstreamv1.UploadDocumentRequest
		want fault.Code
	}{
		{"nothing", nil, fault.InvalidArgument},
		{"data first", []*inkstreamv1.UploadDocumentRequest{data(4)}, fault.InvalidArgument},
		{"metadata only", []*inkstreamv1.UploadDocumentRequest{meta}, fault.EmptyFile},
		{"metadata twice", []*inkstreamv1.UploadDocumentRequest{meta, data(4), meta}, fault.InvalidArgument},
		{"message without a part", []*inkstreamv1.UploadDocumentRequest{meta, {}}, fault.InvalidArgument},
		{"more than 1 MiB in a message", []*inkstreamv1.UploadDocumentRequest{meta, data(1<<20 + 1)}, fault.InvalidArgument},
		{"1 MiB in a message, empty ones between",
			[]*inkstreamv1.UploadDocumentRequest{meta, data(0), data(1 << 20), data(0)}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			stream, err := r.RPC.UploadDocument(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range tt.msgs {
				if stream.Send(m) != nil {
					break // the answer says why
				}
			}
			_, err = stream.CloseAndRecv()
			gatewaytest.CheckError(t, gatewaytest.RPCError(err), tt.want)
		})
	}
}

func TestUploadSurvivesFullQueue(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, func(s *gatewaytest.Options) {
		s.Bus = bustest.NewWithTopology(t, bus.Topology{MaxTasks: 1})
		s.Cfg.MaxBacklog = 100 // as if the queue had filled up since the gateway looked
	})
	gatewaytest.EachAPI(t, r, func(t *testing.T, a gatewaytest.API) {
		for range 2 {
			v, err := a.Upload(t.Context(), gatewaytest.Document{Data: strings.NewReader("%PDF")})
			gatewaytest.CheckError(t, err, "")
			if _, err := r.Deps.Jobs.LoadRecord(t.Context(), job.DefaultTenant, job.ID(v.GetId())); err != nil {
				t.Errorf("the accepted job has no record: %v", err)
			}
		}
	})
	if !strings.Contains(r.Logs.String(), "not queued yet") {
		t.Error("the log does not say that a job was not queued")
	}
}

func TestUploadWithFailingDiskIsRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		op   blobtest.Op
		key  string // what the key ends with
		lost bool
	}{
		{"document cannot be created", blobtest.Create, "source.pdf", false},
		{"document cannot be written", blobtest.Write, "source.pdf", false},
		{"document cannot be committed", blobtest.Commit, "source.pdf", false},
		{"document is committed, but the answer is lost", blobtest.Commit, "source.pdf", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := gatewaytest.Start(t, func(s *gatewaytest.Options) {
				s.Blobs = func(b *blob.Store) *blob.Store {
					return blobtest.NewFaultyStore(b, func(op blobtest.Op, key string) blobtest.Fault {
						if op == tt.op && strings.HasSuffix(key, tt.key) {
							return blobtest.Fault{Err: blobtest.ErrInjected, Lost: tt.lost}
						}
						return blobtest.Fault{}
					})
				}
			})
			gatewaytest.EachAPI(t, r, func(t *testing.T, a gatewaytest.API) {
				_, err := a.Upload(t.Context(), gatewaytest.Document{Data: strings.NewReader("%PDF")})
				gatewaytest.CheckError(t, err, fault.Unavailable)
				r.WantNoJobs()
			})
		})
	}
}

// TestUploadIsNotHeld is not parallel, because it measures the heap, which all tests share.
func TestUploadIsNotHeld(t *testing.T) {
	const size, allowed = 48 << 20, 22 << 20
	defer debug.SetGCPercent(debug.SetGCPercent(40)) // what is garbage already counts little
	r := gatewaytest.Start(t, nil)
	for name, a := range map[string]gatewaytest.API{"grpc": gatewaytest.RPCAPI{C: r.RPC}, "rest form": gatewaytest.RESTAPI{Gateway: r, Form: true},
		"rest raw": gatewaytest.RESTAPI{Gateway: r}} {
		t.Run(name, func(t *testing.T) {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			base, peak := m.HeapAlloc, uint64(0)
			watched := &sampler{from: gatewaytest.Zeros(size), sample: func() {
				runtime.ReadMemStats(&m)
				peak = max(peak, m.HeapAlloc)
			}}
			v, err := a.Upload(t.Context(), gatewaytest.Document{Data: watched})
			gatewaytest.CheckError(t, err, "")
			if v.GetSizeBytes() != size {
				t.Errorf("got %d bytes, want %d", v.GetSizeBytes(), size)
			}
			if peak > base+allowed {
				t.Errorf("the heap grew by %d MiB, want at most %d", (peak-base)>>20, allowed>>20)
			}
			t.Logf("heap %d MiB at first, at most %d", base>>20, peak>>20)
		})
	}
}

// sampler calls sample after every 6 MiB.
type sampler struct {
	from   io.Reader
	sample func()
	read   int
}

func (s *sampler) Read(p []byte) (int, error) {
	n, err := s.from.Read(p)
	if s.read += n; s.read >= 6<<20 {
		s.read = 0
		s.sample()
	}
	return n, err
}

// BenchmarkUpload measures uploads of 1 MB, 20 at a time, every byte synced as in production but for NATS.
func BenchmarkUpload(b *testing.B) {
	blobs, err := blob.Open(b.Context(), "file://"+b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer blobs.Close()
	r := gatewaytest.Start(b, func(s *gatewaytest.Options) { s.Blobs = func(*blob.Store) *blob.Store { return blobs } })
	data := bytes.Repeat([]byte("%PDF-1.7"), 125_000)
	b.SetBytes(int64(len(data)))
	b.SetParallelism(20 / runtime.GOMAXPROCS(0))
	var mu sync.Mutex // guards took
	var took []time.Duration
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			began := time.Now()
			if _, err := (gatewaytest.RESTAPI{Gateway: r, Form: true}).Upload(b.Context(),
				gatewaytest.Document{Data: bytes.NewReader(data), Filename: "a.pdf"}); err != nil {
				b.Error(err)
			}
			mu.Lock()
			took = append(took, time.Since(began))
			mu.Unlock()
		}
	})
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}
