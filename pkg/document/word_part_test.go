package document

import (
	"slices"
	"strings"
	"testing"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

func TestPartBox(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text, part string
		angle      int32
		want       []float32
	}{
		{"交流電燈", "交流電燈", 0, []float32{0, 0, 80, 40}},
		{"交流電燈", "電燈", 0, []float32{40, 0, 80, 40}},
		{"交流電燈", "交", 90, []float32{0, 0, 80, 10}},
		{"交流電燈", "交", 180, []float32{60, 0, 80, 40}},
		{"交流電燈", "燈", 270, []float32{0, 0, 80, 10}},
		{"PDF文か\u3099, ", "文", 0, []float32{80 * 1.5 / 4.5, 0, 80 * 2.5 / 4.5, 40}},
		{"PDF文か\u3099, ", "か\u3099", 0, []float32{80 * 2.5 / 4.5, 0, 80 * 3.5 / 4.5, 40}},
		{"", "", 0, []float32{0, 0, 80, 40}},
		{"\u3099x", "\u3099", 0, []float32{0, 0, 0, 40}},
	} {
		at := strings.Index(tt.text, tt.part)
		word := &inkstreamv1.Word{Text: tt.text, Bbox: []float32{0, 0, 80, 40}}
		got := WordPartBox(&inkstreamv1.Line{Angle: tt.angle}, word, at, at+len(tt.part))
		if !slices.EqualFunc(got, tt.want, func(a, b float32) bool { return a-b < 1e-4 && b-a < 1e-4 }) {
			t.Errorf("%s of %s at %d°: got %v, want %v", tt.part, tt.text, tt.angle, got, tt.want)
		}
	}
	if got := WordPartBox(nil, &inkstreamv1.Word{Text: "交流"}, 0, 3); len(got) != 0 {
		t.Errorf("part of a word without a box: got %v, want none", got)
	}
}
