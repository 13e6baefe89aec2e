package agree_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"inkstream.dev/pkg/agree"
	"inkstream.dev/pkg/agree/agreetest"
)

const sample = `The ferry leaves the harbour at seven every morning
and comes back before the light on the pier is lit.
No person on the island has ever missed the last boat
because the captain counts his 25 passengers twice and
does not wait for those who are still walking down hill.
Number 4752 of the old register names 1871 1904 its builder.`

// setLines returns the words of a text in boxes, a line every 20 points, 6 points a letter.
func setLines(text string) []agree.Word {
	var out []agree.Word
	for y, line := range strings.Split(text, "\n") {
		x := float32(40)
		for _, w := range strings.Fields(line) {
			width := float32(len(w)) * 6
			out = append(out, agree.Word{Text: w, Confidence: 0.95,
				Box: agree.Box{x, float32(y) * 20, x + width, float32(y)*20 + 10}})
			x += width + 6
		}
	}
	return out
}

func toWords(texts []string) []agree.Word {
	var out []agree.Word
	for _, t := range texts {
		out = append(out, agree.Word{Text: t})
	}
	return out
}

func TestEqualReadings(t *testing.T) {
	t.Parallel()
	witness := setLines(sample)
	r := agree.Align(toWords(strings.Fields(sample)), witness, agree.Options{})
	if r.Support != 1 || r.Coverage != 1 || len(r.Doubts) != 0 || !r.AgreesWithWitness() {
		t.Errorf("got support %v, coverage %v, doubts %v", r.Support, r.Coverage, r.Doubts)
	}
	for i, m := range r.Words {
		if m.Box != witness[i].Box || m.Similarity != 1 || r.WitnessPartner[i] != i {
			t.Fatalf("word %d: got %+v, want the witness's box", i, m)
		}
	}
}

// What the witness reads badly all about is dropped all the same; what it reads in a picture is not.
func TestDropsAmongBadlyReadWords(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text, reading string // of the witness: a word that it is not sure of follows a ~
		want                int
	}{
		{"between neighbours read badly", "a detailed review to identify every concern",
			"a detailed revfem ~coniprehensive effort ~axl document co identify every concern", 1},
		{"with words within that it is not sure of", "total assets 14.9 12.5 sheet items in september",
			"total assets Precision ~Cas ~tparts Key Balance sheet items in september", 1},
		{"syllables that are written as one character", "하고 하드웨어 설정을 합니다 하드 디스크에 데비안", "하고 하드웨어 설정을 합니다 멀티 부팅을 생각하고 하무 디스크에 데비안", 1},
		{"signs in a picture", "the desktop follows the modern environment", "the dezktqp ~l. o12 ~Ey co3 ~oyu x14 ~oa ii9 ~a4 u77 fqllvvs the modern environment", 0},
	} {
		var witness []agree.Word
		for _, w := range setLines(tt.reading) {
			text, unsure := strings.CutPrefix(w.Text, "~")
			if w.Text = text; unsure {
				w.Confidence = 0.4
			}
			witness = append(witness, w)
		}
		r := agree.Align(toWords(strings.Fields(tt.text)), witness, agree.Options{WitnessQuality: 0.9})
		got := 0
		for _, d := range r.Doubts {
			if d.Kind == agree.Dropped {
				got++
			}
		}
		if got != tt.want {
			t.Errorf("%s: %d runs of words are dropped, want %d: %v", tt.name, got, tt.want, r.Doubts)
		}
	}
}

func TestDoubts(t *testing.T) {
	t.Parallel()
	insert := func(at int, words string) string {
		return strings.Join(slices.Insert(strings.Fields(sample), at, strings.Fields(words)...), " ")
	}
	for _, tt := range []struct {
		name, text string
		opts       agree.Options
		want       agree.Kind
		words      string // of the model's that are in doubt
		invented   bool
	}{
		{name: "words that have no room", text: insert(12, "of the eternal brass clock"), want: agree.Unsupported,
			words: "of the eternal brass clock", invented: true},
		{name: "words across the end of a line", text: insert(9, "quite terribly unlucky sailors"), want: agree.Unsupported,
			words: "quite terribly unlucky sailors", invented: true},
		{name: "a digit", text: strings.Replace(sample, "4752", "4152", 1), want: agree.Number, words: "4152"},
		{name: "a word", text: strings.Replace(sample, "captain", "company", 1), want: agree.Differs, words: "company"},
		{name: "a negation", text: strings.Replace(sample, " not ", " ", 1), want: agree.Dropped},
		{name: "a line", text: strings.Replace(sample, "because the captain counts his 25 passengers twice and", "", 1),
			want: agree.Dropped},
		{name: "two words exchanged", text: strings.Replace(sample, "register names", "names register", 1),
			want: agree.Moved, words: "names register"},
		{name: "a loop", text: sample + strings.Repeat(" and the other side", 20), want: agree.Loop, invented: true,
			words: strings.TrimSpace(strings.Repeat(" and the other side", 19))},
		{name: "an end", text: sample, opts: agree.Options{Cut: true}, want: agree.Cut, words: "builder."},
		{name: "a witness that reads badly", text: insert(12, "of the eternal brass clock tower"),
			opts: agree.Options{WitnessQuality: 0.2, InkWidth: func(b agree.Box) float32 { return b[2] - b[0] }}, want: agree.Unsupported,
			words: "of the eternal brass clock tower", invented: true},
		{name: "a number read again", text: strings.Replace(sample, "4752", "4152", 1), want: agree.Number, words: "4152",
			opts: agree.Options{Reread: func(agree.Box) (string, float32) { return "4752", 0.9 }}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			text := strings.Fields(tt.text)
			r := agree.Align(toWords(text), setLines(sample), tt.opts)
			k := slices.IndexFunc(r.Doubts, func(d agree.Doubt) bool { return d.Kind == tt.want })
			if k < 0 {
				t.Fatalf("got %+v, want a doubt %q", r.Doubts, tt.want)
			}
			d := r.Doubts[k]
			if got := strings.Join(text[d.Model.First:d.Model.End], " "); got != tt.words || d.Invented != tt.invented {
				t.Errorf("got %q, invented %v; want %q, %v", got, d.Invented, tt.words, tt.invented)
			}
		})
	}
}

func TestNoDoubts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text string
		opts       agree.Options
	}{
		{name: "a word broken at the end of a line", text: strings.Replace(sample, "passengers twice", "passen- gers twice", 1)},
		{name: "other quotes and capitals", text: strings.ToUpper(strings.ReplaceAll(sample, "lit.", "“lit”."))},
		{name: "a number that the second look settles", text: strings.Replace(sample, "4752", "4152", 1),
			opts: agree.Options{Reread: func(agree.Box) (string, float32) { return "4152", 0.9 }}},
		{name: "letters that look alike", text: strings.Replace(sample, "4752", "47S2", 1)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if r := agree.Align(toWords(strings.Fields(tt.text)), setLines(sample), tt.opts); len(r.Doubts) > 0 {
				t.Errorf("got %+v, want none", r.Doubts)
			}
		})
	}
}

// Where two words differ, the place is read again; what that is worth depends on what was read before.
func TestSecondLooks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, model, witness string
		confidence           float32 // the witness's of its first reading
		again                string
		sure                 float32
		want                 agree.Kind // empty for no doubt
	}{
		{"it tells nothing, and the first reading was sure", "4792", "4752", 0.92, "47S2x", 0.9, agree.Number},
		{"it tells nothing, and the first reading was not sure", "4792", "4752", 0.6, "47x2", 0.9, ""},
		{"a third number", "5170", "11710", 0.4, "1170", 0.9, agree.Number},
		{"a third number that it is not sure of", "5170", "11710", 0.4, "1170", 0.5, ""},
		{"a word in place of what was read as dirt", "geologic", "difrrenrs", 0.04, "differents", 0.8, agree.Differs},
		{"dirt is read as dirt again", "geologic", "difrrenrs", 0.04, "differents", 0.4, ""},
		{"dirt is read as what the model says", "differents", "gqrx", 0.04, "differents", 0.9, ""},
		{"a number that is read worse the second time", "1973", "1993", 0.96, "19931", 0.5, agree.Number},
		{"a number that is read alike twice", "4152", "4752", 0.5, "4752", 0.35, agree.Number},
		{"another word that is read alike twice", "detailed", "viennent", 0.4, "viennene", 0.1, agree.Differs},
		{"a word that is misread alike twice", "including", "inciuciro", 0.6, "inciucire", 0.6, ""},
		{"letters of another script that look alike", "kopt", "Корі", 0.95, "Корі", 0.9, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			witness := setLines(strings.Replace(sample, "4752", tt.witness, 1))
			witness[slices.IndexFunc(witness, func(w agree.Word) bool { return w.Text == tt.witness })].Confidence = tt.confidence
			r := agree.Align(toWords(strings.Fields(strings.Replace(sample, "4752", tt.model, 1))), witness,
				agree.Options{Reread: func(agree.Box) (string, float32) { return tt.again, tt.sure }})
			got := agree.Kind("")
			if len(r.Doubts) > 0 {
				got = r.Doubts[0].Kind
			}
			if got != tt.want || len(r.Doubts) > 1 {
				t.Errorf("got %+v, want %q", r.Doubts, tt.want)
			}
		})
	}
}

// A word of which the witness has a part is no other one where there is ink for the rest.
func TestWordReadInPart(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"tain", "capt"} {
		for _, ink := range []bool{true, false} {
			witness := setLines(sample)
			w := &witness[slices.IndexFunc(witness, func(w agree.Word) bool { return w.Text == "captain" })]
			if rest := (w.Box[2] - w.Box[0]) * 3 / 7; part == "tain" {
				w.Box[0] += rest
			} else {
				w.Box[2] -= rest
			}
			w.Text = part
			r := agree.Align(toWords(strings.Fields(sample)), witness, agree.Options{InkWidth: func(b agree.Box) float32 {
				if !ink {
					return 0
				}
				return b[2] - b[0]
			}})
			if doubtful := r.HasDoubt(agree.Differs); doubtful == ink || len(r.Doubts) > 1 {
				t.Errorf("%q, ink %v: got %+v", part, ink, r.Doubts)
			}
		}
	}
}

// Words in a script that the witness does not read are doubtful where it is sure of what it reads in their place.
func TestOtherScriptInPlaceOfWords(t *testing.T) {
	t.Parallel()
	text := strings.Fields("데비안 미러 사이트가 모두 정리되어 있기 때문에 가장 가까운 미러 사이트를 쉽게 찾을 수 있습니다")
	model := slices.Clone(text)
	for i, word := range strings.Fields("talo vuonna koskeva hakemus sivulla kirja") {
		model[3+i] = word
	}
	if r := agree.Align(toWords(model), setLines(strings.Join(text, " ")), agree.Options{}); !r.HasDoubt(agree.Unsupported) {
		t.Errorf("got %+v, want words that are not the page's", r.Doubts)
	}
}

// Names in Latin letters within text that runs from right to left are read in parts, and in another order.
func TestNamesWithinRightToLeft(t *testing.T) {
	t.Parallel()
	text := "לפני שקוד האתחול נכתב ל-MBR של הכונן הקשיח הראשון במחשב"
	for name, witness := range map[string]string{
		"without the prefix": strings.Replace(text, "ל-MBR", "MBR", 1),
		"with more beside":   strings.Replace(text, "ל-MBR", "ל-MBR boot sector", 1),
	} {
		if r := agree.Align(toWords(strings.Fields(text)), setLines(witness), agree.Options{}); len(r.Doubts) > 0 {
			t.Errorf("%s: got %+v, want none", name, r.Doubts)
		}
	}
	if r := agree.Align(toWords(strings.Fields(text)), setLines(strings.Replace(text, "ל-MBR", "GRUB", 1)), agree.Options{}); !r.HasDoubt(agree.Differs) {
		t.Errorf("got %+v, want the other name", r.Doubts)
	}
}

func TestWordInPlaceOfTwo(t *testing.T) {
	t.Parallel()
	witness := setLines("the entry holds a fi1e name here") // one word, read as two
	r := agree.Align(toWords(strings.Fields("the entry holds a weather here")), witness, agree.Options{
		Reread: func(agree.Box) (string, float32) { return "filename", 0.9 },
	})
	if len(r.Doubts) != 1 || r.Doubts[0].Kind != agree.Differs || r.Doubts[0].Model != (agree.Range{First: 4, End: 5}) {
		t.Errorf("got %+v, want a doubt about the fifth word", r.Doubts)
	}
}

func TestOtherScriptWithoutAPlace(t *testing.T) {
	t.Parallel()
	const before, after = "מאוחר את קוד האתחול הישן ", " בקוד האתחול של הדיסק ולאחר מכן מערכת ההפעלה"
	model := toWords(strings.Fields(before + "साथ कम्पोज़ कुंजी का उपयोग ב-MBR" + after))
	witness := setLines(before + "13|ח-2" + after) // one word there, read badly
	witness[5].Confidence = 0.4
	for i := range witness { // from right to left
		b := &witness[i].Box
		b[0], b[2] = 2000-b[2], 2000-b[0]
	}
	if r := agree.Align(model, witness, agree.Options{}); !r.HasDoubt(agree.Unsupported) {
		t.Errorf("got %+v, want unsupported words", r.Doubts)
	}
	page := agree.Options{Unread: []agree.Box{{100, 100, 900, 140}}}
	if r := agree.Align(model, witness, page); r.HasDoubt(agree.Unsupported) {
		t.Errorf("with a place that the witness has not read: got %+v, want unverified words", r.Doubts)
	}
}

// What may be read again goes to numbers before words, wherever they stand.
func TestNumbersAreReadAgainFirst(t *testing.T) {
	t.Parallel()
	witness := setLines(sample)
	for i := range witness {
		witness[i].Confidence = 0.6 // too low for a doubt without a second look
	}
	text := strings.NewReplacer("captain", "company", "4752", "4152").Replace(sample)
	r := agree.Align(toWords(strings.Fields(text)), witness, agree.Options{MaxRereads: 1,
		Reread: func(agree.Box) (string, float32) { return "4752", 0.9 }})
	if len(r.Doubts) != 1 || r.Doubts[0].Kind != agree.Number {
		t.Errorf("got %+v, want one about the number", r.Doubts)
	}
}

// The words of another reading order have partners, and no doubt but that a few neighbours changed.
func TestOtherOrder(t *testing.T) {
	t.Parallel()
	lines := strings.Split(sample, "\n")
	text := strings.Join(slices.Concat(lines[3:], lines[:3]), " ")
	r := agree.Align(toWords(strings.Fields(text)), setLines(sample), agree.Options{})
	if r.Support < 0.99 || r.HasDoubt(agree.Unsupported, agree.Dropped) {
		t.Errorf("got support %v, doubts %+v", r.Support, r.Doubts)
	}
}

// A place with ink that the witness has no word for is not the model's mistake.
func TestInkWithoutWords(t *testing.T) {
	t.Parallel()
	witness := setLines(sample)
	at := slices.IndexFunc(witness, func(w agree.Word) bool { return w.Text == "4752" })
	for _, tt := range []struct {
		ink  bool
		want agree.Kind
	}{{true, agree.Unverified}, {false, agree.Unsupported}} {
		gapped := slices.Clone(witness)
		for k := at; k < len(gapped); k++ {
			gapped[k].Box[0] += 150
			gapped[k].Box[2] += 150
		}
		text := toWords(slices.Insert(strings.Fields(sample), at, "written", "beside", "the", "ledger"))
		r := agree.Align(text, gapped, agree.Options{InkWidth: func(b agree.Box) float32 {
			if !tt.ink {
				return 0
			}
			return b[2] - b[0]
		}})
		if len(r.Doubts) != 1 || r.Doubts[0].Kind != tt.want || r.Doubts[0].Invented == tt.ink {
			t.Errorf("ink %v: got %+v, want %q", tt.ink, r.Doubts, tt.want)
		}
		if r.Words[at].Box[0] < witness[at-1].Box[2] || r.Words[at].Invented == tt.ink {
			t.Errorf("ink %v: got %+v, want a box in the gap", tt.ink, r.Words[at])
		}
	}
}

// Every way in which a text goes wrong is found in most of its places.
func TestCorruptionsAreLocated(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	other := strings.Fields(`a quite different paper about the growing of 17 apple trees in northern gardens where frost
	comes early and the soil holds 30 parts of sand to every measure of loam that farmers carry there by wagon`)
	for _, c := range agreetest.Corruptions() {
		located, tries := 0, 0
		for range 40 {
			text, at, ok := c.Apply(rng, strings.Fields(sample), other)
			if !ok {
				continue
			}
			tries++
			r := agree.Align(toWords(text), setLines(sample), agree.Options{})
			if c.Locates(r.Doubts, at) {
				located++
			}
		}
		if c.Kinds != nil && (tries == 0 || float64(located) < 0.9*float64(tries)) {
			t.Errorf("%s: located %d of %d", c.Name, located, tries)
		}
	}
}

// FuzzAlign holds the result to what it promises whatever the words are.
func FuzzAlign(f *testing.F) {
	f.Add(sample, sample)
	f.Add(strings.Repeat("a ", 300), strings.Repeat("a b ", 200))
	f.Fuzz(func(t *testing.T, model, witness string) {
		m, w := toWords(strings.Fields(model)), setLines(witness)
		r := agree.Align(m, w, agree.Options{InkWidth: func(b agree.Box) float32 { return max(0, b[2]-50) }})
		if !(r.Support >= 0 && r.Support <= 1 && r.Coverage >= 0 && r.Coverage <= 1.0001) || len(r.Words) != len(m) {
			t.Fatalf("support %v, coverage %v, %d words", r.Support, r.Coverage, len(r.Words))
		}
		for _, d := range r.Doubts {
			if d.Model.First < 0 || d.Model.End > len(m) || d.Witness.End > len(w) || d.Model.First > d.Model.End {
				t.Fatalf("doubt %+v of %d and %d words", d, len(m), len(w))
			}
		}
		for _, x := range r.Words {
			for _, j := range x.Witness {
				if j < 0 || j >= len(w) {
					t.Fatalf("partner %d of %d", j, len(w))
				}
			}
		}
	})
}

// A page of equal words is the slowest there can be.
func TestTimeIsBounded(t *testing.T) {
	t.Parallel()
	model, witness := toWords(strings.Fields(strings.Repeat("a b ", 8000))), setLines(strings.Repeat("b a a ", 6000))
	if r := agree.Align(model, witness, agree.Options{}); len(r.Words) != len(model) {
		t.Errorf("got %d words, want %d", len(r.Words), len(model))
	}
}
