package render

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"inkstream.dev/pkg/fault"
)

func TestDrawTimeout(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		caller time.Duration // how long it waits
		took   time.Duration
		want   fault.Code
	}{
		{"in time", imageTimeout, time.Second, ""},
		{"too long", imageTimeout, time.Hour, fault.PageTimeout},
		{"for a caller that is gone", time.Second, time.Hour, fault.Internal},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), tt.caller)
				defer cancel()
				err := drawWithTimeout(ctx, func(ctx context.Context) error {
					select {
					case <-ctx.Done():
						return errors.New("the child was killed")
					case <-time.After(tt.took):
						return nil
					}
				})
				if (err == nil) != (tt.want == "") || err != nil && fault.CodeOf(err) != tt.want {
					t.Errorf("got %v, want %q", err, tt.want)
				}
			})
		})
	}
}
