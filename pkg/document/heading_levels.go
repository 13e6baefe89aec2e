package document

import (
	"cmp"
	"slices"
)

// levelMap tells levels by style, and by the depth of numbers.
type levelMap struct {
	styles map[headingStyle]int
	depths map[int]int
	// knownStyles are the styles of which structure, outline or numbers say a level.
	knownStyles map[headingStyle]bool
}

// styleLevels orders the styles of headings: by what structure, outline or numbers say of them, else the larger
// before the smaller and the bold before the plain.
func styleLevels(found []candidate) levelMap {
	told := map[headingStyle]map[int]int{}
	byDepth := map[headingStyle]map[int]int{}
	count := map[headingStyle]int{}
	var styles []headingStyle
	for _, c := range found {
		if c.title {
			continue
		}
		count[c.style]++
		if told[c.style] == nil {
			told[c.style], byDepth[c.style] = map[int]int{}, map[int]int{}
			styles = append(styles, c.style)
		}
		if c.level > 0 {
			told[c.style][c.level]++
		}
		if c.depth > 0 {
			byDepth[c.style][c.depth]++
		}
	}
	slices.SortFunc(styles, func(a, b headingStyle) int {
		return cmp.Or(cmp.Compare(b.size, a.size), compareBools(b.bold, a.bold), compareBools(b.allCaps, a.allCaps))
	})
	// Types that come but once (a cover's, most often) are no level of their own, where others come again.
	often := slices.DeleteFunc(slices.Clone(styles),
		func(s headingStyle) bool { return count[s] < 2 && len(told[s]) == 0 })
	if len(often) == 0 {
		often = styles
	}
	out := levelMap{styles: map[headingStyle]int{}, depths: map[int]int{}, knownStyles: map[headingStyle]bool{}}
	for _, s := range styles {
		out.knownStyles[s] = len(told[s])+len(byDepth[s]) > 0
	}
	out.rankStyles(often, told, byDepth)
	for _, s := range styles {
		if out.styles[s] == 0 {
			out.styles[s] = out.nearestLevel(s, often)
		}
	}
	return out
}

// rankStyles gives levels to styles, the most prominent first.
func (l *levelMap) rankStyles(styles []headingStyle, told, byDepth map[headingStyle]map[int]int) {
	last, lastSize := 0, 0
	for _, s := range styles {
		level := mostFrequent(told[s])
		if level == 0 {
			level = last + 1
			if last > 0 && 100*s.size > 94*lastSize && !s.recognised && len(styles) > 4 {
				level = last // hardly smaller, and too many styles to tell apart
			}
			if d := mostFrequent(byDepth[s]); d > 0 && l.depths[d] > 0 {
				level = l.depths[d]
			} else if d > 1 && l.depths[d-1] > 0 {
				level = l.depths[d-1] + 1
			}
		}
		level = min(max(level, 1), maxHeadingLevels)
		l.styles[s] = level
		if d := mostFrequent(byDepth[s]); d > 0 && l.depths[d] == 0 {
			l.depths[d] = level
		}
		last, lastSize = max(last, level), s.size
	}
}

// nearestLevel returns the level of the style among those given, in their order, that is next to one in prominence,
// and not above it.
func (l *levelMap) nearestLevel(s headingStyle, styles []headingStyle) int {
	level := 1
	for _, o := range styles {
		level = l.styles[o]
		if o.size <= s.size {
			break
		}
	}
	return max(level, 1)
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	default:
		return -1
	}
}

// assignLevels returns the levels of the headings. Where structure or outline name most of them, one in a type that
// none of those has is minor: the title of a note or a box. It stands below a larger heading before it; a label right
// above a heading ("Chapter 2") goes with that.
func (l levelMap) assignLevels(found []candidate) []int {
	named := 0
	for _, c := range found {
		if c.level > 0 {
			named++
		}
	}
	out, last, size := make([]int, len(found)), 0, 0
	for i, c := range found {
		out[i] = l.levelOf(c)
		switch {
		case c.level > 0:
			last, size = c.level, c.style.size
		case 2*named < len(found) || !c.isByTypeOnly() || l.knownStyles[c.style] || last == 0:
		case i+1 < len(found) && found[i+1].level > 0 && found[i+1].page == c.page && found[i+1].block == c.block+1:
			out[i] = min(out[i], found[i+1].level)
		case c.style.size < size:
			out[i] = min(max(out[i], last+1), maxHeadingLevels)
		}
	}
	return out
}

// levelOf returns the level of a heading: as it was told, by its number, by its style.
func (l levelMap) levelOf(c candidate) int {
	if c.level > 0 {
		return c.level
	}
	if c.depth > 0 && l.depths[c.depth] > 0 {
		return l.depths[c.depth]
	}
	if c.depth > 1 {
		for d := c.depth - 1; d > 0; d-- {
			if l.depths[d] > 0 {
				return min(l.depths[d]+c.depth-d, maxHeadingLevels)
			}
		}
	}
	return l.styles[c.style]
}

// raiseBelowTitle raises the levels of the headings where they begin below the first, because the document counts its
// title as that: headings stand right below a title.
func raiseBelowTitle(levels []int, found []candidate) []int {
	highest, titled := maxHeadingLevels, false
	for i, c := range found {
		if titled = titled || c.title; !c.title {
			highest = min(highest, levels[i])
		}
	}
	if titled {
		for i := range levels {
			levels[i] = max(1, levels[i]-highest+1)
		}
	}
	return levels
}
