package fairshare

import (
	"context"
	"time"
)

// shareLookInterval is how often a call that waits looks whether its tenant uses little by now.
const shareLookInterval = 50 * time.Millisecond

// Slots are places that tenants share: common ones, and some for tenants that use little; see Account.Lightest. Those
// that wait for common ones come in no order. It is safe for concurrent use.
type Slots struct {
	common, spare chan struct{}
	tenants       Account
	waiting       Waiting
}

// NewSlots returns so many places, all of them free.
func NewSlots(common, spare int) *Slots {
	return &Slots{common: make(chan struct{}, common), spare: make(chan struct{}, spare)}
}

// AcquireSlot waits for a place, which release gives back. Its only error is that of ctx.
func (s *Slots) AcquireSlot(ctx context.Context, tenant string) (release func(), err error) {
	tick := time.NewTicker(shareLookInterval)
	defer tick.Stop()
	defer s.waiting.Add(tenant)()
	for {
		var spare chan struct{} // never ready where it is nil
		if s.tenants.Lightest(s.waiting.Tenants())[tenant] {
			spare = s.spare
		}
		taken := s.common
		select {
		case s.common <- struct{}{}:
		default:
			select {
			case s.common <- struct{}{}:
			case spare <- struct{}{}:
				taken = spare
			case <-tick.C:
				continue
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		end := s.tenants.Begin(tenant)
		return func() {
			end()
			<-taken
		}, nil
	}
}
