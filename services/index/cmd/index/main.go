// Command index runs the index service on its own.
package main

import (
	"context"
	"fmt"

	"inkstream.dev/pkg/lifecycle"
	"inkstream.dev/pkg/search"
	"inkstream.dev/pkg/service"
	"inkstream.dev/services/index"
)

func main() {
	cfg, db := index.DefaultConfig(), search.Config{}
	service.Main("index", []service.Settings{&cfg, &db}, func(ctx context.Context, rt *service.Runtime) ([]lifecycle.Unit, error) {
		store, err := search.Open(ctx, db.URL)
		if err != nil {
			return nil, fmt.Errorf("index database: %w", err)
		}
		rt.Close("index database", store.Close)
		s, err := index.New(cfg, rt.Env, store)
		if err != nil {
			return nil, err
		}
		rt.Status.AddCheck("index", s.Check)
		return []lifecycle.Unit{{Name: "index", Run: s.Run}}, nil
	})
}
