package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// What words may cost while a page is looked at, however many there are.
const (
	manyWords, wordsPerLine = 9_000, 75
	// maxOverlayElements are those over the page's image, maxHoverChanges those that a move of the pointer changes.
	maxOverlayElements, maxHoverChanges = 8, 12
	// maxZoomRatio and maxHoverRatio are to what a page of few words costs in the same run.
	maxZoomRatio, maxHoverRatio = 5, 5
)

// browserCPU returns the processor time that the browser and its children have used, in seconds.
func browserCPU(t *testing.T, pid int) float64 {
	t.Helper()
	parents, used := map[int]int{}, map[int]float64{}
	paths, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		// After the name, which may hold anything: state, parent, …, utime and stime in hundredths of a second.
		text := string(data)
		f := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
		id, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		parents[id], _ = strconv.Atoi(f[1])
		user, _ := strconv.ParseFloat(f[11], 64)
		system, _ := strconv.ParseFloat(f[12], 64)
		used[id] = (user + system) / 100
	}
	total := 0.0
	for id := range used {
		for at := id; at > 1; at = parents[at] {
			if at == pid {
				total += used[id]
				break
			}
		}
	}
	return total
}

// A page of very many words costs no more elements over its image than one of few, and not many times the processor
// time, while it is zoomed and the pointer moves over it. Both are measured in turn, in a browser of their own.
func TestManyWordsStayWithinTheBudgets(t *testing.T) {
	t.Parallel()
	rounds, frames := 1, 12
	if os.Getenv("INKSTREAM_UI_PAGES") != "" {
		rounds, frames = 5, 40 // the cheapest round counts, and is held to the budget
	}
	lines := make([]string, manyWords/wordsPerLine)
	for i := range lines {
		words := make([]string, wordsPerLine)
		for k := range words {
			words[k] = strconv.FormatUint(uint64((i+1)*(k+1))*7919%65521, 16) // of many lengths, so that they are no columns
		}
		lines[i] = strings.Join(words, " ")
	}
	few, many := "few", "many"
	ids := map[string]string{}
	for name, document := range map[string][]byte{few: makePDF("A page of few words."), many: makeDensePDF(lines)} {
		var err error
		if ids[name], err = shared.send(t.Context(), name+".pdf", document, ""); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(loadPage(t, ids[many], 1).Words); n < manyWords {
		t.Fatalf("the page has %d words, want %d", n, manyWords)
	}
	own, stop, err := startBrowser(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	b := openTabIn(own, t, shared.url)
	pid := chromedp.FromContext(b.ctx).Browser.Process().Pid
	b.look("light", 1360, 850)
	zoom, hover := map[string][]float64{}, map[string][]float64{}
	for range rounds {
		for _, name := range []string{few, many} {
			b.open("/ui/jobs/" + ids[name] + "/pages/1")
			b.wait("document.querySelector('.sheet img')?.complete && document.querySelector('path.words')")
			if n := eval[int](b, "document.querySelectorAll('.sheet svg *').length"); n > maxOverlayElements {
				t.Errorf("%s: %d elements over the page, want at most %d", name, n, maxOverlayElements)
			}
			zoom[name] = append(zoom[name], b.measureZoom(pid, frames))
			cost, changes := b.measureHover(pid, frames)
			hover[name] = append(hover[name], cost)
			if changes > maxHoverChanges {
				t.Errorf("%s: a move of the pointer changes %.1f nodes, want at most %d", name, changes, maxHoverChanges)
			}
		}
	}
	for what, costs := range map[string]map[string][]float64{"zoom, a frame": zoom, "pointer, a move": hover} {
		least, most := slices.Min(costs[few]), slices.Min(costs[many])
		t.Logf("%s: %.1f ms of CPU with %d words, %.1f with four: %.1f ×", what, most*1000, manyWords, least*1000, most/least)
		limit := map[string]float64{"zoom, a frame": maxZoomRatio, "pointer, a move": maxHoverRatio}[what]
		if rounds > 1 && most > limit*least {
			t.Errorf("%s: %.1f times what a page of few words costs, want at most %.0f", what, most/least, limit)
		}
	}
}

// measureZoom zooms in and out, and returns the processor time of a frame.
func (b *tab) measureZoom(pid, frames int) float64 {
	b.t.Helper()
	before := browserCPU(b.t, pid)
	eval[chromedp.Void](b, fmt.Sprintf(`(async () => {
		for (let i = 0; i < %d; i++) {
			document.dispatchEvent(new KeyboardEvent('keydown', { key: i %% 2 ? '-' : '+', bubbles: true }));
			await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
		}
	})()`, frames))
	return (browserCPU(b.t, pid) - before) / float64(frames)
}

// measureHover moves the pointer over the page, and returns the processor time and the changed nodes of a move.
func (b *tab) measureHover(pid, frames int) (cpu, changes float64) {
	b.t.Helper()
	eval[chromedp.Void](b, `(() => {
		window.changed = 0;
		new MutationObserver((list) => { window.changed += list.length; }).observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
	})()`)
	at := eval[[4]float64](b, `(() => { const r = document.querySelector('.frame').getBoundingClientRect(); return [r.left, r.top, r.width, r.height]; })()`)
	before := browserCPU(b.t, pid)
	for i := range frames {
		x, y := at[0]+at[2]*(0.1+0.8*float64(i)/float64(frames)), at[1]+at[3]*(0.15+0.7*float64(i*7%frames)/float64(frames))
		b.must(chromedp.Do(b.ctx, chromedp.MouseEvent(chromedp.MouseMoved, x, y)))
	}
	eval[chromedp.Void](b, "new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))")
	return (browserCPU(b.t, pid) - before) / float64(frames), float64(eval[int](b, "window.changed")) / float64(frames)
}
