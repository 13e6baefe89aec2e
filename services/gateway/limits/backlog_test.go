package limits_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/services/gateway/gatewaytest"
)

func TestOverload(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		max  int64 // gateway.max-backlog
		fill int
		want fault.Code
	}{
		{"below the mark", 4, 3, ""},
		{"at the mark", 4, 4, fault.QueueFull},
		{"below nine tenths", 0, 8, ""},
		{"at nine tenths", 0, 9, fault.QueueFull},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := gatewaytest.Start(t, func(s *gatewaytest.Options) {
				s.Cfg.MaxBacklog = tt.max
				s.Bus = bustest.NewWithTopology(t, bus.Topology{MaxTasks: 10})
			})
			r.FillQueue(tt.fill)
			if tt.want == "" {
				_, err := gatewaytest.RPCAPI{C: r.RPC}.Upload(t.Context(), gatewaytest.Document{Data: strings.NewReader("%PDF-1.7")})
				gatewaytest.CheckError(t, err, "")
				return
			}
			gatewaytest.EachAPI(t, r, func(t *testing.T, a gatewaytest.API) {
				_, err := a.Upload(t.Context(), gatewaytest.Document{Data: strings.NewReader("%PDF-1.7")})
				gatewaytest.CheckError(t, err, tt.want)
			})
			r.WantNoJobs()
			r.WantRetryAfter()
		})
	}
}

// When the queue drains, uploads are taken again by themselves.
func TestOverloadPasses(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, func(s *gatewaytest.Options) { s.Cfg.MaxBacklog = 1 })
	r.FillQueue(1)
	try := func() error {
		_, err := gatewaytest.RPCAPI{C: r.RPC}.Upload(t.Context(), gatewaytest.Document{Data: strings.NewReader("%PDF-1.7")})
		return err
	}
	gatewaytest.CheckError(t, try(), fault.QueueFull)
	s, err := r.Deps.Bus.JetStream().Stream(t.Context(), bus.Ingest.StreamName())
	if err == nil {
		err = s.Purge(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	gatewaytest.Eventually(t, "an upload is taken", func() bool { return try() == nil })
}

// While a dependency is known to be away that an upload needs, it is refused at once, before anything of it is read.
func TestUploadsAreRefusedWhileADependencyIsDown(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	type away map[string]error
	for _, tt := range []struct {
		away    away
		refused bool
	}{
		{away{"blobs": errors.New("no answer")}, true},
		{away{"nats": errors.New("no answer")}, true},
		{away{"nats": bus.ErrUnresponsive, "blobs": errors.New("no answer")}, true},
		{away{"index": errors.New("no answer")}, false}, // which takes no part in an upload
		{away{"nats": bus.ErrUnresponsive}, false},      // the record can be written, and the task is queued later
	} {
		var down atomic.Bool
		down.Store(true)
		for name, err := range tt.away {
			r.Status.AddCheck(name, func(context.Context) error {
				if down.Load() {
					return err
				}
				return nil
			})
		}
		// known counts those of the dependencies that are known to be away.
		known := func() (n int) {
			r.Status.BuildReport(t.Context())
			for name := range tt.away {
				if r.Status.DependencyError(name) != nil {
					n++
				}
			}
			return n
		}
		gatewaytest.Eventually(t, fmt.Sprintf("%v is known to be away", tt.away), func() bool { return known() == len(tt.away) })
		_, err := gatewaytest.RPCAPI{C: r.RPC}.Upload(t.Context(), gatewaytest.Document{Data: strings.NewReader("%PDF-1.7")})
		if tt.refused {
			gatewaytest.CheckError(t, err, fault.Unavailable)
			r.WantNoJobs()
		} else {
			gatewaytest.CheckError(t, err, "")
		}
		down.Store(false)
		gatewaytest.Eventually(t, fmt.Sprintf("%v is back", tt.away), func() bool { return known() == 0 })
	}
}
