package tesseract

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func TestDictionary(t *testing.T) {
	t.Parallel()
	d := openDictionary(DefaultDataPath(), "eng")
	if d == nil {
		t.Fatal("the English model: got no words")
	}
	for word, want := range map[string]bool{
		"house": true, "House,": true, "resumé": true, "houze": false, "Zahlungsart": false, "": false, "?": false,
		strings.Repeat("a", 2*maxFoldedWord): false,
	} {
		if got := d.hasWord([]rune(foldLatin(word))); got != want {
			t.Errorf("%q: got %v, want %v", word, got, want)
		}
	}
}

// writeModel writes a model that has some words and nothing else.
func writeModel(t *testing.T, dir, language string, words ...string) {
	t.Helper()
	numbers, letters := map[rune]uint64{}, []string{}
	for _, c := range strings.Join(words, "") {
		if _, known := numbers[c]; !known {
			numbers[c] = uint64(len(letters))
			letters = append(letters, string(c)+" 5 0,255,0,255 Latin")
		}
	}
	// Each word is a chain of edges behind the first node, which has one for each.
	const letterBits = 8
	var edges []uint64
	for range words {
		edges = append(edges, 0)
	}
	for i, w := range words {
		at := i
		for j, c := range []rune(w) {
			if j > 0 {
				at = len(edges)
				edges = append(edges, lastOfNode<<letterBits)
			}
			edges[at] |= numbers[c]
			if j == len([]rune(w))-1 {
				edges[at] |= endsWord << letterBits
			} else {
				edges[at] |= uint64(len(edges)) << (letterBits + bitsOfAnEdge)
			}
		}
	}
	edges[len(words)-1] |= lastOfNode << letterBits
	graph := binary.LittleEndian.AppendUint16(nil, wordsMark)
	graph = binary.LittleEndian.AppendUint32(graph, 1<<letterBits-1)
	graph = binary.LittleEndian.AppendUint32(graph, uint32(len(edges)))
	for _, e := range edges {
		graph = binary.LittleEndian.AppendUint64(graph, e)
	}
	list := []byte(strings.Join(append([]string{strconv.Itoa(len(letters))}, letters...), "\n"))
	const parts = 24
	begin := 4 + 8*parts
	model := binary.LittleEndian.AppendUint32(nil, parts)
	for i := range parts {
		at := int64(-1)
		switch i {
		case wordsPart:
			at = int64(begin)
		case lettersPart:
			at = int64(begin + len(graph))
		case lettersPart + 2:
			at = int64(begin + len(graph) + len(list))
		}
		model = binary.LittleEndian.AppendUint64(model, uint64(at))
	}
	model = append(append(append(model, graph...), list...), "version"...)
	if err := os.WriteFile(filepath.Join(dir, language+modelExt), model, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestDictionaryOfWrittenModel(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeModel(t, dir, "deu", "Zahlungsart", "Straße", "Öl")
	d := openDictionary(dir, "deu")
	if d == nil {
		t.Fatal("got no words")
	}
	for word, want := range map[string]bool{"zahlungsart": true, "StraBe": true, "Ol": true, "Zahlung": false, "Olstrabe": false} {
		if got := d.hasWord([]rune(foldLatin(word))); got != want {
			t.Errorf("%q: got %v, want %v", word, got, want)
		}
	}
}

func TestModelWithoutDictionary(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeModel(t, dir, "whole", "word")
	whole, err := os.ReadFile(filepath.Join(dir, "whole"+modelExt))
	if err != nil {
		t.Fatal(err)
	}
	for size := range whole { // damaged, and without what it says that it has
		name := filepath.Join(dir, "cut"+modelExt)
		if err := os.WriteFile(name, whole[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		if d := openDictionary(dir, "cut"); d != nil {
			d.hasWord([]rune("word"))
		}
	}
	if d := openDictionary(dir, "missing"); d != nil {
		t.Error("a model that is not there: got words, want none")
	}
}
