package score

import (
	"slices"
	"strings"
	"testing"
)

func TestReadBoxes(t *testing.T) {
	t.Parallel()
	got, err := ReadBoxes(strings.NewReader(`<doc>
  <page width="612.000000" height="792.000000">
    <word xMin="133.768000" yMin="124.5" xMax="207.25" yMax="137.5">A&amp;B</word>
  </page>
  <page width="612.000000" height="792.000000">
  </page>
</doc>
`))
	if err != nil {
		t.Fatal(err)
	}
	want := [][]Box{{{"A&B", [4]float64{133.768, 124.5, 207.25, 137.5}}}, nil}
	if !slices.EqualFunc(got, want, slices.Equal[[]Box]) {
		t.Errorf("ReadBoxes = %v, want %v", got, want)
	}
}

func TestWordsAreFoundInPlace(t *testing.T) {
	t.Parallel()
	box := func(text string, x0, y0, x1, y1 float64) Box { return Box{text, [4]float64{x0, y0, x1, y1}} }
	word := box("word", 100, 50, 130, 60)
	for _, tt := range []struct {
		name  string
		words []Box
		found []Box
		want  Placement
	}{
		{
			name: "in place", words: []Box{word}, found: []Box{box("word", 101, 49, 129, 62)},
			want: Placement{Words: 1, Across: 1, Both: 1, Worst: 2},
		},
		{
			name: "across only", words: []Box{word}, found: []Box{box("word", 100, 45, 130, 60)},
			want: Placement{Words: 1, Across: 1, Worst: 5},
		},
		{
			name: "beside its place", words: []Box{word}, found: []Box{box("word", 110, 50, 140, 60)},
			want: Placement{Words: 1, Worst: 10},
		},
		{
			name: "too far off to be the same", words: []Box{word}, found: []Box{box("word", 100, 150, 130, 160)},
			want: Placement{Words: 1, Missing: 1},
		},
		{
			name: "another text", words: []Box{word}, found: []Box{box("ward", 100, 50, 130, 60)},
			want: Placement{Words: 1, Missing: 1},
		},
		{
			name: "the nearer of two", words: []Box{word},
			found: []Box{box("word", 110, 50, 140, 60), box("word", 100, 50, 130, 60)},
			want:  Placement{Words: 1, Across: 1, Both: 1},
		},
		{
			name: "joined with its neighbour", words: []Box{word}, found: []Box{box("awordy", 60, 50, 160, 60)},
			want: Placement{Words: 1, Across: 1, Both: 1},
		},
		{
			name: "joined but not around it", words: []Box{word}, found: []Box{box("awordy", 60, 50, 120, 60)},
			want: Placement{Words: 1, Worst: 10},
		},
		{
			name:  "right-to-left, in the order of the page",
			words: []Box{box("\u05d0\u05d1\u05d2.", 100, 50, 130, 60)},
			found: []Box{box(".\u05d2\u05d1\u05d0", 100, 50, 130, 60)},
			want:  Placement{Words: 1, Across: 1, Both: 1},
		},
		{name: "nothing to find", found: []Box{word}, want: Placement{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := MatchPlacements(tt.words, tt.found, 2); got != tt.want {
				t.Errorf("MatchPlacements = %+v, want %+v", got, tt.want)
			}
		})
	}
}
