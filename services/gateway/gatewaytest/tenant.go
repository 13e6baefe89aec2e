package gatewaytest

import (
	"net/http"

	"inkstream.dev/services/gateway/upload"
)

// UploadsAreApart makes sure of the same for resumable uploads.
func (r *Gateway) UploadsAreApart(mine, other string) {
	r.T.Helper()
	res, _ := r.TusRequest(mine, http.MethodPost, "/v1/uploads", "", map[string]string{upload.TusLengthHeader: "4"})
	at := res.Header.Get("Location")
	for _, method := range []string{http.MethodHead, http.MethodPatch, http.MethodDelete} {
		if res, _ := r.TusRequest(other, method, at, "",
			map[string]string{upload.TusOffsetHeader: "0"}); res.StatusCode != http.StatusNotFound {
			r.T.Errorf("%s of an upload as another tenant: got %d, want 404", method, res.StatusCode)
		}
		if res, _ := r.TusRequest("", method, at, "", nil); res.StatusCode != http.StatusUnauthorized {
			r.T.Errorf("%s of an upload without a key: got %d, want 401", method, res.StatusCode)
		}
	}
	if res, body := r.TusRequest(mine, http.MethodPatch, at, "%PDF",
		map[string]string{upload.TusOffsetHeader: "0"}); res.StatusCode != http.StatusNoContent {
		r.T.Errorf("PATCH as the owner: got %d %s", res.StatusCode, body)
	}
}
