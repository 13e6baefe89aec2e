package results_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"inkstream.dev/pkg/document"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/outcome"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/access"
	"inkstream.dev/services/gateway/gatewaytest"
	"inkstream.dev/services/gateway/jobview"
	"inkstream.dev/services/gateway/limits"
	"inkstream.dev/services/gateway/results"
)

// storeDensePage stores a page with so many words as page 1 of a job that has ended, and returns its address.
func storeDensePage(t *testing.T, r *gatewaytest.Gateway, words int) (id, path string) {
	t.Helper()
	page := &inkstreamv1.Page{Number: 1, Outcome: outcome.Native, Width: 600, Height: 800}
	line := &inkstreamv1.Line{Bbox: []float32{0, 0, 600, 10}}
	for i := range words {
		line.Words = append(line.Words, &inkstreamv1.Word{Text: fmt.Sprint("word", i), Confidence: proto.Float32(0.9),
			Bbox: []float32{float32(i % 600), 1.5, float32(i%600) + 7.25, 12.125}})
	}
	page.Blocks = []*inkstreamv1.Block{{Type: "paragraph", Bbox: line.GetBbox(), Lines: []*inkstreamv1.Line{line}}}
	data, err := document.EncodePage(page, &document.Evidence{})
	if err != nil {
		t.Fatal(err)
	}
	rec := r.NewEndedJob(nil)
	r.PutBlob(job.PageKey(rec.Tenant, rec.ID, rec.Run, 1), string(data))
	return string(rec.ID), "/v1/jobs/" + string(rec.ID) + "/pages/1"
}

// Many requests for a large page at once, over both protocols, take no more memory than a few: the others wait.
func TestLargePagesAreAdmittedByWeight(t *testing.T) { //nolint:paralleltest // it measures the process's memory
	const answers, slack = 32 << 20, 128 << 20
	r := gatewaytest.Start(t, func(s *gatewaytest.Options) { s.Cfg.AnswerMemory = answers })
	id, path := storeDensePage(t, r, 12_000)
	ctx, stop := context.WithCancel(t.Context())
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var peak atomic.Uint64
	var sampler sync.WaitGroup
	sampler.Go(func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			var now runtime.MemStats
			runtime.ReadMemStats(&now)
			peak.Store(max(peak.Load(), now.HeapAlloc))
			<-tick.C
		}
	})
	var served atomic.Int32
	var clients sync.WaitGroup
	for range 30 {
		clients.Go(func() {
			resp, err := r.Web.Get(r.BaseURL + path)
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			if n, err := io.Copy(io.Discard, resp.Body); err == nil && resp.StatusCode == http.StatusOK && n > 2<<20 {
				served.Add(1)
			}
		})
		clients.Go(func() {
			page, err := r.RPC.GetPage(t.Context(), &inkstreamv1.GetPageRequest{Id: id, Number: 1}, gatewaytest.AnySize())
			if err == nil && len(page.GetWords()) == 12_000 {
				served.Add(1)
			}
		})
	}
	clients.Wait()
	stop()
	sampler.Wait()
	took := int64(peak.Load()) - int64(before.HeapAlloc)
	t.Logf("%d of 60 requests were served, with %d MiB more than before", served.Load(), took>>20)
	if served.Load() == 0 || took > 2*answers+slack {
		t.Errorf("%d were served, with %d MiB, want some, with %d at most", served.Load(), took>>20, (2*answers+slack)>>20)
	}
}

// largePage returns a page of so many words on each line, which stand in its text too.
func largePage(words, onLine int) *inkstreamv1.Page {
	page := &inkstreamv1.Page{Number: 1, Outcome: outcome.Native, Width: 600, Height: 800}
	var text strings.Builder
	for line := range words / onLine {
		y := float32(line) / 100
		l := &inkstreamv1.Line{Bbox: []float32{0, y, float32(onLine-1)*5.33 + 4, y + 1.125}}
		for i := range onLine {
			l.Words = append(l.Words, &inkstreamv1.Word{Text: "a", Font: 1, Size: 9,
				Bbox: []float32{float32(i) * 5.33, y, float32(i)*5.33 + 4, y + 1.125}})
			text.WriteString("a ")
		}
		page.Blocks = append(page.Blocks, &inkstreamv1.Block{Type: "paragraph", Bbox: l.GetBbox(), Lines: []*inkstreamv1.Line{l}})
	}
	page.Text = text.String()
	return page
}

// The answer of a large page allocates no more than it is weighed with: its JSON is nowhere whole.
func TestPageWeightIsWhatAPageTakes(t *testing.T) { //nolint:paralleltest // it measures what the process allocates
	for _, onLine := range []int{100, 1} {
		t.Run(fmt.Sprint(onLine, " on a line"), func(t *testing.T) { checkPageWeight(t, largePage(50_000, onLine)) })
	}
}

func checkPageWeight(t *testing.T, page *inkstreamv1.Page) {
	t.Helper()
	r := gatewaytest.Start(t, nil)
	data, err := document.EncodeCompactPage(page)
	if err != nil {
		t.Fatal(err)
	}
	rec := r.NewEndedJob(nil)
	r.PutBlob(job.PageKey(rec.Tenant, rec.ID, rec.Run, 1), string(data))
	address := "/v1/jobs/" + string(rec.ID) + "/pages/1"
	for encoding, each := range measureAnswers(t, r, address) {
		weight := jobview.PageWeight * int64(len(data))
		t.Logf("%s: %d KiB for a page of %d KiB that weighs %d KiB", encoding, each>>10, len(data)>>10, weight>>10)
		if each > weight {
			t.Errorf("%s: %d bytes are allocated for an answer, want %d at most", encoding, each, weight)
		}
	}
}

// measureAnswers returns how many bytes the process allocates for an answer, as it is and compressed.
func measureAnswers(t *testing.T, r *gatewaytest.Gateway, address string) map[string]int64 {
	t.Helper()
	const requests = 3
	allocated := map[string]int64{}
	for _, encoding := range []string{"identity", "gzip"} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range requests {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.BaseURL+address, nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Accept-Encoding", encoding)
			resp, err := r.Web.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			n, err := io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			if err != nil || resp.StatusCode != http.StatusOK || n == 0 {
				t.Fatalf("got %d, %d bytes, %v", resp.StatusCode, n, err)
			}
		}
		runtime.ReadMemStats(&after)
		allocated[encoding] = int64(after.TotalAlloc-before.TotalAlloc) / requests
	}
	return allocated
}

// A document.json that is made of stored pages takes no more than it is weighed with, of whatever pages.
func TestJSONWeightIsWhatItTakes(t *testing.T) { //nolint:paralleltest // it measures what the process allocates
	for _, onLine := range []int{100, 1} {
		t.Run(fmt.Sprint(onLine, " on a line"), func(t *testing.T) {
			r := gatewaytest.Start(t, nil)
			rec, want := storeIndexedJob(t, r, []*inkstreamv1.Page{largePage(50_000, onLine)})
			for encoding, each := range measureAnswers(t, r, "/v1/jobs/"+string(rec.ID)+"/artifacts/document.json") {
				t.Logf("%s: %d KiB for %d KiB of JSON", encoding, each>>10, len(want)>>10)
				if weight := results.AssembledWeight * int64(len(want)); each > weight {
					t.Errorf("%s: %d bytes are allocated, want %d at most", encoding, each, weight)
				}
			}
		})
	}
}

// A client that does not read its pages holds its own tenant's share alone, and no longer than it stays.
func TestStalledPagesLeaveRoomForOthers(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, func(s *gatewaytest.Options) { s.Cfg.AnswerMemory = 1 << 20 })
	id, path := storeDensePage(t, r, 4_000) // weighs more than the share
	ctx, hangUp := context.WithCancel(t.Context())
	stalled := gatewaytest.DialStalled(t, r)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = inkstreamv1.NewInkstreamServiceClient(stalled).GetPage(ctx,
			&inkstreamv1.GetPageRequest{Id: id, Number: 1}, gatewaytest.AnySize()) // is never read
	}()
	get := func() (int, error) {
		bounded, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		req, err := http.NewRequestWithContext(bounded, http.MethodGet, r.BaseURL+path, nil)
		if err != nil {
			return 0, err
		}
		resp, err := r.Web.Do(req)
		if err != nil {
			return 0, err
		}
		defer resp.Body.Close()
		return resp.StatusCode, nil
	}
	gatewaytest.Eventually(t, "the stalled answer to hold the tenant's share", func() bool { _, err := get(); return err != nil })
	hangUp()
	stalled.Close()
	<-done
	gatewaytest.Eventually(t, "the share to be given back", func() bool { code, err := get(); return err == nil && code == http.StatusOK })
}

// Page lists, downloads and archives wait for their tenant's share of memory as large pages do: what is read, packed or
// unpacked for them costs a client nothing to ask for.
func TestAnswersWaitForMemory(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, func(s *gatewaytest.Options) { s.Cfg.AnswerMemory = 1 << 20 })
	rec := r.NewEndedJob(map[string]string{"text.txt": "text"})
	list, _ := storeDensePage(t, r, 400)
	ctx, hold := limits.WithHold(access.WithIdentity(t.Context(), access.OpenIdentity()))
	if err := r.Service.Components().Limits.HoldMemory(ctx, 1<<30); err != nil {
		t.Fatal(err)
	}
	paths := []string{"/v1/jobs/" + list + "/pages", "/v1/jobs/" + string(rec.ID) + "/artifacts/text.txt",
		"/v1/jobs/" + string(rec.ID) + "/artifacts.zip"}
	for _, path := range paths {
		bounded, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		req, err := http.NewRequestWithContext(bounded, http.MethodGet, r.BaseURL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := r.Web.Do(req); err == nil {
			resp.Body.Close()
			t.Errorf("%s: got %d while the tenant's share is taken", path, resp.StatusCode)
		}
		cancel()
	}
	hold.Release()
	for _, path := range paths {
		if resp, body := r.Get(t, path, nil); resp.StatusCode != http.StatusOK {
			t.Errorf("%s: got %d %s once it is given back", path, resp.StatusCode, body)
		}
	}
}

func TestManyRangesAreAnsweredByTheWhole(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	rec := r.NewEndedJob(map[string]string{"text.txt": "0123456789"})
	ranges := "bytes=0-0"
	for i := range 1000 {
		ranges += fmt.Sprintf(",%d-%d", i%10, i%10)
	}
	for given, want := range map[string]int{"bytes=1-2": 206, "bytes=0-0,2-3": 206, ranges: 200} {
		resp, body := r.Get(t, "/v1/jobs/"+string(rec.ID)+"/artifacts/text.txt", map[string]string{"Range": given})
		if resp.StatusCode != want || want == 200 && body != "0123456789" {
			t.Errorf("%.20s: got %d with %d bytes, want %d", given, resp.StatusCode, len(body), want)
		}
	}
}
