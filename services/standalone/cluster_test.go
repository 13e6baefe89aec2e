package standalone_test

import (
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/pdftest"
)

// The nodes of a cluster are restarted one after the other while jobs are in flight. Every job ends once, with every
// page in the index once.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	c := bustest.NewCluster(t)
	r := newTestPipeline(t, pipelineOptions{bus: c.Connect(bus.Topology{AckWait: 3 * time.Second})})
	docs := make(map[string]pdftest.File)
	send := func(n int) error {
		for range n {
			for _, f := range []pdftest.File{pdftest.BornDigital(1), pdftest.BornDigital(20), scans(2), smallMixed()} {
				j, err := r.upload(t.Context(), f.Name, f.PDF, options(bus.Batch))
				for status.Code(err) == codes.Unavailable { // no leader at the moment: nothing was acknowledged
					j, err = r.upload(t.Context(), f.Name, f.PDF, options(bus.Batch))
				}
				if err != nil {
					return err
				}
				docs[j.GetId()] = f
			}
		}
		return nil
	}
	if err := send(3); err != nil {
		t.Fatal(err)
	}
	sent := make(chan error, 1)
	go func() { sent <- send(2) }() // uploads go on during the restart
	c.RollingRestart()
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	var ids []string
	for id := range docs {
		ids = append(ids, id)
	}
	r.wantDone(t, ids...)
	for id, f := range docs {
		rec, err := r.Jobs.LoadRecord(t.Context(), job.DefaultTenant, job.ID(id))
		if err != nil {
			t.Fatal(err)
		}
		if rec.PageCount != len(f.Pages) {
			t.Errorf("job %s: %d pages, want %d", id, rec.PageCount, len(f.Pages))
		}
		evidence, err := r.CollectEvidence(t.Context(), id, f)
		if err != nil {
			t.Fatal(err)
		}
		for page, rows := range evidence.Rows {
			if rows != 1 {
				t.Errorf("job %s: %d rows of page %d in the index, want 1", id, rows, page)
			}
		}
	}
}
