package language

import (
	"strings"
	"testing"
)

func TestLanguage(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, want string }{
		{"The quick brown fox jumps over the lazy dog and it is not the only one that does so.", "eng"},
		{"Der schnelle braune Fuchs springt über den faulen Hund, und das ist nicht alles, was er kann.", "deu"},
		{"Le renard brun saute par-dessus le chien paresseux et ce n'est pas tout ce qu'il sait faire dans la vie.", "fra"},
		{"El zorro marrón salta sobre el perro perezoso y no es lo único que hace por las mañanas.", "spa"},
		{"La volpe marrone salta sopra il cane pigro e non è la sola che lo fa nella vita di questo paese.", "ita"},
		{"A raposa marrom salta sobre o cão preguiçoso e não é a única que faz isso em sua vida.", "por"},
		{"Быстрая коричневая лиса прыгает через ленивую собаку, и это не всё, что она может.", "rus"},
		{"Швидка лисиця стрибає через ледачого собаку, і це не все, що вона може для нього.", "ukr"},
		{"速い茶色の狐はのろまな犬を飛び越える。", "jpn"},
		{"敏捷的棕色狐狸跳过懒狗。", "zho"},
		{"빠른 갈색 여우가 게으른 개를 뛰어넘는다.", "kor"},
		{"الثعلب البني السريع يقفز فوق الكلب الكسول", "ara"},
		{"השועל החום המהיר קופץ מעל הכלב העצלן", "heb"},
		{"1234 5678 --- 42", ""},
		{"Lorem", ""},
		{"", ""},
	} {
		var c Detector
		for _, w := range strings.Fields(tt.text) {
			c.AddWord(w)
		}
		if got := c.Language(); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.text, got, tt.want)
		}
	}
}

func FuzzDetector(f *testing.F) {
	f.Add("the word")
	f.Add("\xff\xfe")
	f.Fuzz(func(t *testing.T, text string) {
		var c Detector
		for _, w := range strings.Fields(text) {
			c.AddWord(w)
		}
		if got := c.Language(); len(got) != 0 && len(got) != 3 {
			t.Errorf("%q: language %q, want three letters or none", text, got)
		}
	})
}
