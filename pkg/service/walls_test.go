package service_test

import (
	"flag"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/lifecycle"
	"inkstream.dev/pkg/sandbox"
	"inkstream.dev/pkg/service"
	"inkstream.dev/pkg/stage"
	"inkstream.dev/pkg/telemetry"
)

// What a child has found around itself stands at /readyz and in the metrics, of each engine.
func TestWallsAreReported(t *testing.T) {
	t.Parallel()
	tel, err := telemetry.SetUpTelemetry(t.Context(), telemetry.DefaultConfig("test", "1"), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	rt := &service.Runtime{Status: lifecycle.NewStatus(), Deps: stage.Deps{Bus: bustest.New(t), Tel: tel, Log: tel.Log}}
	service.ObserveWalls(rt, "pdfium")(sandbox.IsolationReport{Landlock: 7, Seccomp: true})
	service.ObserveWalls(rt, "tesseract")(sandbox.IsolationReport{Seccomp: true})

	info := rt.Status.BuildReport(t.Context()).Info
	if got := info[service.WallsInfo+"pdfium"]; got != "Landlock ABI 7, seccomp" {
		t.Errorf("/readyz says %q of pdfium", got)
	}
	if got := info[service.WallsInfo+"tesseract"]; !strings.HasPrefix(got, "missing: Landlock") {
		t.Errorf("/readyz says %q of tesseract, want that Landlock is missing", got)
	}
	answer := httptest.NewRecorder()
	tel.MetricsHandler().ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	for _, want := range []string{
		`inkstream_sandbox_wall{engine="pdfium",wall="landlock"} 1`, `inkstream_sandbox_wall{engine="pdfium",wall="seccomp"} 1`,
		`inkstream_sandbox_wall{engine="tesseract",wall="landlock"} 0`,
	} {
		if !strings.Contains(answer.Body.String(), want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
}

func TestSandboxFlag(t *testing.T) {
	t.Parallel()
	cfg := service.DefaultConfig("test")
	fs := flag.NewFlagSet("test", flag.ContinueOnError)
	cfg.Register(fs)
	cfg.Blobs = "file:///blobs"
	if cfg.Sandbox != service.SandboxRequired || cfg.Validate() != nil {
		t.Errorf("by default: %q (%v), want %q", cfg.Sandbox, cfg.Validate(), service.SandboxRequired)
	}
	for value, valid := range map[string]bool{"best-effort": true, "required": true, "none": false, "": false} {
		if err := fs.Set("sandbox", value); err != nil {
			t.Fatal(err)
		}
		if err := cfg.Validate(); (err == nil) != valid {
			t.Errorf("--sandbox=%s: %v, valid is %t", value, err, valid)
		}
	}
}
