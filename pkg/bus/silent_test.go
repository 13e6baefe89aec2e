package bus

import (
	"strings"
	"testing"
	"time"
)

// A server whose disk was full keeps that by the stream: one may be stuck while the others are well.
func TestSilentStreams(t *testing.T) {
	t.Parallel()
	var tr trial
	tr.answered("ink.scan.interactive.t.j", true)
	tr.answered("odd", false)
	if err := tr.silence(); err != nil {
		t.Errorf("got %v, want nothing", err)
	}
	tr.answered("ink.render.interactive.t.j", false)
	tr.answered("ink.ocr.batch.t.j", false)
	tr.answered("ink.ocr.batch.t.j", true)
	if err := tr.silence(); err == nil || !strings.Contains(err.Error(), "ink.render.>") || strings.Contains(err.Error(), "ocr") {
		t.Errorf("got %v, want it to name ink.render.> alone", err)
	}
	tr.silent["ink.render"] = time.Now().Add(-2 * silentFor)
	if err := tr.silence(); err != nil {
		t.Errorf("after a while: got %v, want nothing", err)
	}
}
