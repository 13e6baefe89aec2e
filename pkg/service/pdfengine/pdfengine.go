// Package pdfengine opens the PDF engine of a service. It is apart from pkg/service, so that a service which opens no
// documents does not carry the engine.
package pdfengine

import (
	"context"
	"fmt"

	"inkstream.dev/pkg/pdf"
	"inkstream.dev/pkg/service"
)

// Open returns an engine whose children the metrics count, and which is closed when the service has stopped. It says
// in the metrics, and where some are missing in the log, which walls shut the children in.
func Open(ctx context.Context, rt *service.Runtime, cfg pdf.Config) (*pdf.Engine, error) {
	service.ReportWalls(ctx, rt.Deps.Tel)
	if err := service.RequireWalls(rt); err != nil {
		return nil, fmt.Errorf("pdf engine: %w", err)
	}
	cfg.RequireWalls, cfg.ObserveWalls = !rt.BestEffort, service.ObserveWalls(rt, service.PDFium)
	cfg.Observe = service.ObserveChildren(rt.Deps.Tel, service.PDFium)
	engine, err := pdf.New(cfg, rt.Deps.Log)
	if err != nil {
		return nil, fmt.Errorf("pdf engine: %w", err)
	}
	rt.Close("pdf engine", engine.Close)
	return engine, nil
}
