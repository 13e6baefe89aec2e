package search_test

import (
	"path/filepath"
	"testing"

	"inkstream.dev/pkg/search"
	"inkstream.dev/pkg/search/searchtest"
)

func TestSQLite(t *testing.T) {
	t.Parallel()
	searchtest.Run(t, func(t *testing.T) searchtest.Open {
		path := filepath.Join(t.TempDir(), "new", "index.db")
		t.Cleanup(func() { search.CheckIntegrity(t, path) }) // the suite closes its handles before this runs
		return func(t *testing.T) search.Store {
			s, err := search.Open(t.Context(), "sqlite://"+path)
			if err != nil {
				t.Errorf("Open: got %v, want no error", err)
			}
			return s
		}
	})
}
