// Command index runs the index service on its own.
package main

import (
	"context"
	"fmt"

	"inkstream.dev/pkg/lifecycle"
	"inkstream.dev/pkg/pdf"
	"inkstream.dev/pkg/projection"
	"inkstream.dev/pkg/sandbox"
	"inkstream.dev/pkg/search"
	"inkstream.dev/pkg/service"
	"inkstream.dev/services/index"
)

func main() {
	sandbox.Main(pdf.Program())
	cfg, db, engine := index.DefaultConfig(), search.Config{}, pdf.DefaultConfig()
	service.Main("index", []service.Settings{&cfg, &db, &engine},
		func(ctx context.Context, rt *service.Runtime) ([]lifecycle.Unit, error) {
			store, err := search.Open(ctx, db.URL)
			if err != nil {
				return nil, fmt.Errorf("index database: %w", err)
			}
			rt.Close("index database", store.Close)
			service.ReportWalls(ctx, rt.Deps.Tel)
			engine.Observe = service.ObserveChildren(rt.Deps.Tel, service.PDFium)
			pdfium, err := pdf.New(engine.WithDefaults(cfg.Workers), rt.Deps.Log)
			if err != nil {
				return nil, fmt.Errorf("pdf engine: %w", err)
			}
			rt.Close("pdf engine", pdfium.Close)
			s, err := index.New(cfg, rt.Deps, store, pdfium)
			if err != nil {
				return nil, err
			}
			rt.Status.AddCheck("index", s.Check)
			return []lifecycle.Unit{
				{Name: "index", Run: s.Run}, {Name: "projection",
					Run: projection.New(rt.Deps.Jobs, rt.Deps.Bus, store, rt.Deps.Log).Run},
			}, nil
		})
}
