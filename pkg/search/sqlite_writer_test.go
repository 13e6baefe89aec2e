package search

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"inkstream.dev/pkg/fault"
)

// blockWriter keeps the writer in a transaction until release is called, and returns once it is.
func blockWriter(t *testing.T, s *SQLite) (release func()) {
	t.Helper()
	inside, leave := make(chan struct{}), make(chan struct{})
	var once sync.Once
	var wg sync.WaitGroup
	wg.Go(func() {
		err := s.writer.submitChange(t.Context(), func(*transaction) error {
			once.Do(func() { close(inside) })
			<-leave
			return nil
		})
		if err != nil {
			t.Errorf("write that is held: got %v, want no error", err)
		}
	})
	<-inside
	return func() { close(leave); wg.Wait() }
}

// awaitQueued waits until so many changes wait for the writer.
func awaitQueued(s *SQLite, n int) {
	for {
		s.writer.mu.Lock()
		got := len(s.writer.queue)
		s.writer.mu.Unlock()
		if got == n {
			return
		}
		runtime.Gosched()
	}
}

// Of writes that share a transaction each fails alone.
func TestWritesFailAlone(t *testing.T) {
	t.Parallel()
	s := openAt(t, filepath.Join(t.TempDir(), "index.db"))
	broken := errors.New("broken")
	release := blockWriter(t, s)
	var wg sync.WaitGroup
	var runs [3]int
	for n := range 3 {
		wg.Go(func() {
			want := []error{nil, broken, nil}[n]
			err := s.writer.submitChange(t.Context(), func(tx *transaction) error {
				runs[n]++
				// Both the rows and the tenants' numbers of a transaction that is taken back go.
				id, err := createTenant(t.Context(), tx, []string{"a", "b", "c"}[n])
				if err != nil {
					return err
				}
				w := pageWriter{tx: tx, tenant: id}
				if err := w.loadStoredPages(t.Context(), "j", 1, 1); err != nil {
					return err
				}
				if err := w.putPage(t.Context(), readyPage{Page: Page{Job: "j", Run: 1, Number: 1, Text: "word"},
					terms: "word"}); err != nil {
					return err
				}
				return want
			})
			if !errors.Is(err, want) {
				t.Errorf("write %d: got %v, want %v", n, err, want)
			}
		})
		awaitQueued(s, n+1)
	}
	release()
	wg.Wait()
	for n, tenant := range []string{"a", "b", "c"} {
		result, err := s.Search(t.Context(), Query{Tenant: tenant, Text: "word"})
		if want := []int{1, 0, 1}[n]; err != nil || len(result.Hits) != want {
			t.Errorf("pages of write %d, which ran %d times: got %d and %v, want %d", n, runs[n], len(result.Hits), err, want)
		}
	}
	for _, tenant := range []string{"b", "a"} {
		page := Page{Tenant: tenant, Job: "k", Run: 1, Number: 1, Text: "later"}
		if err := s.PutPages(t.Context(), []Page{page}); err != nil {
			t.Errorf("PutPages afterwards: got %v, want no error", err)
		}
		if result, err := s.Search(t.Context(), Query{Tenant: tenant, Text: "later"}); err != nil || len(result.Hits) != 1 {
			t.Errorf("search afterwards: got %d hits and %v, want 1", len(result.Hits), err)
		}
	}
}

func TestWriteWithCancelledContext(t *testing.T) {
	t.Parallel()
	s := openAt(t, filepath.Join(t.TempDir(), "index.db"))
	release := blockWriter(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.PutPages(ctx, pagesOfChunk(0)) }()
	awaitQueued(s, 1)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("PutPages that was cancelled as it waited: got %v, want %v", err, context.Canceled)
	}
	awaitQueued(s, 0)
	release()
	wantHits(t, s, "chunk0", 0)
}

// A connection whose state is in doubt is not used any more.
func TestWriterReconnects(t *testing.T) {
	t.Parallel()
	s := openAt(t, filepath.Join(t.TempDir(), "index.db"))
	if err := s.PutPages(t.Context(), pagesOfChunk(0)); err != nil {
		t.Fatal(err)
	}
	execOnConn(t, s.writer.conn, `BEGIN`) // so that none can begin
	if err := s.PutPages(t.Context(), pagesOfChunk(1)); err == nil || fault.KindOf(err) == fault.Permanent {
		t.Errorf("PutPages in another's transaction: got %v, want an error after which it is tried again", err)
	}
	if err := s.PutPages(t.Context(), pagesOfChunk(1)); err != nil {
		t.Errorf("PutPages once more: got %v, want no error", err)
	}
	wantHits(t, s, "chunk0", chunkSize)
	wantHits(t, s, "chunk1", chunkSize)
}
