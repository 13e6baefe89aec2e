package tesseract

import (
	"encoding/binary"
	"io"
	"math/bits"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"
)

// Where a model has what: its file begins with a number of parts, and where each begins; -1 for those it lacks.
const (
	networkPart = 17 // lstm
	wordsPart   = 19 // lstm-word-dawg
	lettersPart = 21 // lstm-unicharset
	codesPart   = 22 // lstm-recoder
	// maxModelParts is more than any version of Tesseract knows.
	maxModelParts = 64
	// maxLetterBytes bounds the list of a model's letters: that of Chinese has 300 kB.
	maxLetterBytes = 4 << 20
)

// The list of words begins with a mark, the number of letters and that of edges. An edge is 8 bytes: in the lowest bits
// its letter, then whether it is the node's last, whether it leads back, and whether a word ends with it, and in the
// other bits where the node begins to which it leads.
const (
	wordsMark     = 42
	wordsHeader   = 10
	edgeBytes     = 8
	lastOfNode    = 1
	leadsBack     = 2
	endsWord      = 4
	bitsOfAnEdge  = 3
	maxFoldedWord = 32
)

// dictionary is the words of a model's language, which it has as a graph of letters. They are looked up without the
// marks of letters and the difference of capitals: what is looked up was read in another language, which has not those
// letters.
type dictionary struct {
	edges      []byte // mapped
	letterBits int
	letters    []rune // folded, by their number in the graph; 0 for what is no letter
}

// dictionaryOf returns the words of a language, which stay mapped: to touch them again takes ten times what the looking up
// does. It is nil where there are none.
func (m *handleCache) dictionaryOf(language string) *dictionary {
	d, known := m.dictionaries[language]
	if !known {
		if m.dictionaries == nil {
			m.dictionaries = map[string]*dictionary{}
		}
		d = openDictionary(m.datapath, language)
		m.dictionaries[language] = d
	}
	return d
}

// openDictionary maps a model's words; nil where it has none, or not in a form that is known.
func openDictionary(datapath, language string) *dictionary {
	f, err := os.Open(filepath.Join(datapath, language+modelExt))
	if err != nil {
		return nil
	}
	defer f.Close()
	words, _, ok := findModelPart(f, wordsPart)
	letters, end, found := findModelPart(f, lettersPart)
	if !ok || !found || end-letters > maxLetterBytes {
		return nil
	}
	text := make([]byte, end-letters)
	if _, err := f.ReadAt(text, letters); err != nil {
		return nil
	}
	var header [wordsHeader]byte
	if _, err := f.ReadAt(header[:], words); err != nil || binary.LittleEndian.Uint16(header[:]) != wordsMark {
		return nil
	}
	size := int64(binary.LittleEndian.Uint32(header[6:])) * edgeBytes
	end = words + wordsHeader + size
	if _, err := f.ReadAt(header[:1], end-1); err != nil { // what is mapped must be there
		return nil
	}
	file, err := syscall.Mmap(int(f.Fd()), 0, int(end), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil
	}
	return &dictionary{edges: file[words+wordsHeader:], letters: foldedLetters(string(text)),
		letterBits: bits.Len32(binary.LittleEndian.Uint32(header[2:]))}
}

// findModelPart returns where a part of a model begins, and where what follows it does.
func findModelPart(f io.ReaderAt, part int) (begin, end int64, ok bool) {
	var header [4 + 8*maxModelParts]byte
	n, _ := f.ReadAt(header[:], 0) // a shorter file has fewer parts
	if n < 4 {
		return 0, 0, false
	}
	parts := int(binary.LittleEndian.Uint32(header[:]))
	if part >= parts || parts > maxModelParts || n < 4+8*parts {
		return 0, 0, false
	}
	at := func(i int) int64 { return int64(binary.LittleEndian.Uint64(header[4+8*i:])) }
	begin = at(part)
	for i := part + 1; i < parts && end <= begin; i++ {
		end = at(i)
	}
	return begin, end, begin > 0 && end > begin
}

// foldedLetters returns the letters of a model's list, folded: the number of them, and then one a line.
func foldedLetters(list string) []rune {
	first, list, _ := strings.Cut(list, "\n")
	n, err := strconv.Atoi(first)
	if err != nil || n < 0 || n > len(list) {
		return nil
	}
	out := make([]rune, 0, n)
	for line := range strings.SplitSeq(list, "\n") {
		if len(out) == n {
			break
		}
		name, _, _ := strings.Cut(line, " ")
		letter := rune(0)
		if len(name) == 1 && name[0] < utf8.RuneSelf { // most are
			if c := unicode.ToLower(rune(name[0])); unicode.IsLetter(c) {
				letter = c
			}
		} else if folded := []rune(foldLatin(name)); len(folded) == 1 {
			letter = folded[0]
		}
		out = append(out, letter)
	}
	return out
}

// hasWord reports whether a folded word is among the dictionary's.
func (d *dictionary) hasWord(word []rune) bool {
	return len(word) > 0 && len(word) <= maxFoldedWord && d.hasWordFrom(0, word)
}

// hasWordFrom reports whether what is left of a word goes on from a node.
func (d *dictionary) hasWordFrom(node uint64, word []rune) bool {
	for at := node * edgeBytes; at+edgeBytes <= uint64(len(d.edges)); at += edgeBytes {
		edge := binary.LittleEndian.Uint64(d.edges[at:])
		letter, flags := edge&(1<<d.letterBits-1), edge>>d.letterBits
		if flags&leadsBack == 0 && letter < uint64(len(d.letters)) && d.letters[letter] == word[0] {
			if len(word) == 1 && flags&endsWord != 0 {
				return true
			}
			if next := flags >> bitsOfAnEdge; len(word) > 1 && next != 0 && d.hasWordFrom(next, word[1:]) {
				return true
			}
		}
		if flags&lastOfNode != 0 {
			return false
		}
	}
	return false
}

// plainLetters are what a model of English reads for letters that are no Latin ones with a mark.
var plainLetters = map[rune]rune{'ß': 'b', 'ı': 'i', 'ł': 'l', 'ø': 'o', 'đ': 'd', 'ð': 'd', 'ħ': 'h', 'ŧ': 't'}

// foldLatin returns a word in small letters that English has as well, without the marks around it.
func foldLatin(text string) string {
	return strings.Map(func(c rune) rune {
		if plain, ok := plainLetters[c]; ok {
			return plain
		}
		return c
	}, foldWord(text))
}
