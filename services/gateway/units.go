package gateway

import (
	"inkstream.dev/pkg/jobs"
	"inkstream.dev/pkg/lifecycle"
	"inkstream.dev/pkg/reconcile"
	"inkstream.dev/pkg/search"
	"inkstream.dev/pkg/service"
)

// Parts is what the service is built from beside a process's own.
type Parts struct {
	Config    Config
	Reconcile reconcile.Config
	// Index is where lists and searches are answered from; nil where there is none.
	Index search.Store
	// Remover removes a job's rows from the index database; nil where that is left to the index service.
	Remover jobs.Remover
}

// Units returns what a process consists of that runs the service: the API, and the reconciler. What Parts names stays
// the caller's. The Service is that of the units; it tells the addresses that it listens on.
func Units(rt *service.Runtime, p Parts) ([]lifecycle.Unit, *Service, error) {
	p.Reconcile.Retention = p.Config.Retention
	r, err := reconcile.New(p.Reconcile, rt.Deps, p.Remover)
	if err != nil {
		return nil, nil, err
	}
	s, err := New(p.Config, rt.Deps, rt.Status, p.Index)
	if err != nil {
		return nil, nil, err
	}
	return []lifecycle.Unit{{Name: "reconcile", Run: r.Run}, {Name: "gateway", Run: s.Run}}, s, nil
}
