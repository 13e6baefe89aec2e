package standalone_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/pdf"
	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/pdftest/score"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/ocr"
	"inkstream.dev/services/ocr/enginetest"
	"inkstream.dev/services/standalone"
	"inkstream.dev/services/standalone/chaos"
)

// poisonable is a recogniser whose children misbehave over the dirty page of a document whose language says how; all
// else it reads well.
type poisonable struct {
	sound   ocr.Engine
	hostile map[string]ocr.Engine
}

// RecognisePage hands the page to the engine that is meant for it.
func (p *poisonable) RecognisePage(ctx context.Context, img ocr.Image,
	opts ocr.RecogniseOptions) (*inkstreamv1.Page, error) {
	how := opts.Languages
	opts.Languages = "eng"
	if hostile := p.hostile[how]; hostile != nil && dirty(img) {
		if how == "hang" {
			opts.Timeout = min(opts.Timeout, 2*time.Second) // it would use up any
		}
		return hostile.RecognisePage(ctx, img, opts)
	}
	return p.sound.RecognisePage(ctx, img, opts)
}

// dirty reports whether the raster's paper is grey: that of a clean scan is white.
func dirty(img ocr.Image) bool {
	corner := make([]byte, 64)
	n, err := img.File.ReadAt(corner, 32) // beyond the header, in the first row
	if err != nil || n < len(corner) {
		return false
	}
	sum := 0
	for _, b := range corner {
		sum += int(b)
	}
	return sum/len(corner) < 248
}

// A page that crashes, hangs or floods its engine costs that page. Its job ends PARTIAL and says why, and fifty other
// jobs that were sent with it end as if it were not there.
func TestPoisonCostsItsPageOnly(t *testing.T) {
	t.Parallel()
	engines := openEngines(t, func(c *pdf.Config) { c.PageTimeout, c.MemoryLimit = 6*time.Second, 512<<20 })
	engines.ocr = &poisonable{sound: engines.ocr, hostile: map[string]ocr.Engine{
		"crash": enginetest.HostileEngine(t, enginetest.Crashes),
		"hang":  enginetest.HostileEngine(t, enginetest.Hangs),
		"flood": enginetest.HostileEngine(t, enginetest.ExhaustsMemory),
	}}
	l := newCrashHarness(t, engines, "", func(c *standalone.Config) {
		c.Render.Workers, c.OCR.Workers, c.IndexCfg.Workers = 3, 4, 2
		c.OCR.PageTimeout = 2 * time.Minute // a sound page takes seconds at most, but this machine may be busy
		c.Reconcile.Patience = time.Minute
	})
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute) // a quiet machine takes one
	defer cancel()
	var jobs sync.WaitGroup
	for _, p := range []poison{
		{smallMixed(), "crash", 2, []string{"ENGINE_CRASHED"}},
		{smallMixed(), "hang", 2, []string{"PAGE_TIMEOUT"}},
		{smallMixed(), "flood", 2, []string{"ENGINE_MEMORY"}},
		{pdftest.HangingFile(pdftest.StallLoad), "", 2, []string{"PAGE_TIMEOUT"}},
		// Which of its bounds such a page meets first depends on the machine.
		{pdftest.HangingFile(pdftest.StallMemory), "", 2, []string{"ENGINE_MEMORY", "PAGE_TIMEOUT"}},
	} {
		jobs.Go(func() { p.check(ctx, t, l.client) })
	}
	for n := range 50 {
		f := pdftest.BornDigitalWith(pdftest.BornDigitalOptions{Pages: 1 + n%3, Seed: uint64(100 + n),
			Design: pdftest.Report})
		if n%12 == 5 {
			o := small
			o.Seed = uint64(n)
			f = pdftest.ScannedFile(o)
		}
		jobs.Go(func() { checkSound(ctx, t, l.client, f) })
	}
	jobs.Wait()
	bustest.EventuallyWithin(t, 30*time.Second, "nothing is left behind", func() bool {
		left, err := l.FindResidue(ctx)
		return err == nil && len(left) == 0
	})
	letters, _, err := l.Bus.ListDeadLetters(ctx, "default", 0, 10)
	if err != nil || len(letters) > 0 {
		t.Errorf("dead letters %v (%v), want none: the pages are the jobs' own", letters, err)
	}
}

// A document of hundreds of pages that each take all of their time does not keep other documents from being read,
// neither in its own lane nor in the other.
func TestHangingPagesDoNotKeepOthersOut(t *testing.T) {
	t.Parallel()
	// A chunk of the document takes at least 16 s of a worker, and chunks that take turns page by page twice as long.
	engines := openEngines(t, func(c *pdf.Config) { c.PageTimeout = time.Second })
	l := newCrashHarness(t, engines, "", func(c *standalone.Config) {
		c.Render.Workers, c.Render.TimeSlice = 2, 100*time.Millisecond
		c.Scan.Window = standalone.DefaultConfig().Scan.Window
		c.Reconcile.Patience = time.Minute
	})
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute) // a quiet machine takes one
	defer cancel()
	hostile := pdftest.HangOnEveryPage(640) // for two workers work of five minutes
	j, _, err := l.client.UploadUntilAcknowledged(ctx, "", hostile.PDF, url.Values{"lane": {"interactive"}})
	if err != nil {
		t.Fatal(err)
	}
	bustest.EventuallyWithin(t, time.Minute, "its pages are in hand", func() bool {
		stream, err := l.Bus.JetStream().Stream(ctx, bus.Render.StreamName())
		return err == nil && stream.CachedInfo().State.Msgs > 2
	})
	var jobs sync.WaitGroup
	for n, lane := range []string{"interactive", "batch"} {
		f := pdftest.BornDigitalWith(pdftest.BornDigitalOptions{Pages: 1 + n, Seed: uint64(300 + n), Design: pdftest.Report})
		jobs.Go(func() {
			healthy, ok := takeThrough(ctx, t, l.client, f, url.Values{"lane": {lane}})
			if ok && healthy.State != "SUCCEEDED" {
				t.Errorf("a job of the %s lane: %s, failures %v, want SUCCEEDED", lane, healthy.State, healthy.Failures)
			}
		})
	}
	jobs.Wait()
	if j, err = l.client.FetchJob(ctx, j.ID); err != nil || j.State != "RUNNING" || len(j.Outcomes) > 0 {
		t.Errorf("the hostile job is %s, pages %v (%v), want it RUNNING: the others were to be done before any chunk of it",
			j.State, j.Outcomes, err)
	}
	if err := l.client.CancelJob(ctx, j.ID); err != nil {
		t.Error(err)
	}
	bustest.EventuallyWithin(t, 30*time.Second, "nothing is left behind", func() bool {
		left, err := l.FindResidue(ctx)
		return err == nil && len(left) == 0
	})
}

// poison is a document with one page that no engine survives.
type poison struct {
	file  pdftest.File
	how   string
	page  int
	codes []string // of which the page has one
}

func (p poison) check(ctx context.Context, t *testing.T, c *chaos.Client) {
	options := chaos.WithoutDedupe()
	if p.how != "" {
		options.Set("languages", p.how)
	}
	j, ok := takeThrough(ctx, t, c, p.file, options)
	if !ok {
		return
	}
	if j.State != "PARTIAL" || len(j.Failures) != 1 || j.Failures[0].Page != p.page ||
		!slices.Contains(p.codes, j.Failures[0].Code) {
		t.Errorf("%s %s: %s, failures %v, want PARTIAL for page %d with %v", p.file.Name, p.how, j.State, j.Failures, p.page,
			p.codes)
		return
	}
	sum := 0
	for _, n := range j.Outcomes {
		sum += n
	}
	if sum != len(p.file.Pages) || j.Outcomes["failed"] != 1 {
		t.Errorf("%s %s: outcomes %v, want %d with one failed", p.file.Name, p.how, j.Outcomes, len(p.file.Pages))
	}
	var page struct{ Outcome, Reason string }
	data, err := c.FetchPath(ctx, fmt.Sprintf("/v1/jobs/%s/pages/%d", j.ID, p.page))
	if err == nil {
		err = json.Unmarshal(data, &page)
	}
	want := map[string]string{"ENGINE_CRASHED": "engine_crash", "PAGE_TIMEOUT": "timeout",
		"ENGINE_MEMORY": "memory"}[j.Failures[0].Code]
	if err != nil || page.Outcome != "failed" || page.Reason != want {
		t.Errorf("%s %s: page %d is %s(%s), %v, want failed(%s)", p.file.Name, p.how, p.page, page.Outcome, page.Reason, err,
			want)
	}
}

func checkSound(ctx context.Context, t *testing.T, c *chaos.Client, f pdftest.File) {
	j, ok := takeThrough(ctx, t, c, f, url.Values{})
	if !ok {
		return
	}
	if j.State != "SUCCEEDED" || j.PageCount != len(f.Pages) {
		t.Errorf("%s: %s, %d pages, failures %v, want SUCCEEDED", f.Name, j.State, j.PageCount, j.Failures)
		return
	}
	text, err := c.FetchPath(ctx, "/v1/jobs/"+j.ID+"/artifacts/text.txt")
	if cer := score.CharErrorRate(f.Text(), strings.TrimSuffix(string(text), "\n")); err != nil || cer > 0.05 {
		t.Errorf("%s: character error rate %.3f (%v), want at most 0.05", f.Name, cer, err)
	}
}

func takeThrough(ctx context.Context, t *testing.T, c *chaos.Client, f pdftest.File,
	options url.Values) (chaos.Job, bool) {
	j, _, err := c.UploadUntilAcknowledged(ctx, "", f.PDF, options)
	if err == nil {
		j, err = c.AwaitJobEnd(ctx, j.ID)
	}
	if err != nil {
		t.Errorf("%s: %v", f.Name, err)
	}
	return j, err == nil
}
