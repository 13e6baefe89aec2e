package layout

// wordRoom is the room between the words of a line: the widest, and all.
type wordRoom struct {
	widest, sum float64
	gaps        int
}

func (r *wordRoom) addGap(gap float64) {
	r.widest, r.sum, r.gaps = max(r.widest, gap), r.sum+max(0, gap), r.gaps+1
}

// isParted reports whether a line has text in two places, as a name and what stands at the end of its line: the room
// between them is wider than blanks are, those of justified lines too, which are all alike.
func (r *wordRoom) isParted(em float64) bool {
	const widest, ofTwo, times = 1.8, 5.0, 3.0 // ems; between two words alone; times the others
	if r.gaps < 2 {
		return r.widest > ofTwo*em
	}
	return r.widest > widest*em && r.widest > times*(r.sum-r.widest)/float64(r.gaps-1)
}

// addGap adds the room before word i, counted from 0, which begins at x.
func (s *lineShape) addGap(i int, x float64) {
	if i == 1 {
		s.second = x
	}
	s.room.addGap(x - s.x1)
}
