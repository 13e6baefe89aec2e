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
			// Without a Remover: the index database is the index service's, which removes what has expired by a task.
			parts := gateway.Parts{Config: cfg, Reconcile: rec}
			if db.URL != "" {
				store, err := search.Open(ctx, db.URL)
				if err != nil {
					return nil, fmt.Errorf("index database: %w", err)
				}
				rt.Close("index database", store.Close)
				rt.Status.AddOptionalCheck("index", store.Ping) // uploads and all else go on without it
				parts.Index = store
			}
			units, _, err := gateway.Units(rt, parts)
			return units, err
		})
}
