// Command ingest runs the ingest service on its own.
package main

import (
	"context"
	"fmt"

	"inkstream.dev/pkg/lifecycle"
	"inkstream.dev/pkg/pdf"
	"inkstream.dev/pkg/sandbox"
	"inkstream.dev/pkg/service"
	"inkstream.dev/services/ingest"
)

func main() {
	sandbox.Main(pdf.Program())
	cfg, engine := ingest.DefaultConfig(), pdf.DefaultConfig()
	service.Main("ingest", []service.Settings{&cfg, &engine},
		func(ctx context.Context, rt *service.Runtime) ([]lifecycle.Unit, error) {
			service.ReportWalls(ctx, rt.Deps.Tel)
			engine.Observe = service.ObserveChildren(rt.Deps.Tel, service.PDFium)
			pdfium, err := pdf.New(engine.WithDefaults(cfg.Workers), rt.Deps.Log)
			if err != nil {
				return nil, fmt.Errorf("pdf engine: %w", err)
			}
			rt.Close("pdf engine", pdfium.Close)
			s, err := ingest.New(cfg, rt.Deps, pdfium)
			if err != nil {
				return nil, err
			}
			return []lifecycle.Unit{{Name: "ingest", Run: s.Run}}, nil
		})
}
