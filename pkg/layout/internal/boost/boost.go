// Package boost holds small classifiers: sums of shallow decision trees, made by gradient boosting. They answer in
// well under a microsecond, and their weights are a table of numbers that can be read.
package boost

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// depth is how many questions each tree asks.
const depth = 3

const (
	splits = 1<<depth - 1
	leaves = 1 << depth
)

// Tree asks three questions: node i is followed by 2i+1 where the feature is below the threshold, else by 2i+2.
type Tree struct {
	Features   [splits]int     `json:"features"`
	Thresholds [splits]float64 `json:"thresholds"`
	Values     [leaves]float64 `json:"values"`
}

// Model is a classifier of two classes. It is safe for concurrent use.
type Model struct {
	// Features are the names of what its questions are about, in order.
	Features []string `json:"features"`
	// Bias is the log-odds before any tree.
	Bias  float64 `json:"bias"`
	Trees []Tree  `json:"trees"`
}

// Parse reads a model that is kept as JSON, and checks that it asks about the features given.
func Parse(data []byte, features []string) (*Model, error) {
	m := &Model{}
	if err := json.Unmarshal(data, m); err != nil {
		return nil, fmt.Errorf("decode model: %w", err)
	}
	if len(m.Features) != len(features) {
		return nil, fmt.Errorf("model has %d features, want %d", len(m.Features), len(features))
	}
	for i, name := range features {
		if m.Features[i] != name {
			return nil, fmt.Errorf("feature %d of the model is %q, want %q", i, m.Features[i], name)
		}
	}
	for _, t := range m.Trees {
		for _, f := range t.Features {
			if f < 0 || f >= len(features) {
				return nil, errors.New("a tree of the model asks about a feature that does not exist")
			}
		}
	}
	return m, nil
}

// Probability returns how likely a case with these features is one of the class.
func (m *Model) Probability(x []float64) float64 {
	sum := m.Bias
	for i := range m.Trees {
		sum += m.Trees[i].value(x)
	}
	return 1 / (1 + math.Exp(-sum))
}

func (t *Tree) value(x []float64) float64 {
	node := 0
	for node < splits {
		if x[t.Features[node]] < t.Thresholds[node] {
			node = 2*node + 1
		} else {
			node = 2*node + 2
		}
	}
	return t.Values[node-splits]
}
