package rpc

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// A call whose message does not come ends, sooner if many of the same address wait; one whose message has come goes on.
func TestCallsWithoutAMessageEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := &unreadCalls{calls: map[string]int{}}
		read := u.beginCall(t.Context(), "a", nil)
		markRead(read)
		var patient []context.Context
		for range patientCalls {
			patient = append(patient, u.beginCall(t.Context(), "a", nil))
		}
		crowded, other := u.beginCall(t.Context(), "a", nil), u.beginCall(t.Context(), "b", nil)
		<-time.After(crowdedTimeout + time.Second) // of the bubble
		synctest.Wait()
		if crowded.Err() == nil || patient[0].Err() != nil || other.Err() != nil {
			t.Errorf("after %s: of many %v, of the first %v, of another address %v; want the first of these ended", crowdedTimeout,
				crowded.Err(), patient[0].Err(), other.Err())
		}
		<-time.After(messageTimeout)
		synctest.Wait()
		for _, ctx := range append(patient, other) {
			if ctx.Err() == nil {
				t.Fatalf("a call without a message goes on after %s", messageTimeout)
			}
		}
		if read.Err() != nil {
			t.Errorf("the call whose message has come: %v", read.Err())
		}
		if len(u.calls) > 0 {
			t.Errorf("%v are counted when all have ended", u.calls)
		}
	})
}
