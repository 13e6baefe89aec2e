// Command scan runs the scan service on its own.
package main

import (
	"context"

	"inkstream.dev/pkg/lifecycle"
	"inkstream.dev/pkg/pdf"
	"inkstream.dev/pkg/sandbox"
	"inkstream.dev/pkg/service"
	"inkstream.dev/pkg/service/pdfengine"
	"inkstream.dev/services/scan"
)

func main() {
	sandbox.Main(pdf.Program())
	cfg, engine := scan.DefaultConfig(), pdf.DefaultConfig()
	service.Main("scan", []service.Settings{&cfg, &engine},
		func(ctx context.Context, rt *service.Runtime) ([]lifecycle.Unit, error) {
			pdfium, err := pdfengine.Open(ctx, rt, engine.WithDefaults(cfg.Workers))
			if err != nil {
				return nil, err
			}
			return scan.Units(rt, cfg, pdfium)
		})
}
