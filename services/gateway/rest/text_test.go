package rest_test

import (
	"testing"

	"inkstream.dev/services/gateway/gatewaytest"
)

func TestAddressThatIsNoText(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	for _, path := range []string{"/v1/deadletters?pageToken=%ff", "/v1/deadletters?pageToken=x", "/v1/jobs/a%ff",
		"/v1/deadletters?x=%zz"} {
		res, err := r.Web.Get(r.BaseURL + path)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != 400 {
			t.Errorf("%s: got %d, want 400", path, res.StatusCode)
		}
	}
}
