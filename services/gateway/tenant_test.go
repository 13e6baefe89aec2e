package gateway_test

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/api/httpbody"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/projection"
	"inkstream.dev/pkg/search"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway"
	"inkstream.dev/services/gateway/gatewaytest"
)

// Whatever names a thing of another tenant is answered as if there were none, and no list shows it.
func TestTenantsAreIsolated(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "admin")
	index, tus := gatewaytest.WithIndex(t), gatewaytest.WithTus(t)
	r := gatewaytest.Start(t, func(s *gatewaytest.Options) {
		index(s)
		tus(s)
		s.Cfg.Access.Auth, s.Cfg.Access.AdminKeyFile = gateway.AuthKeys, file
	})
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	mine := strings.TrimSpace(string(data))
	_, other := r.NewKey(mine, `{"tenant":"other","scopes":["admin"]}`)
	const batch = "01arz3ndektsv4rrffq69g5fav"
	rec := r.NewEndedJobAs(gatewaytest.UnknownJob, map[string]string{"text.txt": "secret", "images/1-1.png": "secret"})
	r.Update(rec, func(rec *job.Record) error { rec.Batch, rec.PageCount = batch, 1; return nil })
	rec, err = r.Deps.Jobs.LoadRecord(t.Context(), rec.Tenant, rec.ID)
	if err == nil {
		err = r.Index.PutDocument(t.Context(), projection.IndexDocument(rec))
	}
	if err == nil {
		err = r.Index.PutPages(t.Context(),
			[]search.Page{{Tenant: rec.Tenant, Job: string(rec.ID), Run: 1, Number: 1, Text: "Rechnung"}})
	}
	if err != nil {
		t.Fatal(err)
	}
	r.StorePageFor(rec)
	r.AnswerPageImages()
	letter := r.DeadLetter(rec, job.DefaultTenant)
	keyID, _ := r.NewKey(mine, `{"scopes":["read"]}`)
	hook := &inkstreamv1.Webhook{}
	gatewaytest.CheckError(t, r.CallRPC(t.Context(), mine, "CreateWebhook",
		&inkstreamv1.CreateWebhookRequest{Url: "https://example.org"}, hook), "")

	id := string(rec.ID)
	gatewaytest.EachCaller(t, r, func(t *testing.T, call gatewaytest.Caller) {
		for _, tc := range []struct {
			method    string
			req, resp proto.Message
			lasting   bool // the owner may do it again and again
		}{
			{"GetJob", &inkstreamv1.GetJobRequest{Id: id}, &inkstreamv1.Job{}, true},
			{"ListArtifacts", &inkstreamv1.ListArtifactsRequest{Id: id}, &inkstreamv1.ListArtifactsResponse{}, true},
			{"GetPage", &inkstreamv1.GetPageRequest{Id: id, Number: 1}, &inkstreamv1.Page{}, true},
			{"GetPageImage", &inkstreamv1.GetPageImageRequest{Id: id, Number: 1}, &httpbody.HttpBody{}, true},
			{"GetBatch", &inkstreamv1.GetBatchRequest{Id: batch}, &inkstreamv1.Batch{}, true},
			{"GetDeadLetter", &inkstreamv1.GetDeadLetterRequest{Id: letter}, &inkstreamv1.DeadLetter{}, true},
			{"ListEvents", &inkstreamv1.ListEventsRequest{Id: id}, &inkstreamv1.ListEventsResponse{}, true},
			{"CancelJob", &inkstreamv1.CancelJobRequest{Id: id}, &inkstreamv1.Job{}, false},
			{"RetryJob", &inkstreamv1.RetryJobRequest{Id: id}, &inkstreamv1.Job{}, false},
			{"DeleteJob", &inkstreamv1.DeleteJobRequest{Id: id}, &emptypb.Empty{}, false},
			{"RetryDeadLetter", &inkstreamv1.RetryDeadLetterRequest{Id: letter}, &inkstreamv1.Job{}, false},
			{"DropDeadLetter", &inkstreamv1.DropDeadLetterRequest{Id: letter}, &emptypb.Empty{}, false},
			{"RotateKey", &inkstreamv1.RotateKeyRequest{Id: keyID}, &inkstreamv1.Key{}, false},
			{"RevokeKey", &inkstreamv1.RevokeKeyRequest{Id: keyID}, &emptypb.Empty{}, false},
			{"DeleteWebhook", &inkstreamv1.DeleteWebhookRequest{Id: hook.GetId()}, &emptypb.Empty{}, false},
		} {
			err := call(t.Context(), other, tc.method, tc.req, tc.resp)
			if e, ok := err.(*gatewaytest.APIError); !ok || e.HTTP != http.StatusNotFound && e.RPC.String() != "NotFound" { //nolint:errorlint // as callers return it
				t.Errorf("%s as another tenant: got %v, want that there is none", tc.method, err)
			}
			if tc.lasting {
				err := call(t.Context(), mine, tc.method, tc.req, tc.resp)
				t.Run(tc.method, func(t *testing.T) { gatewaytest.CheckError(t, err, "") })
			}
		}
		for _, tc := range []struct {
			method    string
			req, resp proto.Message
		}{
			{"ListJobs", &inkstreamv1.ListJobsRequest{}, &inkstreamv1.ListJobsResponse{}},
			{"ListJobs", &inkstreamv1.ListJobsRequest{Filter: &inkstreamv1.JobFilter{Batch: batch}},
				&inkstreamv1.ListJobsResponse{}},
			{"ListBatches", &inkstreamv1.ListBatchesRequest{}, &inkstreamv1.ListBatchesResponse{}},
			{"Search", &inkstreamv1.SearchRequest{Q: "Rechnung"}, &inkstreamv1.SearchResponse{}},
			{"Search", &inkstreamv1.SearchRequest{Q: "Rechnung", Job: id}, &inkstreamv1.SearchResponse{}},
			{"ListDeadLetters", &inkstreamv1.ListDeadLettersRequest{}, &inkstreamv1.ListDeadLettersResponse{}},
			{"ListWebhooks", &inkstreamv1.ListWebhooksRequest{}, &inkstreamv1.ListWebhooksResponse{}},
		} {
			gatewaytest.CheckError(t, call(t.Context(), other, tc.method, tc.req, tc.resp), "")
			if proto.Size(tc.resp) > 0 {
				t.Errorf("%s as another tenant: got %v, want nothing", tc.method, tc.resp)
			}
			gatewaytest.CheckError(t, call(t.Context(), mine, tc.method, tc.req, tc.resp), "")
			if proto.Size(tc.resp) == 0 {
				t.Errorf("%s as the owner: got nothing", tc.method)
			}
		}
		done := &inkstreamv1.BatchJobsResponse{}
		gatewaytest.CheckError(t, call(t.Context(), other, "DeleteJobs",
			&inkstreamv1.BatchJobsRequest{Filter: &inkstreamv1.JobFilter{Batch: batch}}, done), "")
		if done.GetDone() != 0 {
			t.Errorf("another tenant deleted %d jobs", done.GetDone())
		}
	})
	for _, path := range []string{
		"/v1/jobs/" + id + "/watch", "/v1/jobs/" + id + "/artifacts/text.txt", "/v1/jobs/" + id + "/artifacts.zip",
		"/result/" + id + "/status",
		"/result/" + id + "/markdown", "/result/" + id + "/images/1-1.png",
	} {
		if code, _, body := r.RequestWithKey(http.MethodGet, path, other, "", ""); code != http.StatusNotFound {
			t.Errorf("%s as another tenant: got %d, want 404: %s", path, code, body)
		}
	}
	if _, _, body := r.RequestWithKey(http.MethodGet, "/v1/keys", other, "", ""); bytes.Contains(body, []byte(keyID)) {
		t.Errorf("another tenant sees the key: %s", body)
	}
	if _, _, body := r.RequestWithKey(http.MethodGet, "/tasks", other, "", ""); bytes.Contains(body, []byte(id)) {
		t.Errorf("another tenant sees the task: %s", body)
	}
	r.UploadsAreApart(mine, other)
}
