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

// uploadLoad is uploads that are timed.
type uploadLoad struct{ uploads, atOnce, size int }

// largeUploads are those of files of 1 MB, smallUploads those of a page.
var (
	largeUploads = uploadLoad{uploads: 200, atOnce: 20, size: 1_000_000}
	smallUploads = uploadLoad{uploads: 200, atOnce: 8, size: 3500}
)

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
	storing := bare[len(bare)-1]
	rows := []row{
		{"upload of 1 MB while every core recognises, p99", formatTail(latencies), "≤ 50 ms",
			fmt.Sprintf("%d uploads, %d at a time, full durability", largeUploads.uploads, largeUploads.atOnce)},
		{"against a bare server that receives, hashes, stores and syncs, p99",
			fmt.Sprintf("%.2f ×", tailOf(latencies)/tailOf(storing.latencies)), "≤ 1.1 ×", "the rows above and below"},
	}
	for _, m := range bare {
		rows = append(rows, row{m.what, formatTail(m.latencies), "", "what this machine takes for it; nothing else runs"})
	}
	return rows, nil
}

// uploadWhileBusy times uploads to a server that recognises on every core.
func uploadWhileBusy(ctx context.Context, b *benchmark) (latencies []float64, err error) {
	s, err := b.startServer(ctx, "upload")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.stopServer()) }()
	return s.timeUploadsWhileBusy(ctx, largeUploads)
}

// timeUploadsWhileBusy gives the server scans to recognise for longer than the uploads take, and times those.
func (s *server) timeUploadsWhileBusy(ctx context.Context, load uploadLoad) ([]float64, error) {
	scan := pdftest.ScannedFile(pdftest.ScanOptions{Pages: 16}).PDF
	busy, err := s.uploadDocument(ctx, bytes.NewReader(scan), len(scan), "")
	if err != nil {
		return nil, err
	}
	for range 3 {
		if _, err := s.uploadDocument(ctx, bytes.NewReader(scan), len(scan), ""); err != nil {
			return nil, err
		}
	}
	// Recognition is under way once the first page is through.
	if err := s.awaitPages(ctx, busy.ID); err != nil {
		return nil, err
	}
	return timeUploads(ctx, s, load)
}

// measureAnswers compares the answers to small uploads with those of the Celery design, while every core recognises,
// in turns. What Inkstream answers is synced, what the peer answers is not.
func measureAnswers(ctx context.Context, b *benchmark) ([]row, error) {
	var ours, theirs [2][]float64 // p50 and p99 of each turn
	for n := range b.rounds {
		mine, peers, err := b.timeAnswers(ctx, n)
		if err != nil {
			return nil, err
		}
		for i, of := range []func([]float64) float64{middleOf, tailOf} {
			ours[i], theirs[i] = append(ours[i], of(mine)), append(theirs[i], of(peers))
		}
	}
	how := fmt.Sprintf("%d uploads of a page, %d at a time; ours are synced, theirs are not", smallUploads.uploads,
		smallUploads.atOnce)
	var rows []row
	for i, of := range []struct{ what, target string }{{"p50", "≤ 0.75 ×"}, {"p99", "≤ 1 ×"}} {
		mine, peers := medianOf(ours[i]), medianOf(theirs[i])
		rows = append(rows, row{
			"answers to small uploads while every core recognises, against FastAPI and Celery, " + of.what,
			fmt.Sprintf("%.2f × (%.0f ms, %.0f)", mine/peers, mine, peers), of.target, how,
		})
	}
	return rows, nil
}

// timeAnswers times small uploads to a server of its own, and then to the peer.
func (b *benchmark) timeAnswers(ctx context.Context, turn int) (ours, theirs []float64, err error) {
	s, err := b.startServer(ctx, fmt.Sprint("answers-", turn))
	if err != nil {
		return nil, nil, err
	}
	ours, err = s.timeUploadsWhileBusy(ctx, smallUploads)
	if err := errors.Join(err, s.stopServer()); err != nil {
		return nil, nil, err
	}
	peer, err := b.startCelery(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer peer.stopProcesses()
	theirs, err = peer.timeUploadsWhileBusy(ctx, smallUploads)
	return ours, theirs, err
}

// bareUploads are the latencies of uploads to a bare server.
type bareUploads struct {
	what      string
	latencies []float64
}

// measureBareUpload times the same uploads to servers that do less than any server of documents must, on a machine
// that does nothing else: one receives and hashes, the other also stores and syncs. There is no broker, no record and
// no queue.
func measureBareUpload(ctx context.Context, b *benchmark) (all []bareUploads, err error) {
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
		all = append(all, bareUploads{bare.what, latencies})
	}
	return all, nil
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
	return timeUploads(ctx, &server{http: bare.Listener.Addr().String()}, largeUploads)
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
func timeUploads(ctx context.Context, s *server, load uploadLoad) ([]float64, error) {
	base := pdftest.BornDigital(1).PDF
	base = append(base, bytes.Repeat([]byte{' '}, load.size-len(base)-20)...)
	latencies := make([]float64, load.uploads)
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(load.atOnce)
	for i := range load.uploads {
		g.Go(func() error {
			body := io.MultiReader(bytes.NewReader(base), strings.NewReader(fmt.Sprintf("\n%% %16d\n", i)))
			took, err := timeCall(func() error { _, err := s.uploadDocument(gctx, body, load.size, ""); return err })
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
	return fmt.Sprintf("%.0f ms (p50 %.0f)", tailOf(latencies), middleOf(latencies))
}

func tailOf(latencies []float64) float64   { return latencies[len(latencies)*99/100] }
func middleOf(latencies []float64) float64 { return latencies[len(latencies)/2] }
