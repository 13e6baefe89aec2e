package clamd_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/services/scan/clamd"
	"inkstream.dev/services/scan/clamd/clamdtest"
)

func client(t *testing.T, address string) *clamd.Client {
	t.Helper()
	c, err := clamd.New(address)
	if err != nil {
		t.Fatalf("New(%q): %v", address, err)
	}
	return c
}

// document returns a PDF with the attachment as it is.
func document(attachment []byte) []byte {
	return pdftest.PDFFromObjects(
		"<< /Type /Catalog /Pages 2 0 R /Names << /EmbeddedFiles << /Names [(a) 4 0 R] >> >> >>",
		"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] >>",
		"<< /Type /Filespec /F (a.txt) /EF << /F 5 0 R >> >>",
		fmt.Sprintf("<< /Type /EmbeddedFile /Length %d >>\nstream\n%s\nendstream", len(attachment), attachment),
	)
}

func TestRealDaemon(t *testing.T) {
	t.Parallel()
	server := clamdtest.Start(t)
	infected := clamd.Verdict{Infected: true, Signature: clamdtest.Signature}
	for name, address := range map[string]string{"unix": server.Unix, "tcp": server.TCP,
		"tcp with scheme": "tcp://" + server.TCP} {
		c := client(t, address)
		for _, tt := range []struct {
			name  string
			bytes []byte
			want  clamd.Verdict
		}{
			{"no bytes", nil, clamd.Verdict{}},
			{"clean text", []byte("a harmless line\n"), clamd.Verdict{}},
			{"clean PDF of several chunks", document(bytes.Repeat([]byte("harmless "), 100_000)), clamd.Verdict{}},
			{"the test string", clamdtest.EICAR(), infected},
			{"PDF with the test string attached", document(clamdtest.EICAR()), infected},
		} {
			t.Run(name+"/"+tt.name, func(t *testing.T) {
				t.Parallel()
				got, err := c.ScanDocument(t.Context(), bytes.NewReader(tt.bytes))
				if err != nil || got != tt.want {
					t.Errorf("ScanDocument: got %+v, %v, want %+v", got, err, tt.want)
				}
			})
		}
		version, err := c.Version(t.Context())
		if err != nil || !strings.HasPrefix(version, "ClamAV ") {
			t.Errorf("Version over %s: got %q, %v, want ClamAV and a number", name, version, err)
		}
	}
}

func TestRealDaemonRefusesLargeDocument(t *testing.T) {
	t.Parallel()
	server := clamdtest.Start(t, "StreamMaxLength 1M")
	for _, address := range []string{server.Unix, server.TCP} {
		// Just over the limit, and so far over it that the daemon hangs up long before the end.
		for _, size := range []int64{1<<20 + 1, 64 << 20} {
			_, err := client(t, address).ScanDocument(t.Context(), io.LimitReader(zeros{}, size))
			if !errors.Is(err, clamd.ErrTooLarge) {
				t.Errorf("ScanDocument of %d bytes over %s: got %v, want ErrTooLarge", size, address, err)
			}
			if kind, code := fault.KindOf(err), fault.CodeOf(err); kind != fault.Permanent || code != fault.TooLarge {
				t.Errorf("ScanDocument of %d bytes over %s: got %v %s, want %v %s", size, address, kind, code, fault.Permanent,
					fault.TooLarge)
			}
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestRealDaemonGoesAway(t *testing.T) {
	t.Parallel()
	server := clamdtest.Start(t)
	server.Stop()
	for _, address := range []string{server.Unix, server.TCP} {
		c := client(t, address)
		_, err := c.ScanDocument(t.Context(), strings.NewReader("a line"))
		wantBusy(t, "Scan over "+address, err)
		wantBusy(t, "Ping over "+address, c.Ping(t.Context()))
	}
}

func wantBusy(t *testing.T, what string, err error) {
	t.Helper()
	if err == nil || fault.KindOf(err) != fault.Busy || fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("%s: got %v (%v, %s), want a fault of kind busy, UNAVAILABLE", what, err, fault.KindOf(err),
			fault.CodeOf(err))
	}
}

func TestOddAnswersNeverPass(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, answer string
	}{
		{"no answer", ""},
		{"answer cut short", "stream: O"},
		{"answer without its end", "stream: OK"},
		{"an error", "stream: Can't allocate memory ERROR\x00"},
		{"a timeout", "COMMAND READ TIMED OUT\x00"},
		{"OK to something else", "OK\x00"},
		{"nonsense", "HTTP/1.1 200 OK\r\n\r\n\x00"},
		{"endless", strings.Repeat("x", 1<<20)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			address := answering(t, tt.answer)
			got, err := client(t, address).ScanDocument(t.Context(), strings.NewReader("a line"))
			wantBusy(t, "Scan", err)
			if got != (clamd.Verdict{}) {
				t.Errorf("ScanDocument: got %+v, want no verdict", got)
			}
		})
	}
}

// answering is a daemon that takes whatever is sent, gives one answer, and hangs up.
func answering(t *testing.T, answer string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		// The document is shorter than this, so it has come as a whole once its last, empty chunk is there.
		var got []byte
		buf := make([]byte, 1024)
		for !bytes.HasSuffix(got, []byte("\x00\x00\x00\x00")) {
			n, err := conn.Read(buf)
			if err != nil {
				return
			}
			got = append(got, buf[:n]...)
		}
		_, _ = io.WriteString(conn, answer)
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-served
	})
	return l.Addr().String()
}

func TestCancelledScan(t *testing.T) {
	t.Parallel()
	server := clamdtest.Start(t)
	ctx, cancel := context.WithCancel(t.Context())
	pr, pw := io.Pipe()
	go func() {
		_, _ = pw.Write([]byte("the beginning of a document"))
		cancel()
		_ = pw.Close()
	}()
	_, err := client(t, server.Unix).ScanDocument(ctx, pr)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("ScanDocument: got %v, want context.Canceled", err)
	}
	expired, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	_, err = client(t, server.TCP).ScanDocument(expired, strings.NewReader("a line"))
	wantBusy(t, "Scan past its deadline", err)
}

func TestUnreadableDocument(t *testing.T) {
	t.Parallel()
	server := clamdtest.Start(t)
	broken := errors.New("blob is gone")
	_, err := client(t, server.Unix).ScanDocument(t.Context(),
		io.MultiReader(strings.NewReader("a line"), iotest.ErrReader(broken)))
	if !errors.Is(err, broken) || fault.KindOf(err) == fault.Busy {
		t.Errorf("ScanDocument: got %v (%v), want the reader's own error", err, fault.KindOf(err))
	}
}

func TestAddress(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		address string
		ok      bool
	}{
		{"localhost:3310", true},
		{"tcp://clamd:3310", true},
		{"[::1]:3310", true},
		{"unix:///run/clamav/clamd.ctl", true},
		{"", false},
		{"localhost", false},
		{":3310", false},
		{"unix://run/clamd.ctl", false},
		{"unix:///", false},
		{"http://clamd:3310", false},
	} {
		if _, err := clamd.New(tt.address); (err == nil) != tt.ok {
			t.Errorf("New(%q): got error %v, want ok %v", tt.address, err, tt.ok)
		}
	}
}
