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

// wordsField is the number of the field that the words of a compact page are stored in, between its evidence and the
// page's own fields: one that inkstream.v1.Page does not use.
const wordsField = 2001

// A compact page has the texts, boxes, sizes and fonts of its words in columns: the same bytes as in protobuf, about,
// but of neighbouring words side by side, where compression makes half of them. What else a word has stays where it
// stands. The columns are the texts, joined by blanks, then of each of wordColumns what it differs from what is
// expected of it, the lowest byte of all words first, then the next.
const (
	wordColumns = 6
	columnBytes = wordColumns * 4
	// minCompactBytes is how long the columns of a compact page are at least. There is little to gain below. And a page
	// above is always stored compressed, which an older version takes for damaged, and does not mistake for one without
	// words.
	minCompactBytes = 4 << 10
)

var errCorruptWords = errors.New("the words of a stored page are damaged")

// EncodeCompactPage returns a page, observed as it is, in the form that compresses well. [DecodePage] reads it; versions
// that do not know the form take its words for empty. Nothing else may read the page at the same time.
func EncodeCompactPage(p *inkstreamv1.Page) ([]byte, error) { return encodeCompact(p, ObservePage(p)) }

func encodeCompact(p *inkstreamv1.Page, e *Evidence) ([]byte, error) {
	words := wordsOf(p)
	if !areCompactable(words) {
		return EncodePage(p, e)
	}
	columns := appendColumns(nil, words)
	if len(columns) < minCompactBytes {
		return EncodePage(p, e)
	}
	plain := make([]*inkstreamv1.Word, len(words))
	for i, w := range words {
		plain[i] = &inkstreamv1.Word{Text: w.GetText(), Bbox: w.GetBbox(), Size: w.GetSize(), Font: w.GetFont()}
		w.Text, w.Bbox, w.Size, w.Font = "", nil, 0, 0
	}
	defer func() {
		for i, w := range words {
			w.Text, w.Bbox, w.Size, w.Font = plain[i].Text, plain[i].Bbox, plain[i].Size, plain[i].Font
		}
	}()
	return encodeFields(p, e, columns)
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

// wordValues are the bits of a word's columns.
type wordValues [wordColumns]uint32

// expectAfter returns what is expected of the word after one with these values: it begins where that one ends, on the
// same line, in the same type.
func (v wordValues) expectAfter() wordValues { return wordValues{v[2], v[1], 0, v[3], v[4], v[5]} }

func valuesOf(w *inkstreamv1.Word) (v wordValues) {
	for i, f := range w.GetBbox() {
		v[i] = math.Float32bits(f)
	}
	v[4], v[5] = math.Float32bits(w.GetSize()), uint32(w.GetFont())
	return v
}

func appendColumns(b []byte, words []*inkstreamv1.Word) []byte {
	size := len(words)
	for _, w := range words {
		size += len(w.GetText())
	}
	b = binary.AppendUvarint(b, uint64(size-1))
	for i, w := range words {
		if i > 0 {
			b = append(b, ' ')
		}
		b = append(b, w.GetText()...)
	}
	start := len(b)
	b = append(b, make([]byte, len(words)*columnBytes)...)
	var expected wordValues
	for i, w := range words {
		v := valuesOf(w)
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
	return b
}

// restoreWords gives the words of a page what its columns have.
func restoreWords(p *inkstreamv1.Page, columns []byte) error {
	size, n := binary.Uvarint(columns)
	if n <= 0 || size > uint64(len(columns)-n) {
		return errCorruptWords
	}
	texts := string(columns[n : n+int(size)])
	columns = columns[n+int(size):]
	words := wordsOf(p)
	if len(words) == 0 || len(columns) != len(words)*columnBytes || strings.Count(texts, " ") != len(words)-1 ||
		!utf8.ValidString(texts) {
		return errCorruptWords
	}
	boxes := make([]float32, 4*len(words))
	var expected wordValues
	for i, w := range words {
		w.Text, texts, _ = strings.Cut(texts, " ")
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
			w.Bbox[c] = math.Float32frombits(v[c])
		}
		w.Size, w.Font = math.Float32frombits(v[4]), int32(v[5])
		expected = v.expectAfter()
	}
	return nil
}

// takeColumns returns the columns of a stored page, nil if it is not compact.
func takeColumns(stored []byte) []byte {
	for range 2 { // the evidence comes first
		num, typ, n := protowire.ConsumeTag(stored)
		if n < 0 || typ != protowire.BytesType || num != evidenceField && num != wordsField {
			return nil
		}
		value, size := protowire.ConsumeBytes(stored[n:])
		if size < 0 {
			return nil
		}
		if num == wordsField {
			return value
		}
		stored = stored[n+size:]
	}
	return nil
}
