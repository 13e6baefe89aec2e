package layout

import (
	"strings"
	"unicode"
	"unicode/utf8"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// speakerOf returns the name in capitals that a line of a play or of a transcript begins with, with the stop or colon
// behind it; empty if it begins otherwise.
func speakerOf(words []*inkstreamv1.Word) string {
	const shortest = 3 // letters
	name := words[0].GetText()
	if len(words) < 2 || !strings.HasSuffix(name, ".") && !strings.HasSuffix(name, ":") || utf8.RuneCountInString(name) <= shortest {
		return ""
	}
	for _, r := range name[:len(name)-1] {
		if !unicode.IsUpper(r) {
			return ""
		}
	}
	return name
}

// haveSpeakers reports whether names in capitals at the beginning of lines come again, as of those who speak in turn:
// each begins a paragraph.
func haveSpeakers(shapes []lineShape) bool {
	const fewest = 4 // lines
	names, lines := map[string]bool{}, 0
	for i := range shapes {
		if name := shapes[i].speaker; name != "" {
			names[name] = true
			lines++
		}
	}
	return lines >= fewest && 2*len(names) <= lines
}
