package rest_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"inkstream.dev/services/gateway/gatewaytest"
)

func TestConditionsAndRanges(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	text := strings.Repeat("0123456789", 300)
	rec := r.NewEndedJob(map[string]string{"text.txt": text, "document.json": `{"a":"` + text + `"}`,
		"searchable.pdf": "%PDF" + text})
	r.StorePageFor(rec)
	for _, path := range []string{"/artifacts/text.txt", "/artifacts/document.json", "/pages/1"} {
		path = "/v1/jobs/" + string(rec.ID) + path
		res, body := r.Get(t, path, map[string]string{"Accept-Encoding": "identity"}) // or net/http would ask for gzip
		tag := res.Header.Get("Etag")
		if res.StatusCode != http.StatusOK || tag == "" || res.Header.Get("Accept-Ranges") != "bytes" {
			t.Errorf("%s: got %d %v", path, res.StatusCode, res.Header)
		}
		for _, tc := range []struct {
			name string
			head map[string]string
			want int
			body string
		}{
			{"it has not changed", map[string]string{"If-None-Match": tag}, http.StatusNotModified, ""},
			{"nor has its compressed form", map[string]string{"If-None-Match": "W/" + tag}, http.StatusNotModified, ""},
			{"it has changed", map[string]string{"If-None-Match": `"x"`}, http.StatusOK, body},
			{"a part", map[string]string{"Range": "bytes=5-9"}, http.StatusPartialContent, body[5:10]},
			{"the end", map[string]string{"Range": "bytes=-3"}, http.StatusPartialContent, body[len(body)-3:]},
			{"no part", map[string]string{"Range": "bytes=999999-"}, http.StatusRequestedRangeNotSatisfiable, "*"},
			{"a part of the same", map[string]string{"Range": "bytes=5-9", "If-Range": tag}, http.StatusPartialContent,
				body[5:10]},
			{"a part of what it was", map[string]string{"Range": "bytes=5-9", "If-Range": `"x"`}, http.StatusOK, body},
		} {
			tc.head["Accept-Encoding"] = "identity"
			res, got := r.Get(t, path, tc.head)
			if res.StatusCode != tc.want || tc.body != "*" && got != tc.body {
				t.Errorf("%s, %s: got %d and %d bytes, want %d and %d", path, tc.name, res.StatusCode, len(got), tc.want,
					len(tc.body))
			}
		}
	}
}

// decode undoes a content coding.
func decode(body, encoding string) ([]byte, error) {
	if encoding == "zstd" {
		d, err := zstd.NewReader(strings.NewReader(body))
		if err != nil {
			return nil, err
		}
		defer d.Close()
		return io.ReadAll(d)
	}
	z, err := gzip.NewReader(strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

func TestCompression(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	text := strings.Repeat("0123456789", 1000)
	rec := r.NewEndedJob(map[string]string{"text.txt": text, "small.txt": "x", "searchable.pdf": "%PDF" + text})
	r.StorePageFor(rec)
	for _, tc := range []struct {
		path, accept, rang string
		encoding           string
		vary               string
	}{
		{"/artifacts/text.txt", "gzip", "", "gzip", "Accept-Encoding"},
		{"/artifacts/text.txt", "br, gzip;q=0.5", "", "gzip", "Accept-Encoding"},
		{"/artifacts/text.txt", "gzip;q=0", "", "", "Accept-Encoding"},
		{"/artifacts/text.txt", "br", "", "", "Accept-Encoding"},
		{"/artifacts/text.txt", "gzip", "bytes=0-9", "", "Accept-Encoding"},
		{"/artifacts/text.txt", "gzip, br, zstd", "", "zstd", "Accept-Encoding"}, // as it is stored
		{"/artifacts/text.txt", "gzip, zstd;q=0", "", "gzip", "Accept-Encoding"},
		{"/artifacts/text.txt", "*", "", "gzip", "Accept-Encoding"},
		{"/artifacts/text.txt", "zstd", "bytes=0-9", "", "Accept-Encoding"},
		{"/artifacts/small.txt", "zstd", "", "", "Accept-Encoding"},
		{"/artifacts/searchable.pdf", "zstd", "", "", ""},
		{"/pages/1", "zstd", "", "", "Accept-Encoding"},
		{"/artifacts/small.txt", "gzip", "", "", "Accept-Encoding"},
		{"/artifacts/searchable.pdf", "gzip", "", "", ""},
		{"/pages/1", "gzip", "", "gzip", "Accept-Encoding"},
		{"/pages/1", "identity", "", "", "Accept-Encoding"},
		{"/artifacts/text.txt", "identity", "bytes=9999999-", "", "Accept-Encoding"},
		{"/watch", "gzip", "", "", ""},
	} {
		head := map[string]string{"Accept-Encoding": tc.accept}
		if tc.rang != "" {
			head["Range"] = tc.rang
		}
		path := "/v1/jobs/" + string(rec.ID) + tc.path
		res, body := r.Get(t, path, head)
		if got := res.Header.Get("Content-Encoding"); got != tc.encoding {
			t.Errorf("%s with %v: got coding %q, want %q", path, head, got, tc.encoding)
		}
		if got := strings.Join(res.Header.Values("Vary"), ", "); got != tc.vary {
			t.Errorf("%s with %v: Vary %q, want %q", path, head, got, tc.vary)
		}
		head["If-None-Match"] = res.Header.Get("Etag")
		if again, _ := r.Get(t, path, head); tc.vary != "" && again.Header.Get("Vary") != tc.vary {
			t.Errorf("%s with %v: got %d with Vary %q, want %q", path, head, again.StatusCode, again.Header.Get("Vary"), tc.vary)
		}
		if tc.encoding == "" {
			continue
		}
		plain, err := decode(body, tc.encoding)
		_, want := r.Get(t, path, map[string]string{"Accept-Encoding": "identity"})
		if err != nil || string(plain) != want || len(body) >= len(plain) ||
			!strings.HasPrefix(res.Header.Get("Etag"), "W/") || res.Header.Get("Accept-Ranges") != "" {
			t.Errorf("%s: got %d bytes of %d, %v, %v", path, len(body), len(plain), res.Header, err)
		}
	}
}
