// Command ocr runs the ocr service on its own.
package main

import (
	"context"
	"fmt"

	"inkstream.dev/pkg/lifecycle"
	"inkstream.dev/pkg/sandbox"
	"inkstream.dev/pkg/service"
	"inkstream.dev/services/ocr"
)

func main() {
	sandbox.Main(ocr.Programs()...)
	cfg, engine := ocr.DefaultConfig(), ocr.DefaultTesseractConfig()
	service.Main("ocr", []service.Settings{&cfg, &engine},
		func(ctx context.Context, rt *service.Runtime) ([]lifecycle.Unit, error) {
			engine.Languages = cfg.Languages
			if engine.Workers == 0 {
				engine.Workers = cfg.Workers
			}
			service.ReportWalls(ctx, rt.Deps.Tel)
			engine.Observe = service.ObserveChildren(rt.Deps.Tel, service.Tesseract)
			tesseract, err := ocr.NewTesseract(engine, rt.Deps.Log)
			if err != nil {
				return nil, fmt.Errorf("ocr engine: %w", err)
			}
			rt.Close("ocr engine", tesseract.Close)
			s, err := ocr.New(cfg, rt.Deps, tesseract)
			if err != nil {
				return nil, err
			}
			return []lifecycle.Unit{{Name: "ocr", Run: s.Run}}, nil
		})
}
