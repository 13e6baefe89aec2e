package tesseract

import (
	"slices"
	"strings"
	"testing"
)

// textReading is what was read of blocks of text, each with so sure a word.
func textReading(confidence float32, blocks ...string) *reading {
	r := &reading{}
	for _, text := range blocks {
		l := line{}
		for i, w := range strings.Fields(text) {
			l.words = append(l.words, word{text: w, confidence: confidence, box: box{50 * i, 0, 50*i + 40, 20}})
		}
		r.blocks = append(r.blocks, block{lines: []line{l}})
	}
	return r
}

// TestLanguageOfText tells what a page is in besides the usual language, by what was read of it in that.
func TestLanguageOfText(t *testing.T) {
	t.Parallel()
	german := strings.Repeat("Das Haus steht auf dem Berg und ist nicht mehr so neu wie die anderen in der Stadt. ", 3)
	english := strings.Repeat("The house stands on the hill and it is not as new as the others that are in the town. ", 3)
	for _, tt := range []struct {
		name, usual string
		blocks      []string
		want        string
	}{
		{"all of it", "eng", []string{german, german}, "deu"},
		{"half of it", "eng", []string{english, german}, "deu"},
		{"a quotation", "eng", []string{english, english, "Wer nicht hat, der ist auch nicht, und das ist es: so oder so nicht."}, ""},
		{"a part of a long page", "eng", append(slices.Repeat([]string{english}, 6), german), ""},
		{"the usual language", "eng", []string{english}, ""},
		{"one of the usual ones", "deu+eng", []string{english, german}, ""},
		{"another", "eng", []string{strings.Repeat("La casa no es tan nueva como las otras que hay en el pueblo y por eso. ", 4)}, "spa"},
		{"names without a language", "eng", []string{strings.Repeat("Smith Jones Baker 1234 Miller ", 12)}, ""},
	} {
		if got := languageOfText(textReading(0.9, tt.blocks...), tt.usual); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestOtherLanguages finds the models of what a page is in among those that are installed.
func TestOtherLanguages(t *testing.T) {
	t.Parallel()
	german := textReading(0.9, strings.Repeat("Das Haus steht auf dem Berg und ist nicht mehr so neu wie die anderen. ", 4))
	for _, tt := range []struct {
		models  []string
		usual   string
		other   string
		missing bool
	}{
		{[]string{"deu.traineddata", "eng.traineddata"}, "eng", "deu", false},
		{[]string{"fra.traineddata", "eng.traineddata"}, "eng", "", true},
		{[]string{"deu.traineddata", "eng.traineddata"}, "deu", "", false},
		{[]string{"deu.traineddata", "eng.traineddata"}, "eng+deu", "", false},
	} {
		m := &handleCache{datapath: modelFolder(t, tt.models...)}
		other, missing, err := m.otherLanguages(&reader{}, german, tt.usual)
		if other != tt.other || missing != tt.missing || err != nil {
			t.Errorf("%v, read in %s: got %q, %v, %v; want %q, %v", tt.models, tt.usual, other, missing, err, tt.other, tt.missing)
		}
	}
}

func TestIllegibleShare(t *testing.T) {
	t.Parallel()
	good, bad := strings.Repeat("letters ", 12), strings.Repeat("lcttcrs ", 12)
	r := textReading(0.95, good, good)
	r.blocks = append(r.blocks, textReading(0.4, bad, bad).blocks...)
	if got := r.illegibleShare(); got != 0.5 {
		t.Errorf("a page of which half reads badly: got %.2f, want 0.5", got)
	}
	if got := textReading(0.2, "few words").illegibleShare(); got != 0 {
		t.Errorf("too few characters to tell: got %.2f, want 0", got)
	}
}
