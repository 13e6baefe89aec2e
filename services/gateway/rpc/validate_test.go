package rpc_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"inkstream.dev/services/gateway/gatewaytest"
)

// An error names the field that breaks a rule.
func TestValidation(t *testing.T) {
	t.Parallel()
	r, admin := gatewaytest.StartWithKeys(t, nil)
	for _, tc := range []struct{ method, path, body, field string }{
		{http.MethodPost, "/v1/keys", `{"scopes":["root"]}`, "scopes[0]"},
		{http.MethodPost, "/v1/keys", `{"scopes":[]}`, "scopes"},
		{http.MethodPost, "/v1/keys", `{"scopes":["read"],"tenant":"A.*"}`, "tenant"},
		{http.MethodPost, "/v1/webhooks", `{"url":"no url"}`, "url"},
		{http.MethodGet, "/v1/jobs?pageSize=1001", "", "page_size"},
		{http.MethodGet, "/v1/search?q=", "", "q"},
	} {
		code, _, body := r.RequestWithKey(tc.method, tc.path, admin, "application/json", tc.body)
		var answer struct {
			Error struct {
				Code    string
				Details []struct{ FieldViolations []struct{ Field string } }
			}
		}
		if err := json.Unmarshal(body, &answer); err != nil {
			t.Fatalf("%s: %s", tc.path, body)
		}
		field := ""
		for _, d := range answer.Error.Details {
			for _, v := range d.FieldViolations {
				field = v.Field
			}
		}
		if code != http.StatusBadRequest || answer.Error.Code != "INVALID_ARGUMENT" || field != tc.field {
			t.Errorf("%s %s %s: got %d, field %q, want 400 about %q: %s", tc.method, tc.path, tc.body, code, field, tc.field,
				body)
		}
	}
}
