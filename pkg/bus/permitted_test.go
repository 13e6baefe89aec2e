package bus

import "testing"

func TestCovers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		wide, narrow string
		want         bool
	}{
		{"a.b", "a.b", true},
		{"a.b", "a.c", false},
		{"a.b", "a", false},
		{"a", "a.b", false},
		{"a.*", "a.b", true},
		{"a.*", "a.*", true},
		{"a.*", "a.>", false},
		{"a.*", "a.b.c", false},
		{"a.b", "a.*", false},
		{"a.>", "a.b.c", true},
		{"a.>", "a.*", true},
		{"a.>", "a.>", true},
		{"a.>", "a", false},
		{">", "a.b", true},
		{"a.*.c", "a.>", false},
		{"a.*.>", "a.b.c.d", true},
		{"a q", "a q", true},
		{"a q", "a r", false},
		{"a q", "a", false},
		{"a", "a q", true},
	}
	for _, tt := range tests {
		if got := covers(tt.wide, tt.narrow); got != tt.want {
			t.Errorf("covers(%q, %q) = %t, want %t", tt.wide, tt.narrow, got, tt.want)
		}
	}
}

func TestLacks(t *testing.T) {
	t.Parallel()
	need := []Grant{{Subject: "a.>"}, {Subject: "b.c"}}
	tests := []struct {
		name string
		has  *allowed
		want int
	}{
		{"no bounds", nil, 0},
		{"everything", &allowed{}, 0},
		{"both", &allowed{Allow: []string{"a.>", "b.*"}}, 0},
		{"one", &allowed{Allow: []string{"b.*"}}, 1},
		{"a part of one", &allowed{Allow: []string{"a.b", "b.c"}}, 1},
		{"all but a part of one", &allowed{Deny: []string{"a.*.c"}}, 1},
		{"all but something else", &allowed{Deny: []string{"b.c.d", "c.>"}}, 0},
	}
	for _, tt := range tests {
		if got := tt.has.lacks(need); len(got) != tt.want {
			t.Errorf("%s: lacks %q, want %d", tt.name, got, tt.want)
		}
	}
}
