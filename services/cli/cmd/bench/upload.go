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

// measureUpload measures the answer to 1 MB uploads, alone and while every core recognises, against a bare server in the
// same conditions.
func measureUpload(ctx context.Context, b *benchmark) (rows []row, err error) {
	store, err := blob.Open(ctx, "file://"+filepath.Join(b.dir, "bare"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	s, err := b.startServer(ctx, "upload")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.stopServer()) }()
	hashing, err := timeBareUploads(ctx, hashUpload)
	if err != nil {
		return nil, err
	}
	how := fmt.Sprintf("%d uploads, %d at a time, full durability", largeUploads.uploads, largeUploads.atOnce)
	for _, when := range []struct {
		what string
		busy bool
	}{{", nothing else running", false}, {" while every core recognises", true}} {
		if when.busy {
			if err := s.occupyCores(ctx); err != nil {
				return nil, err
			}
		}
		bare, err := timeBareUploads(ctx, keepUploadsIn(store))
		if err != nil {
			return nil, err
		}
		ours, err := timeUploads(ctx, s, largeUploads)
		if err != nil {
			return nil, err
		}
		rows = append(rows,
			row{"upload of 1 MB" + when.what + ", p99", formatTail(ours), "≤ 50 ms", how},
			row{"against a bare server that receives, hashes, stores and syncs, p99",
				fmt.Sprintf("%.2f × (%s)", tailOf(ours)/tailOf(bare), formatTail(bare)), "≤ 1.1 ×", "just before, in the same conditions"})
	}
	return append(rows, row{"the same by a bare server that receives and hashes, p99", formatTail(hashing), "",
		"what this machine takes for it; nothing else runs"}), nil
}

// timeUploadsWhileBusy times uploads while every core recognises.
func (s *server) timeUploadsWhileBusy(ctx context.Context, load uploadLoad) ([]float64, error) {
	if err := s.occupyCores(ctx); err != nil {
		return nil, err
	}
	return timeUploads(ctx, s, load)
}

// occupyCores gives the server scans to recognise for longer than uploads are timed.
func (s *server) occupyCores(ctx context.Context) error {
	scan := pdftest.ScannedFile(pdftest.ScanOptions{Pages: 16}).PDF
	busy, err := s.uploadDocument(ctx, bytes.NewReader(scan), len(scan), "")
	if err != nil {
		return err
	}
	for range 3 {
		if _, err := s.uploadDocument(ctx, bytes.NewReader(scan), len(scan), ""); err != nil {
			return err
		}
	}
	return s.awaitPages(ctx, busy.ID) // recognition is under way once the first page is through
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

// hashUpload and keepUploadsIn are what bare servers do, which is less than any server of documents must: there is no
// broker, no record and no queue.
func hashUpload(_ context.Context, body io.Reader) error {
	_, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, body, make([]byte, 256<<10))
	return err
}

func keepUploadsIn(store *blob.Store) func(context.Context, io.Reader) error {
	return func(ctx context.Context, body io.Reader) error {
		_, err := store.Put(ctx, "bare/"+rand.Text()+"/source.pdf", body, blob.PutOptions{})
		return err
	}
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
	base := padDocument(pdftest.BornDigital(1).PDF, load.size-20)
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

// padDocument makes a document of size bytes by white space before its table of objects, which is found as before: a
// file that goes on for long behind its end is a damaged one to readers of PDF, and they repair it.
func padDocument(pdf []byte, size int) []byte {
	table, end := bytes.LastIndex(pdf, []byte("\nxref\n"))+1, bytes.LastIndex(pdf, []byte("startxref\n"))
	last := fmt.Sprintf("startxref\n%09d\n%%%%EOF\n", table)
	room := bytes.Repeat([]byte{' '}, size-end-len(last))
	last = fmt.Sprintf("startxref\n%09d\n%%%%EOF\n", table+len(room))
	return slices.Concat(pdf[:table], room, pdf[table:end], []byte(last))
}

// formatTail tells of sorted latencies in milliseconds what a row shows.
func formatTail(latencies []float64) string {
	return fmt.Sprintf("%.0f ms (p50 %.0f)", tailOf(latencies), middleOf(latencies))
}

func tailOf(latencies []float64) float64   { return latencies[len(latencies)*99/100] }
func middleOf(latencies []float64) float64 { return latencies[len(latencies)/2] }
