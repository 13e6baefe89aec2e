// Command gateway runs the gateway service on its own, and the reconciler in the same process.
package main

import (
	"context"
	"fmt"

	"inkstream.dev/pkg/lifecycle"
	"inkstream.dev/pkg/reconcile"
	"inkstream.dev/pkg/search"
	"inkstream.dev/pkg/service"
	"inkstream.dev/services/gateway"
)

// indexConfig is where lists and searches are answered from; a gateway without it answers everything else.
type indexConfig struct{ search.Config }

// Validate takes any URL, and none.
func (*indexConfig) Validate() error { return nil }

func main() {
	cfg, rec, db := gateway.DefaultConfig(), reconcile.DefaultConfig(), indexConfig{}
	service.Main("gateway", []service.Settings{&cfg, &rec, &db},
		func(ctx context.Context, rt *service.Runtime) ([]lifecycle.Unit, error) {
			// The index database is the index service's: what has expired is removed from it by a task.
			rec.Retention = cfg.Retention
			r, err := reconcile.New(rec, rt.Deps, nil)
			if err != nil {
				return nil, err
			}
			s, err := gateway.New(cfg, rt.Deps, rt.Status)
			if err != nil {
				return nil, err
			}
			if db.URL != "" {
				store, err := search.Open(ctx, db.URL)
				if err != nil {
					return nil, fmt.Errorf("index database: %w", err)
				}
				rt.Close("index database", store.Close)
				s.UseIndex(store)
				rt.Status.AddOptionalCheck("index", store.Ping) // uploads and all else go on without it
			}
			return []lifecycle.Unit{{Name: "reconcile", Run: r.Run}, {Name: "gateway", Run: s.Run}}, nil
		})
}
