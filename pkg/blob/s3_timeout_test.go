package blob_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/blob/blobtest"
	"inkstream.dev/pkg/fault"
)

// hangLimit is how long a store that hangs may hold its caller. A job may stand still for 150 s.
const hangLimit = 135 * time.Second

// newStoreOverPipe opens an S3 store whose server is serve, called for each connection. It is to be called in a
// bubble, where its waits take no time.
func newStoreOverPipe(t *testing.T, serve func(conn net.Conn)) *blob.Store {
	t.Helper()
	u, err := url.Parse("s3://bucket?endpoint=http://s3.invalid&profile=")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { <-time.After(2 * hangLimit) }) // idle connections end by themselves
	s, err := blob.OpenS3Over(t.Context(), u, func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go func() {
			defer server.Close()
			serve(server)
		}()
		return client, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// setS3Credentials gives the client something to sign with.
func setS3Credentials(t *testing.T) {
	t.Helper()
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "blobtest", "AWS_SECRET_ACCESS_KEY": "blobtest-password", "AWS_EC2_METADATA_DISABLED": "true",
	} {
		if err := os.Setenv(name, value); err != nil { //nolint:usetesting // parallel tests share it, and it is the same for all
			t.Fatal(err)
		}
	}
}

// A server that hangs, wherever it does, is waited for like one that is away, and known as such well before a job
// counts as stuck.
func TestS3ResponseTimeout(t *testing.T) {
	t.Parallel()
	setS3Credentials(t)
	for _, tt := range []struct {
		name  string
		serve func(conn net.Conn)
	}{
		{"takes nothing", func(net.Conn) { <-time.After(2 * hangLimit) }},
		{"takes all and never answers", func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }},
		{"answers and stops in the middle", func(conn net.Conn) {
			if _, err := http.ReadRequest(bufio.NewReader(conn)); err != nil {
				return
			}
			fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
			_, _ = io.Copy(io.Discard, conn)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for name, do := range map[string]func(ctx context.Context, s *blob.Store) error{
				"PutBytes": func(ctx context.Context, s *blob.Store) error {
					return s.PutBytes(ctx, "t/k", make([]byte, 200_000), "")
				},
				"Bytes": func(ctx context.Context, s *blob.Store) error {
					_, err := s.ReadBytes(ctx, "t/k", 1000)
					return err
				},
			} {
				synctest.Test(t, func(t *testing.T) {
					s := newStoreOverPipe(t, tt.serve)
					defer s.Close()
					began := time.Now()
					err := do(t.Context(), s)
					if name == "PutBytes" && tt.name == "answers and stops in the middle" {
						return // it has the answer that it wants
					}
					if fault.KindOf(err) != fault.Busy || fault.CodeOf(err) != fault.Unavailable {
						t.Errorf("%s: got %v, want a Busy fault UNAVAILABLE", name, err)
					}
					if took := time.Since(began); took > hangLimit {
						t.Errorf("%s took %s, want at most %s", name, took, hangLimit)
					}
				})
			}
		})
	}
}

// A body that ends too soon is asked for again when the whole blob is copied.
func TestS3OpenFileAsksAgain(t *testing.T) {
	t.Parallel()
	setS3Credentials(t)
	synctest.Test(t, func(t *testing.T) {
		data, asked := bytes.Repeat([]byte("page "), 1000), 0
		s := newStoreOverPipe(t, func(conn net.Conn) {
			for r := bufio.NewReader(conn); ; {
				req, err := http.ReadRequest(r)
				if err != nil {
					return
				}
				fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", len(data))
				if req.Method != http.MethodGet {
					continue
				}
				if asked++; asked < 3 {
					_, _ = conn.Write(data[:len(data)/2])
					return
				}
				_, _ = conn.Write(data)
			}
		})
		defer s.Close()
		f, err := s.OpenFile(t.Context(), "t/k")
		if err != nil {
			t.Fatalf("OpenFile: %v after %d requests", err, asked)
		}
		defer f.Close()
		if got, err := io.ReadAll(f); err != nil || !bytes.Equal(got, data) || asked != 3 {
			t.Errorf("got %d bytes, %v, by %d requests, want all of %d by 3", len(got), err, asked, len(data))
		}
	})
}

// However long a blob takes: as long as bytes come through, it goes on.
func TestS3SlowTransferSucceeds(t *testing.T) {
	t.Parallel()
	setS3Credentials(t)
	data := bytes.Repeat([]byte("x"), 400_000)
	synctest.Test(t, func(t *testing.T) {
		s := newStoreOverPipe(t, func(conn net.Conn) {
			slow := slowConn{conn}
			for r := bufio.NewReaderSize(slow, 32<<10); ; {
				req, err := http.ReadRequest(r)
				if err != nil {
					return
				}
				if got, err := io.ReadAll(req.Body); err != nil || req.Method == http.MethodPut && len(got) != len(data) {
					t.Errorf("%s of %d bytes: %v, want %d", req.Method, len(got), err, len(data))
				}
				fmt.Fprintf(slow, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n",
					map[string]int{http.MethodGet: len(data)}[req.Method])
				if req.Method == http.MethodGet {
					_, _ = slow.Write(data)
				}
			}
		})
		defer s.Close()
		began := time.Now()
		if err := s.PutBytes(t.Context(), "t/k", data, ""); err != nil {
			t.Errorf("PutBytes: %v after %s, want no error", err, time.Since(began))
		}
		if took := time.Since(began); took < 3*time.Minute {
			t.Errorf("the upload took %s, want so long that it proves something", took)
		}
		got, err := s.ReadBytes(t.Context(), "t/k", int64(len(data)))
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("ReadBytes: got %d bytes, %v, want all", len(got), err)
		}
	})
}

// slowConn takes and gives a piece every few seconds.
type slowConn struct{ net.Conn }

func (c slowConn) wait() { <-time.After(8 * time.Second) }

func (c slowConn) Read(p []byte) (int, error) {
	c.wait()
	return c.Conn.Read(p[:min(len(p), 16<<10)])
}

func (c slowConn) Write(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		c.wait()
		var m int
		m, err = c.Conn.Write(p[n:min(n+16<<10, len(p))])
		n += m
	}
	return n, err
}

// A timeout that is not the caller's is the store's; the caller's own stays what it is.
func TestTimeoutErrorsAreBusyUnlessCallerTimedOut(t *testing.T) {
	t.Parallel()
	bad := blobtest.NewFaultyStore(open(t, "mem://"), func(blobtest.Op, string) blobtest.Fault {
		return blobtest.Fault{Err: &net.OpError{Op: "dial", Err: context.DeadlineExceeded}}
	})
	ended, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	for _, tt := range []struct {
		name string
		ctx  context.Context
		want fault.Kind
	}{{"store's", t.Context(), fault.Busy}, {"caller's", ended, fault.Transient}} {
		_, statErr := bad.ReadAttributes(tt.ctx, "t/k")
		_, getErr := bad.Get(tt.ctx, "t/k")
		for name, err := range map[string]error{"Stat": statErr, "Get": getErr, "Delete": bad.Delete(tt.ctx, "t/k")} {
			if got := fault.KindOf(err); got != tt.want || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s after the %s timeout: got %v (%s), want %s", name, tt.name, err, got, tt.want)
			}
		}
	}
}

// A check whose answer was lost leaves no blob behind, and one that cannot remove it leaves what the next one replaces.
func TestCheckReadWriteLeavesNothing(t *testing.T) {
	t.Parallel()
	s := open(t, "mem://")
	lost := true
	deletes := blobtest.FailFirst(2, blobtest.Delete, nil)
	bad := blobtest.NewFaultyStore(s, func(op blobtest.Op, key string) blobtest.Fault {
		if op == blobtest.Commit && lost {
			return blobtest.Fault{Err: context.DeadlineExceeded, Lost: true}
		}
		return deletes(op, key)
	})
	for range 2 { // neither of them can delete
		if err := bad.CheckReadWrite(t.Context()); err == nil {
			t.Error("CheckReadWrite: got no error, want that of the lost answer")
		}
		if got := keys(t, s); len(got) != 1 {
			t.Errorf("left: got %q, want one", got)
		}
	}
	if err := bad.CheckReadWrite(t.Context()); err == nil {
		t.Error("CheckReadWrite: got no error, want that of the lost answer")
	}
	wantNames(t, s)
	lost = false
	if err := bad.CheckReadWrite(t.Context()); err != nil {
		t.Errorf("CheckReadWrite: got %v, want no error", err)
	}
	wantNames(t, s)
}

func keys(t *testing.T, s *blob.Store) (got []string) {
	t.Helper()
	for entry, err := range s.ListBlobs(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, entry.Key)
	}
	return got
}
