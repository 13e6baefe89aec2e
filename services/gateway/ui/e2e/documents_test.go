package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"
)

// writeFile puts a file where the browser can take it from.
func writeFile(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRootLeadsBrowsersToThePages(t *testing.T) {
	t.Parallel()
	b := openTab(t, shared.url)
	b.open("/")
	b.waitText("h1", "Documents")
	if got := eval[string](b, "location.pathname"); got != "/ui/" {
		t.Errorf("a browser at / is at %s, want /ui/", got)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, shared.url+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "*/*")
	w, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Body.Close()
	if w.StatusCode != http.StatusNotFound {
		t.Errorf("a program at / gets %d, want 404", w.StatusCode)
	}
}

func TestUploadFilterAndDelete(t *testing.T) {
	t.Parallel()
	b := openTab(t, shared.url)
	b.open("/ui/")
	b.click("summary", "Options")
	b.fill("input[name=labels]", "run=upload")
	good := writeFile(t, "letter.pdf", makePDF("A letter that was uploaded by the browser."))
	bad := writeFile(t, "notes.pdf", []byte("these are notes and no PDF"))
	b.must(chromedp.Do(b.ctx, chromedp.SetUploadFiles(chromedp.CSS("#files"), []string{good, bad})))
	b.waitText(".uploads li", "letter.pdf")
	b.wait(`[...document.querySelectorAll('.uploads li')].some((e) => e.textContent.includes('letter.pdf') && e.querySelector('.pill.succeeded'))`)
	b.wait(`[...document.querySelectorAll('.uploads li')].some((e) => e.textContent.includes('notes.pdf') && e.querySelector('.pill.rejected') && e.textContent.includes('not a PDF'))`)

	b.fill("#filter", "label:run=upload\r")
	b.wait(`new URLSearchParams(location.search).get('filter') === 'label:run=upload'`)
	b.wait(`document.querySelectorAll('tr[data-job]').length === 2`)
	b.click(".chips button", "rejected")
	b.wait(`document.querySelectorAll('tr[data-job]').length === 1 && document.querySelector('tr[data-job]').textContent.includes('notes.pdf')`)
	if got := eval[string](b, "new URLSearchParams(location.search).get('filter')"); got != "state:rejected label:run=upload" {
		t.Errorf("the filter in the address is %q", got)
	}
	eval[chromedp.Void](b, "history.back()")
	b.wait(`document.querySelectorAll('tr[data-job]').length === 2`)

	b.press("j")
	b.press("x")
	b.waitText(".selection", "1 selected")
	name := eval[string](b, "document.querySelector('tr[aria-selected=true] .file a').textContent")
	b.click(".selection button", "Delete")
	b.waitText("dialog[open]", "Delete this document?")
	b.click("dialog button", "Delete")
	b.wait(`document.querySelectorAll('tr[data-job]').length === 1`)
	if left := eval[string](b, "document.querySelector('tr[data-job] .file a').textContent"); left == name {
		t.Errorf("%s is still there, and was to be deleted", name)
	}
}

// A document that was refused for its password is sent again with it, from its row.
func TestPasswordIsAskedFor(t *testing.T) {
	t.Parallel()
	b := openTab(t, shared.url)
	b.open("/ui/")
	b.waitText(".sender", "Drop PDFs")
	path, err := filepath.Abs(corpusPath("encrypted/enc-pdfbox-PDFBOX-3044-010197-p5-ligatures-aes256.pdf"))
	if err != nil {
		t.Fatal(err)
	}
	b.must(chromedp.Do(b.ctx, chromedp.SetUploadFiles(chromedp.CSS("#files"), []string{path})))
	b.waitText(".uploads .reason", "needs a password")
	b.fill(".uploads input[type=password]", "wrong\r")
	b.waitText(".uploads .reason", "does not open the document")
	b.fill(".uploads input[type=password]", "test-user\r")
	b.wait(uploaded("aes256.pdf"))
	if kept := eval[string](b, "JSON.stringify([{...localStorage}, {...sessionStorage}])"); strings.Contains(kept, "test-user") {
		t.Errorf("the password is kept: %s", kept)
	}
}

func TestDroppedFileIsSent(t *testing.T) {
	t.Parallel()
	b := openTab(t, shared.url)
	b.open("/ui/")
	b.waitText(".sender", "Drop PDFs") // once the page knows that this user may send
	eval[chromedp.Void](b, `(() => {
		const data = new DataTransfer();
		data.items.add(new File([`+quote(string(makePDF("A document that was dropped.")))+`], 'dropped.pdf', { type: 'application/pdf' }));
		const fire = (name) => document.querySelector('main').dispatchEvent(new DragEvent(name, { dataTransfer: data, bubbles: true, cancelable: true }));
		fire('dragenter');
		fire('drop');
	})()`)
	b.wait(`[...document.querySelectorAll('.uploads li')].some((e) => e.textContent.includes('dropped.pdf') && e.querySelector('.pill.succeeded'))`)
}

// Files that are dropped together are a batch.
func TestDroppedFilesAreABatch(t *testing.T) {
	t.Parallel()
	b := openTab(t, shared.url)
	b.open("/ui/")
	b.waitText(".sender", "Drop PDFs")
	files := []string{writeFile(t, "left.pdf", makePDF("The left of two.")), writeFile(t, "right.pdf", makePDF("The right of two."))}
	b.must(chromedp.Do(b.ctx, chromedp.SetUploadFiles(chromedp.CSS("#files"), files)))
	b.wait(`document.querySelectorAll('.uploads li .pill.succeeded').length === 2`)
	b.open("/ui/batches")
	b.wait("document.querySelector('tr[data-batch]')")
	left := eval[string](b, `fetch('/v1/jobs?filename=left.pdf').then((r) => r.json()).then((a) => a.jobs[0].batch)`)
	right := eval[string](b, `fetch('/v1/jobs?filename=right.pdf').then((r) => r.json()).then((a) => a.jobs[0].batch)`)
	if left == "" || left != right {
		t.Fatalf("the batches of the two are %q and %q, want one", left, right)
	}
	b.waitText("tr[data-batch='"+left+"'] .pill", "2 succeeded")
}

// A connection that breaks off in the middle of an upload loses nothing: the next request goes on where it stood.
func TestUploadGoesOnAfterCut(t *testing.T) {
	t.Parallel()
	const part = 10_000
	var patches atomic.Int32
	var last atomic.Value
	front := openFront(t, func(proxy http.Handler, w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPatch {
			if patches.Add(1) == 1 { // some bytes come through, then the connection is gone
				sendPart(proxy, r, part)
				panic(http.ErrAbortHandler)
			}
			last.Store(r.Header.Get("Upload-Offset"))
		}
		proxy.ServeHTTP(w, r)
	})
	b := openTab(t, front)
	b.allow("net::ERR_")
	b.allow("409") // the browser itself may send the request again as it was, which the server refuses
	b.open("/ui/")
	document, err := os.ReadFile(corpusPath("tables/camelot-column_span_2.pdf"))
	if err != nil {
		t.Fatal(err)
	}
	b.must(chromedp.Do(b.ctx, chromedp.SetUploadFiles(chromedp.CSS("#files"), []string{writeFile(t, "cut.pdf", document)})))
	b.wait(`[...document.querySelectorAll('.uploads li')].some((e) => e.textContent.includes('cut.pdf') && e.querySelector('.pill.succeeded'))`)
	if got := last.Load(); got != "10000" {
		t.Errorf("the last try began at %v, want 10000", got)
	}
}

func TestDocumentTellsItsJourney(t *testing.T) {
	t.Parallel()
	b := openTab(t, shared.url)
	id := shared.jobs["scan.pdf"]
	b.open("/ui/jobs/" + id)
	b.waitText("h1", "scan.pdf")
	b.waitText(".outcome.ocr", "recognised")
	rows := eval[[]string](b, "[...document.querySelectorAll('.journey tbody th')].map((e) => e.textContent)")
	if got := strings.Join(rows, " "); got != "ingest scan render ocr index" {
		t.Errorf("the stages are %q", got)
	}
	if n := eval[int](b, "document.querySelectorAll('.journey .work').length"); n != 5 {
		t.Errorf("%d stages have a bar, want 5", n)
	}
	b.waitText(".events td", "ended")
	b.click("summary", "Chunks of pages")
	b.wait("document.querySelectorAll('.chunks tbody tr').length === 1")
	b.waitText("pre", "inkstream get "+id)
	b.waitText("td.file", "text.txt")
	// What is stored is what the API has; the browser's own way of storing it is not looked at.
	eval[chromedp.Void](b, "HTMLAnchorElement.prototype.click = function () { window.stored = [this.href, this.download]; }")
	b.click("button", "Download text.txt")
	b.wait("window.stored")
	stored := eval[[]string](b, "window.stored")
	if stored[0] != shared.url+"/v1/jobs/"+id+"/artifacts/text.txt" || stored[1] != "text.txt" {
		t.Errorf("stored %q", stored)
	}
}

func TestRefusedDocumentSaysWhy(t *testing.T) {
	t.Parallel()
	b := openTab(t, shared.url)
	b.open("/ui/jobs/" + shared.jobs["page.pdf"])
	b.waitText(".notice.error", "the file is not a PDF")
	b.waitText(".notice.error", "NOT_A_PDF")
	b.waitText(".pill", "rejected")
}

func TestHostileNamesAndTextsStayText(t *testing.T) {
	t.Parallel()
	b := openTab(t, shared.url)
	id := shared.jobs[hostileName]
	var job struct {
		Filename string
		Labels   map[string]string
	}
	if err := shared.call(t.Context(), http.MethodGet, "/v1/jobs/"+id, "", nil, &job); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(job.Filename, "<img") || !strings.Contains(job.Labels["case"], "<b") {
		t.Fatalf("the server keeps %+v: nothing hostile is left to show", job)
	}
	checkNoMarkup := func() {
		t.Helper()
		if n := eval[int](b, "document.querySelectorAll('img[src=x], main b, [onerror], [onmouseover], main script').length"); n != 0 {
			t.Errorf("%d elements came out of the document", n)
		}
	}
	b.open("/ui/?filter=onerror")
	b.waitText("td.file a", job.Filename)
	b.waitText("a.label", job.Labels["case"])
	checkNoMarkup()
	b.open("/ui/jobs/" + id)
	b.waitText("h1", job.Filename)
	checkNoMarkup()
	b.open("/ui/jobs/" + id + "/pages/1")
	b.waitText(".text", "<img src=x onerror=alert(1)>")
	checkNoMarkup()
	b.open("/ui/search?q=zebrafish")
	b.waitText(".snippet", "onerror=alert(1)")
	checkNoMarkup()
}

func TestSearchLeadsToThePlace(t *testing.T) {
	t.Parallel()
	b := openTab(t, shared.url)
	b.open("/ui/search")
	b.fill("#q", "zebrafish\r")
	b.waitText("mark", "zebrafish")
	b.click(".hits a", "page 1")
	b.wait("document.querySelector('path.hit')")
	var answer struct {
		Hits []struct {
			Boxes []struct{ BBox [4]float64 }
		}
	}
	id := shared.jobs[hostileName]
	if err := shared.call(t.Context(), http.MethodGet, "/v1/search?q=zebrafish&job="+id, "", nil, &answer); err != nil {
		t.Fatal(err)
	}
	want := answer.Hits[0].Boxes[0].BBox
	// Where the mark is on the screen, in points of the page, by the image's own place and size.
	got := eval[[4]float64](b, `(() => {
		const image = document.querySelector('.sheet').getBoundingClientRect();
		const mark = document.querySelector('path.hit').getBoundingClientRect();
		const k = 612 / image.width;
		return [(mark.left - image.left) * k, (mark.top - image.top) * k, (mark.right - image.left) * k, (mark.bottom - image.top) * k];
	})()`)
	for i := range want {
		if diff := got[i] - want[i]; diff < -1 || diff > 1 {
			t.Errorf("the mark is at %.1f, want %.1f", got, want)
			break
		}
	}
}

func TestQueuesShowTheFiveStages(t *testing.T) {
	t.Parallel()
	b := openTab(t, shared.url)
	b.open("/ui/queues")
	b.wait("document.querySelectorAll('.stage').length === 5")
	got := eval[[]string](b, "[...document.querySelectorAll('.stage h2')].map((e) => e.textContent)")
	if strings.Join(got, " ") != "ingest scan render ocr index" {
		t.Errorf("the stages are %q", got)
	}
	b.waitText(".stage dt", "oldest waits")
}
