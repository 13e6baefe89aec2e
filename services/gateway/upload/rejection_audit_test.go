package upload

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	busv1 "inkstream.dev/proto/gen/inkstream/bus/v1"
)

func TestRejectionAuditIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRejectionAudit(func(context.Context, *busv1.Event) error { return errors.New("away") })
		count := func(tries int) (n int) {
			for range tries {
				if r.tokens.Allow() {
					n++
				}
			}
			return n
		}
		if got := count(1000); got != rejectionBurst {
			t.Errorf("got %d at once, want %d", got, rejectionBurst)
		}
		<-time.After(time.Second) // of the bubble's clock
		if got := count(1000); got != rejectionRate {
			t.Errorf("got %d after a second, want %d", got, rejectionRate)
		}
	})
}
