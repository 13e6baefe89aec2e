package main

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"inkstream.dev/pkg/layout/internal/boost"
)

// TestSamplesMakeTheWeights learns the same weights from the same samples, and counts where two models differ.
func TestSamplesMakeTheWeights(t *testing.T) {
	t.Parallel()
	draw := func(positive func(x float64) bool) []boost.Sample {
		random := rand.New(rand.NewPCG(7, 0))
		samples := make([]boost.Sample, 400)
		for i := range samples {
			x := random.Float64()
			samples[i] = boost.Sample{X: []float64{x}, Positive: positive(x), Weight: 1}
		}
		return samples
	}
	upper := draw(func(x float64) bool { return x > 0.5 })
	settings := boost.DefaultSettings()
	first, second := boost.Train([]string{"x"}, upper, settings), boost.Train([]string{"x"}, upper, settings)
	other := boost.Train([]string{"x"}, draw(func(x float64) bool { return x > 0.75 }), settings)
	a, err := json.Marshal(first)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := json.Marshal(second); err != nil || string(a) != string(b) {
		t.Errorf("the same samples gave two models (%v)", err)
	}
	between := 0
	for _, s := range upper {
		if s.X[0] > 0.5 && s.X[0] <= 0.75 {
			between++
		}
	}
	if differ, wrong, wrongOfOther := compareModels(first, other, upper); wrong > 12 || abs(differ-between) > 12 || abs(wrongOfOther-between) > 12 {
		t.Errorf("the models differ in %d samples, %d and %d are wrong; want about %d, 0 and %d", differ, wrong, wrongOfOther, between, between)
	}
}

func abs(n int) int { return max(n, -n) }
