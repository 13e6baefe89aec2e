package bus

import "testing"

func TestPatternCovers(t *testing.T) {
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
		if got := patternCovers(tt.wide, tt.narrow); got != tt.want {
			t.Errorf("patternCovers(%q, %q) = %t, want %t", tt.wide, tt.narrow, got, tt.want)
		}
	}
}

func TestMissingGrants(t *testing.T) {
	t.Parallel()
	need := []Grant{{Subject: "a.>"}, {Subject: "b.c"}}
	tests := []struct {
		name string
		has  *subjectRules
		want int
	}{
		{"no bounds", nil, 0},
		{"everything", &subjectRules{}, 0},
		{"both", &subjectRules{Allow: []string{"a.>", "b.*"}}, 0},
		{"one", &subjectRules{Allow: []string{"b.*"}}, 1},
		{"a part of one", &subjectRules{Allow: []string{"a.b", "b.c"}}, 1},
		{"all but a part of one", &subjectRules{Deny: []string{"a.*.c"}}, 1},
		{"all but something else", &subjectRules{Deny: []string{"b.c.d", "c.>"}}, 0},
	}
	for _, tt := range tests {
		if got := tt.has.missingGrants(need); len(got) != tt.want {
			t.Errorf("%s: lacks %q, want %d", tt.name, got, tt.want)
		}
	}
}
