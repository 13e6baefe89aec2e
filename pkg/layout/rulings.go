package layout

import (
	"cmp"
	"slices"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// rule is a straight line that runs across the page (at is its y) or down it (at is its x).
type rule struct{ at, from, to float64 }

// rules are the lines drawn on a page, each put together of its pieces.
type rules struct{ across, down []rule }

const (
	// sameLine is how far apart, in points, two pieces of one line may lie: the edges of neighbouring cells are drawn twice.
	sameLine = 1.6
	// sameEdge is how far apart lines may lie that stand for one edge of a table.
	sameEdge = 3.2
	// mostRules bounds the lines that are looked at. A page with more is a drawing, or graph paper.
	mostRules = 1500
)

// rulesOf returns the lines of a page as they lie when text of that angle stands upright.
func rulesOf(rulings []*inkstreamv1.Ruling, t turn) rules {
	var out rules
	if len(rulings) > 20*mostRules {
		return out
	}
	for _, r := range rulings {
		if !valid(r.GetBbox()) {
			continue
		}
		box := t.apply(boxOf(r.GetBbox()))
		if box.width() >= box.height() {
			out.across = append(out.across, rule{box.middle(), box.x0, box.x1})
		} else {
			out.down = append(out.down, rule{(box.x0 + box.x1) / 2, box.y0, box.y1})
		}
	}
	out.across, out.down = mergeRules(out.across), mergeRules(out.down)
	if len(out.across) > mostRules || len(out.down) > mostRules {
		return rules{}
	}
	return out
}

// mergeRules puts the pieces of lines together.
func mergeRules(pieces []rule) []rule {
	if len(pieces) < 2 {
		return pieces
	}
	slices.SortFunc(pieces, func(a, b rule) int { return cmp.Compare(a.at, b.at) })
	out := make([]rule, 0, len(pieces))
	for i := 0; i < len(pieces); {
		end := i + 1
		for end < len(pieces) && pieces[end].at-pieces[end-1].at <= sameLine && pieces[end].at-pieces[i].at <= 2*sameLine {
			end++
		}
		line := pieces[i:end]
		slices.SortFunc(line, func(a, b rule) int { return cmp.Compare(a.from, b.from) })
		cur := line[0]
		for _, r := range line[1:] {
			if r.from > cur.to+sameEdge {
				out = append(out, cur)
				cur = r
				continue
			}
			cur.to = max(cur.to, r.to)
		}
		out = append(out, cur)
		i = end
	}
	return out
}

// meshes groups lines that cross or touch one another, each group with lines in both directions.
func (r rules) meshes() []rules {
	n := len(r.across)
	parent := make([]int, n+len(r.down))
	for i := range parent {
		parent[i] = i
	}
	find := func(i int) int {
		for parent[i] != i {
			parent[i] = parent[parent[i]]
			i = parent[i]
		}
		return i
	}
	for j, d := range r.down {
		// The lines across are sorted by place, near enough: mergeRules keeps them so within sameLine.
		first, _ := slices.BinarySearchFunc(r.across, d.from-2*sameEdge, func(a rule, y float64) int { return cmp.Compare(a.at, y) })
		for i := first; i < n && r.across[i].at <= d.to+2*sameEdge; i++ {
			a := r.across[i]
			if d.at >= a.from-sameEdge && d.at <= a.to+sameEdge && a.at >= d.from-sameEdge && a.at <= d.to+sameEdge {
				parent[find(n+j)] = find(i)
			}
		}
	}
	groups := map[int]*rules{}
	var order []int
	group := func(root int) *rules {
		if groups[root] == nil {
			groups[root] = &rules{}
			order = append(order, root)
		}
		return groups[root]
	}
	for i, a := range r.across {
		g := group(find(i))
		g.across = append(g.across, a)
	}
	for j, d := range r.down {
		g := group(find(n + j))
		g.down = append(g.down, d)
	}
	var out []rules
	for _, root := range order {
		if g := groups[root]; len(g.across) >= 2 && len(g.down) >= 1 {
			out = append(out, *g)
		}
	}
	return out
}

// edges returns the places of lines, those that stand for one edge taken together.
func edges(lines []rule) []float64 {
	at := make([]float64, len(lines))
	for i, l := range lines {
		at[i] = l.at
	}
	slices.Sort(at)
	var out []float64
	for i := 0; i < len(at); {
		end, sum := i+1, at[i]
		for end < len(at) && at[end]-at[i] <= sameEdge {
			sum += at[end]
			end++
		}
		out = append(out, sum/float64(end-i))
		i = end
	}
	return out
}

// covers reports whether the lines near a place cover most of a stretch.
func covers(lines []rule, at, from, to float64) bool {
	first, _ := slices.BinarySearchFunc(lines, at-sameEdge-sameLine, func(l rule, v float64) int { return cmp.Compare(l.at, v) })
	covered := 0.0
	for _, l := range lines[max(0, first-4):] {
		if l.at > at+sameEdge+2*sameLine {
			break
		}
		if l.at >= at-sameEdge && l.at <= at+sameEdge {
			covered = max(covered, min(l.to, to)-max(l.from, from))
		}
	}
	return covered >= 0.6*(to-from)
}
