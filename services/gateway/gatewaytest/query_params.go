package gatewaytest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// WantField sends a request that must be refused for a field, with a message that holds all these.
func (c *Client) WantField(t *testing.T, method, path, contentType, body, field string, says ...string) {
	t.Helper()
	code, _, data := c.RequestWithKey(method, path, "", contentType, body)
	var answer struct {
		Error struct {
			Code, Message string
			Details       []struct {
				FieldViolations []struct{ Field, Description, Reason string }
			}
		}
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		t.Fatalf("%s %s: got %d %s", method, path, code, data)
	}
	got := ""
	for _, d := range answer.Error.Details {
		for _, v := range d.FieldViolations {
			got = v.Field
			if v.Description != answer.Error.Message || v.Reason != answer.Error.Code {
				t.Errorf("%s %s: got the violation %v beside %q", method, path, v, answer.Error.Message)
			}
		}
	}
	if code != http.StatusBadRequest || answer.Error.Code != string(fault.InvalidArgument) || got != field {
		t.Errorf("%s %s %s: got %d about %q, want 400 about %q: %s", method, path, body, code, got, field, data)
	}
	for _, text := range says {
		if !strings.Contains(answer.Error.Message, text) {
			t.Errorf("%s %s %s: got %q, want %q in it", method, path, body, answer.Error.Message, text)
		}
	}
}

// ListJobs asks for jobs.
func (c *Client) ListJobs(t *testing.T, query string) *inkstreamv1.ListJobsResponse {
	t.Helper()
	list := &inkstreamv1.ListJobsResponse{}
	res, body := c.Get(t, "/v1/jobs?"+query, nil)
	if err := protojson.Unmarshal([]byte(body), list); err != nil || res.StatusCode != http.StatusOK {
		t.Errorf("list with %s: got %d %s", query, res.StatusCode, body)
	}
	return list
}

// WantJobs makes sure that a list has these jobs, in any order.
func WantJobs(t *testing.T, list *inkstreamv1.ListJobsResponse, want ...job.ID) {
	t.Helper()
	var got []job.ID
	for _, v := range list.GetJobs() {
		got = append(got, job.ID(v.GetId()))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got jobs %v, want %v", got, want)
	}
}
