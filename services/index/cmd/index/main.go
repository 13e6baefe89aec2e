// Command index runs the index service on its own.
package main

import (
	"context"
	"fmt"

	"inkstream.dev/pkg/lifecycle"
	"inkstream.dev/pkg/pdf"
	"inkstream.dev/pkg/sandbox"
	"inkstream.dev/pkg/search"
	"inkstream.dev/pkg/service"
	"inkstream.dev/pkg/service/pdfengine"
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
			pdfium, err := pdfengine.Open(ctx, rt, engine.WithDefaults(0)) // workers wait for the stores, the engine for a core
			if err != nil {
				return nil, err
			}
			return index.Units(rt, cfg, store, pdfium)
		})
}
