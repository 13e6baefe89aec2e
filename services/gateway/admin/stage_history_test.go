package admin

import (
	"testing"
	"time"

	"inkstream.dev/pkg/bus"
)

// The last hour has what was done between two looks, over a broker that counts from zero again as well; a process is
// listed until it stops, or has been silent for long.
func TestStageHistory(t *testing.T) {
	t.Parallel()
	h := NewStageHistory(nil, nil)
	at := time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)
	if h.historyToProto(bus.OCR) != nil {
		t.Error("before any look: got a history, want none")
	}
	for i, done := range []uint64{100, 150, 150, 20, 60} {
		h.recordStages([]bus.StageStatus{{Stage: bus.OCR, Done: done, InFlight: 1,
			Waiting: map[bus.Lane]int64{bus.Batch: int64(i)}}}, at.Add(time.Duration(i)*10*time.Second))
	}
	v := h.historyToProto(bus.OCR)
	for i, want := range []float64{5, 0, 0, 4} {
		if v.GetRates()[i] != want || v.GetDepths()[i] != int64(i+2) {
			t.Errorf("step %d: got %g a second and depth %d, want %g and %d", i, v.GetRates()[i], v.GetDepths()[i], want, i+2)
		}
	}
	for range 2 * historyLength {
		h.recordStages([]bus.StageStatus{{Stage: bus.OCR}}, at)
	}
	if got := len(h.historyToProto(bus.OCR).GetRates()); got != historyLength {
		t.Errorf("got %d steps, want no more than %d", got, historyLength)
	}
	h.recordProcess(bus.Process{Stage: bus.OCR, Host: "b", PID: 1, Version: "1"}, at)
	h.recordProcess(bus.Process{Stage: bus.OCR, Host: "a", PID: 2, InFlight: 3}, at.Add(processAge))
	if list := h.processesToProto(bus.OCR, at.Add(processAge)); len(list) != 2 || list[0].GetHost() != "a" ||
		list[0].GetInFlight() != 3 || list[1].GetVersion() != "1" {
		t.Errorf("got processes %v, want a and b", list)
	}
	if list := h.processesToProto(bus.OCR, at.Add(processAge+time.Second)); len(list) != 1 || list[0].GetHost() != "a" {
		t.Errorf("got processes %v, want the one that is not silent", list)
	}
	h.recordProcess(bus.Process{Stage: bus.OCR, Host: "a", PID: 2, Stopping: true}, at)
	if list := h.processesToProto(bus.OCR, at.Add(processAge+time.Second)); len(list) != 0 {
		t.Errorf("got processes %v, want none", list)
	}
}
