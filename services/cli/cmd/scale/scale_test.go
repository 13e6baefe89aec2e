package main

import (
	"math"
	"testing"
	"time"
)

func TestSlope(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name            string
		points          []point
		rise, deviation float64
	}{
		{"line", []point{{0, 5}, {10, 7}, {20, 9}, {30, 11}}, 0.2, 0},
		{"flat with noise", []point{{0, 1}, {1, -1}, {2, -1}, {3, 1}}, 0, math.Sqrt(0.4)},
	} {
		if rise, deviation := slope(tt.points); math.Abs(rise-tt.rise) > 1e-9 || math.Abs(deviation-tt.deviation) > 1e-9 {
			t.Errorf("%s: got %g ± %g, want %g ± %g", tt.name, rise, deviation, tt.rise, tt.deviation)
		}
	}
	if rise, _ := slope([]point{{1, 1}, {1, 2}, {1, 3}}); finite(rise) {
		t.Errorf("without progress: got %g, want none", rise)
	}
}

// What is done costs what the counters say, without what the time costs in which nothing is done.
func TestCostWithoutRest(t *testing.T) {
	t.Parallel()
	start := time.Now()
	before := counters{at: start, kv: 100, nats: time.Second}
	after := counters{at: start.Add(10 * time.Second), kv: 220, nats: 2 * time.Second}
	got := after.since(before, 10, cost{2: 2, 9: 50})
	if want := (cost{2: 10, 9: 50}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}
