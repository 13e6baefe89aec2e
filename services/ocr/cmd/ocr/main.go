// Command ocr runs the ocr service on its own.
package main

import (
	"context"

	"inkstream.dev/pkg/lifecycle"
	"inkstream.dev/pkg/sandbox"
	"inkstream.dev/pkg/service"
	"inkstream.dev/services/ocr"
)

func main() {
	sandbox.Main(ocr.Programs()...)
	cfg, engineCfg := ocr.DefaultConfig(), ocr.DefaultEngineConfig()
	service.Main("ocr", []service.Settings{&cfg, &engineCfg},
		func(ctx context.Context, rt *service.Runtime) ([]lifecycle.Unit, error) {
			service.ReportWalls(ctx, rt.Deps.Tel)
			engine, err := ocr.OpenEngine(rt, engineCfg, cfg)
			if err != nil {
				return nil, err
			}
			return ocr.Units(rt, cfg, engine)
		})
}
