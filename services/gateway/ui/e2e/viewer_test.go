package e2e

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

type word struct {
	Text       string
	BBox       [4]float64
	Confidence *float64
}

type pageAnswer struct {
	Width, Height float64
	Words         []word
}

func loadPage(t *testing.T, id string, number int) pageAnswer {
	t.Helper()
	var p pageAnswer
	if err := shared.call(t.Context(), http.MethodGet, fmt.Sprintf("/v1/jobs/%s/pages/%d", id, number), "", nil, &p); err != nil {
		t.Fatal(err)
	}
	if len(p.Words) == 0 {
		t.Fatal("the page has no words")
	}
	return p
}

// pointAt returns the place on the screen of the middle of a word.
func (b *tab) pointAt(w word) (x, y float64) {
	b.t.Helper()
	at := eval[[2]float64](b, fmt.Sprintf(`(() => {
		const m = document.querySelector('.sheet svg').getScreenCTM();
		const p = new DOMPoint(%g, %g).matrixTransform(m);
		return [p.x, p.y];
	})()`, (w.BBox[0]+w.BBox[2])/2, (w.BBox[1]+w.BBox[3])/2))
	return at[0], at[1]
}

func TestHoverLinksImageAndText(t *testing.T) {
	t.Parallel()
	b := openTab(t, shared.url)
	b.look("light", 1360, 850)
	id := shared.jobs["scan.pdf"]
	p := loadPage(t, id, 1)
	b.open("/ui/jobs/" + id + "/pages/1")
	b.wait("document.querySelector('.sheet img')?.complete && document.querySelector('path.words')")
	for _, turn := range []string{"upright", "turned"} {
		if turn == "turned" {
			b.press("r")
			b.wait("document.querySelector('.sheet').style.transform.includes('90deg')")
		}
		w := p.Words[3]
		x, y := b.pointAt(w)
		b.must(chromedp.Do(b.ctx, chromedp.MouseEvent(chromedp.MouseMoved, x, y)))
		b.wait("document.querySelector('.word-line strong')?.textContent === " + quote(w.Text))
		b.wait("[...(CSS.highlights.get('ink-word') ?? [])].map((r) => r.toString()).join() === " + quote(w.Text))
		b.must(chromedp.Do(b.ctx, chromedp.MouseEvent(chromedp.MouseMoved, 5, 5)))
		b.wait("!document.querySelector('.word-line strong')")
	}
	// And back: the pointer on the text marks the word on the image.
	at := eval[[2]float64](b, `(() => {
		const r = document.createRange();
		const node = document.querySelector('.text [data-part]').firstChild;
		r.setStart(node, 0);
		r.setEnd(node, 2);
		const box = r.getBoundingClientRect();
		return [box.x + box.width / 2, box.y + box.height / 2];
	})()`)
	b.must(chromedp.Do(b.ctx, chromedp.MouseEvent(chromedp.MouseMoved, at[0], at[1])))
	b.wait("document.querySelector('.word-line strong')?.textContent === " + quote(p.Words[0].Text) + " && document.querySelector('rect.mark')")
}

// Words of a table are linked with the cells that they are in.
func TestHoverLinksTables(t *testing.T) {
	t.Parallel()
	b := openTab(t, shared.url)
	b.look("light", 1360, 850)
	id := shared.jobs["table.pdf"]
	var p struct {
		Words  []word
		Blocks []struct {
			Table *struct{ Cells []struct{ BBox [4]float64 } }
		}
	}
	if err := shared.call(t.Context(), http.MethodGet, "/v1/jobs/"+id+"/pages/1", "", nil, &p); err != nil {
		t.Fatal(err)
	}
	var inTable *word
	for _, block := range p.Blocks {
		if block.Table == nil || inTable != nil {
			continue
		}
		cell := block.Table.Cells[len(block.Table.Cells)-1].BBox
		for _, w := range p.Words {
			if x, y := (w.BBox[0]+w.BBox[2])/2, (w.BBox[1]+w.BBox[3])/2; x > cell[0] && x < cell[2] && y > cell[1] && y < cell[3] {
				inTable = &w
			}
		}
	}
	if inTable == nil {
		t.Fatal("no word of the page is in a table")
	}
	b.open("/ui/jobs/" + id + "/pages/1")
	b.wait("document.querySelector('.sheet img')?.complete && document.querySelector('td[data-cell]')")
	b.click("button", "Fit page")
	b.wait("document.querySelector('.turned').offsetHeight < document.querySelector('.frame').offsetHeight")
	x, y := b.pointAt(*inTable)
	b.must(chromedp.Do(b.ctx, chromedp.MouseEvent(chromedp.MouseMoved, x, y)))
	b.wait("[...(CSS.highlights.get('ink-word') ?? [])].map((r) => r.toString()).join() === " + quote(inTable.Text))
	b.wait("[...CSS.highlights.get('ink-word')][0].startContainer.parentElement.matches('td')")
}

// Every word of the API is in the text pane, in the same order: that is what hovering relies on.
func TestTextHasEveryWordInOrder(t *testing.T) {
	t.Parallel()
	b := openTab(t, shared.url)
	id := shared.jobs["scan.pdf"]
	p := loadPage(t, id, 1)
	b.open("/ui/jobs/" + id + "/pages/1")
	b.wait("document.querySelector('.text [data-part]')")
	got := eval[[]string](b, `[...document.querySelectorAll('.text [data-part]')].flatMap((e) => e.textContent.split(/\s+/))`)
	if len(got) != len(p.Words) {
		t.Fatalf("%d words in the text, want %d", len(got), len(p.Words))
	}
	for i, w := range p.Words {
		if got[i] != w.Text {
			t.Fatalf("word %d is %q, want %q", i, got[i], w.Text)
		}
	}
}

func TestZoomFitAndPages(t *testing.T) {
	t.Parallel()
	b := openTab(t, shared.url)
	b.look("light", 1360, 850)
	b.open("/ui/jobs/" + shared.jobs["long.pdf"] + "/pages/2")
	b.wait("document.querySelector('.sheet img')?.complete")
	width := func() float64 {
		return eval[float64](b, "document.querySelector('.sheet').getBoundingClientRect().width")
	}
	before := width()
	b.press("+")
	b.wait(fmt.Sprintf("document.querySelector('.sheet').getBoundingClientRect().width > %g * 1.2", before))
	b.click("button", "Fit page")
	b.wait("document.querySelector('.turned').offsetHeight < document.querySelector('.frame').offsetHeight")
	b.press("0")
	b.wait(fmt.Sprintf("Math.abs(document.querySelector('.sheet').getBoundingClientRect().width - %g) < 1", before))
	b.press(kb.ArrowRight)
	b.wait("location.pathname.endsWith('/pages/3')")
	b.waitText(".text", "This is page 3")
	// A number that is no page leads to the nearest that is one.
	b.fill(".page-number", "9999\r")
	b.wait(fmt.Sprintf("location.pathname.endsWith('/pages/%d')", longPages))
	b.wait(fmt.Sprintf("document.querySelector('.page-number').value === '%d'", longPages))
}

// The strip of a long document has few elements wherever it stands, and the page that is open is in it.
func TestStripIsWindowed(t *testing.T) {
	t.Parallel()
	b := openTab(t, shared.url)
	b.look("light", 1360, 850)
	b.open(fmt.Sprintf("/ui/jobs/%s/pages/%d", shared.jobs["long.pdf"], longPages-20))
	b.wait(fmt.Sprintf("document.querySelector('.thumb[aria-current]')?.textContent === '%d'", longPages-20))
	if n := eval[int](b, "document.querySelectorAll('.thumb').length"); n > 20 {
		t.Errorf("%d thumbnails are elements, want at most 20 of %d", n, longPages)
	}
	b.wait("document.querySelector('.thumb[aria-current] img')?.complete")
	eval[chromedp.Void](b, "document.querySelector('.strip').scrollTo(0, 0)")
	b.wait("document.querySelector('.thumb .number')?.textContent === '1'")
	b.click(".thumb", "2")
	b.waitText(".text", "This is page 2")
}

func TestHitsAreMarkedAndStepped(t *testing.T) {
	t.Parallel()
	b := openTab(t, shared.url)
	b.open("/ui/jobs/" + shared.jobs["long.pdf"] + "/pages/1")
	b.fill("#find", "\"page 120\"\r")
	b.waitText(".find .count", "1 page")
	eval[chromedp.Void](b, "document.activeElement.blur()")
	b.press("n")
	b.wait("location.pathname.endsWith('/pages/120')")
	b.wait("document.querySelector('path.hit')")
	b.wait("[...(CSS.highlights.get('ink-hit') ?? [])].some((r) => r.toString() === '120')")
	// Every page that has it counts, and not only those of the first answer.
	b.fill("#find", "document\r")
	b.wait(fmt.Sprintf("document.querySelector('.find .count').textContent === '%d pages'", longPages))
}

func TestLayersShowTables(t *testing.T) {
	t.Parallel()
	b := openTab(t, shared.url)
	b.open("/ui/jobs/" + shared.jobs["table.pdf"] + "/pages/1")
	b.wait("document.querySelector('.table-layer path')")
	b.waitText(".read caption", "Table 1")
	b.click("label.switch", "Blocks")
	b.wait("document.querySelector('.blocks text')?.textContent === '1'")
	b.click("label.switch", "Words")
	b.wait("!document.querySelector('path.words')")
}

func TestPagesAreAccessible(t *testing.T) {
	t.Parallel()
	axe, err := os.ReadFile("testdata/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	scan, hostile := shared.jobs["scan.pdf"], shared.jobs[hostileName]
	pages := []struct{ path, ready string }{
		{"/ui/", "document.querySelector('tr[data-job]')"},
		{"/ui/jobs/" + scan, "document.querySelector('.events td') && document.querySelector('td.file')"},
		{"/ui/jobs/" + shared.jobs["page.pdf"], "document.querySelector('.events td')"},
		{"/ui/jobs/" + scan + "/pages/1", "document.querySelector('.sheet img')?.complete && document.querySelector('.text')"},
		{"/ui/jobs/" + shared.jobs["table.pdf"] + "/pages/1?q=the", "document.querySelector('.sheet img')?.complete && document.querySelector('.read')"},
		{"/ui/search?q=page&job=" + hostile, "document.querySelector('[role=status]')"},
		{"/ui/search?q=zebrafish", "document.querySelector('mark') && document.querySelector('.crop img')?.complete"},
		{"/ui/queues", "document.querySelectorAll('.stage').length === 5"},
		{"/ui/deadletters", "document.querySelector('.empty')"},
		{"/ui/webhooks", "document.querySelector('.empty')"},
		{"/ui/system", "document.querySelector('.report') && document.querySelectorAll('.findings tr').length > 8"},
		{"/ui/nothing", "document.querySelector('h1')"},
	}
	for _, look := range []struct {
		name, scheme  string
		width, height int64
	}{{"light", "light", 1360, 850}, {"dark", "dark", 1360, 850}, {"narrow", "light", 390, 844}} {
		t.Run(look.name, func(t *testing.T) {
			t.Parallel()
			b := openTab(t, shared.url)
			b.look(look.scheme, look.width, look.height)
			for _, p := range pages {
				b.open(p.path)
				b.wait(p.ready)
				checkAccessible(b, string(axe), p.path)
				b.checkPolicy()
			}
		})
	}
}

// Beside the page stands its text, or its Markdown; and before it its pages, or the document's own contents, which lead to them.
func TestMarkdownAndContents(t *testing.T) {
	t.Parallel()
	axe, err := os.ReadFile("testdata/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	places := strings.Fields(`Aden Bergen Cadiz Dover Essen Faro Ghent Haifa Ipswich Jena Kiel Lima Malmo Nantes Oslo Porto Quito Riga Sofia Turin Ulm
		Vienna Warsaw Xanten York Zadar`)
	pages := make([]string, len(places))
	for i, place := range places {
		pages[i] = place + " is where the letter was sent from in the end."
	}
	id, err := shared.send(t.Context(), "places.pdf", makePDF(pages...), "")
	if err != nil {
		t.Fatal(err)
	}
	b := openTab(t, shared.url)
	b.look("light", 1360, 850)
	b.open("/ui/jobs/" + id + "/pages/2")
	b.waitText(".text [data-part]", "Bergen is where")
	b.click(".choice button", "Markdown")
	b.waitText(".markdown pre", "Bergen is where")
	b.click(".choice button", "Contents")
	b.waitText(".contents a[aria-current]", "Part 1")
	checkAccessible(b, string(axe), "/ui/contents")
	b.click(".contents a", "Part 3")
	b.wait("location.pathname.endsWith('/pages/21')")
	b.waitText(".markdown pre", "Ulm is where")
	b.waitText(".contents a[aria-current]", "Part 3")
	b.look("dark", 390, 844)
	checkAccessible(b, string(axe), "/ui/contents-narrow")
	// The table of a page is a table there as well.
	b.open("/ui/jobs/" + shared.jobs["table.pdf"] + "/pages/1")
	b.waitText(".text [data-part]", "Investigations") // what it pushes down is not where the click would be
	b.click(".choice button", "Markdown")
	b.waitText(".markdown pre", "<table>") // its cells span columns, for which Markdown has no table of its own
	// A word of the first block and one of the table: each has the block it stands in.
	b.click(".choice button", "JSON")
	b.waitText(".markdown pre", `"text": "sample"`)
	b.click(".choice button", "Text")
	b.click(".text td", "Anthropometry")
	b.click(".choice button", "JSON")
	b.waitText(".markdown pre", `"rowSpan"`)
}

// ? tells the keys, on every page, and Escape goes back to it.
func TestKeysAreTold(t *testing.T) {
	t.Parallel()
	axe, err := os.ReadFile("testdata/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	b := openTab(t, shared.url)
	b.look("dark", 390, 844)
	b.open("/ui/queues")
	b.waitText("h1", "Queues")
	b.press("?")
	b.waitText("dialog[open] dd", "next weak word")
	checkAccessible(b, string(axe), "/ui/keys")
	b.press(kb.Escape)
	b.wait("!document.querySelector('dialog.keys')")
	b.click("button[aria-label=Keys]", "?")
	b.waitText("dialog[open] kbd", "Esc")
}

// checkAccessible fails for every violation that axe finds on the page that is open, and for a page that is wider than
// the screen.
func checkAccessible(b *tab, axe, path string) {
	b.t.Helper()
	b.keepScreenshot(path)
	eval[chromedp.Void](b, axe)
	violations := eval[[]string](b, `axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] })
		.then((r) => r.violations.map((v) => v.id + ' (' + v.impact + '): ' + v.nodes.map((n) => n.html.slice(0, 120)).join(' ')))`)
	for _, v := range violations {
		b.t.Errorf("%s: %s", path, v)
	}
	if extra := eval[int](b, "document.documentElement.scrollWidth - innerWidth"); extra > 0 {
		b.t.Errorf("%s: the page is %d pixels wider than the screen", path, extra)
	}
}

// A box that is drawn over the page takes the words in it, in reading order, and copying gives their text.
func TestRubberBandTakesText(t *testing.T) {
	t.Parallel()
	axe, err := os.ReadFile("testdata/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	b := openTab(t, shared.url)
	b.look("light", 1360, 850)
	id := shared.jobs["scan.pdf"]
	p := loadPage(t, id, 1)
	b.open("/ui/jobs/" + id + "/pages/1")
	b.wait("document.querySelector('.sheet img')?.complete && document.querySelector('path.words')")
	first, last := p.Words[0], p.Words[2]
	fromX, fromY := b.pointAt(word{BBox: [4]float64{first.BBox[0] - 4, first.BBox[1] - 3, first.BBox[0] - 4, first.BBox[1] - 3}})
	toX, toY := b.pointAt(word{BBox: [4]float64{last.BBox[2] + 1, last.BBox[3] + 1, last.BBox[2] + 1, last.BBox[3] + 1}})
	for _, step := range []struct {
		kind input.DispatchMouseEventType
		x, y float64
	}{{"mousePressed", fromX, fromY}, {"mouseMoved", (fromX + toX) / 2, (fromY + toY) / 2}, {"mouseMoved", toX, toY}, {"mouseReleased", toX, toY}} {
		_, err := chromedp.Call(b.ctx, input.DispatchMouseEvent, input.DispatchMouseEventParams{
			Type: step.kind, X: step.x, Y: step.y, Button: "left", Buttons: 1, ClickCount: 1})
		b.must(err)
	}
	want := first.Text + " " + p.Words[1].Text + " " + last.Text
	b.wait("document.querySelector('.taken-text pre')?.textContent === " + quote(want))
	got := eval[string](b, `(() => {
		const e = new ClipboardEvent('copy', { clipboardData: new DataTransfer(), bubbles: true, cancelable: true });
		document.body.dispatchEvent(e);
		return e.clipboardData.getData('text/plain');
	})()`)
	if got != want {
		t.Errorf("copying gives %q, want %q", got, want)
	}
	for _, look := range []string{"dark", "light"} {
		b.look(look, 1360, 850)
		checkAccessible(b, string(axe), "/ui/taken-"+look)
	}
	b.press(kb.Escape)
	b.wait("!document.querySelector('.taken-text')")
}

// A hit's box on the image, and on the crop beside the hit, is where the word's ink is, and holds no other word's.
func TestHitBoxIsWhereTheInkIs(t *testing.T) {
	t.Parallel()
	b := openTab(t, shared.url)
	b.look("light", 1360, 850)
	id := shared.jobs["long.pdf"]
	b.open("/ui/jobs/" + id + "/pages/120?q=%22page+120%22")
	b.wait("document.querySelector('path.hit') && document.querySelector('.sheet img')?.complete")
	const inkOf = `(async (image, hit, sheet) => {
		await image.decode();
		const canvas = document.createElement('canvas');
		canvas.width = image.naturalWidth; canvas.height = image.naturalHeight;
		const g = canvas.getContext('2d');
		g.drawImage(image, 0, 0);
		const place = image.getBoundingClientRect(), k = image.naturalWidth / place.width;
		const r = hit.getBoundingClientRect();
		const at = { left: (r.left - place.left) * k, right: (r.right - place.left) * k, top: (r.top - place.top) * k, bottom: (r.bottom - place.top) * k };
		const around = Math.round(k * 14), x0 = Math.floor(at.left) - around, y0 = Math.floor(at.top) - around;
		const w = Math.ceil(at.right - at.left) + 2 * around, h = Math.ceil(at.bottom - at.top) + 2 * around;
		const data = g.getImageData(x0, y0, w, h).data;
		let inside = 0, near = 0;
		let left = Infinity, right = -Infinity;
		for (let y = 0; y < h; y++) for (let x = 0; x < w; x++) {
			if (data[(y * w + x) * 4] > 140) continue;
			const px = x0 + x + 0.5, py = y0 + y + 0.5;
			const within = px > at.left - 1.5 && px < at.right + 1.5 && py > at.top - 1.5 && py < at.bottom + 1.5;
			if (within) { inside++; left = Math.min(left, px); right = Math.max(right, px); }
			else if (py < at.top || py > at.bottom) near++;
		}
		return [inside, near, left - at.left, at.right - right, k];
	})`
	check := func(where, image, hit string) {
		t.Helper()
		got := eval[[5]float64](b, inkOf+"(document.querySelector("+quote(image)+"), document.querySelector("+quote(hit)+"))")
		slack := 3 * got[4] // side bearings, and what the edges are blurred by
		if got[0] < 20 || got[1] > 0 || got[2] > slack || got[3] > slack {
			t.Errorf("%s: %.0f dark pixels in the box, %.0f above or below it; the ink begins %.1f pixels after its left and ends %.1f before its right edge",
				where, got[0], got[1], got[2], got[3])
		}
	}
	check("viewer", ".sheet img", "path.hit")
	b.open("/ui/search?q=%22page+120%22&job=" + id)
	b.wait("document.querySelector('.crop img')?.complete")
	check("crop", ".crop img", ".crop path.hit")
}
