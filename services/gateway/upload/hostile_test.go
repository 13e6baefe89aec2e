package upload_test

import (
	"net/http"
	"strings"
	"testing"

	"inkstream.dev/services/gateway/gatewaytest"
	"inkstream.dev/services/gateway/rest"
	"inkstream.dev/services/gateway/upload"
)

// The heads of a form's parts are held in memory; the documents are not.
func TestFormHoldsLittleBesideItsDocuments(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	form := func(head, document string) string {
		return "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n" + head + "\r\n" + document +
			"\r\n--x--\r\n"
	}
	for _, tc := range []struct {
		name, body string
		want       int
	}{
		{"a large head", form("A: "+strings.Repeat("a", 2*upload.MaxMultipartOverhead)+"\r\n", "%PDF"), http.StatusBadRequest},
		{"a large document", form("", strings.Repeat("%PDF", upload.MaxMultipartOverhead/2)), http.StatusAccepted},
		{"a large end", form("", "%PDF") + strings.Repeat("a", 2*upload.MaxMultipartOverhead), http.StatusAccepted}, // never read
	} {
		if code, _, body := r.RequestWithKey(http.MethodPost, "/v1/jobs", "", rest.MultipartType+"; boundary=x",
			tc.body); code != tc.want {
			t.Errorf("%s: got %d %s, want %d", tc.name, code, body, tc.want)
		}
	}
}
