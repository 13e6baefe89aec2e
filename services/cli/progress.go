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
	// lineInterval is how often a line is printed where there is no terminal.
	lineInterval = 5 * time.Second
	// maxBars is how many files have a bar of their own; the total counts the others.
	maxBars = 12
	// nameWidth is how much of a file's name a bar shows, barWidth how wide it is.
	nameWidth, barWidth = 32, 24
	redrawInterval      = 150 * time.Millisecond
	// stepsPerItem is how many steps of a bar a page or a file is.
	stepsPerItem = 1000
	// unknownFileCount stands for a number of files that is not known in advance.
	unknownFileCount = -1
)

// progress shows how far files are: on a terminal a bar for each that is under way and one for all, else a line for
// each that ends and one for all every few seconds. It is safe for concurrent use.
//
// The bars are drawn by goroutines of their own, which the methods here wait for with the mutex held. So what is
// drawn must not ask for it: it is put where it can be read without.
type progress struct {
	streams          streams
	start            time.Time
	files            int  // how many there are in all
	withoutFileLines bool // no line for each

	printing sync.Mutex // held while a line is written without bars

	mu          sync.Mutex // guards all below, and what tasks say is theirs
	bars        *mpb.Progress
	all         *mpb.Bar
	tasks       []*fileProgress // under way, in the order in which they began
	shown       int
	ended       int
	failedFiles int // of those that ended
	total       int // pages of the files that are known, and those done
	done        int
	line        time.Time

	totalText atomic.Pointer[string] // what stands behind the bar of all
}

// fileProgress is a file that is under way. Its fields are guarded by the mutex of p, but for what is drawn.
type fileProgress struct {
	barText atomic.Pointer[func(elapsed time.Duration) string] // what stands behind its bar

	progress   *progress
	name       string
	size       int64
	sent       int64
	pages      int
	done       int
	statusText string
	began      time.Time
	bar        *mpb.Bar
	hidden     bool
}

func newProgress(s streams, files int) *progress {
	now := time.Now()
	p := &progress{streams: s, files: files, start: now, line: now}
	p.totalText.Store(new(string))
	if isTerminal(s.err) && s.getenv("TERM") != "dumb" {
		p.bars = mpb.New(mpb.WithOutput(s.err), mpb.WithRefreshRate(redrawInterval))
		p.all = p.bars.New(0, barStyle(), mpb.BarPriority(math.MaxInt), mpb.BarWidth(barWidth), mpb.BarRemoveOnComplete(),
			mpb.PrependDecorators(decor.Any(func(decor.Statistics) string { return runewidth.FillRight("total", nameWidth) })),
			mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return *p.totalText.Load() })))
	}
	return p
}

// barStyle draws with characters that every terminal has.
func barStyle() mpb.BarStyleComposer {
	return mpb.BarStyle().Lbound(" [").Filler("=").Tip(">").Padding(" ").Rbound("] ")
}

// startFile adds a file; size is what will be uploaded of it, 0 where nothing is.
func (p *progress) startFile(name string, size int64) *fileProgress {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := &fileProgress{progress: p, name: printableText(name), size: size, began: time.Now(), hidden: true}
	if size == 0 {
		t.statusText = "waiting"
	}
	p.tasks = append(p.tasks, t)
	p.showBars()
	return t
}

// showBars gives bars to files that have none, while there is room.
func (p *progress) showBars() {
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
			t.updateBarText()
			name := runewidth.FillRight(runewidth.Truncate(filepath.Base(t.name), nameWidth, "…"), nameWidth)
			t.bar = p.bars.New(0, barStyle(), mpb.BarWidth(barWidth), mpb.BarRemoveOnComplete(),
				mpb.PrependDecorators(decor.Any(func(decor.Statistics) string { return name })),
				mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return (*t.barText.Load())(time.Since(t.began)) })))
			t.drawBar()
		}
	}
}

// addUploaded notes that bytes were sent.
func (t *fileProgress) addUploaded(n int) {
	t.progress.mu.Lock()
	defer t.progress.mu.Unlock()
	t.sent += int64(n)
	t.drawBar()
}

// restartUpload notes that the upload begins again.
func (t *fileProgress) restartUpload(why string) {
	t.progress.mu.Lock()
	defer t.progress.mu.Unlock()
	t.sent, t.statusText = 0, why
	t.drawBar()
}

// updateFromJob takes over the state of a job.
func (t *fileProgress) updateFromJob(j *inkstreamv1.Job) {
	t.progress.mu.Lock()
	defer t.progress.mu.Unlock()
	t.progress.total += int(j.GetPageCount()) - t.pages
	t.progress.done += int(j.GetPagesDone()) - t.done
	t.pages, t.done, t.statusText = int(j.GetPageCount()), int(j.GetPagesDone()), jobStateText(j)
	t.drawBar()
	t.progress.printTotalLine(false)
}

// jobStateText says where a job stands.
func jobStateText(j *inkstreamv1.Job) string {
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

// finishFile takes a file off the list and says what became of it: an error at once, on a terminal above the bars.
func (t *fileProgress) finishFile(r *uploadResult) {
	p := t.progress
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended++
	if !r.succeededSoFar() {
		p.failedFiles++
	}
	p.removeLocked(t)
	switch {
	case p.files == unknownFileCount: // the folder watcher reports each file itself
	case p.bars != nil && !r.succeededSoFar():
		state, _, _ := r.resultState()
		// An error means that the terminal is gone: the line has no reader.
		_, _ = io.WriteString(p.bars, fmt.Sprintf("%s  %s  %s\n", p.streams.applyErrorStyle(styleRed, state), t.name,
			r.failureReason()))
	case p.bars == nil && p.files != 1 && !p.withoutFileLines && r.job != nil && hasEnded(r.job):
		line := fmt.Sprintf("%s: %s, %s, %s", t.name, r.job.GetState(), pluralize(int(r.job.GetPageCount()), "page"),
			formatDuration(time.Since(t.began)))
		if !r.succeededSoFar() {
			line += ", " + r.failureReason()
		}
		p.printLine("%s", line)
	}
}

// removeUnfinished takes a file off the list of which nothing became yet.
func (t *fileProgress) removeUnfinished() {
	t.progress.mu.Lock()
	defer t.progress.mu.Unlock()
	t.progress.total, t.progress.done = t.progress.total-t.pages, t.progress.done-t.done
	t.progress.removeLocked(t)
}

// removeLocked takes a file off the list; the mutex is held.
func (p *progress) removeLocked(t *fileProgress) {
	p.tasks = slices.DeleteFunc(p.tasks, func(other *fileProgress) bool { return other == t })
	if t.bar != nil {
		t.bar.Abort(true)
		p.shown--
	}
	p.showBars()
	p.drawTotal()
}

// applyErrorStyle is paint for what goes to the terminal of errors.
func (s streams) applyErrorStyle(look, text string) string {
	s.out = s.err
	return s.applyStyle(look, text)
}

// drawBar tells the bar; the mutex is held.
func (t *fileProgress) drawBar() {
	if t.bar == nil {
		return
	}
	t.updateBarText()
	if t.pages > 0 {
		t.bar.SetTotal(int64(t.pages)*stepsPerItem+1, false) // never full before the end: a full bar is taken off
		t.bar.SetCurrent(int64(t.done) * stepsPerItem)
	} else if t.size > 0 && t.statusText == "" {
		t.bar.SetTotal(t.size+1, false)
		t.bar.SetCurrent(t.sent)
	} else {
		t.bar.SetCurrent(0) // sent, and no process has opened it yet
	}
	t.progress.drawTotal()
}

// updateBarText writes down what stands behind the bar; the mutex is held.
func (t *fileProgress) updateBarText() {
	says := t.statusText
	switch {
	case t.pages > 0:
		says = fmt.Sprintf("%d/%d pages  %s", t.done, t.pages, t.statusText)
	case t.statusText == "" && t.sent >= t.size && t.size > 0:
		says = "uploaded"
	case t.statusText == "" && t.size > 0:
		says = fmt.Sprintf("uploading %d %%", 100*t.sent/t.size)
	}
	text := func(elapsed time.Duration) string { return fmt.Sprintf("%s  %s", says, elapsed.Round(time.Second)) }
	t.barText.Store(&text)
}

// drawTotal tells the bar of all; the mutex is held.
func (p *progress) drawTotal() {
	if p.all == nil {
		return
	}
	// By files, and within them by pages.
	units := p.ended * stepsPerItem
	for _, t := range p.tasks {
		if t.pages > 0 {
			units += stepsPerItem * t.done / t.pages
		}
	}
	p.all.SetTotal(int64(max(p.files, p.ended+len(p.tasks), 1)*stepsPerItem)+1, false)
	p.all.SetCurrent(int64(units))
	text := p.formatTotal()
	p.totalText.Store(&text)
}

// formatTotal says how far all is; the mutex is held.
func (p *progress) formatTotal() string {
	if p.files == unknownFileCount {
		return fmt.Sprintf("%d done, %d failed, %d under way, %s", p.ended-p.failedFiles, p.failedFiles, len(p.tasks),
			pluralize(p.done, "page"))
	}
	rate := float64(p.done) / time.Since(p.start).Seconds()
	eta := "unknown"
	// What is left of files that are not opened yet is guessed from the others.
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
		return fmt.Sprintf("%s%d of %d pages, %.1f pages/s, %s", files, p.done, p.total, rate,
			formatDuration(time.Since(p.start)))
	}
	return fmt.Sprintf("%s%d of %d pages, %.1f pages/s, ETA %s", files, p.done, p.total, rate, eta)
}

// printTotalLine prints the line of all where there is no terminal; the mutex is held.
func (p *progress) printTotalLine(last bool) {
	if p.bars != nil || p.files <= 0 || !last && time.Since(p.line) < lineInterval {
		return
	}
	p.line = time.Now()
	p.printLine("%s", p.formatTotal())
}

// finishBars ends the bars, and leaves the terminal as it was.
func (p *progress) finishBars() {
	p.mu.Lock()
	bars, tasks, all := p.bars, p.tasks, p.all
	p.tasks = nil
	p.printTotalLine(true)
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

// printLine prints a line beside the progress.
func (p *progress) printLine(format string, args ...any) {
	line := fmt.Sprintf(format, args...) + "\n"
	if p.bars != nil {
		_, _ = io.WriteString(p.bars, line) // on an error the terminal is gone: the line has no reader
		return
	}
	p.printing.Lock()
	defer p.printing.Unlock()
	fmt.Fprint(p.streams.err, line)
}
