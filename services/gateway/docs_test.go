package gateway

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

func TestDocs(t *testing.T) {
	t.Parallel()
	r := startGateway(t, nil)
	code, _, body := r.requestWithKey(http.MethodGet, "/openapi.json", "", "", "")
	var doc struct {
		Paths map[string]map[string]struct {
			Summary    string
			Parameters []struct{ Name, In string }
		}
	}
	if err := json.Unmarshal(body, &doc); err != nil || code != http.StatusOK {
		t.Fatalf("openapi.json: %d, %v", code, err)
	}
	var form []string
	for _, p := range doc.Paths["/v1/jobs"]["post"].Parameters {
		if p.In == "formData" {
			form = append(form, p.Name)
		}
	}
	if len(form) < 10 || form[0] != "file" {
		t.Errorf("POST /v1/jobs: got form fields %v, want file and the options", form)
	}
	var filters []string
	for _, p := range doc.Paths["/v1/jobs"]["get"].Parameters {
		filters = append(filters, p.Name)
	}
	if got, want := strings.Join(filters, " "),
		"state filename createAfter createBefore label batch pageSize pageToken orderBy"; got != want {
		t.Errorf("GET /v1/jobs: got parameters %s, want %s", got, want)
	}
	if params := doc.Paths["/v1/jobs/{id}/watch"]["get"].Parameters; len(params) != 2 ||
		params[1].Name != lastEventParameter {
		t.Errorf("watch: got parameters %v, want %s beside the id", params, lastEventParameter)
	}
	for _, path := range []string{"/v1/jobs/{id}", "/v1/search", "/v1/stages", "/v1/keys"} {
		if doc.Paths[path] == nil {
			t.Errorf("%s is not described", path)
		}
	}
	code, _, page := r.requestWithKey(http.MethodGet, "/docs/", "", "", "")
	if code != http.StatusOK {
		t.Fatalf("docs: %d", code)
	}
	for _, m := range regexp.MustCompile(`(?:src|href)="([^"]+)"`).FindAllSubmatch(page, -1) {
		ref := string(m[1])
		if strings.HasPrefix(ref, "http") || strings.HasPrefix(ref, "//") {
			t.Errorf("the page fetches %s from elsewhere", ref)
			continue
		}
		if !strings.HasPrefix(ref, "/") {
			ref = "/docs/" + ref
		}
		if code, _, data := r.requestWithKey(http.MethodGet, ref, "", "", ""); code != http.StatusOK || len(data) == 0 {
			t.Errorf("%s: got %d with %d bytes", ref, code, len(data))
		}
	}
	if bytes.Contains(page, []byte("https://cdn")) {
		t.Error("the page names a CDN")
	}
}

// An error names the field that breaks a rule.
func TestValidation(t *testing.T) {
	t.Parallel()
	r, admin := startWithKeys(t, nil)
	for _, tc := range []struct{ method, path, body, field string }{
		{http.MethodPost, "/v1/keys", `{"scopes":["root"]}`, "scopes[0]"},
		{http.MethodPost, "/v1/keys", `{"scopes":[]}`, "scopes"},
		{http.MethodPost, "/v1/keys", `{"scopes":["read"],"tenant":"A.*"}`, "tenant"},
		{http.MethodPost, "/v1/webhooks", `{"url":"no url"}`, "url"},
		{http.MethodGet, "/v1/jobs?pageSize=1001", "", "page_size"},
		{http.MethodGet, "/v1/search?q=", "", "q"},
	} {
		code, _, body := r.requestWithKey(tc.method, tc.path, admin, "application/json", tc.body)
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
