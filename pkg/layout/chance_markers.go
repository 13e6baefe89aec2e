package layout

import "strconv"

// clearChanceMarkers clears the markers of lines that only look as if they began an item: a counter comes before or
// after another, so an initial, a title or a number in brackets that has no neighbour counts nothing, and an asterisk
// that stands alone says of what in the text above the line is a note. Letters that take turns, as those of questions
// and answers, are markers.
func clearChanceMarkers(shapes []lineShape) {
	alternating := findAlternatingMarkers(shapes)
	for i := range shapes {
		s := &shapes[i]
		if s.marker == "" || s.enumerator.form != "" || !isDoubtfulMarker(s.marker) || alternating[s.marker] {
			continue
		}
		if !hasNeighbouringMarker(shapes, i) && !(isDash(s.marker) && !isInSentence(shapes, i)) {
			s.marker, s.bulletMarker, s.textStart = "", false, 0
		}
	}
}

// findAlternatingMarkers returns the letters with a stop that two take turns of, over the marked lines of a column.
func findAlternatingMarkers(shapes []lineShape) map[string]bool {
	const letterAndStop = 2 // bytes
	out := map[string]bool{}
	var last [2]string // the markers before
	for i := range shapes {
		marker := shapes[i].marker
		if len(marker) != letterAndStop || marker[1] != '.' {
			continue
		}
		if marker == last[0] && marker != last[1] {
			out[marker], out[last[1]] = true, true
		}
		last[0], last[1] = last[1], marker
	}
	return out
}

// isDoubtfulMarker reports whether text often begins with a sign for other reasons than to be an item: an asterisk, a
// letter with a stop that is neither the first of the alphabet nor a Roman number, or a number of three digits in
// brackets.
func isDoubtfulMarker(marker string) bool {
	if marker == "*" || isDash(marker) {
		return true
	}
	switch n := len(marker); n {
	case 2:
		letter := marker[0] | 0x20
		return marker[1] == '.' && letter > 'a' && letter <= 'z' && letter != 'i' && letter != 'v' && letter != 'x'
	case 5:
		_, err := strconv.Atoi(marker[1:4])
		return marker[0] == '(' && marker[4] == ')' && err == nil
	}
	return false
}

// isDash reports whether a marker is a dash, with which a line may go on in a sentence too.
func isDash(marker string) bool { return marker == "–" || marker == "—" }

// isInSentence reports whether line i, which begins with a dash, goes on with a small letter in the next line, at the
// same place: the text of an item hangs.
func isInSentence(shapes []lineShape, i int) bool {
	const slack = 0.4 // of the line's height
	return i+1 < len(shapes) && shapes[i+1].startsLower && !shapes[i].endsSentence && shapes[i+1].x0-shapes[i].x0 < slack*shapes[i].height
}

// hasNeighbouringMarker reports whether a line near line i begins with the counter before or after its own, or with
// the same asterisk.
func hasNeighbouringMarker(shapes []lineShape, i int) bool {
	marker := shapes[i].marker
	for j := max(0, i-maxListDistance); j < min(len(shapes), i+1+maxListDistance); j++ {
		if other := shapes[j].marker; j != i && len(other) == len(marker) && areNeighbours(marker, other) {
			return true
		}
	}
	return false
}

// areNeighbours reports whether two markers that isDoubtfulMarker speaks of, of one length, are alike and count on from
// each other.
func areNeighbours(a, b string) bool {
	switch len(a) {
	case 1, len("–"):
		return a == b
	case 2:
		return a[1] == b[1] && (a[0] == b[0]+1 || a[0]+1 == b[0])
	default:
		m, errA := strconv.Atoi(a[1:4])
		n, errB := strconv.Atoi(b[1:4])
		return errA == nil && errB == nil && (m == n+1 || m+1 == n)
	}
}
