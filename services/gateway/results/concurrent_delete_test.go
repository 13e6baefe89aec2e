package results_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/blob/blobtest"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/outcome"
	"inkstream.dev/services/gateway/gatewaytest"
	"inkstream.dev/services/gateway/internal/apierror"
)

// Results that go while they are read, with their job or because a later run has others, are not taken for lost.
func TestResultsDeletedDuringRead(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex // guards happen
	var happen func()
	var inner *blob.Store
	r := gatewaytest.Start(t, func(s *gatewaytest.Options) {
		s.Blobs = func(b *blob.Store) *blob.Store {
			inner = b
			return blobtest.NewFaultyStore(b, func(blobtest.Op, string) blobtest.Fault {
				mu.Lock()
				defer mu.Unlock()
				if happen != nil {
					happen()
				}
				return blobtest.Fault{}
			})
		}
	})
	put := func(key, data string) {
		if err := inner.PutBytes(context.Background(), key, []byte(data), ""); err != nil {
			t.Error(err)
		}
	}
	yield := func(rec *job.Record, run int) {
		for _, name := range []string{"text.txt", "document.json"} {
			put(job.ArtifactKey(rec.Tenant, rec.ID, run, name), fmt.Sprintf("run %d", run))
		}
		put(job.PageKey(rec.Tenant, rec.ID, run, 1), `{"number":1,"outcome":"native_text"}`)
	}
	drop := func(prefix string) {
		if err := inner.DeletePrefix(context.Background(), prefix); err != nil {
			t.Error(err)
		}
	}
	change := func(rec *job.Record, to func(*job.Record) error) {
		if _, err := r.Deps.Jobs.UpdateRecord(context.Background(), rec.Tenant, rec.ID, to); err != nil {
			t.Error(err)
		}
	}
	for _, event := range []struct {
		name   string
		happen func(*job.Record)
		gone   bool
	}{
		{"the job is deleted", func(rec *job.Record) {
			change(rec, func(rec *job.Record) error { return rec.Transition(job.Deleted, gatewaytest.When.Add(time.Hour)) })
			drop(job.Folder(rec.Tenant, rec.ID))
		}, true},
		{"a later run ends", func(rec *job.Record) {
			yield(rec, 2)
			change(rec, func(rec *job.Record) error { rec.Run, rec.ResultRun = 2, 2; return nil })
			drop(job.RunFolder(rec.Tenant, rec.ID, 1))
		}, false},
	} {
		for _, read := range []struct {
			name string
			do   func(a gatewaytest.API, id string) error
		}{
			{"list", func(a gatewaytest.API, id string) error {
				list, err := a.Artifacts(t.Context(), id)
				if err == nil && len(list) != 2 {
					t.Errorf("got %v, want both artifacts", list)
				}
				return err
			}},
			{"download", func(a gatewaytest.API, id string) error {
				data, _, err := a.Download(t.Context(), id, "text.txt")
				if err == nil && string(data) != "run 2" {
					t.Errorf("got %q, want the later run's", data)
				}
				return err
			}},
			{"page", func(a gatewaytest.API, id string) error { _, err := a.Page(t.Context(), id, 1); return err }},
			{"archive", func(a gatewaytest.API, id string) error {
				rest, ok := a.(gatewaytest.RESTAPI)
				if !ok {
					_, err := a.Artifacts(t.Context(), id)
					return err
				}
				res, err := rest.Get(t.Context(), "/v1/jobs/"+id+"/artifacts.zip")
				if err == nil {
					res.Body.Close()
				}
				return err
			}},
		} {
			t.Run(event.name+", "+read.name, func(t *testing.T) {
				gatewaytest.EachAPI(t, r, func(t *testing.T, a gatewaytest.API) {
					rec := r.NewJob(gatewaytest.SetRunning)
					yield(rec, 1)
					r.Update(rec, func(rec *job.Record) error {
						rec.Outcomes, rec.Artifacts, rec.ResultRun = map[string]int{outcome.Native: 5}, 2, 1
						return rec.Transition(job.Succeeded, gatewaytest.When.Add(time.Minute))
					})
					mu.Lock()
					happen = sync.OnceFunc(func() { event.happen(rec) })
					mu.Unlock()
					err := read.do(a, string(rec.ID))
					mu.Lock()
					happen = nil
					mu.Unlock()
					if event.gone {
						gatewaytest.CheckError(t, err, apierror.JobDeleted)
					} else {
						gatewaytest.CheckError(t, err, "")
					}
				})
			})
		}
	}
	if log := r.Logs.String(); strings.Contains(log, "level=ERROR") {
		t.Errorf("it was logged as an error: %s", log)
	}
}
