package results_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"inkstream.dev/pkg/document"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/outcome"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/gatewaytest"
)

// newIndexedJob makes an ended job of so many pages, the second of which was not asked for, with an index in place of
// document.json, and returns what document.json is.
func newIndexedJob(t *testing.T, r *gatewaytest.Gateway, pages int) (rec *job.Record, want string) {
	t.Helper()
	var all []*inkstreamv1.Page
	for n := 1; n <= pages; n++ {
		p := outcome.NewSkippedPage(n, "")
		if n != 2 {
			p = &inkstreamv1.Page{Number: int32(n), Width: 595, Outcome: outcome.Native, Text: strings.Repeat(fmt.Sprint(n, " words "), 50*n)}
		}
		all = append(all, p)
	}
	return storeIndexedJob(t, r, all)
}

// storeIndexedJob makes an ended job of pages, of which those that were not skipped are stored.
func storeIndexedJob(t *testing.T, r *gatewaytest.Gateway, pages []*inkstreamv1.Page) (rec *job.Record, want string) {
	t.Helper()
	rec = r.NewEndedJob(map[string]string{"text.txt": "text"})
	r.Update(rec, func(rec *job.Record) error {
		rec.PageCount, rec.Artifacts = len(pages), 2
		return nil
	})
	r.PutBlob(job.PlanKey(rec.Tenant, rec.ID, rec.Run), string(document.NewPlan(nil, nil).EncodePages(len(pages))))
	head := document.Head{Version: "inkstream.v1", Job: string(rec.ID), PageCount: len(pages)}
	var b strings.Builder
	whole, err := document.NewJSONWriter(&b, head)
	if err != nil {
		t.Fatal(err)
	}
	index, err := document.NewJSONIndexWriter(head)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range pages {
		if p.GetOutcome() != outcome.Skipped {
			data, err := document.EncodeCompactPage(p)
			if err != nil {
				t.Fatal(err)
			}
			r.PutBlob(job.PageKey(rec.Tenant, rec.ID, rec.Run, i+1), string(data))
		}
		if err := errors.Join(whole.WritePage(p), index.WritePage(p)); err != nil {
			t.Fatal(err)
		}
	}
	if err := whole.Close(); err != nil {
		t.Fatal(err)
	}
	r.PutBlob(job.JSONIndexKey(rec.Tenant, rec.ID, rec.Run), string(index.Encode()))
	return rec, b.String()
}

// Of a document.json whose index alone is stored, clients see no difference: it is listed with its size, comes whole, in
// parts, in an archive, and not again to those who have it.
func TestJSONIsMadeOfStoredPages(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	rec, want := newIndexedJob(t, r, 40)
	gatewaytest.EachAPI(t, r, func(t *testing.T, a gatewaytest.API) {
		list, err := a.Artifacts(t.Context(), string(rec.ID))
		gatewaytest.CheckError(t, err, "")
		if len(list) != 2 || list[0].GetName() != "document.json" || int(list[0].GetSizeBytes()) != len(want) ||
			list[0].GetContentType() != "application/json" || list[0].GetCreateTime() == nil {
			t.Errorf("got artifacts %v, want document.json of %d bytes and text.txt", list, len(want))
		}
		data, contentType, err := a.Download(t.Context(), string(rec.ID), "document.json")
		gatewaytest.CheckError(t, err, "")
		if string(data) != want || contentType != "application/json" {
			t.Errorf("got %d bytes of type %q, want %d", len(data), contentType, len(want))
		}
	})
	path := "/v1/jobs/" + string(rec.ID) + "/artifacts/document.json"
	res, body := r.Do(t, http.MethodGet, path, map[string]string{"Range": "bytes=-20"})
	if res.StatusCode != http.StatusPartialContent || body != want[len(want)-20:] {
		t.Errorf("the last 20 bytes: %d, %q", res.StatusCode, body)
	}
	for _, at := range []int{0, 1, 4000, len(want) / 2, len(want) - 5000} {
		res, body = r.Do(t, http.MethodGet, path, map[string]string{"Range": fmt.Sprintf("bytes=%d-%d", at, at+4999)})
		if res.StatusCode != http.StatusPartialContent || body != want[at:at+5000] {
			t.Errorf("5000 bytes from %d on: %d, %d bytes", at, res.StatusCode, len(body))
		}
	}
	tag := res.Header.Get("Etag")
	if res, body = r.Do(t, http.MethodGet, path, map[string]string{"If-None-Match": tag}); res.StatusCode != http.StatusNotModified || tag == "" {
		t.Errorf("with the tag %s: %d, %d bytes", tag, res.StatusCode, len(body))
	}
	if res, _ = r.Do(t, http.MethodHead, path, nil); res.ContentLength != int64(len(want)) {
		t.Errorf("HEAD says %d bytes, want %d", res.ContentLength, len(want))
	}
	_, body = r.Do(t, http.MethodGet, "/v1/jobs/"+string(rec.ID)+"/artifacts.zip", nil)
	archive, err := zip.NewReader(strings.NewReader(body), int64(len(body)))
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	f, err := archive.Open("document.json")
	if err == nil {
		_, err = io.Copy(&got, f)
	}
	if err != nil || got.String() != want {
		t.Errorf("in the archive: %d bytes, %v, want %d", got.Len(), err, len(want))
	}
}

// A stored page that is gone does not pass for one that was not asked for: the answer is cut.
func TestJSONOfLostPagesIsCut(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	rec, want := newIndexedJob(t, r, 40)
	if err := r.Deps.Blobs.Delete(t.Context(), job.PageKey(rec.Tenant, rec.ID, rec.Run, 30)); err != nil {
		t.Fatal(err)
	}
	for _, encoding := range []string{"identity", "gzip"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.BaseURL+"/v1/jobs/"+string(rec.ID)+"/artifacts/document.json", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept-Encoding", encoding)
		res, err := r.Web.Transport.RoundTrip(req)
		if err != nil {
			continue // nothing was sent before
		}
		defer res.Body.Close()
		data, err := io.ReadAll(res.Body)
		if err == nil || res.StatusCode != http.StatusOK || encoding == "identity" && !strings.HasPrefix(want, string(data)) {
			t.Errorf("%s: got status %d and %d of %d bytes, %v; want a part of it, and an error", encoding, res.StatusCode, len(data),
				len(want), err)
		}
	}
}
