package upload_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/gatewaytest"
	"inkstream.dev/services/gateway/internal/apierror"
	"inkstream.dev/services/gateway/options"
)

// Every option means the same over both protocols, and a wrong one is answered with its name and what is allowed.
func TestOptions(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, func(s *gatewaytest.Options) { s.Sealer = gatewaytest.WithSealer(t) })
	if err := r.Deps.Jobs.PutLanguages(t.Context(),
		job.Languages{Codes: []string{"deu", "eng"}, Time: time.Now()}); err != nil {
		t.Fatal(err)
	}
	yes, no := proto.Bool(true), proto.Bool(false)
	for _, tt := range []struct {
		query string
		rpc   *inkstreamv1.JobOptions
		want  func(*inkstreamv1.JobOptions) // what the view has beside the defaults
		says  string                        // of the error, where there is one
	}{
		{"", nil, func(*inkstreamv1.JobOptions) {}, ""},
		{"ocr=force", &inkstreamv1.JobOptions{Ocr: "force"}, func(o *inkstreamv1.JobOptions) { o.Ocr = "force" }, ""},
		{"ocr=auto&rotate=auto&deskew=true&tables=1&dedupe=true&chunk_words=300", &inkstreamv1.JobOptions{
			Ocr: "auto", Rotate: "auto", Deskew: yes, Tables: yes, Dedupe: yes, ChunkWords: 300,
		}, func(*inkstreamv1.JobOptions) {}, ""},
		{"pages=7,1-3,2,12-", &inkstreamv1.JobOptions{Pages: "7,1-3,2,12-"},
			func(o *inkstreamv1.JobOptions) { o.Pages = "1-3,7,12-" }, ""},
		{"deskew=false&rotate=off&tables=false&dedupe=false&allowSignatureInvalidation=true", &inkstreamv1.JobOptions{
			Deskew: no, Rotate: "off", Tables: no, Dedupe: no, AllowSignatureInvalidation: true,
		}, func(o *inkstreamv1.JobOptions) {
			o.Deskew, o.Rotate, o.Tables, o.Dedupe, o.AllowSignatureInvalidation = no, "off", no, no, true
		}, ""},
		{"artifacts=text,hocr,text", &inkstreamv1.JobOptions{Artifacts: []string{"text", "hocr", "text"}},
			func(o *inkstreamv1.JobOptions) { o.Artifacts = []string{"text", "hocr"} }, ""},
		{"retention=7d&stall_timeout=1m&chunkWords=50", &inkstreamv1.JobOptions{
			Retention: durationpb.New(7 * 24 * time.Hour), StallTimeout: durationpb.New(time.Minute), ChunkWords: 50,
		}, func(o *inkstreamv1.JobOptions) {
			o.Retention, o.StallTimeout, o.ChunkWords = durationpb.New(7*24*time.Hour), durationpb.New(time.Minute), 50
		}, ""},
		{"retention=0", &inkstreamv1.JobOptions{Retention: durationpb.New(0)},
			func(o *inkstreamv1.JobOptions) { o.Retention = durationpb.New(0) }, ""},
		{"languages=auto", &inkstreamv1.JobOptions{Languages: "auto"},
			func(o *inkstreamv1.JobOptions) { o.Languages = "auto" }, ""},
		{"password=x", &inkstreamv1.JobOptions{Password: "x"}, func(*inkstreamv1.JobOptions) {}, ""},

		{"ocr=yes", &inkstreamv1.JobOptions{Ocr: "yes"}, nil, "auto, force, skip or redo"},
		{"rotate=90", &inkstreamv1.JobOptions{Rotate: "90"}, nil, "auto or off"},
		{"pages=3-1", &inkstreamv1.JobOptions{Pages: "3-1"}, nil, "runs backwards"},
		{"pages=0", &inkstreamv1.JobOptions{Pages: "0"}, nil, "from 1 on"},
		{"artifacts=text,docx", &inkstreamv1.JobOptions{Artifacts: []string{"text", "docx"}}, nil,
			`"docx"; there are text, json`},
		{"chunk_words=49", &inkstreamv1.JobOptions{ChunkWords: 49}, nil, "50 to 2000"},
		{"retention=-1s", &inkstreamv1.JobOptions{Retention: durationpb.New(-time.Second)}, nil, "0 for ever"},
		{"stall_timeout=10ms", &inkstreamv1.JobOptions{StallTimeout: durationpb.New(10 * time.Millisecond)}, nil,
			"1s to 24h"},
		{"languages=eng%2Bfra", &inkstreamv1.JobOptions{Languages: "eng+fra"}, nil,
			`"fra" is not installed; these are: deu, eng`},
		{"languages=auto%2Beng", &inkstreamv1.JobOptions{Languages: "auto+eng"}, nil, "auto, or codes"},
		{"lane=fast", &inkstreamv1.JobOptions{Lane: "fast"}, nil, "interactive or batch"},
		{"password=" + strings.Repeat("x", 256), &inkstreamv1.JobOptions{Password: strings.Repeat("x", 256)}, nil,
			"more than 255 bytes"},
	} {
		t.Run(tt.query, func(t *testing.T) {
			code := fault.Code("")
			if tt.want == nil {
				code = fault.InvalidOption
			}
			overRPC, err := r.UploadWith(t, tt.rpc)
			gatewaytest.CheckError(t, err, code)
			if err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("gRPC: got %v, want it to say %q", err, tt.says)
			}
			res, body := r.PostUpload(t, "/v1/jobs?"+tt.query, "%PDF-1.7")
			if tt.want == nil {
				field, _, _ := strings.Cut(tt.query, "=")
				if res.StatusCode != apierror.Statuses[code].HTTP || !strings.Contains(unquoted(body), tt.says) ||
					!strings.Contains(body, `"`+field+`"`) {
					t.Errorf("REST: got %d %s, want it to name %s and say %q", res.StatusCode, body, field, tt.says)
				}
				return
			}
			overREST := &inkstreamv1.Job{}
			if err := protojson.Unmarshal([]byte(body), overREST); err != nil {
				t.Fatalf("%v: %s", err, body)
			}
			want := options.ToProto(job.Options{Lane: "interactive"})
			tt.want(want)
			for protocol, v := range map[string]*inkstreamv1.Job{"gRPC": overRPC, "REST": overREST} {
				if !proto.Equal(v.GetOptions(), want) {
					t.Errorf("%s: got %v, want %v", protocol, v.GetOptions(), want)
				}
			}
		})
	}
	for _, query := range []string{"deskew=perhaps", "chunk_words=many", "retention=soon", "ocr=force&ocr=skip",
		"page_timeout=1s&pageTimeout=1s"} {
		if res, body := r.PostUpload(t, "/v1/jobs?"+query, "%PDF-1.7"); res.StatusCode != 400 ||
			!strings.Contains(body, "INVALID_OPTION") {
			t.Errorf("%s: got %d %s, want 400", query, res.StatusCode, body)
		}
	}
}

func unquoted(s string) string { return strings.ReplaceAll(s, `\"`, `"`) }

func TestPasswordsNeedAKey(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	_, err := r.UploadWith(t, &inkstreamv1.JobOptions{Password: "x"})
	gatewaytest.CheckError(t, err, fault.InvalidOption)
}

// The same idempotency key with another password is another request; the record holds it sealed alone.
func TestPasswordIsSealed(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, func(s *gatewaytest.Options) { s.Sealer = gatewaytest.WithSealer(t) })
	send := func(password string) (int, string) {
		query := url.Values{"password": {password}}
		res, body := r.PostUploadWithKey(t, "/v1/jobs?"+query.Encode(), "%PDF-1.7", "key")
		return res.StatusCode, body
	}
	code, body := send("first-password")
	if again, _ := send("first-password"); code != 202 || again != 202 {
		t.Fatalf("got %d, then %d, want 202 twice: %s", code, again, body)
	}
	if code, body := send("other-password"); code != 409 {
		t.Errorf("got %d %s, want 409", code, body)
	}
	v := &inkstreamv1.Job{}
	if err := protojson.Unmarshal([]byte(body), v); err != nil {
		t.Fatal(err)
	}
	rec, err := r.Deps.Jobs.LoadRecord(t.Context(), job.DefaultTenant, job.ID(v.GetId()))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := r.Deps.DocumentPassword(rec); err != nil || got != "first-password" {
		t.Errorf("password %q, %v", got, err)
	}
	if rec.Sealed == "" {
		t.Error("the record holds no sealed password")
	}
	for what, text := range map[string]string{"answer": body, "log": r.Logs.String()} {
		if strings.Contains(text, "first-password") {
			t.Errorf("the %s holds the password: %s", what, text)
		}
	}
	if _, err := r.Deps.JobService().EndJob(t.Context(), rec, job.Failed, &job.Fault{Code: fault.Internal}, time.Time{}); err != nil {
		t.Fatal(err)
	}
	rec, err = r.Deps.Jobs.LoadRecord(t.Context(), rec.Tenant, rec.ID)
	if err != nil || rec.Sealed != "" || rec.Options.PasswordDigest != "" {
		t.Errorf("after the end: %+v, %v, want no password", rec, err)
	}
}

// A refusal has an id, and events under it.
func TestRejectedUploadIsAudited(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	for _, tt := range []struct {
		path, data, code, field string
	}{
		{"/v1/jobs?ocr=yes", "%PDF-1.7", "INVALID_OPTION", "ocr"},
		{"/v1/jobs", "", "EMPTY_FILE", ""},
	} {
		_, body := r.PostUpload(t, tt.path, tt.data)
		_, rest, ok := strings.Cut(body, `"job": "`)
		id, _, _ := strings.Cut(rest, `"`)
		if !ok {
			t.Fatalf("no id in %s", body)
		}
		res, err := r.RPC.ListEvents(t.Context(), &inkstreamv1.ListEventsRequest{Id: id})
		if err != nil || len(res.GetEvents()) != 1 {
			t.Fatalf("events of %s: %v, %v, want one", id, res, err)
		}
		if e := res.GetEvents()[0]; e.GetType() != "upload_refused" || e.GetCode() != tt.code ||
			e.GetAttributes()["field"] != tt.field ||
			e.GetAttributes()["request"] == "" {
			t.Errorf("got %v, want upload_refused with %s", e, tt.code)
		}
	}
}
