package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/pdftest"
)

const uploads, uploadsAtOnce, uploadSize = 200, 20, 1_000_000

// measureUpload measures the answer to 1 MB uploads while every core recognises, and how much of that this machine
// takes whatever the server.
func measureUpload(ctx context.Context, b *benchmark) ([]row, error) {
	bare, err := measureBareUpload(ctx, b)
	if err != nil {
		return nil, err
	}
	latencies, err := uploadWhileBusy(ctx, b)
	if err != nil {
		return nil, err
	}
	how := fmt.Sprintf("%d uploads, %d at a time, full durability", uploads, uploadsAtOnce)
	return append([]row{{"upload of 1 MB while every core recognises, p99", formatTail(latencies), "≤ 50 ms", how}},
		bare...), nil
}

// uploadWhileBusy times uploads to a server that recognises on every core.
func uploadWhileBusy(ctx context.Context, b *benchmark) (latencies []float64, err error) {
	s, err := b.startServer(ctx, "upload")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.stopServer()) }()
	load := pdftest.ScannedFile(pdftest.ScanOptions{Pages: 16}).PDF
	busy, err := s.uploadDocument(ctx, bytes.NewReader(load), len(load), "")
	if err != nil {
		return nil, err
	}
	for range 3 {
		if _, err := s.uploadDocument(ctx, bytes.NewReader(load), len(load), ""); err != nil {
			return nil, err
		}
	}
	// Recognition is under way once the first page is through.
	if err := s.awaitPages(ctx, busy.ID); err != nil {
		return nil, err
	}
	return timeUploads(ctx, s)
}

// measureBareUpload times the same uploads to servers that do less than any server of documents must, on a machine
// that does nothing else: one receives and hashes, the other also stores and syncs. There is no broker, no record and
// no queue.
func measureBareUpload(ctx context.Context, b *benchmark) (rows []row, err error) {
	store, err := blob.Open(ctx, "file://"+filepath.Join(b.dir, "bare"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	hash := func(_ context.Context, body io.Reader) error {
		_, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, body, make([]byte, 256<<10))
		return err
	}
	keep := func(ctx context.Context, body io.Reader) error {
		_, err := store.Put(ctx, "bare/"+rand.Text()+"/source.pdf", body, blob.PutOptions{})
		return err
	}
	for _, bare := range []struct {
		what string
		take func(context.Context, io.Reader) error
	}{
		{"the same by a bare server that receives and hashes, p99", hash},
		{"the same by one that also stores and syncs, p99", keep},
	} {
		latencies, err := timeBareUploads(ctx, bare.take)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row{bare.what, formatTail(latencies), "", "what this machine takes for it; nothing else runs"})
	}
	return rows, nil
}

// timeBareUploads times uploads to a server that hashes what take reads.
func timeBareUploads(ctx context.Context, take func(context.Context, io.Reader) error) ([]float64, error) {
	bare := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hash := sha256.New()
		if err := take(r.Context(), io.TeeReader(fullReader{r.Body}, hash)); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.WriteHeader(http.StatusAccepted)
		fmt.Fprintf(w, `{"id": "%x"}`, hash.Sum(nil))
	}))
	defer bare.Close()
	return timeUploads(ctx, &server{http: bare.Listener.Addr().String()})
}

// fullReader fills what it is given, so that what it reads is hashed and written in large pieces.
type fullReader struct{ from io.Reader }

// Read implements io.Reader.
func (f fullReader) Read(p []byte) (int, error) {
	n, err := io.ReadFull(f.from, p)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF
	}
	return n, err
}

// timeUploads returns how long each upload took, in milliseconds, shortest first. The bodies differ in their ends
// alone, so that making them costs the cores that are measured next to nothing.
func timeUploads(ctx context.Context, s *server) ([]float64, error) {
	base := pdftest.BornDigital(1).PDF
	base = append(base, bytes.Repeat([]byte{' '}, uploadSize-len(base)-20)...)
	latencies := make([]float64, uploads)
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(uploadsAtOnce)
	for i := range uploads {
		g.Go(func() error {
			body := io.MultiReader(bytes.NewReader(base), strings.NewReader(fmt.Sprintf("\n%% %16d\n", i)))
			took, err := timeCall(func() error { _, err := s.uploadDocument(gctx, body, uploadSize, ""); return err })
			latencies[i] = float64(took.Microseconds()) / 1000
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	slices.Sort(latencies)
	return latencies, nil
}

// formatTail tells of sorted latencies in milliseconds what a row shows.
func formatTail(latencies []float64) string {
	return fmt.Sprintf("%.0f ms (p50 %.0f)", latencies[len(latencies)*99/100], latencies[len(latencies)/2])
}
