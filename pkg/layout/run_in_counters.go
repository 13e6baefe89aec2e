package layout

import inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"

// clearRunInCounters clears the counters with which lines begin by chance where text counts in its lines, as entries of
// dictionaries count meanings: the number before stands within a line above that begins with none, and no line near
// begins with a neighbour.
func clearRunInCounters(lines []*inkstreamv1.Line, shapes []lineShape) {
	const near = 6 // lines
	for i := range shapes {
		s := &shapes[i]
		if s.marker == "" || s.bulletMarker || s.enumerator.form != "" {
			continue
		}
		kind, value := counterValue(s.marker)
		if value < 2 {
			continue
		}
		within := false
		for j := max(0, i-near); j < min(len(shapes), i+1+near); j++ {
			k, v := counterValue(shapes[j].marker)
			if k == kind && (v == value-1 || v == value+1) {
				within = false
				break
			}
			within = within || j < i && k == "" && holdsCounter(lines[j], kind, value-1)
		}
		if within {
			s.marker, s.section, s.textStart = "", "", 0
		}
	}
}

// holdsCounter reports whether a counter stands in a line, and not at its beginning.
func holdsCounter(line *inkstreamv1.Line, kind string, value int) bool {
	for _, w := range line.GetWords()[1:] {
		if k, v := counterValue(w.GetText()); v == value && k == kind {
			return true
		}
	}
	return false
}
