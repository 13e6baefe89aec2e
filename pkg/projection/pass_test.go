package projection

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// A pass that is asked for begins when the index has rested from the last one, and any after a second of rest.
func TestPassBeginsSoonAfterItIsAskedFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		askedAfter, rest, want time.Duration
	}{
		"at rest from nothing":    {0, 0, 0},
		"while the index rests":   {100 * time.Millisecond, 400 * time.Millisecond, 400 * time.Millisecond},
		"when it has rested":      {500 * time.Millisecond, 400 * time.Millisecond, 500 * time.Millisecond},
		"never":                   {time.Hour, 0, passInterval},
		"with a longer rest":      {0, maxRest, maxRest},
		"never, and a long rest":  {time.Hour, maxRest, maxRest},
		"before the last one":     {-1, 0, 0},
		"before, and it has rest": {-1, 300 * time.Millisecond, 300 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p, start := New(nil, nil, nil, slog.New(slog.DiscardHandler)), time.Now()
				if c.askedAfter < 0 {
					p.CopySoon()
				} else {
					time.AfterFunc(c.askedAfter, p.CopySoon)
				}
				if !p.awaitNextPass(t.Context(), c.rest) {
					t.Error("awaitNextPass: got an end, want a pass")
				}
				if got := time.Since(start); got != c.want {
					t.Errorf("the pass began after %v, want %v", got, c.want)
				}
			})
		})
	}
}

func TestNoPassAfterTheEnd(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if New(nil, nil, nil, slog.New(slog.DiscardHandler)).awaitNextPass(ctx, time.Hour) {
		t.Error("awaitNextPass: got a pass, want the end")
	}
}
