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
		{
			name: "a tall word", boxes: [][4]float64{{60, 100, 100, 140}}, own: []OwnText{ordinary},
			face: smallFace, want: true,
		},
		{
			name: "a word of an ordinary height", boxes: [][4]float64{{60, 110, 100, 122}},
			own: []OwnText{ordinary}, face: smallFace,
		},
		{
			name: "a tall word on large text", boxes: [][4]float64{{60, 100, 100, 140}},
			own: []OwnText{{[]float32{40, 90, 500, 150}, 60}}, face: smallFace,
		},
		{
			name: "a tall word on text of both sizes", boxes: [][4]float64{{60, 100, 100, 140}},
			own: []OwnText{ordinary, {[]float32{40, 90, 500, 150}, 48}}, face: smallFace,
		},
		{
			name: "a tall word beside large text", boxes: [][4]float64{{60, 100, 100, 140}},
			own: []OwnText{ordinary, {[]float32{30, 100, 55, 130}, 48}}, face: smallFace,
		},
		{
			name: "a tall word elsewhere", boxes: [][4]float64{{60, 200, 100, 240}}, own: []OwnText{ordinary},
			face: smallFace,
		},
		{
			name: "text of an unknown size", boxes: [][4]float64{{60, 100, 100, 140}},
			own: []OwnText{{ordinary.Box, 0}, {nil, 12}, {ordinary.Box, math.NaN()}}, face: smallFace,
		},
		{
			name: "a word close by", boxes: [][4]float64{{60, 100, 100, 140}, {102, 110, 120, 122}},
			own: []OwnText{ordinary}, face: smallFace,
		},
		{
			name: "a word within another", boxes: [][4]float64{{60, 100, 100, 140}, {20, 110, 220, 122}},
			own: []OwnText{ordinary}, face: smallFace, want: true,
		},
		{
			name: "a line that is even", boxes: [][4]float64{{60, 100, 100, 140}}, own: []OwnText{ordinary},
			face: regularFace,
		},
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
