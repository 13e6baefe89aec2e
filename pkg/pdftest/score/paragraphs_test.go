package score

import "testing"

func TestFindParagraph(t *testing.T) {
	t.Parallel()
	index := NewRunIndex("one two three four five six seven\neight nine ten eleven twelve\nthe com-\npany of the old har-\nbour town\n" +
		"the entry of the contents . . . . . . 12\n")
	for _, tt := range []struct {
		name, text string
		marked     []string
		want       ParagraphRuns
	}{
		{"whole", "three four five six seven eight", nil, ParagraphRuns{Whole: 2, Total: 2, Place: 3}},
		{"hyphens undone", "the company of the old harbour town", nil, ParagraphRuns{Whole: 3, Total: 3, Place: 13}},
		{"broken", "one two three four five nine ten", nil, ParagraphRuns{Whole: 1, Total: 3, Place: 0}},
		{"absent", "words that do not stand there", nil, ParagraphRuns{Total: 2, Place: -1}},
		{"leaders", "entry of the contents 12", nil, ParagraphRuns{Whole: 1, Total: 1, Place: 20}},
		{"marked", "one two three four five9 six seven", []string{"five9"}, ParagraphRuns{Place: -1}},
		{"short", "one two", nil, ParagraphRuns{Place: -1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := index.FindParagraph(tt.text, tt.marked); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}
