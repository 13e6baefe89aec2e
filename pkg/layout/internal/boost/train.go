package boost

import (
	"math"
	"slices"
)

// Sample is a case whose class is known.
type Sample struct {
	X        []float64
	Positive bool
	Weight   float64
}

// Settings say how a model is trained.
type Settings struct {
	Trees     int
	Rate      float64 // how much of what each tree says is taken
	MinWeight float64 // the least weight of the samples on each side of a question
	Shrink    float64 // pulls the values of leaves with few samples towards 0
}

// DefaultSettings suit a few thousand samples.
func DefaultSettings() Settings { return Settings{Trees: 160, Rate: 0.12, MinWeight: 4, Shrink: 4} }

// maxBins is how many thresholds are tried for each feature.
const maxBins = 48

// Train makes a model of samples, the same each time.
func Train(features []string, samples []Sample, s Settings) *Model {
	m := &Model{Features: features}
	t := trainer{settings: s, samples: samples, thresholds: pickThresholds(len(features), samples)}
	t.bins = make([][]uint8, len(samples))
	positive, all := 1.0, 2.0
	for i, sample := range samples {
		t.bins[i] = make([]uint8, len(features))
		for f, v := range sample.X {
			at, _ := slices.BinarySearch(t.thresholds[f], math.Nextafter(v, math.Inf(1)))
			t.bins[i][f] = uint8(at)
		}
		all += sample.Weight
		if sample.Positive {
			positive += sample.Weight
		}
	}
	m.Bias = math.Log(positive / (all - positive))
	t.scores = make([]float64, len(samples))
	for i := range t.scores {
		t.scores[i] = m.Bias
	}
	for range s.Trees {
		tree := t.growTree()
		for i := range samples {
			t.scores[i] += tree.value(samples[i].X)
		}
		m.Trees = append(m.Trees, tree)
	}
	return m
}

// pickThresholds returns, for each feature, the places between its values that may part the samples.
func pickThresholds(features int, samples []Sample) [][]float64 {
	out := make([][]float64, features)
	for f := range out {
		values := make([]float64, len(samples))
		for i, s := range samples {
			values[i] = s.X[f]
		}
		slices.Sort(values)
		values = slices.Compact(values)
		step := max(1, len(values)/maxBins)
		for i := step; i < len(values); i += step {
			out[f] = append(out[f], roundShort((values[i-1]+values[i])/2, values[i-1], values[i]))
		}
	}
	return out
}

// roundShort returns a short number between two others, near v.
func roundShort(v, low, high float64) float64 {
	for scale := 1.0; scale < 1e6; scale *= 10 {
		if r := math.Round(v*scale) / scale; r > low && r <= high {
			return r
		}
	}
	return v
}

type trainer struct {
	settings   Settings
	samples    []Sample
	thresholds [][]float64
	bins       [][]uint8 // of each sample, how many thresholds of each feature are not above its value
	scores     []float64 // the log-odds so far

	gradients, weights []float64
}

// growTree makes the tree that improves the model most, question by question.
func (t *trainer) growTree() Tree {
	t.gradients, t.weights = make([]float64, len(t.samples)), make([]float64, len(t.samples))
	for i, s := range t.samples {
		p := 1 / (1 + math.Exp(-t.scores[i]))
		t.gradients[i] = -p * s.Weight
		if s.Positive {
			t.gradients[i] += s.Weight
		}
		t.weights[i] = p * (1 - p) * s.Weight
	}
	var tree Tree
	nodes := make([][]int, splits+leaves)
	for i := range t.samples {
		nodes[0] = append(nodes[0], i)
	}
	for n := range splits {
		f, bin := t.findSplit(nodes[n])
		tree.Features[n], tree.Thresholds[n] = f, math.MaxFloat64
		if bin < len(t.thresholds[f]) {
			tree.Thresholds[n] = t.thresholds[f][bin]
		}
		for _, i := range nodes[n] {
			child := 2*n + 2
			if int(t.bins[i][f]) <= bin {
				child = 2*n + 1
			}
			nodes[child] = append(nodes[child], i)
		}
	}
	for l := range leaves {
		g, h := 0.0, 0.0
		for _, i := range nodes[splits+l] {
			g, h = g+t.gradients[i], h+t.weights[i]
		}
		tree.Values[l] = math.Round(t.settings.Rate*g/(h+t.settings.Shrink)*1e5) / 1e5
	}
	return tree
}

// findSplit returns the feature and the number of the threshold that part the samples best; a number past the last
// threshold where nothing parts them.
func (t *trainer) findSplit(at []int) (feature, bin int) {
	best := 1e-6
	feature, bin = 0, maxBins*4
	gains, masses := [256]float64{}, [256]float64{}
	counts := [256]float64{}
	for f := range t.thresholds {
		clear(gains[:])
		clear(masses[:])
		clear(counts[:])
		sumG, sumH, sumN := 0.0, 0.0, 0.0
		for _, i := range at {
			b := t.bins[i][f]
			gains[b], masses[b], counts[b] = gains[b]+t.gradients[i], masses[b]+t.weights[i], counts[b]+t.samples[i].Weight
			sumG, sumH, sumN = sumG+t.gradients[i], sumH+t.weights[i], sumN+t.samples[i].Weight
		}
		whole := sumG * sumG / (sumH + t.settings.Shrink)
		g, h, n := 0.0, 0.0, 0.0
		for b := range t.thresholds[f] {
			g, h, n = g+gains[b], h+masses[b], n+counts[b]
			if n < t.settings.MinWeight || sumN-n < t.settings.MinWeight {
				continue
			}
			gain := g*g/(h+t.settings.Shrink) + (sumG-g)*(sumG-g)/(sumH-h+t.settings.Shrink) - whole
			if gain > best {
				best, feature, bin = gain, f, b
			}
		}
	}
	return feature, bin
}
