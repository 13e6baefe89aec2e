package cli

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mattn/go-runewidth"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

const (
	// lineEvery is how often a line is printed where there is no terminal.
	lineEvery = 5 * time.Second
	// maxBars is how many files have a bar of their own; the total counts the others.
	maxBars = 12
	// nameWidth is how much of a file's name a bar shows, barWidth how wide it is.
	nameWidth, barWidth = 32, 24
	redraw              = 150 * time.Millisecond
	// fine is how many steps of a bar a page or a file is.
	fine = 1000
	// endless is the number of files where nobody knows how many will come.
	endless = -1
)

// progress shows how far files are: on a terminal a bar for each that is under way and one for all, else a line for each that ends and one for all
// every few seconds. It is safe for concurrent use.
//
// The bars are drawn by goroutines of their own, which the methods here wait for with the mutex held. So what is drawn must not ask for it: it is
// put where it can be read without.
type progress struct {
	s     streams
	start time.Time
	files int  // how many there are in all
	terse bool // no line for each

	mu    sync.Mutex // guards all below, and what tasks say is theirs
	bars  *mpb.Progress
	all   *mpb.Bar
	tasks []*task // under way, in the order in which they began
	shown int
	ended int
	bad   int // of those that ended
	total int // pages of the files that are known, and those done
	done  int
	line  time.Time

	sum atomic.Pointer[string] // what stands behind the bar of all
}

// task is a file that is under way. Its fields are guarded by the mutex of p, but for what is drawn.
type task struct {
	drawn atomic.Pointer[func(elapsed time.Duration) string] // what stands behind its bar

	p      *progress
	name   string
	size   int64
	sent   int64
	pages  int
	done   int
	says   string
	began  time.Time
	bar    *mpb.Bar
	hidden bool
}

func newProgress(s streams, files int) *progress {
	now := time.Now()
	p := &progress{s: s, files: files, start: now, line: now}
	p.sum.Store(new(string))
	if terminal(s.err) && s.getenv("TERM") != "dumb" {
		p.bars = mpb.New(mpb.WithOutput(s.err), mpb.WithRefreshRate(redraw))
		p.all = p.bars.New(0, barStyle(), mpb.BarPriority(math.MaxInt), mpb.BarWidth(barWidth), mpb.BarRemoveOnComplete(),
			mpb.PrependDecorators(decor.Any(func(decor.Statistics) string { return runewidth.FillRight("total", nameWidth) })),
			mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return *p.sum.Load() })))
	}
	return p
}

// barStyle draws with characters that every terminal has.
func barStyle() mpb.BarStyleComposer {
	return mpb.BarStyle().Lbound(" [").Filler("=").Tip(">").Padding(" ").Rbound("] ")
}

// begin adds a file; size is what will be uploaded of it, 0 where nothing is.
func (p *progress) begin(name string, size int64) *task {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := &task{p: p, name: printable(name), size: size, began: time.Now(), hidden: true}
	if size == 0 {
		t.says = "waiting"
	}
	p.tasks = append(p.tasks, t)
	p.reveal()
	return t
}

// reveal gives bars to files that have none, while there is room.
func (p *progress) reveal() {
	if p.bars == nil {
		return
	}
	for _, t := range p.tasks {
		if p.shown == maxBars {
			return
		}
		if t.hidden {
			t.hidden = false
			p.shown++
			t.note()
			name := runewidth.FillRight(runewidth.Truncate(filepath.Base(t.name), nameWidth, "…"), nameWidth)
			t.bar = p.bars.New(0, barStyle(), mpb.BarWidth(barWidth), mpb.BarRemoveOnComplete(),
				mpb.PrependDecorators(decor.Any(func(decor.Statistics) string { return name })),
				mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return (*t.drawn.Load())(time.Since(t.began)) })))
			t.draw()
		}
	}
}

// uploaded notes that bytes were sent.
func (t *task) uploaded(n int) {
	t.p.mu.Lock()
	defer t.p.mu.Unlock()
	t.sent += int64(n)
	t.draw()
}

// restart notes that the upload begins anew.
func (t *task) restart(why string) {
	t.p.mu.Lock()
	defer t.p.mu.Unlock()
	t.sent, t.says = 0, why
	t.draw()
}

// set takes over the state of a job.
func (t *task) set(j *inkstreamv1.Job) {
	t.p.mu.Lock()
	defer t.p.mu.Unlock()
	t.p.total += int(j.GetPageCount()) - t.pages
	t.p.done += int(j.GetPagesDone()) - t.done
	t.pages, t.done, t.says = int(j.GetPageCount()), int(j.GetPagesDone()), stateText(j)
	t.draw()
	t.p.show(false)
}

// stateText says where a job stands.
func stateText(j *inkstreamv1.Job) string {
	switch j.GetState() {
	case inkstreamv1.Job_PENDING:
		return "queued"
	case inkstreamv1.Job_RUNNING:
		if n := len(j.GetStages()); n > 0 {
			return j.GetStages()[n-1].GetName()
		}
		return "running"
	default:
		return j.GetState().String()
	}
}

// end takes a file off the list and says what became of it: an error at once, on a terminal above the bars.
func (t *task) end(r *result) {
	p := t.p
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended++
	if !r.fine() {
		p.bad++
	}
	p.remove(t)
	switch {
	case p.files == endless: // whoever takes the files tells of them
	case p.bars != nil && !r.fine():
		state, _, _ := r.verdict()
		// The terminal is gone: there is nobody to tell.
		_, _ = io.WriteString(p.bars, fmt.Sprintf("%s  %s  %s\n", p.s.paintErr(red, state), t.name, r.reason()))
	case p.bars == nil && p.files != 1 && !p.terse && r.job != nil && ended(r.job):
		line := fmt.Sprintf("%s: %s, %s, %s", t.name, r.job.GetState(), plural(int(r.job.GetPageCount()), "page"), span(time.Since(t.began)))
		if !r.fine() {
			line += ", " + r.reason()
		}
		fmt.Fprintln(p.s.err, line)
	}
}

// drop takes a file off the list of which nothing became yet.
func (t *task) drop() {
	t.p.mu.Lock()
	defer t.p.mu.Unlock()
	t.p.total, t.p.done = t.p.total-t.pages, t.p.done-t.done
	t.p.remove(t)
}

// remove takes a file off the list; the mutex is held.
func (p *progress) remove(t *task) {
	p.tasks = slices.DeleteFunc(p.tasks, func(other *task) bool { return other == t })
	if t.bar != nil {
		t.bar.Abort(true)
		p.shown--
	}
	p.reveal()
	p.drawAll()
}

// paintErr is paint for what goes to the terminal of errors.
func (s streams) paintErr(look, text string) string {
	s.out = s.err
	return s.paint(look, text)
}

// draw tells the bar; the mutex is held.
func (t *task) draw() {
	if t.bar == nil {
		return
	}
	t.note()
	if t.pages > 0 {
		t.bar.SetTotal(int64(t.pages)*fine+1, false) // never full before the end: a full bar is taken off
		t.bar.SetCurrent(int64(t.done) * fine)
	} else if t.size > 0 && t.says == "" {
		t.bar.SetTotal(t.size+1, false)
		t.bar.SetCurrent(t.sent)
	} else {
		t.bar.SetCurrent(0) // sent, and nobody has opened it yet
	}
	t.p.drawAll()
}

// note writes down what stands behind the bar; the mutex is held.
func (t *task) note() {
	says := t.says
	switch {
	case t.pages > 0:
		says = fmt.Sprintf("%d/%d pages  %s", t.done, t.pages, t.says)
	case t.says == "" && t.sent >= t.size && t.size > 0:
		says = "uploaded"
	case t.says == "" && t.size > 0:
		says = fmt.Sprintf("uploading %d %%", 100*t.sent/t.size)
	}
	text := func(elapsed time.Duration) string { return fmt.Sprintf("%s  %s", says, elapsed.Round(time.Second)) }
	t.drawn.Store(&text)
}

// drawAll tells the bar of all; the mutex is held.
func (p *progress) drawAll() {
	if p.all == nil {
		return
	}
	// By files, and within them by pages.
	units := p.ended * fine
	for _, t := range p.tasks {
		if t.pages > 0 {
			units += fine * t.done / t.pages
		}
	}
	p.all.SetTotal(int64(max(p.files, p.ended+len(p.tasks), 1)*fine)+1, false)
	p.all.SetCurrent(int64(units))
	text := p.sumText()
	p.sum.Store(&text)
}

// sumText says how far all is; the mutex is held.
func (p *progress) sumText() string {
	if p.files == endless {
		return fmt.Sprintf("%d done, %d failed, %d under way, %s", p.ended-p.bad, p.bad, len(p.tasks), plural(p.done, "page"))
	}
	rate := float64(p.done) / time.Since(p.start).Seconds()
	eta := "unknown"
	// What is left of files that nobody has opened is guessed from the others.
	left := float64(p.total - p.done)
	if opened := p.ended + len(p.tasks); p.files > opened && opened > 0 {
		left += float64(p.total) / float64(opened) * float64(p.files-opened)
	}
	if rate > 0 { // what is left is never done in no time
		eta = max(time.Second, time.Duration(left/rate*float64(time.Second)).Round(time.Second)).String()
	}
	files := ""
	if p.files > 1 {
		files = fmt.Sprintf("%d of %d files, ", p.ended, p.files)
	}
	if left == 0 && p.ended >= p.files {
		return fmt.Sprintf("%s%d of %d pages, %.1f pages/s, %s", files, p.done, p.total, rate, span(time.Since(p.start)))
	}
	return fmt.Sprintf("%s%d of %d pages, %.1f pages/s, ETA %s", files, p.done, p.total, rate, eta)
}

// show prints the line of all where there is no terminal; the mutex is held.
func (p *progress) show(last bool) {
	if p.bars != nil || p.files <= 0 || !last && time.Since(p.line) < lineEvery {
		return
	}
	p.line = time.Now()
	fmt.Fprintln(p.s.err, p.sumText())
}

// finish ends the bars, and leaves the terminal as it was.
func (p *progress) finish() {
	p.mu.Lock()
	bars, tasks, all := p.bars, p.tasks, p.all
	p.tasks = nil
	p.show(true)
	p.mu.Unlock()
	if bars == nil {
		return
	}
	for _, t := range tasks {
		if t.bar != nil {
			t.bar.Abort(true)
		}
	}
	all.Abort(true)
	bars.Wait()
}

// say prints a line beside the progress.
func (p *progress) say(format string, args ...any) {
	line := fmt.Sprintf(format, args...) + "\n"
	if p.bars != nil {
		_, _ = io.WriteString(p.bars, line) // the terminal is gone: there is nobody to tell
		return
	}
	fmt.Fprint(p.s.err, line)
}
