package limits

import (
	"context"
	"testing"
	"testing/synctest"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/services/gateway/access"
)

// A tenant that asks for lists and searches without end, and for compressed answers, leaves places to the next, and is
// told to come later.
func TestWorkOnAnswersIsShared(t *testing.T) {
	t.Parallel()
	for name, acquire := range map[string]func(*Service, context.Context) (func(), error){
		"queries": (*Service).AcquireQuery, "processors": (*Service).AcquireProcessor,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &Service{shared: newShared()}
				ctx, cancel := context.WithCancel(access.WithIdentity(t.Context(), &access.Identity{Tenant: "hostile"}))
				defer cancel()
				ends := make(chan error, maxTenantQueries+1)
				for range cap(ends) {
					go func() {
						release, err := acquire(s, ctx)
						if err == nil {
							<-ctx.Done()
							release()
						}
						ends <- err
					}()
				}
				synctest.Wait()
				release, err := acquire(s, access.WithIdentity(t.Context(), &access.Identity{Tenant: "other"}))
				if err != nil {
					t.Fatalf("another tenant: %v", err)
				}
				release()
				if name == "queries" { // one is more than may wait
					if err := <-ends; fault.CodeOf(err) != fault.QueueFull {
						t.Errorf("got %v, want QUEUE_FULL", err)
					}
				}
				cancel()
				synctest.Wait()
			})
		})
	}
}
