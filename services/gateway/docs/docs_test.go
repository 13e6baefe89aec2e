package docs_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"inkstream.dev/pkg/job"
	inkstreamproto "inkstream.dev/proto"
	"inkstream.dev/services/gateway/gatewaytest"
	"inkstream.dev/services/gateway/watch"
)

func TestDocs(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	code, _, body := r.RequestWithKey(http.MethodGet, "/openapi.json", "", "", "")
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
		"state filename createAfter createBefore label batch code pageSize pageToken orderBy"; got != want {
		t.Errorf("GET /v1/jobs: got parameters %s, want %s", got, want)
	}
	if params := doc.Paths["/v1/jobs/{id}/watch"]["get"].Parameters; len(params) != 2 ||
		params[1].Name != watch.LastEventParameter {
		t.Errorf("watch: got parameters %v, want %s beside the id", params, watch.LastEventParameter)
	}
	for _, path := range []string{"/v1/jobs/{id}", "/v1/search", "/v1/stages", "/v1/keys"} {
		if doc.Paths[path] == nil {
			t.Errorf("%s is not described", path)
		}
	}
	code, _, page := r.RequestWithKey(http.MethodGet, "/docs/", "", "", "")
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
		if code, _, data := r.RequestWithKey(http.MethodGet, ref, "", "", ""); code != http.StatusOK || len(data) == 0 {
			t.Errorf("%s: got %d with %d bytes", ref, code, len(data))
		}
	}
	if bytes.Contains(page, []byte("https://cdn")) {
		t.Error("the page names a CDN")
	}
}

// An artifact that the documentation of the option does not name fails here.
func TestEveryArtifactIsDescribed(t *testing.T) {
	t.Parallel()
	for _, kind := range job.AllArtifacts() {
		if !regexp.MustCompile(`What the job yields:[^"]*\b` + string(kind) + `\b`).Match(inkstreamproto.OpenAPI) {
			t.Errorf("the option artifacts does not name %s", kind)
		}
	}
}
