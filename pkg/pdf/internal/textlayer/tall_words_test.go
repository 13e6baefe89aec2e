package textlayer

import (
	"math"
	"testing"
)

// A word so tall that the small face would make it as large as the text that it lies on stays in the even one.
func TestTallWordsUseRegularFace(t *testing.T) {
	t.Parallel()
	ordinary := OwnText{[]float32{40, 110, 500, 125}, 12}
	for _, tt := range []struct {
		name  string
		boxes [][4]float64 // of a line; the first word is the one that is looked at
		own   []OwnText
		face  face
		want  bool
	}{
		{"a tall word", [][4]float64{{60, 100, 100, 140}}, []OwnText{ordinary}, smallFace, true},
		{"a word of an ordinary height", [][4]float64{{60, 110, 100, 122}}, []OwnText{ordinary}, smallFace, false},
		{"a tall word on large text", [][4]float64{{60, 100, 100, 140}}, []OwnText{{[]float32{40, 90, 500, 150}, 60}},
			smallFace, false},
		{"a tall word on text of both sizes", [][4]float64{{60, 100, 100, 140}},
			[]OwnText{ordinary, {[]float32{40, 90, 500, 150}, 48}}, smallFace, false},
		{"a tall word beside large text", [][4]float64{{60, 100, 100, 140}},
			[]OwnText{ordinary, {[]float32{30, 100, 55, 130}, 48}}, smallFace, false},
		{"a tall word elsewhere", [][4]float64{{60, 200, 100, 240}}, []OwnText{ordinary}, smallFace, false},
		{"text of an unknown size", [][4]float64{{60, 100, 100, 140}},
			[]OwnText{{ordinary.Box, 0}, {nil, 12}, {ordinary.Box, math.NaN()}}, smallFace, false},
		{"a word close by", [][4]float64{{60, 100, 100, 140}, {102, 110, 120, 122}}, []OwnText{ordinary}, smallFace, false},
		{"a word within another", [][4]float64{{60, 100, 100, 140}, {20, 110, 220, 122}}, []OwnText{ordinary}, smallFace,
			true},
		{"a line that is even", [][4]float64{{60, 100, 100, 140}}, []OwnText{ordinary}, regularFace, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l, _ := placedLines()
			words := &textLine{face: tt.face}
			for _, box := range tt.boxes {
				words.words = append(words.words, placeWord([]rune("word"), box, 0))
			}
			l.keepTallWords([]*textLine{words}, tt.own)
			if got := words.words[0].usesRegularFace; got != tt.want {
				t.Errorf("stays in the even face: got %v, want %v", got, tt.want)
			}
		})
	}
}
