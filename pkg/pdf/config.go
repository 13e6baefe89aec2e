package pdf

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"inkstream.dev/pkg/sandbox"
)

// Config says how many children there are and what they may use.
type Config struct {
	// Workers is the number of children, and so of documents that are open at a time; New takes 0 for one a core.
	Workers int
	// MemoryLimit bounds a child's resident memory in bytes; PDFium itself gets three quarters of it.
	MemoryLimit int64
	// OpenTimeout bounds opening a document, and looking for findings; PageTimeout bounds one page.
	OpenTimeout, PageTimeout time.Duration
	// FirstTry bounds both in a first try, see sandbox.WithFirstTry: what takes longer is broken off, to be done
	// behind others.
	FirstTry time.Duration
	// FontDirs are searched for fonts that a document does not embed. Missing ones are ignored.
	FontDirs []string
	// RecycleAfter is the number of requests after which a child is replaced.
	RecycleAfter int
	// MaxRasterPixels bounds a page's raster; a larger page is drawn at a lower resolution and says so.
	MaxRasterPixels int
	// MaxPageObjects bounds how many objects of a page are looked at for images and rulings.
	MaxPageObjects int
	// MaxImageBytes bounds the files of a page's images; those beyond are not kept, and the page says so.
	MaxImageBytes int64
	// RequireWalls has no child start that is not walled in; ObserveWalls, if set, receives the walls that each has. Both
	// are as in sandbox.Config.
	RequireWalls bool
	ObserveWalls func(sandbox.IsolationReport)
	// Observe, if set, receives the events of children, for metrics. It is called from several goroutines and must not
	// block.
	Observe func(event sandbox.Event, reason sandbox.ExitReason)
}

// DefaultConfig returns the limits that are on by default.
func DefaultConfig() Config {
	return Config{
		Workers:         runtime.NumCPU(),
		MemoryLimit:     1 << 30,
		OpenTimeout:     time.Minute,
		PageTimeout:     2 * time.Minute,
		FirstTry:        3 * time.Second,
		FontDirs:        []string{"/usr/share/fonts", "/usr/local/share/fonts"},
		RecycleAfter:    5000,
		MaxRasterPixels: 100_000_000,
		MaxPageObjects:  50_000,
		MaxImageBytes:   64 << 20,
	}
}

// Validate reports every setting that cannot work.
func (c Config) Validate() error {
	var errs []error
	for _, s := range []struct {
		name        string
		value, want int64
	}{
		{"pdf.workers", int64(c.Workers), 0},
		{"pdf.memory-limit", c.MemoryLimit, 256 << 20},
		{"pdf.open-timeout", int64(c.OpenTimeout), int64(time.Millisecond)},
		{"pdf.page-timeout", int64(c.PageTimeout), int64(time.Millisecond)},
		{"pdf.first-try", int64(c.FirstTry), int64(time.Millisecond)},
		{"pdf.recycle-after", int64(c.RecycleAfter), 0},
		{"pdf.max-raster-pixels", int64(c.MaxRasterPixels), 1_000_000},
		{"pdf.max-page-objects", int64(c.MaxPageObjects), 1},
		{"pdf.max-image-bytes", c.MaxImageBytes, 0},
	} {
		if s.value < s.want {
			errs = append(errs, fmt.Errorf("%s: %d, want at least %d", s.name, s.value, s.want))
		}
	}
	return errors.Join(errs...)
}
