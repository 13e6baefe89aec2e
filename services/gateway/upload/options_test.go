package upload_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"inkstream.dev/pkg/fault"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/gatewaytest"
	"inkstream.dev/services/gateway/internal/apierror"
)

func TestTimeoutOptions(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	for _, tt := range []struct {
		document, page string
		want           fault.Code
	}{
		{"", "", ""}, {"10m", "30s", ""}, {"", "1s", ""}, {"500ms", "", fault.InvalidOption},
		{"", "48h", fault.InvalidOption}, {"-1s", "", fault.InvalidOption},
	} {
		t.Run(tt.document+" "+tt.page, func(t *testing.T) {
			query := url.Values{}
			opts := &inkstreamv1.JobOptions{}
			for _, o := range []struct {
				name, value string
				into        **durationpb.Duration
			}{{"document_timeout", tt.document, &opts.DocumentTimeout}, {"page_timeout", tt.page, &opts.PageTimeout}} {
				if o.value == "" {
					continue
				}
				query.Set(o.name, o.value)
				d, err := time.ParseDuration(o.value)
				if err != nil {
					t.Fatal(err)
				}
				*o.into = durationpb.New(d)
			}
			overRPC, err := r.UploadWith(t, opts)
			gatewaytest.CheckError(t, err, tt.want)
			overREST := &inkstreamv1.Job{}
			res, body := r.PostUpload(t, "/v1/jobs?"+query.Encode(), "%PDF-1.7")
			if tt.want != "" {
				if res.StatusCode != apierror.Statuses[tt.want].HTTP || !strings.Contains(body, string(tt.want)) {
					t.Errorf("got %d %s, want %s", res.StatusCode, body, tt.want)
				}
				return
			}
			if err := protojson.Unmarshal([]byte(body), overREST); err != nil {
				t.Fatal(err)
			}
			for _, v := range []*inkstreamv1.Job{overRPC, overREST} {
				got := v.GetOptions()
				if !proto.Equal(got.GetDocumentTimeout(), opts.GetDocumentTimeout()) ||
					!proto.Equal(got.GetPageTimeout(), opts.GetPageTimeout()) {
					t.Errorf("got options %v, want %v", got, opts)
				}
			}
		})
	}
	if res, body := r.PostUpload(t, "/v1/jobs?page_timeout=soon", "%PDF-1.7"); res.StatusCode != http.StatusBadRequest {
		t.Errorf("got %d %s, want 400", res.StatusCode, body)
	}
}
