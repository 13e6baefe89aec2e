package results

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"inkstream.dev/pkg/job"
	"inkstream.dev/services/gateway/jobview"
	"inkstream.dev/services/gateway/rest"
)

const (
	// maxCachedImageBytes bounds the drawn pages that are kept, and maxCachedImage one of them: thumbnails and pages as
	// they are looked at, not rasters for print.
	maxCachedImageBytes, maxCachedImage = 48 << 20, 4 << 20
	// maxCachedImages is beyond what fits.
	maxCachedImages = 1 << 16
	// imageMaxAge is how long a browser shows an image without asking again. Past it a question costs no drawing.
	imageMaxAge = "private, max-age=300"
)

// imageKey names a drawn page. It holds all that the image depends on: the source of a job does not change.
type imageKey struct {
	tenant, sha256, format string
	page, dpi              int
}

func newImageKey(rec *job.Record, page, dpi int, format string) imageKey {
	if format == "" {
		format = pngFormat
	}
	return imageKey{rec.Tenant, rec.SHA256, format, page, dpi}
}

// entityTag is known before the page is drawn.
func (k imageKey) entityTag() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d/%d/%s", k.sha256, k.page, k.dpi, k.format))
	return `"` + hex.EncodeToString(sum[:12]) + `"`
}

// imageCache keeps the pages that were drawn last, up to so many bytes. It is safe for concurrent use.
type imageCache struct {
	mu    sync.Mutex // guards what follows
	known *lru.Cache[imageKey, []byte]
	bytes int
}

func newImageCache() *imageCache {
	c := &imageCache{}
	// The only error is a size of less than one.
	c.known, _ = lru.NewWithEvict(maxCachedImages, func(_ imageKey, data []byte) { c.bytes -= len(data) })
	return c
}

func (c *imageCache) get(key imageKey) ([]byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known.Get(key)
}

func (c *imageCache) add(key imageKey, data []byte) {
	if key.sha256 == "" || len(data) > maxCachedImage {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known.Remove(key)
	c.known.Add(key, data)
	for c.bytes += len(data); c.bytes > maxCachedImageBytes; {
		c.known.RemoveOldest()
	}
}

// ServePageImage answers who has a page's image already without drawing it, and gives what next draws its entity tag.
func (s *Service) ServePageImage(next, unversioned http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		key, ok := s.requestedImage(r)
		if !ok {
			unversioned.ServeHTTP(w, r) // it has boxes, or is no valid request
			return
		}
		tag := key.entityTag()
		if rest.MatchesEntityTag(r.Header.Values("If-None-Match"), tag) {
			w.Header().Set("Etag", tag)
			w.Header().Set("Cache-Control", imageMaxAge)
			w.WriteHeader(http.StatusNotModified)
			return
		}
		rest.WithEntityTag(next, tag, imageMaxAge).ServeHTTP(w, r)
	}
}

// requestedImage returns the image that a request is for, where the request alone tells.
func (s *Service) requestedImage(r *http.Request) (imageKey, bool) {
	query := r.URL.Query()
	for name := range query {
		if name != "dpi" && name != "format" || len(query[name]) != 1 {
			return imageKey{}, false
		}
	}
	page, err := strconv.Atoi(r.PathValue("number"))
	if err != nil {
		return imageKey{}, false
	}
	dpi := defaultDPI
	if query.Has("dpi") {
		if dpi, err = strconv.Atoi(query.Get("dpi")); err != nil {
			return imageKey{}, false
		}
		if dpi == 0 {
			dpi = defaultDPI
		}
	}
	format := query.Get("format")
	if format != "" && format != pngFormat && format != jpegFormat {
		return imageKey{}, false
	}
	rec, err := jobview.ReadWithRecord(r.Context(), s.jobs, r.PathValue("id"),
		func(rec *job.Record) (*job.Record, error) { return rec, nil })
	if err != nil || rec.SHA256 == "" || checkPageNumber(rec, page) != nil {
		return imageKey{}, false // the call says what is wrong
	}
	return newImageKey(rec, page, dpi, format), true
}
