package search_test

import (
	"net/http"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	"inkstream.dev/pkg/job"
	index "inkstream.dev/pkg/search"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/gatewaytest"
	"inkstream.dev/services/gateway/rest"
)

// TestHitsBeforeTheirDocument tells of what document a hit is as soon as its page is in the index, which may be before
// the document is.
func TestHitsBeforeTheirDocument(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, gatewaytest.WithIndex(t))
	code, _, body := r.RequestWithKey(http.MethodPost, "/v1/jobs?filename=tides.pdf", "", rest.PDFType, "%PDF")
	v := &inkstreamv1.Job{}
	if err := protojson.Unmarshal(body, v); err != nil || code != http.StatusAccepted {
		t.Fatalf("upload: got %d %s, %v", code, body, err)
	}
	page := index.Page{Tenant: job.DefaultTenant, Job: v.GetId(), Number: 1, Run: 1, Text: "the harbour at low tide"}
	if err := r.Index.PutPages(t.Context(), []index.Page{page}); err != nil {
		t.Fatal(err)
	}
	gatewaytest.EachCaller(t, r, func(t *testing.T, call gatewaytest.Caller) {
		found := &inkstreamv1.SearchResponse{}
		if err := call(t.Context(), "", "Search", &inkstreamv1.SearchRequest{Q: "harbour"}, found); err != nil {
			t.Fatal(err)
		}
		want := v.GetCreateTime().AsTime().Truncate(time.Microsecond)
		if hits := found.GetHits(); len(hits) != 1 || hits[0].GetFilename() != "tides.pdf" ||
			!hits[0].GetCreateTime().AsTime().Equal(want) {
			t.Errorf("got %v, want one hit of tides.pdf of %v", hits, want)
		}
	})
}
