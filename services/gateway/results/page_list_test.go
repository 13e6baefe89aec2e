package results_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/api/httpbody"

	"inkstream.dev/pkg/document"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/outcome"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/gatewaytest"
)

// A list of pages tells of each page what became of it, and of one that is not through only its number.
func TestListPages(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	rec := r.NewJob(gatewaytest.SetRunning)
	r.ProgressOf(rec)
	r.StorePageFor(rec)
	low, high := float32(0.4), float32(0.95)
	data, err := document.EncodePage(&inkstreamv1.Page{Number: 3, Width: 300, Height: 400, Outcome: outcome.OCR, Label: "iii",
		Confidence: 0.7, Quality: 0.6, Language: "eng", Text: "weak strong",
		Doubts: []*inkstreamv1.Doubt{{Kind: "number", Text: "weak", Witness: "week"}, {Kind: "dropped", Witness: "words"}},
		Blocks: []*inkstreamv1.Block{{Type: "paragraph", Bbox: []float32{0, 0, 9, 9}, Lines: []*inkstreamv1.Line{{
			Bbox: []float32{0, 0, 9, 9}, Words: []*inkstreamv1.Word{
				{Text: "weak", Bbox: []float32{0, 0, 4, 9}, Confidence: &low},
				{Text: "strong", Bbox: []float32{5, 0, 9, 9}, Confidence: &high}}}}}}}, &document.Evidence{})
	if err != nil {
		t.Fatal(err)
	}
	r.PutBlob(job.PageKey(rec.Tenant, rec.ID, rec.Run, 3), string(data))
	gatewaytest.EachCaller(t, r, func(t *testing.T, call gatewaytest.Caller) {
		var got []string
		for token := ""; ; {
			resp := &inkstreamv1.ListPagesResponse{}
			err := call(t.Context(), "", "ListPages",
				&inkstreamv1.ListPagesRequest{Id: string(rec.ID), PageSize: 2, PageToken: token}, resp)
			gatewaytest.CheckError(t, err, "")
			for _, p := range resp.GetPages() {
				got = append(got, fmt.Sprint(p.GetNumber(), p.GetOutcome(), p.GetCode(), p.GetWidth(), p.GetLabel(), p.GetWords(),
					p.GetWeakWords(), p.GetDoubts()))
			}
			if token = resp.GetNextPageToken(); token == "" {
				break
			}
		}
		want := "1 native_text  100  2 0 0|2 failed PAGE_TIMEOUT 0  0 0 0|3 ocr  300 iii 2 1 2|4   0  0 0 0|5   0  0 0 0"
		if strings.ReplaceAll(strings.Join(got, "|"), " ", "") != strings.ReplaceAll(want, " ", "") {
			t.Errorf("got %q, want %q", strings.Join(got, "|"), want)
		}
		beyond := &inkstreamv1.ListPagesResponse{}
		err := call(t.Context(), "", "ListPages", &inkstreamv1.ListPagesRequest{Id: string(rec.ID), PageToken: "5"}, beyond)
		gatewaytest.CheckError(t, err, "")
		if len(beyond.GetPages()) > 0 || beyond.GetNextPageToken() != "" {
			t.Errorf("behind the end: got %v, want nothing", beyond)
		}
		err = call(t.Context(), "", "ListPages", &inkstreamv1.ListPagesRequest{Id: string(gatewaytest.UnknownJob)}, beyond)
		gatewaytest.CheckError(t, err, fault.JobNotFound)
	})
}

// Who has a page's image is told so without a page being drawn; the tag does not hang on the drawing. A page that was
// drawn a moment ago is not drawn again.
func TestPageImageIsKnownBeforeItIsDrawn(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	drawn := r.CountPageImages()
	rec := r.NewEndedJob(nil)
	address := "/v1/jobs/" + string(rec.ID) + "/pages/1/image"
	first, body := r.Get(t, address+"?dpi=36&format=jpeg", nil)
	tag := first.Header.Get("Etag")
	if first.StatusCode != http.StatusOK || tag == "" || first.Header.Get("Content-Type") != "image/jpeg" ||
		!strings.HasPrefix(body, "\xff\xd8") || !strings.Contains(first.Header.Get("Cache-Control"), "max-age") {
		t.Fatalf("got %d %v, want a JPEG with a tag", first.StatusCode, first.Header)
	}
	if again, same := r.Get(t, address+"?dpi=36&format=jpeg", nil); same != body || again.Header.Get("Etag") != tag {
		t.Errorf("again: got another image, or the tag %q instead of %q", again.Header.Get("Etag"), tag)
	}
	for _, tt := range []struct {
		query, given string
		want         int
		drawings     int64
	}{
		{"?dpi=36&format=jpeg", tag, http.StatusNotModified, 1},
		{"?format=jpeg&dpi=36", `"other", W/` + tag, http.StatusNotModified, 1},
		{"?dpi=36", tag, http.StatusOK, 2},
		{"?dpi=40&format=jpeg", tag, http.StatusOK, 3},
		{"?dpi=36&format=gif", tag, http.StatusBadRequest, 3},
	} {
		res, _ := r.Get(t, address+tt.query, map[string]string{"If-None-Match": tt.given})
		if res.StatusCode != tt.want || drawn.Load() != tt.drawings {
			t.Errorf("%s with %s: got %d and %d drawings, want %d and %d", tt.query, tt.given, res.StatusCode, drawn.Load(), tt.want,
				tt.drawings)
		}
	}
	// One whose job is gone is no longer there for those who have it either.
	if res, _ := r.Do(t, http.MethodDelete, "/v1/jobs/"+string(rec.ID), nil); res.StatusCode != http.StatusOK {
		t.Fatalf("delete: got %d", res.StatusCode)
	}
	if res, _ := r.Get(t, address+"?dpi=36&format=jpeg", map[string]string{"If-None-Match": tag}); res.StatusCode != http.StatusGone {
		t.Errorf("of a deleted job: got %d, want 410", res.StatusCode)
	}
	other := r.NewEndedJob(nil)
	gatewaytest.EachCaller(t, r, func(t *testing.T, call gatewaytest.Caller) {
		file := &httpbody.HttpBody{}
		err := call(t.Context(), "", "GetPageImage", &inkstreamv1.GetPageImageRequest{Id: string(other.ID), Number: 1, Dpi: 20,
			Format: "jpeg"}, file)
		gatewaytest.CheckError(t, err, "")
		if file.GetContentType() != "image/jpeg" || !strings.HasPrefix(string(file.GetData()), "\xff\xd8") {
			t.Errorf("got %s, want a JPEG", file.GetContentType())
		}
	})
}
