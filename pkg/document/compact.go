package document

import (
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// exactField and roundedField are the numbers of the fields that the words of a compact page are stored in, between its
// evidence and the page's own fields: two that inkstream.v1.Page does not use.
const exactField, roundedField = 2001, 2002

// A compact page has the texts, boxes, sizes and fonts of its words in columns: the same bytes as in protobuf, about,
// but of neighbouring words side by side, where compression makes half of them. What else a word has stays where it
// stands. The columns are the texts, joined by blanks, then of each of wordColumns what it differs from what is
// expected of it, the lowest byte of all words first, then the next.
//
// In the rounded form, in which a compressed page is a quarter shorter, numbers are thousandths of a point, as they
// are in document.json; the text of the page stands for those of the words where it has them in their order, which a
// byte ahead of the columns says; and a box of a line or a block is left out that is the one around its words.
const (
	wordColumns = 6
	columnBytes = wordColumns * 4
	// minCompactBytes is how long the columns of a compact page are at least. There is little to gain below. And a page
	// above is always stored compressed, which an older version takes for damaged, and does not mistake for one without
	// words.
	minCompactBytes = 4 << 10
	// maxRounded bounds the numbers of the rounded form: float32 tells thousandths apart up to there.
	maxRounded = 1 << 14
	// ownText and pageText say whose text is ahead of the columns.
	ownText, pageText = 0, 1
)

var errCorruptWords = errors.New("the words of a stored page are damaged")

// EncodeCompactPage returns a page, observed as it is, in the form that compresses well. [DecodePage] reads it, with
// the boxes and sizes of words rounded to thousandths of a point; versions that do not know the form take its words
// for empty. Nothing else may read the page at the same time.
func EncodeCompactPage(p *inkstreamv1.Page) ([]byte, error) { return encodeCompact(p, ObservePage(p)) }

func encodeCompact(p *inkstreamv1.Page, e *Evidence) ([]byte, error) {
	words := wordsOf(p)
	if !areCompactable(words) {
		return EncodePage(p, e)
	}
	form := compactForm{field: exactField}
	if canRound(p) {
		form.field = roundedField
	}
	columns, pageHasText := form.appendColumns(nil, p.GetText(), words)
	if len(columns) < minCompactBytes {
		return EncodePage(p, e)
	}
	defer setAside(p, words, form, pageHasText)()
	return encodeFields(p, e, protowire.AppendBytes(protowire.AppendTag(nil, form.field, protowire.BytesType), columns))
}

// setAside takes out of a page what its columns have, and returns what puts it back.
func setAside(p *inkstreamv1.Page, words []*inkstreamv1.Word, form compactForm, pageHasText bool) (putBack func()) {
	type fields struct {
		text string
		box  []float32
		size float32
		font int32
	}
	plain := make([]fields, len(words))
	for i, w := range words {
		plain[i] = fields{w.GetText(), w.GetBbox(), w.GetSize(), w.GetFont()}
	}
	var boxes [][]float32
	text := p.GetText()
	if form.field == roundedField {
		boxes = setBoxesAside(p)
	}
	if pageHasText {
		p.Text = ""
	}
	for _, w := range words {
		w.Text, w.Bbox, w.Size, w.Font = "", nil, 0, 0
	}
	return func() {
		p.Text = text
		for i, w := range words {
			w.Text, w.Bbox, w.Size, w.Font = plain[i].text, plain[i].box, plain[i].size, plain[i].font
		}
		if form.field != roundedField {
			return
		}
		for _, b := range p.GetBlocks() {
			b.Bbox, boxes = boxes[0], boxes[1:]
			for _, l := range b.GetLines() {
				l.Bbox, boxes = boxes[0], boxes[1:]
			}
		}
	}
}

// wordsOf returns the words of a page's blocks, in their order.
func wordsOf(p *inkstreamv1.Page) (words []*inkstreamv1.Word) {
	for _, b := range p.GetBlocks() {
		for _, l := range b.GetLines() {
			words = append(words, l.GetWords()...)
		}
	}
	return words
}

// areCompactable reports whether words can be told from their columns.
func areCompactable(words []*inkstreamv1.Word) bool {
	for _, w := range words {
		if len(w.GetBbox()) != 4 || strings.Contains(w.GetText(), " ") || !utf8.ValidString(w.GetText()) {
			return false
		}
	}
	return len(words) > 0
}

// compactForm is a form of columns.
type compactForm struct{ field protowire.Number }

// encodeNumber returns a number of a word as its column has it, and decodeNumber the number.
func (f compactForm) encodeNumber(v float32) uint32 {
	if f.field == roundedField {
		return uint32(int32(math.Round(1000 * float64(v))))
	}
	return math.Float32bits(v)
}

func (f compactForm) decodeNumber(v uint32) float32 {
	if f.field == roundedField {
		return float32(float64(int32(v)) / 1000)
	}
	return math.Float32frombits(v)
}

// wordValues are the values of a word's columns.
type wordValues [wordColumns]uint32

// expectAfter returns what is expected of the word after one with these values: it begins where that one ends, on the
// same line, in the same type.
func (v wordValues) expectAfter() wordValues { return wordValues{v[2], v[1], 0, v[3], v[4], v[5]} }

func (f compactForm) valuesOf(w *inkstreamv1.Word) (v wordValues) {
	for i, n := range w.GetBbox() {
		v[i] = f.encodeNumber(n)
	}
	v[4], v[5] = f.encodeNumber(w.GetSize()), uint32(w.GetFont())
	return v
}

// appendColumns appends the columns of a page's words, and reports whether they have its text too.
func (f compactForm) appendColumns(b []byte, text string, words []*inkstreamv1.Word) (columns []byte, hasText bool) {
	joined := joinTexts(words)
	if f.field == roundedField {
		if hasText = separatesWords(text, words); hasText {
			joined = text
			b = append(b, pageText)
		} else {
			b = append(b, ownText)
		}
	}
	b = append(binary.AppendUvarint(b, uint64(len(joined))), joined...)
	start := len(b)
	b = append(b, make([]byte, len(words)*columnBytes)...)
	var expected wordValues
	for i, w := range words {
		v := f.valuesOf(w)
		expected[2] = v[0] // its end lies near its beginning
		for c := range v {
			d := v[c] - expected[c]
			d = d<<1 ^ uint32(int32(d)>>31) // small ones of both signs have high bytes of zero
			for plane := range 4 {
				b[start+(c*4+plane)*len(words)+i] = byte(d >> (8 * plane))
			}
		}
		expected = v.expectAfter()
	}
	return b, hasText
}

func joinTexts(words []*inkstreamv1.Word) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(w.GetText())
	}
	return b.String()
}

// isSeparator reports whether a character stands between the words in a page's text.
func isSeparator(r rune) bool { return r == ' ' || r == '\n' }

// separatesWords reports whether a text is the words, in their order, with separators between.
func separatesWords(text string, words []*inkstreamv1.Word) bool {
	i := 0
	for part := range strings.FieldsFuncSeq(text, isSeparator) {
		if i == len(words) || words[i].GetText() != part {
			return false
		}
		i++
	}
	return i == len(words) && utf8.ValidString(text)
}

// restoreWords gives a page what its columns have.
func (f compactForm) restoreWords(p *inkstreamv1.Page, columns []byte) error {
	owner := byte(ownText)
	var joined []byte
	var err error
	if f.field == roundedField {
		owner, joined, columns, err = takeText(columns)
	} else {
		joined, columns, err = takeSized(columns)
	}
	if err != nil {
		return err
	}
	text := string(joined)
	words := wordsOf(p)
	var texts []string
	if owner == pageText {
		texts, p.Text = strings.FieldsFunc(text, isSeparator), text
	} else {
		texts = strings.Split(text, " ")
	}
	if len(words) == 0 || len(columns) != len(words)*columnBytes || len(texts) != len(words) || !utf8.ValidString(text) {
		return errCorruptWords
	}
	boxes := make([]float32, 4*len(words))
	var expected wordValues
	for i, w := range words {
		w.Text = texts[i]
		var v wordValues
		for c := range v {
			var d uint32
			for plane := range 4 {
				d |= uint32(columns[(c*4+plane)*len(words)+i]) << (8 * plane)
			}
			if c == 2 {
				expected[2] = v[0]
			}
			v[c] = expected[c] + (d>>1 ^ -(d & 1))
		}
		w.Bbox = boxes[4*i : 4*i+4 : 4*i+4]
		for c := range 4 {
			w.Bbox[c] = f.decodeNumber(v[c])
		}
		w.Size, w.Font = f.decodeNumber(v[4]), int32(v[5])
		expected = v.expectAfter()
	}
	if f.field == roundedField {
		restoreBoxes(p)
	}
	return nil
}

// takeText takes from the columns of a rounded page whose text is ahead of them, and that.
func takeText(columns []byte) (owner byte, text, rest []byte, err error) {
	if len(columns) == 0 || columns[0] > pageText {
		return 0, nil, nil, errCorruptWords
	}
	text, rest, err = takeSized(columns[1:])
	return columns[0], text, rest, err
}

// takeSized takes the bytes whose number is ahead of them.
func takeSized(b []byte) (taken, rest []byte, err error) {
	size, n := binary.Uvarint(b)
	if n <= 0 || size > uint64(len(b)-n) {
		return nil, nil, errCorruptWords
	}
	return b[n : n+int(size)], b[n+int(size):], nil
}

// takeColumns returns the columns of a stored page and their form, nil if it is not compact.
func takeColumns(stored []byte) ([]byte, compactForm) {
	for range 2 { // the evidence comes first
		num, typ, n := protowire.ConsumeTag(stored)
		if n < 0 || typ != protowire.BytesType {
			break
		}
		value, size := protowire.ConsumeBytes(stored[n:])
		if size < 0 {
			break
		}
		switch num {
		case exactField, roundedField:
			return value, compactForm{num}
		case evidenceField:
			stored = stored[n+size:]
		default:
			return nil, compactForm{}
		}
	}
	return nil, compactForm{}
}
