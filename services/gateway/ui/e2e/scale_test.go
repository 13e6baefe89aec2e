package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/search"
)

// What a page may cost, however many documents and pages there are.
const (
	maxListElements   = 1_200 // with fifty documents
	maxLongElements   = 5_000 // with the most documents that are shown at once, 250
	maxViewerElements = 200
	maxListRequests   = 14
	maxViewerRequests = 28
	// As sent, the data with the page's files, which alone are at most 60 kB.
	maxListBytes   = 75 << 10
	maxViewerBytes = 150 << 10
	maxThumbBytes  = 4 << 10
)

// scaleOf returns a size: the one that an environment variable gives, as make ui-scale does, or else a smaller one.
func scaleOf(t *testing.T, name string, otherwise int) int {
	t.Helper()
	given := os.Getenv(name)
	if given == "" {
		return otherwise
	}
	n, err := strconv.Atoi(given)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// seedIndex writes ended jobs into the index that a server will open.
func seedIndex(ctx context.Context, dir string, jobs int) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	store, err := search.OpenSQLite(ctx, filepath.Join(dir, "index.db"))
	if err != nil {
		return err
	}
	defer store.Close()
	states := []job.State{job.Succeeded, job.Succeeded, job.Succeeded, job.Partial, job.Failed}
	begin := time.Now().Add(-time.Duration(jobs) * time.Second)
	for from := 0; from < jobs; from += 5000 {
		var docs []search.Document
		for i := from; i < min(jobs, from+5000); i++ {
			at := begin.Add(time.Duration(i) * time.Second)
			docs = append(docs, search.Document{
				Tenant: job.DefaultTenant, Job: string(job.NewID()), Filename: fmt.Sprintf("invoice-%06d.pdf", i), PageCount: 1 + i%40,
				State: string(states[i%len(states)]), CreateTime: at, EndTime: at.Add(time.Minute),
				Labels: map[string]string{"case": strconv.Itoa(i % 1000)},
			})
		}
		if err := store.PutDocuments(ctx, docs); err != nil {
			return err
		}
	}
	return nil
}

// traffic is what a tab has asked for and received.
type traffic struct {
	requests int
	bytes    float64
}

// countTraffic adds up what the tab receives from now on.
func (b *tab) countTraffic() *traffic {
	b.t.Helper()
	sum := &traffic{}
	b.must(chromedp.Listen(b.ctx, func(ev any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch ev := ev.(type) {
		case *network.EventRequestWillBeSent:
			if !strings.HasPrefix(ev.Request.URL, "blob:") {
				sum.requests++
			}
		case *network.EventLoadingFinished:
			sum.bytes += ev.EncodedDataLength
		}
	}))
	return sum
}

// checkBudget fails where a page has more elements, or has asked for more, than it may.
func (b *tab) checkBudget(name string, sum *traffic, elements, requests int, bytes float64) {
	b.t.Helper()
	n := eval[int](b, "document.querySelectorAll('*').length")
	b.mu.Lock()
	defer b.mu.Unlock()
	b.t.Logf("%s: %d elements, %d requests, %.1f kB", name, n, sum.requests, sum.bytes/1024)
	if n > elements || sum.requests > requests || sum.bytes > bytes {
		b.t.Errorf("%s: %d elements, %d requests and %.0f bytes, want at most %d, %d and %.0f", name, n, sum.requests, sum.bytes,
			elements, requests, bytes)
	}
}

func TestManyDocumentsStayWithinTheBudgets(t *testing.T) {
	t.Parallel()
	jobs := scaleOf(t, "INKSTREAM_UI_JOBS", 20_000)
	dir := t.TempDir()
	start := time.Now()
	if err := seedIndex(t.Context(), dir, jobs); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d jobs written in %s", jobs, time.Since(start).Round(time.Millisecond))
	s, err := startServer(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	b := openTab(t, s.url)
	b.look("light", 1360, 850)
	sum := b.countTraffic()
	b.open("/ui/")
	b.waitText("tr[data-job]", fmt.Sprintf("invoice-%06d.pdf", jobs-1))
	b.waitText(".chips button", "failed") // the counts come behind the list
	b.checkBudget("list", sum, maxListElements, maxListRequests, maxListBytes)

	rows := "document.querySelectorAll('tr[data-job]').length"
	for _, n := range []int{150, 250} {
		b.click("button", "Show more")
		b.wait(fmt.Sprintf("%s === %d", rows, n))
	}
	b.checkBudget("250 documents", sum, maxLongElements, 2*maxListRequests, 2*maxListBytes)
	b.click("button", "Older documents")
	b.waitText("tr[data-job]", fmt.Sprintf("invoice-%06d.pdf", jobs-251))
	b.wait(rows + " === 50")
	b.open("/ui/?filter=" + fmt.Sprintf("invoice-%06d", 7))
	b.wait(rows + " === 1")
	b.fill("#filter", "label:case=7 state:succeeded\r")
	b.waitText("tr[data-job]", "invoice-0")
	b.wait("!document.querySelector('.pill.failed')")
	eval[chromedp.Void](b, "history.back()")
	b.wait(rows + " === 1")
}

// A document's pages cost the viewer no elements but for those in sight.
func TestManyPagesStayWithinTheBudgets(t *testing.T) {
	t.Parallel()
	pages, id := scaleOf(t, "INKSTREAM_UI_PAGES", longPages), shared.jobs["long.pdf"]
	if pages != longPages {
		texts := make([]string, pages)
		for i := range texts {
			texts[i] = fmt.Sprintf("This is page %d of a very long document.", i+1)
		}
		var err error
		if id, err = shared.send(t.Context(), "very-long.pdf", makePDF(texts...), ""); err != nil {
			t.Fatal(err)
		}
	}
	b := openTab(t, shared.url)
	b.look("light", 1360, 850)
	sum := b.countTraffic()
	b.open("/ui/jobs/" + id + "/pages/1")
	b.waitText(".text", "This is page 1 ")
	b.wait("document.querySelector('.sheet img')?.complete && document.querySelectorAll('.thumb img').length >= 8")
	b.checkBudget("viewer", sum, maxViewerElements, maxViewerRequests, maxViewerBytes)
	// Through the whole strip, a screen at a time: what was passed is gone.
	most := eval[int](b, `(async () => {
		const strip = document.querySelector('.strip');
		let most = 0;
		for (let i = 1; i <= 60; i++) {
			strip.scrollTo(0, strip.scrollHeight * i / 60);
			await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
			most = Math.max(most, document.querySelectorAll('*').length);
		}
		return most;
	})()`)
	if most > maxViewerElements {
		t.Errorf("%d elements while the strip is scrolled, want at most %d", most, maxViewerElements)
	}
	b.click(".thumb", strconv.Itoa(pages))
	b.waitText(".text", fmt.Sprintf("This is page %d ", pages))
	// A strip that stands still long enough asks for its thumbnails, once.
	b.checkBudget("last page", sum, maxViewerElements, maxViewerRequests+pages, maxViewerBytes+float64(pages)*maxThumbBytes)
}
