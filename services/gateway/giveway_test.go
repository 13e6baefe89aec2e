package gateway

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestGiveWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &Service{}
		took := func() time.Duration {
			start := time.Now()
			s.GiveWay(t.Context())
			return time.Since(start)
		}
		if got := took(); got != 0 {
			t.Errorf("without uploads: waited %s, want nothing", got)
		}
		s.busy.Store(1000)
		if got := took(); got != giveWayTime {
			t.Errorf("under a flood of uploads: waited %s, want %s", got, giveWayTime)
		}
		time.AfterFunc(giveWayTime/2, func() { s.busy.Store(0) })
		if got := took(); got < giveWayTime/2 || got > giveWayTime*3/4 {
			t.Errorf("until the uploads are through: waited %s, want %s", got, giveWayTime/2)
		}
	})
}
