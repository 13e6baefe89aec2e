package rest_test

import (
	"net/http"
	"strings"
	"testing"

	"inkstream.dev/pkg/job"
	"inkstream.dev/services/gateway/gatewaytest"
	"inkstream.dev/services/gateway/rest"
	"inkstream.dev/services/gateway/upload"
)

// A parameter that there is not is refused at every address, by its name and with those that there are: a filter must
// not vanish.
func TestUnknownParametersAreRefused(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, func(s *gatewaytest.Options) { gatewaytest.WithIndex(t)(s); gatewaytest.WithTus(t)(s) })
	rec := r.NewEndedJob(map[string]string{"text.txt": "text"})
	one := "/v1/jobs/" + string(rec.ID)
	const list = "there are state, filename, create_after, create_before, label, batch, code, page_size, page_token, order_by"
	for _, tt := range []struct{ method, path, field, says string }{
		{"GET", "/v1/jobs?stat=FAILED", "stat", list},
		{"GET", "/v1/jobs?state=FAILED&page-size=1", "page-size", list},
		{"GET", "/v1/jobs?filter.stat=FAILED", "filter.stat", list},
		{"GET", "/v1/jobs?filter=FAILED", "filter", list},
		{"GET", "/v1/jobs?state[]=FAILED", "state[]", list},
		{"GET", "/v1/jobs?label[set]=own", "label[set]", list},
		{"HEAD", "/v1/jobs?stat=FAILED", "", ""},
		{"GET", "/v1/search?q=tax&filter.label=zzz", "filter.label", "label, language"},
		{"GET", "/v1/search?q=tax&labels=zzz", "labels", "label, language"},
		{"GET", one + "?access_token=secret", "access_token", "there are wait"},
		{"GET", one + "?id=x", "id", "there are wait"},
		{"GET", one + "?alt=json", "alt", "there are wait"},
		{"GET", one + "?%24alt=json", "$alt", "there are wait"},
		{"GET", one + "/watch?x=1", "x", "there are lastEventId"},
		{"GET", one + "/artifacts?x=1", "x", "takes none"},
		{"GET", one + "/artifacts/text.txt?x=1", "x", "takes none"},
		{"GET", one + "/artifacts.zip?x=1", "x", "takes none"},
		{"GET", one + "/pages/1?x=1", "x", "takes none"},
		{"GET", one + "/pages/1/image?DPI=72", "DPI", "there are dpi, boxes"},
		{"GET", one + "/events?x=1", "x", "page_size, page_token"},
		{"GET", "/v1/batches/x?x=1", "x", "takes none"},
		{"GET", "/v1/batches?x=1", "x", "there are page_size, page_token"},
		{"GET", "/v1/stages?x=1", "x", "there are history"},
		{"GET", "/v1/deadletters?x=1", "x", "page_size, page_token"},
		{"GET", "/v1/keys?x=1", "x", "takes none"},
		{"GET", "/v1/webhooks?x=1", "x", "takes none"},
		{"POST", "/v1/jobs:delete?filter.state=FAILED", "filter.state", "takes none"},
		{"POST", one + ":retry?All=true", "All", "there are all"},
		{"POST", one + ":cancel?x=1", "x", "takes none"},
		{"DELETE", one + "?x=1", "x", "takes none"},
		{"POST", "/v1/jobs?lane=batch", "lane", "takes none"},
		{"GET", one + "?" + strings.Repeat("x", 1000) + "=1", strings.Repeat("x", 64), "there are wait"},
	} {
		t.Run(tt.method+" "+tt.path, func(t *testing.T) {
			if tt.method == http.MethodHead {
				if res, _ := r.Do(t, tt.method, tt.path, nil); res.StatusCode != http.StatusBadRequest {
					t.Errorf("got %d, want 400", res.StatusCode)
				}
				return
			}
			r.WantField(t, tt.method, tt.path, rest.JSONType, "", tt.field, "there is no parameter", tt.says)
		})
	}
	res, body := r.TusRequest("", http.MethodPost, "/v1/uploads?lane=batch", "", map[string]string{upload.TusLengthHeader: "4"})
	if res.StatusCode != http.StatusBadRequest || !strings.Contains(body, `there is no parameter \"lane\"`) {
		t.Errorf("a resumable upload with a parameter: got %d %s, want 400", res.StatusCode, body)
	}
	if rec, err := r.Deps.Jobs.LoadRecord(t.Context(), rec.Tenant, rec.ID); err != nil || rec.State != job.Succeeded {
		t.Errorf("the job is %v, %v after requests that were refused", rec.State, err)
	}
}

// Addresses that are none of /v1 take what their clients send.
func TestOtherAddressesTakeAnyParameter(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, gatewaytest.WithIndex(t))
	rec := r.NewEndedJob(nil)
	for _, path := range []string{"/tasks?status=failed", "/result/" + string(rec.ID) + "/status?x=1", "/healthz?x=1",
		"/openapi.json?x=1", "/docs/?x=1"} {
		if res, body := r.Get(t, path, nil); res.StatusCode != http.StatusOK {
			t.Errorf("%s, which is no address of /v1: got %d %s", path, res.StatusCode, body)
		}
	}
}

// What cannot be read as parameters is no address without them.
func TestParametersThatCannotBeReadAreRefused(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, gatewaytest.WithIndex(t))
	for _, path := range []string{"/v1/jobs?state=%zz", "/v1/jobs?state=FAILED;x", "/v1/jobs/x/watch?%zz",
		"/v1/jobs/x/artifacts/text.txt?a;b"} {
		if res, body := r.Get(t, path, nil); res.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: got %d %s, want 400", path, res.StatusCode, body)
		}
	}
	for _, query := range []string{"ocr=skip;pages=1", "ocr=%zz"} {
		if res, body := r.PostUpload(t, "/v1/jobs?"+query, "%PDF"); res.StatusCode != http.StatusBadRequest {
			t.Errorf("upload with %s: got %d %s, want 400", query, res.StatusCode, body)
		}
	}
	r.WantNoJobs()
}

// An error about a value in the address names the parameter, as the client named it, and says what it wants.
func TestWrongParametersAreNamed(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, gatewaytest.WithIndex(t))
	one := "/v1/jobs/" + string(r.NewJob(gatewaytest.SetRunning).ID)
	for _, tt := range []struct{ path, field, says string }{
		{one + "?wait=30", "wait", `wait "30", want a duration such as 30s`},
		{one + "?wait=-5s", "wait", "not negative"},
		{"/v1/jobs?create_after=junk", "create_after", "want a time such as 2026-11-30T12:00:00Z"},
		{"/v1/jobs?filter.createAfter=junk", "filter.createAfter", "want a time"},
		{"/v1/search?q=x&createBefore=2026-01-01", "createBefore", "want a time"},
		{"/v1/jobs?filter.state=succeeded", "filter.state", `"succeeded", want one of PENDING, RUNNING, SUCCEEDED`},
		{"/v1/jobs?state=FAILED&state=", "state", "want one of PENDING"},
		{"/v1/jobs?page_size=x", "page_size", "want a whole number"},
		{"/v1/jobs?pageSize=99999999999", "pageSize", "up to 2147483647"},
		{"/v1/jobs?page_size=1&pageSize=2", "page_size", "given more than once"},
		{"/v1/jobs?filename=a&filter.filename=b", "filter.filename", "given more than once"},
		{"/v1/search?q=a&q=b", "q", "given more than once"},
		{"/v1/search?q=a&min_pages=-x", "min_pages", "want a whole number"},
		{one + "/pages/1/image?dpi=abc", "dpi", `dpi "abc", want a whole number`},
		{one + "/pages/1/image?boxes=words", "boxes", `boxes "words", want true or false`},
		{one + "/pages/x", "number", `number "x", want a whole number`},
		{one + "/pages/x/image", "number", `number "x"`},
		{"/v1/deadletters?page_size=x", "page_size", "want a whole number"},
	} {
		t.Run(tt.path, func(t *testing.T) { r.WantField(t, http.MethodGet, tt.path, "", "", tt.field, tt.says) })
	}
	r.WantField(t, http.MethodPost, one+":retry?all=yes", "", "", "all", `all "yes", want true or false`)
	if res, body := r.Get(t, one+"?wait=1ms", nil); res.StatusCode != http.StatusOK {
		t.Errorf("wait=1ms: got %d %s", res.StatusCode, body)
	}
}

// An error about a JSON body names the field that there is not, or whose value is none of its kind, and repeats
// nothing of the value.
func TestWrongFieldsOfBodiesAreNamed(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, gatewaytest.WithIndex(t))
	for _, tt := range []struct{ path, body, field, says string }{
		{"/v1/jobs:delete", `{"state":["FAILED"]}`, "state", `there is no field "state"; there are filter, all`},
		{"/v1/jobs:delete", `{"filter":{"stat":["FAILED"]}}`, "filter.stat", "there are state, filename, create_after"},
		{"/v1/jobs:delete", `{"filter":{"state":["failed"]}}`, "filter.state", "want a list, each one of PENDING"},
		{"/v1/jobs:delete", `{"filter":{"state":"FAILED"}}`, "filter.state", "want a list"},
		{"/v1/jobs:delete", `{"filter":{"createBefore":"junk"}}`, "filter.createBefore", "want a time such as"},
		{"/v1/jobs:cancel", `{"filter":"FAILED"}`, "filter", "want an object"},
		{"/v1/jobs:retry", `{"all":"yes"}`, "all", "want true or false"},
		{"/v1/jobs:retry", ``, "filter", "the filter is empty"},
		{"/v1/jobs", `{"url":"s3://a/b.pdf"}`, "url", `there is no field "url"; there are source, filename`},
		{"/v1/jobs", `{"source":"s3://a/b.pdf","options":{"chunkWords":"many","secret":1}}`, "options.chunkWords",
			"want a whole number"},
		{"/v1/jobs", `{"source":"s3://a/b.pdf","options":{"password":1234}}`, "options.password", "want a text"},
		{"/v1/jobs", `{"source":"s3://a/b.pdf","options":{"page_timeout":"1h2"}}`, "options.page_timeout",
			"want a duration such as 30s"},
		{"/v1/jobs", `{"source":"s3://a/b.pdf","labels":{"a":1}}`, "labels", "want an object of names and texts"},
		{"/v1/jobs", `{}`, "source", "source: "},
		{"/v1/jobs", `{"filter":{"state":`, "", "the body is not valid JSON"},
		{"/v1/jobs", `["source"]`, "", "the body is no JSON object"},
		{"/v1/jobs", `{"source":"s3://a/b.pdf","source":"s3://a/c.pdf"}`, "", "no JSON of a CreateJobRequest"},
		{"/v1/jobs", `{"source":"` + strings.Repeat("x", rest.MaxCallBytes) + `"}`, "", "more than 65536 bytes"},
		{"/v1/jobs:delete", `{"filter":{"filename":"` + strings.Repeat("x", rest.MaxCallBytes) + `"}}`, "",
			"more than 65536 bytes"},
		{"/v1/jobs:delete", `{"filter":{"filename":"x"}} {}`, "", "the body is not valid JSON"},
	} {
		name := tt.path + " " + tt.body
		t.Run(name[:min(len(name), 80)], func(t *testing.T) {
			r.WantField(t, http.MethodPost, tt.path, rest.JSONType, tt.body, tt.field, tt.says)
		})
	}
	_, _, body := r.RequestWithKey(http.MethodPost, "/v1/jobs", "", rest.JSONType, `{"options":{"password":["hunter2"]}}`)
	if strings.Contains(string(body), "hunter2") {
		t.Errorf("the error repeats a password: %s", body)
	}
}
