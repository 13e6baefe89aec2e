package bus

import (
	"strings"
	"testing"
	"time"
)

// A server whose disk was full keeps that by the stream: one may be stuck while the others are well.
func TestUnresponsiveStreams(t *testing.T) {
	t.Parallel()
	var tr writeProbe
	tr.recordAnswer("ink.scan.interactive.t.j", true)
	tr.recordAnswer("odd", false)
	if err := tr.unresponsiveStreams(); err != nil {
		t.Errorf("got %v, want nothing", err)
	}
	tr.recordAnswer("ink.render.interactive.t.j", false)
	tr.recordAnswer("ink.ocr.batch.t.j", false)
	tr.recordAnswer("ink.ocr.batch.t.j", true)
	if err := tr.unresponsiveStreams(); err == nil || !strings.Contains(err.Error(), "ink.render.>") ||
		strings.Contains(err.Error(), "ocr") {
		t.Errorf("got %v, want it to name ink.render.> alone", err)
	}
	tr.unresponsive["ink.render"] = time.Now().Add(-2 * unresponsiveFor)
	if err := tr.unresponsiveStreams(); err != nil {
		t.Errorf("after a while: got %v, want nothing", err)
	}
}
