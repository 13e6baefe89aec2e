package bus

import "testing"

func TestWantedReplicas(t *testing.T) {
	t.Parallel()
	lower := func(string, int, int) {}
	for _, tt := range []struct {
		name              string
		t                 Topology
		now, others, want int
	}{
		{"a new stream alone", Topology{}, 0, 0, 1},
		{"a new stream among others", Topology{}, 0, 3, 3},
		{"a new stream among more than are asked for", Topology{Replicas: 1}, 0, 3, 3},
		{"a new stream, named", Topology{Replicas: 3}, 0, 0, 3},
		{"as before", Topology{}, 3, 1, 3},
		{"more", Topology{Replicas: 3}, 1, 1, 3},
		{"fewer, unasked", Topology{Replicas: 1}, 3, 3, 3},
		{"fewer", Topology{Replicas: 1, OnLowerReplicas: lower}, 3, 3, 1},
		{"fewer of a new stream", Topology{Replicas: 1, OnLowerReplicas: lower}, 0, 3, 1},
		{"fewer than nothing named", Topology{OnLowerReplicas: lower}, 3, 3, 3},
	} {
		if got := tt.t.wantedReplicas(tt.now, tt.others); got != tt.want {
			t.Errorf("%s: %d replicas, want %d", tt.name, got, tt.want)
		}
	}
}
