package layout

import (
	"math"
	"slices"
)

// usualLinePitch returns the usual distance from one baseline to the next: the mean of those about the median.
// Programs that round baselines to a grid set lines in turn a little closer and wider. Lines of code say nothing of the
// text about them.
func usualLinePitch(shapes []lineShape, em float64) float64 {
	const tightest = 0.7 // of the type's size
	text := haveText(shapes, em)
	steps := make([]float64, 0, len(shapes))
	for i := 1; i < len(shapes); i++ {
		if text && shapes[i].style.mono {
			continue
		}
		least := max(0.5*em, tightest*min(shapes[i-1].style.size, shapes[i].style.size)) // else they stand side by side
		if step := shapes[i].baseline - shapes[i-1].baseline; step > least && step < 2.2*em {
			steps = append(steps, step)
		}
	}
	if 3*len(steps) < len(shapes) {
		if wide := widePitch(shapes, em); wide > 0 {
			return wide
		}
	}
	if len(steps) == 0 {
		return 1.3 * em
	}
	middle := median(steps)
	sum, n := 0.0, 0.0
	for _, step := range steps {
		if math.Abs(step-middle) <= 0.12*middle {
			sum, n = sum+step, n+1
		}
	}
	return sum / n
}

// haveText reports whether among the lines some of text follow each other, in type of the usual size that is no code's.
func haveText(shapes []lineShape, em float64) bool {
	const fewest, slack = 2, 0.05 // pairs of lines, ems
	n := 0
	isText := func(s lineShape) bool { return !s.style.mono && math.Abs(s.style.size-em) <= slack*em }
	for i := 1; i < len(shapes) && n < fewest; i++ {
		if isText(shapes[i-1]) && isText(shapes[i]) {
			n++
		}
	}
	return n == fewest
}

// widePitch returns the distance from one baseline to the next where most lines stand as far apart as in double-spaced
// typescript; 0 where they do not.
func widePitch(shapes []lineShape, em float64) float64 {
	const fewest, least, most, widest, share, runOn = 4, 2.2, 4, 8, 0.5, 0.3 // lines, ems, shares of the lines
	limit, goOn := most*em, 0
	for i := 1; i < len(shapes); i++ {
		if shapes[i].startsLower && !shapes[i-1].endsSentence {
			goOn++
		}
	}
	if float64(goOn) >= runOn*float64(len(shapes)) { // entries and captions do not run on
		limit = widest * em
	}
	var steps []float64
	for i := 1; i < len(shapes); i++ {
		if step := shapes[i].baseline - shapes[i-1].baseline; step >= least*em && step < limit {
			steps = append(steps, step)
		}
	}
	if len(steps) < fewest {
		return 0
	}
	middle := median(steps)
	if float64(countNear(steps, middle, lineSlack*middle)) < share*float64(len(shapes)) {
		return 0
	}
	return middle
}

// tightenPitch makes the pitch that of lines of which one certainly goes on with the other, where most lines stand
// farther apart, as entries of a line or two do: the first is full and ends no sentence, the next begins with a small
// letter. A few lines that do not tell stand as far apart within paragraphs as those of the page.
func (p *textColumn) tightenPitch() {
	const fewest, few = 2, 6 // lines
	var steps []float64
	for i := 1; i < len(p.shapes); i++ {
		prev, cur := p.shapes[i-1], p.shapes[i]
		step := cur.baseline - prev.baseline
		if cur.startsLower && !prev.endsSentence && !prev.style.mono && step > 0.5*p.em && p.fillsLine(prev, cur) {
			steps = append(steps, step)
		}
	}
	if len(steps) < fewest {
		isLarger := func(s lineShape) bool { return s.style.size > 1.05*p.em || s.style.size == 0 }
		if len(p.shapes) <= few && p.pagePitch > 0 && p.pitch > (1+leastRoom)*p.pagePitch && !slices.ContainsFunc(p.shapes, isLarger) {
			p.pitch = p.pagePitch
		}
		return
	}
	if within := median(steps); p.pitch > (1+leastRoom)*within {
		p.pitch = within
	}
}

// measureSteps keeps how far apart the lines of the column stand, and whether that is even.
func (p *textColumn) measureSteps() {
	const most = 0.12 // of the page's pitch
	for i := 1; i < len(p.shapes); i++ {
		p.steps = append(p.steps, p.shapes[i].baseline-p.shapes[i-1].baseline)
	}
	slices.Sort(p.steps)
	p.usual = p.pagePitch > 0 && math.Abs(p.pitch-p.pagePitch) <= most*p.pagePitch
	p.even = p.usual || float64(p.countSteps(p.pitch)) >= evenShare*float64(len(p.steps))
}
