package access

import (
	"fmt"
	"testing"
	"time"
)

// However many sessions end, none counts again, and what is kept of them is bounded.
func TestEndedSessionsAreBounded(t *testing.T) {
	t.Parallel()
	e, expire := &endedSessions{}, time.Now().Add(time.Hour).Unix()
	var all []session
	for i := range int64(3 * maxEnded) {
		v := session{ID: fmt.Sprint(i), Begin: 1000 + i*7%100, Expire: expire}
		e.add(v)
		all = append(all, v)
	}
	if len(e.Sessions) > maxEnded {
		t.Errorf("%d sessions are kept, want at most %d", len(e.Sessions), maxEnded)
	}
	for _, v := range all {
		if !e.has(&v) {
			t.Errorf("session %s counts again", v.ID)
		}
	}
	if later := (session{ID: "later", Begin: 1200, Expire: expire}); e.has(&later) {
		t.Error("a session that was begun later has ended")
	}
	e.add(session{ID: "old", Begin: 5000, Expire: time.Now().Unix() - 1})
	if n := len(e.Sessions); n > maxEnded || e.Sessions[n-1].ID == "old" {
		t.Error("a session is kept whose cookie has expired")
	}
}
