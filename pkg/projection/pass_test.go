package projection

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// A pass that is asked for begins when the index has rested, and any when it is due.
func TestPassBeginsSoonAfterItIsAskedFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		askedAfter, rest, want time.Duration
		asked                  bool
	}{
		"without a rest":         {0, 0, 0, true},
		"while the index rests":  {100 * time.Millisecond, 400 * time.Millisecond, 400 * time.Millisecond, true},
		"when it has rested":     {500 * time.Millisecond, 400 * time.Millisecond, 500 * time.Millisecond, true},
		"never":                  {time.Hour, 0, 2 * time.Second, false},
		"before the wait":        {-1, 0, 0, true},
		"before a rest":          {-1, 300 * time.Millisecond, 300 * time.Millisecond, true},
		"before one that is due": {1999 * time.Millisecond, 2 * time.Hour, 2 * time.Second, false},
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
				asked, err := p.awaitNextPass(t.Context(), 2*time.Second, c.rest)
				if took := time.Since(start); err != nil || asked != c.asked || took != c.want {
					t.Errorf("got a pass after %v, asked for: %v, %v, want one after %v, %v", took, asked, err, c.want, c.asked)
				}
			})
		})
	}
}

func TestNoPassAfterTheEnd(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	_, err := New(nil, nil, nil, slog.New(slog.DiscardHandler)).awaitNextPass(ctx, time.Hour, time.Hour)
	if err == nil {
		t.Error("awaitNextPass: got a pass, want the end")
	}
}
