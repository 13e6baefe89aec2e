// Command gateway runs the gateway service on its own, and the reconciler beside it.
package main

import (
	"context"

	"inkstream.dev/pkg/lifecycle"
	"inkstream.dev/pkg/reconcile"
	"inkstream.dev/pkg/service"
	"inkstream.dev/services/gateway"
)

func main() {
	cfg, rec := gateway.DefaultConfig(), reconcile.DefaultConfig()
	service.Main("gateway", []service.Settings{&cfg, &rec}, func(_ context.Context, rt *service.Runtime) ([]lifecycle.Unit, error) {
		// The index database is the index service's: what has expired is removed from it by a task.
		r, err := reconcile.New(rec, rt.Env, nil)
		if err != nil {
			return nil, err
		}
		s, err := gateway.New(cfg, rt.Env, rt.Status)
		if err != nil {
			return nil, err
		}
		return []lifecycle.Unit{{Name: "reconcile", Run: r.Run}, {Name: "gateway", Run: s.Run}}, nil
	})
}
