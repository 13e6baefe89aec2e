package layout

import (
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

func TestFollowsSection(t *testing.T) {
	for _, tt := range []struct {
		before, number string
		want           bool
	}{
		{"4.1", "4.1.1", true}, {"4", "4.1", true}, {"4.1", "4.2", true}, {"4.1.3", "4.2", true}, {"4.1.3", "5", true},
		{"4.1", "4.1.2", false}, {"4.1", "4.3", false}, {"4.1", "5.2", false}, {"3", "4", false}, {"4.1", "word", false},
		{"1.5", "2.1", false}, {"4..1", "4.2", false},
	} {
		if got := followsSection(tt.number, tt.before); got != tt.want {
			t.Errorf("%s behind %s: %v, want %v", tt.number, tt.before, got, tt.want)
		}
	}
}

func TestCountAcross(t *testing.T) {
	side := func(markers ...string) []sideLine {
		out := make([]sideLine, len(markers))
		for i, m := range markers {
			out[i] = sideLine{rect: rect{0, float64(12 * i), 50, float64(12*i + 10)}, first: &inkstreamv1.Word{Text: m}}
		}
		return out
	}
	for _, tt := range []struct {
		name        string
		left, right []sideLine
		want        bool
	}{
		{"answers in two columns", side("(A)", "(C)"), side("(B)", "(D)"), true},
		{"a list in two columns", side("1.", "2.", "3."), side("4.", "5.", "6."), false},
		{"the same items in two languages", side("1.", "2."), side("1.", "2."), false},
		{"one row alone", side("(A)", "word"), side("(B)", "word"), false},
		{"no items", side("The", "and"), side("of", "to"), false},
	} {
		if got := countAcross(tt.left, tt.right, 10); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
