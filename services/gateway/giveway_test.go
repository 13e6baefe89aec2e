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
		for range 1000 {
			s.flood.enter()
		}
		<-time.After(stillTime)
		if got := took(); got != 0 {
			t.Errorf("with uploads that stand still: waited %s, want nothing", got)
		}
		moving := time.NewTicker(stillTime / 2)
		defer moving.Stop()
		s.flood.moved()
		go func() {
			for range (giveWayEvery + giveWayTime/2) / (stillTime / 2) {
				<-moving.C
				s.flood.moved()
			}
			for range 1000 {
				s.flood.leave()
			}
		}()
		if got := took(); got != giveWayTime {
			t.Errorf("under a flood of uploads: waited %s, want %s", got, giveWayTime)
		}
		if got := took(); got != 0 {
			t.Errorf("once more at once: waited %s, want nothing", got)
		}
		<-time.After(giveWayEvery - giveWayTime)
		if got := took(); got < giveWayTime/2 || got > giveWayTime*3/4 {
			t.Errorf("until the flood is over: waited %s, want about %s", got, giveWayTime/2)
		}
	})
}
