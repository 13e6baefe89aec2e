package gatewaytest

import (
	"net/http"

	"inkstream.dev/services/gateway/upload"
)

// UploadsAreApart makes sure of the same for resumable uploads.
func (c *Client) UploadsAreApart(mine, other string) {
	c.t.Helper()
	res, _ := c.TusRequest(mine, http.MethodPost, "/v1/uploads", "", map[string]string{upload.TusLengthHeader: "4"})
	at := res.Header.Get("Location")
	for _, method := range []string{http.MethodHead, http.MethodPatch, http.MethodDelete} {
		if res, _ := c.TusRequest(other, method, at, "",
			map[string]string{upload.TusOffsetHeader: "0"}); res.StatusCode != http.StatusNotFound {
			c.t.Errorf("%s of an upload as another tenant: got %d, want 404", method, res.StatusCode)
		}
		if res, _ := c.TusRequest("", method, at, "", nil); res.StatusCode != http.StatusUnauthorized {
			c.t.Errorf("%s of an upload without a key: got %d, want 401", method, res.StatusCode)
		}
	}
	if res, body := c.TusRequest(mine, http.MethodPatch, at, "%PDF",
		map[string]string{upload.TusOffsetHeader: "0"}); res.StatusCode != http.StatusNoContent {
		c.t.Errorf("PATCH as the owner: got %d %s", res.StatusCode, body)
	}
}
