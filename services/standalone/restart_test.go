package standalone_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/telemetry"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/scan/clamd/clamdtest"
	"inkstream.dev/services/standalone"
)

// startIn runs a pipeline in a folder until stop is called.
func startIn(t *testing.T, cfg standalone.Config) (p *pipeline, stop func()) {
	t.Helper()
	tel, err := telemetry.SetUpTelemetry(t.Context(), cfg.Telemetry, testLog{t})
	if err != nil {
		t.Fatal(err)
	}
	srv, err := standalone.New(t.Context(), cfg, tel)
	if err != nil {
		t.Fatalf("new: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	addrs := make(chan standalone.Addrs, 1)
	done := make(chan error, 1)
	go func() { done <- srv.Run(ctx, func(a standalone.Addrs) { addrs <- a }) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
		if err := srv.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	t.Cleanup(stop)
	select {
	case a := <-addrs:
		p = connect(t, a.GRPC, "http://"+a.HTTP, filepath.Join(cfg.DataDir, "blobs"))
		p.nats = a.NATS
		return p, stop
	case err := <-done:
		t.Fatalf("run: %v", err)
		return nil, nil
	}
}

// What a first start has queued, a second one finishes; the pages that were done stay as they are.
func TestSecondStartGoesOn(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t.TempDir())
	cfg.Durability = standalone.Full
	cfg.OCR.DrainTimeout, cfg.Render.DrainTimeout = 1, 1 // pages in hand are handed back
	p, stop := startIn(t, cfg)
	f := pdftest.ScannedFile(pdftest.ScanOptions{Pages: 6, DPI: 150})
	j, err := p.upload(t.Context(), f.Name, f.PDF, nil)
	if err != nil {
		t.Fatal(err)
	}
	watch, err := p.WatchJob(t.Context(), &inkstreamv1.WatchJobRequest{Id: j.GetId()})
	if err != nil {
		t.Fatal(err)
	}
	for j.GetPagesDone() == 0 {
		if j, err = watch.Recv(); err != nil {
			t.Fatal(err)
		}
	}
	if j.GetState() != inkstreamv1.Job_RUNNING {
		t.Fatalf("%s after %d pages, want RUNNING", j.GetState(), j.GetPagesDone())
	}
	stop()

	p, _ = startIn(t, cfg)
	if j, err = p.finish(t.Context(), j.GetId()); err != nil {
		t.Fatal(err)
	}
	check(t, j)
	if j.GetState() != inkstreamv1.Job_SUCCEEDED || j.GetOutcomes()["ocr"] != 6 {
		t.Errorf("%s, %v, %v, want SUCCEEDED with 6 pages recognised", j.GetState(), j.GetOutcomes(), j.GetError())
	}
	noLitter(t, p)
}

func TestTwoProcessesDoNotShareAFolder(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t.TempDir())
	startIn(t, cfg)
	_, err := standalone.New(t.Context(), cfg, telemetry.NewDiscard())
	if err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("a second server in the folder: %v, want an error that says it is in use", err)
	}
}

// While clamd is away documents wait; then infected ones are refused and others pass.
func TestMalware(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t.TempDir())
	socket := filepath.Join(t.TempDir(), "clamd.sock")
	cfg.Scan.Clamd = "unix://" + socket
	p, _ := startIn(t, cfg)
	clean := pdftest.BornDigital(1)
	infected := append(append([]byte{}, clean.PDF...), append([]byte("\n%"), clamdtest.EICAR()...)...)
	jobs := map[string]inkstreamv1.Job_State{}
	for state, data := range map[inkstreamv1.Job_State][]byte{
		inkstreamv1.Job_SUCCEEDED: clean.PDF, inkstreamv1.Job_REJECTED: append(clamdtest.EICAR(), infected...),
	} {
		j, err := p.upload(t.Context(), "a.pdf", data, nil)
		if err != nil {
			t.Fatal(err)
		}
		jobs[j.GetId()] = state
	}
	for id := range jobs {
		watch, err := p.WatchJob(t.Context(), &inkstreamv1.WatchJobRequest{Id: id})
		if err != nil {
			t.Fatal(err)
		}
		for {
			j, err := watch.Recv()
			if err != nil {
				t.Fatal(err)
			}
			if j.GetPageCount() > 0 { // ingest is through, so the document is before scan
				break
			}
		}
	}
	for id := range jobs {
		if j, err := p.GetJob(t.Context(), &inkstreamv1.GetJobRequest{Id: id}); err != nil ||
			j.GetState() != inkstreamv1.Job_RUNNING {
			t.Errorf("without clamd: %v, %v, want RUNNING", j.GetState(), err)
		}
	}
	clamd := clamdtest.Start(t)
	if err := os.Symlink(strings.TrimPrefix(clamd.Unix, "unix://"), socket); err != nil {
		t.Fatal(err)
	}
	for id, want := range jobs {
		j, err := p.finish(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if j.GetState() != want {
			t.Errorf("%s, %v, want %s", j.GetState(), j.GetError(), want)
		}
		if want == inkstreamv1.Job_REJECTED && (j.GetError().GetCode() != "MALWARE_FOUND" ||
			len(j.GetFindings()) != 1 || j.GetFindings()[0].GetDetail() != clamdtest.Signature) {
			t.Errorf("error %v, findings %v, want MALWARE_FOUND with the signature's name", j.GetError(), j.GetFindings())
		}
	}
}
