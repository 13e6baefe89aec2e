// Command gateway runs the gateway service on its own.
package main

import (
	"context"

	"inkstream.dev/pkg/lifecycle"
	"inkstream.dev/pkg/service"
	"inkstream.dev/services/gateway"
)

func main() {
	cfg := gateway.DefaultConfig()
	service.Main("gateway", []service.Settings{&cfg}, func(_ context.Context, rt *service.Runtime) ([]lifecycle.Unit, error) {
		s, err := gateway.New(cfg, rt.Env, rt.Status)
		if err != nil {
			return nil, err
		}
		return []lifecycle.Unit{{Name: "gateway", Run: s.Run}}, nil
	})
}
