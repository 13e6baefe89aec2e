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

// TestLanguageOfWords tells the language of lists, which have no sentences, by the words of the installed models.
func TestLanguageOfWords(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	english := strings.Fields("invoice amount quantity price total house garden winter paper chair table hotel radio")
	german := strings.Fields("Rechnung Betrag Menge Preis Summe Haus Garten Winter Papier Stuhl Tür Hotel Radio Gebühr")
	spanish := strings.Fields("factura importe cantidad precio total casa jardín papel silla mesa hotel radio año señal")
	writeModel(t, dir, "eng", english...)
	writeModel(t, dir, "deu", german...)
	writeModel(t, dir, "frk", german...)
	writeModel(t, dir, "spa", append(spanish, "Betrag", "Menge", "Preis", "Summe", "Garten", "Stuhl")...)
	m := &handleCache{datapath: dir}
	among := []string{"deu", "eng", "frk", "spa"}
	for _, tt := range []struct {
		name, usual, text, commonest, want string
	}{
		{"a list", "eng", "1 Rechnung 2 Betrag 3 Menge 4 Preis 5 Summe 6 Garten 7 Gebuhr", "", "deu"},
		{"with words that English has as well", "eng", strings.Join(german, " ") + " hotel total", "", "deu"},
		{"English", "eng", strings.Join(english, " ") + " Betrag", "", ""},
		{"English with much of another", "eng", "Rechnung Betrag Menge Preis Summe Garten " + strings.Repeat("x", 9) + " " +
			strings.Join(append(english, "wall", "roof"), " "), "", "deu"},
		{"a few words", "eng", "Rechnung Betrag Menge Preis Summe", "", ""},
		{"a usual language", "deu", strings.Join(german, " "), "", ""},
		{"what nobody knows", "eng", "qwrt zxcv bnmk plkj hgfd sapo iuzt", "", ""},
		{"what only the commonest words tell", "eng", "qwrt zxcv bnmk plkj hgfd sapo iuzt", "fra", "fra"},
		{"English whose letters pass for common words", "eng", strings.Join(english, " "), "ces", ""},
		{"words of two languages alike", "eng", "Betrag Menge Preis Summe Garten Stuhl", "spa", "spa"},
	} {
		words := textReading(0.9, tt.text).differentWords()
		if got := m.languageOfWords(words, tt.usual, among, tt.commonest); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestLinesInAnotherLanguage keeps of the reading in the usual language the lines that are in that.
func TestLinesInAnotherLanguage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeModel(t, dir, "eng", "total", "amount", "rapido")
	m := &handleCache{datapath: dir}
	first := textReading(0.9, "total amount", "Gebuhr 12,50", "Rapido", "3,40")
	second := textReading(0.8, "tofal amount", "Gebühr 1250", "Rápido", "340")
	for i := range first.blocks {
		for _, r := range []*reading{first, second} {
			for j := range r.blocks[i].lines[0].words {
				w := &r.blocks[i].lines[0].words[j]
				w.box[1], w.box[3] = w.box[1]+40*i, w.box[3]+40*i
			}
		}
	}
	m.dropForeignLines(first, second, "eng")
	merged := mergeReadings(*second, *first)
	if got, want := blocksText(merged.blocks), "total amount Gebühr 12,50 Rápido 3,40"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
