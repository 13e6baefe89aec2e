package cli

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/schollz/progressbar/v3"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// progress shows how many pages of how many are done: a bar on a terminal, else a line every few seconds. It is safe for concurrent use.
type progress struct {
	mu    sync.Mutex // guards everything below
	out   io.Writer
	bar   *progressbar.ProgressBar // nil where out is no terminal
	start time.Time
	line  time.Time
	files int
	ended int
	total map[string]int
	done  map[string]int
}

// lineEvery is how often a line is printed where there is no terminal.
const lineEvery = 5 * time.Second

func newProgress(out io.Writer) *progress {
	now := time.Now()
	p := &progress{out: out, start: now, line: now, total: map[string]int{}, done: map[string]int{}}
	if f, ok := out.(*os.File); ok && isatty.IsTerminal(f.Fd()) {
		p.bar = progressbar.NewOptions(-1,
			progressbar.OptionSetWriter(out),
			progressbar.OptionSetDescription("pages"),
			progressbar.OptionShowCount(),
			progressbar.OptionShowIts(),
			progressbar.OptionSetItsString("pages"),
			progressbar.OptionSetPredictTime(true),
			progressbar.OptionSetWidth(30),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionClearOnFinish(),
		)
	}
	return p
}

// expect tells how many files there are in all.
func (p *progress) expect(files int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.files = files
}

// set takes over the state of a job.
func (p *progress) set(id string, j *inkstreamv1.Job) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total[id], p.done[id] = int(j.GetPageCount()), int(j.GetPagesDone())
	if ended(j) {
		p.ended++
	}
	p.show(false)
}

// refused counts a file that became no job.
func (p *progress) refused() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended++
}

func (p *progress) show(last bool) {
	total, done := 0, 0
	for id, n := range p.total {
		total += n
		done += p.done[id]
	}
	if p.bar != nil {
		p.bar.ChangeMax(max(total, 1))
		_ = p.bar.Set(done) // only fails past the maximum
		return
	}
	if !last && time.Since(p.line) < lineEvery {
		return
	}
	p.line = time.Now()
	rate := float64(done) / time.Since(p.start).Seconds()
	eta := "unknown"
	if rate > 0 {
		eta = time.Duration(float64(total-done) / rate * float64(time.Second)).Round(time.Second).String()
	}
	files := ""
	if p.files > 1 {
		files = fmt.Sprintf("%d of %d files, ", p.ended, p.files)
	}
	fmt.Fprintf(p.out, "%s%d of %d pages, %.1f pages/s, ETA %s\n", files, done, total, rate, eta)
}

// finish ends the bar.
func (p *progress) finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		_ = p.bar.Finish() // it only redraws
		return
	}
	p.show(true)
}
