package boost

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
)

// TestTrain learns a class that no single question tells.
func TestTrain(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	draw := func(n int) []Sample {
		out := make([]Sample, n)
		for i := range out {
			x := []float64{r.Float64(), r.Float64(), r.Float64()}
			out[i] = Sample{X: x, Positive: (x[0] > 0.4) != (x[2] > 0.6), Weight: 1}
		}
		return out
	}
	names := []string{"a", "noise", "b"}
	trained := Train(names, draw(2000), DefaultSettings())
	data, err := json.Marshal(trained)
	if err != nil {
		t.Fatal(err)
	}
	m, err := Parse(data, names)
	if err != nil {
		t.Fatal(err)
	}
	wrong, fresh := 0, draw(1000)
	for _, s := range fresh {
		if (m.Probability(s.X) >= 0.5) != s.Positive {
			wrong++
		}
	}
	if wrong > 30 {
		t.Errorf("%d of %d fresh cases are wrong, want at most 30", wrong, len(fresh))
	}
}

// TestParse refuses models that are made for other features.
func TestParse(t *testing.T) {
	t.Parallel()
	for _, data := range []string{
		`{`,
		`{"features": ["a"], "trees": []}`,
		`{"features": ["b", "a"], "trees": []}`,
		`{"features": ["a", "b"], "trees": [{"features": [0, 1, 2, 0, 0, 0, 0]}]}`,
	} {
		if _, err := Parse([]byte(data), []string{"a", "b"}); err == nil {
			t.Errorf("%s: no error", data)
		}
	}
}
