package standalone_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"sync"
	"testing"
	"time"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/pdf"
	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/stage"
	"inkstream.dev/pkg/telemetry"
	"inkstream.dev/services/standalone"
)

// submitAs queues a document as a job of a tenant, as the gateway does.
func (l *crashHarness) submitAs(ctx context.Context, t *testing.T, tenant string, f pdftest.File) job.ID {
	t.Helper()
	id, digest := job.NewID(), sha256.Sum256(f.PDF)
	if err := l.Blobs.PutBytes(ctx, job.SourceKey(tenant, id), f.PDF, blob.PutOptions{}.ContentType); err != nil {
		t.Fatal(err)
	}
	tel := telemetry.NewDiscard()
	service := stage.Deps{Bus: l.Bus, Jobs: l.Jobs, Blobs: l.Blobs, Tel: tel, Log: tel.Log}.JobService()
	rec := &job.Record{ID: id, Tenant: tenant, Size: uint32(len(f.PDF)), SHA256: hex.EncodeToString(digest[:]),
		CreateTime: time.Now(), Options: job.Options{Lane: string(bus.Interactive)}}
	if err := service.CreateJob(ctx, rec); err != nil {
		t.Fatal(err)
	}
	if err := service.EnqueueJob(ctx, rec); err != nil {
		t.Fatal(err)
	}
	return id
}

// A tenant sends documents all of whose pages hang. Another tenant's job is done long before the first of these pages
// has had the time that a page may take; and the pages that hang do not keep their own tenant's job out for long.
func TestTenantWhosePagesHangDoesNotKeepOthersOut(t *testing.T) {
	t.Parallel()
	engines := openEngines(t, func(c *pdf.Config) { c.PageTimeout, c.FirstTry = time.Hour, 2*time.Second })
	l := newCrashHarness(t, engines, "", func(c *standalone.Config) {
		c.Render.Workers = 2
		c.Scan.Window = standalone.DefaultConfig().Scan.Window
		c.Reconcile.Patience = time.Hour
	})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for i := range 12 {
		l.submitAs(ctx, t, fmt.Sprintf("hostile%d", i%2), pdftest.HangOnEveryPage(48))
	}
	bustest.EventuallyWithin(t, 2*time.Minute, "a page that hangs is tried behind others", func() bool {
		cons, err := l.Bus.JetStream().Consumer(ctx, bus.Render.StreamName(), bus.DurableName(bus.Render, bus.Batch))
		return err == nil && cons.CachedInfo().NumAckPending > 0
	})
	for i := range 3 {
		f := pdftest.BornDigitalWith(pdftest.BornDigitalOptions{Pages: 1, Seed: uint64(700 + i), Design: pdftest.Report})
		start := time.Now()
		j, ok := takeThrough(ctx, t, l.client, f, url.Values{})
		if !ok || j.State != "SUCCEEDED" {
			t.Fatalf("a job beside pages that hang: %s, failures %v, want SUCCEEDED", j.State, j.Failures)
		}
		t.Logf("a job of one page took %s beside pages that hang", time.Since(start))
	}
}

// A tenant asks for images of pages that hang. Another tenant's images are drawn nonetheless, each of them.
func TestHangingImagesDoNotKeepOthersOut(t *testing.T) {
	t.Parallel()
	engines := openEngines(t, func(c *pdf.Config) { c.FirstTry = 2 * time.Second })
	l := newCrashHarness(t, engines, "", func(*standalone.Config) {})
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	var hostile []job.ID
	for range 6 {
		hostile = append(hostile, l.submitAs(ctx, t, "hostile", pdftest.HangingFile(pdftest.StallRender)))
	}
	other := l.submitAs(ctx, t, "other", pdftest.HangingFile(pdftest.StallRender))
	var asking sync.WaitGroup
	defer asking.Wait()
	defer cancel() // the clients of those go then
	for _, id := range hostile {
		asking.Go(func() {
			var drawn bus.ImageResponse
			q := bus.ImageRequest{Tenant: "hostile", Job: string(id), Page: 2, DPI: 72}
			if err := l.Bus.RequestCall(ctx, bus.ImageCall, q, &drawn); err == nil {
				t.Error("the page that hangs is drawn, so nothing was tested")
			}
		})
	}
	for i, page := range []int{1, 3, 1, 3, 1, 3} {
		ask, stop := context.WithTimeout(ctx, 30*time.Second)
		var drawn bus.ImageResponse
		err := l.Bus.RequestCall(ask, bus.ImageCall,
			bus.ImageRequest{Tenant: "other", Job: string(other), Page: page, DPI: float64(72 + i)}, &drawn)
		stop()
		if err != nil {
			t.Fatalf("image %d of another tenant: %v", i, err)
		}
	}
}
