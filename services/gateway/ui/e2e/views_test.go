package e2e

import (
	"os"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

const filterOfAddress = "(new URLSearchParams(location.search).get('filter') ?? '')"

// saveView gives the filter that is set a name.
func (b *tab) saveView(name string) {
	b.t.Helper()
	b.click(".views button", "Save as a view")
	b.fill("#view-name", name+"\r")
	b.waitText(".views a", name)
}

func TestViewsAreSavedAppliedAndRemoved(t *testing.T) {
	t.Parallel()
	axe, err := os.ReadFile("testdata/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	b := openTab(t, shared.url)
	b.open("/ui/?filter=state:rejected+label:kind%3Dcorpus")
	hostile := "<img src=x onerror=document.body.remove()>"
	b.saveView("Refused")
	b.wait("document.querySelector('.views a[aria-current]')?.textContent === 'Refused' && !document.querySelector('.views .save')")
	b.fill("#filter", "table.pdf\r")
	b.wait(filterOfAddress + " === 'table.pdf'")
	b.saveView(hostile)
	for _, look := range []string{"light", "dark"} {
		b.look(look, 1360, 850)
		checkAccessible(b, string(axe), "/ui/?views")
	}
	b.look("light", 390, 844)
	checkAccessible(b, string(axe), "/ui/?views-narrow")

	// They are there after a reload, and their link sets the filter; one that is set takes it away.
	b.open("/ui/")
	b.wait("document.querySelectorAll('.views a').length === 2")
	b.click(".views a", "Refused")
	b.wait(filterOfAddress + " === 'state:rejected label:kind=corpus'")
	b.wait("document.querySelectorAll('tr[data-job]').length === 1 && document.querySelector('tr[data-job]').textContent.includes('page.pdf')")
	b.click(".views a", "Refused")
	b.wait(filterOfAddress + " === ''")

	// By keys alone: the first view's link, the button that removes it, and the focus goes on to the other's.
	eval[chromedp.Void](b, "document.getElementById('filter').focus()")
	b.press(kb.Tab)
	b.press(kb.Enter)
	b.wait(filterOfAddress + " === 'table.pdf'")
	b.press(kb.Tab)
	b.press(kb.Enter)
	b.wait("[...document.querySelectorAll('.views a')].map((e) => e.textContent).join() === 'Refused'")
	if got := eval[string](b, "document.activeElement.ariaLabel"); got != "Remove the view Refused" {
		t.Errorf("the focus is on %q, want the button of the view that is left", got)
	}
	b.press(kb.Enter)
	b.wait("!document.querySelector('.views a') && document.querySelector('.views .save')")
	b.open("/ui/")
	b.waitText("tr[data-job]", "scan.pdf")
	if n := eval[int](b, "document.querySelectorAll('.views a').length"); n != 0 {
		t.Errorf("%d views are there after a reload, and all were removed", n)
	}
}

// What another program wrote into the store breaks nothing.
func TestKeptChoicesThatCannotBeReadAreDropped(t *testing.T) {
	t.Parallel()
	b := openTab(t, shared.url)
	b.open("/ui/")
	b.waitText("tr[data-job]", "scan.pdf")
	eval[chromedp.Void](b, `fetch('/v1/me').then((r) => r.json()).then((me) => {
		localStorage.setItem('inkstream.views.' + me.tenant, '[{"name":1},null]');
		localStorage.setItem('inkstream.columns', '{"size":');
	})`)
	b.open("/ui/")
	b.waitText("tr[data-job]", "scan.pdf")
	b.waitText(".jobs th", "Size")
}

func TestColumnsAreChosenAndKept(t *testing.T) {
	t.Parallel()
	axe, err := os.ReadFile("testdata/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	b := openTab(t, shared.url)
	b.open("/ui/")
	b.waitText("tr[data-job]", "scan.pdf")
	heads := "[...document.querySelectorAll('.jobs th')].map((e) => e.textContent).join(' ').trim()"
	if got := eval[string](b, heads); got != "File State Pages Outcomes Labels Size Sent Took" {
		t.Errorf("the columns are %q", got)
	}
	// By keys: the list opens, Space takes a column away, Escape closes.
	eval[chromedp.Void](b, "document.querySelector('.column-choice summary').focus()")
	b.press(kb.Enter)
	b.wait("document.querySelector('.column-choice').open")
	b.press(kb.Tab)
	b.press(" ")
	b.wait("![...document.querySelectorAll('.jobs th')].some((e) => e.textContent === 'State')")
	b.press(kb.Escape)
	b.wait("!document.querySelector('.column-choice').open && document.activeElement.matches('.column-choice summary')")
	b.click(".column-choice summary", "Columns")
	b.click(".column-choice button", "Batch")
	b.waitText(".jobs th", "Batch")
	b.open("/ui/")
	b.waitText("tr[data-job]", "scan.pdf")
	if got := eval[string](b, heads); got != "File Pages Outcomes Labels Batch Size Sent Took" {
		t.Errorf("after a reload the columns are %q", got)
	}
	if n := eval[int](b, "document.querySelectorAll('tr[data-job] .pill').length"); n != 0 {
		t.Errorf("%d rows show the state, whose column was taken away", n)
	}
	eval[chromedp.Void](b, "document.querySelector('.column-choice').open = true")
	for _, look := range []string{"light", "dark"} {
		b.look(look, 1360, 850)
		checkAccessible(b, string(axe), "/ui/?columns")
	}
	b.look("light", 390, 844)
	checkAccessible(b, string(axe), "/ui/?columns-narrow")
}

// What the filter line has no meaning for is said, and is not taken for "everything" in silence.
func TestFilterSaysWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	axe, err := os.ReadFile("testdata/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	b := openTab(t, shared.url)
	b.open("/ui/?filter=state:done")
	b.waitText(".filter [role=alert]", "state:done")
	checkAccessible(b, string(axe), "/ui/?filter-unknown")
	b.fill("#filter", "after:yesterday\r")
	b.waitText(".filter [role=alert]", "after:yesterday")
	b.fill("#filter", "state:succeeded after:2020-01-31\r")
	b.wait("document.querySelector('tr[data-job]') && !document.querySelector('.filter [role=alert]')")
}

// What is typed as soon as the answer to a filter shows stays in the field.
func TestFilterKeepsWhatIsTypedNext(t *testing.T) {
	t.Parallel()
	b := openTab(t, shared.url)
	b.open("/ui/")
	b.waitText("tr[data-job]", "scan.pdf")
	got := eval[string](b, `new Promise((done) => {
		const field = document.querySelector('#filter');
		const type = (text) => { field.value = text; field.dispatchEvent(new Event('input', { bubbles: true })); };
		new MutationObserver((_, self) => {
			if (!document.querySelector('.filter [role=alert]')) return;
			self.disconnect();
			type('state:succeeded');
			requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => done(field.value), 300)));
		}).observe(document.body, { childList: true, subtree: true });
		type('state:done');
		field.form.requestSubmit();
	})`)
	if got != "state:succeeded" {
		t.Errorf("the field has %q, want what was typed last", got)
	}
}

// Back leads to where the list was left: its place, and the link that had the focus.
func TestBackLeadsToThePlaceThatWasLeft(t *testing.T) {
	t.Parallel()
	b := openTab(t, shared.url)
	b.look("light", 900, 300)
	b.open("/ui/?filter=label:kind%3Dcorpus")
	b.waitText("tr[data-job]", "scan.pdf")
	b.click("tr[data-job] .file a", "table.pdf")
	b.waitText(".document-head h1", "table.pdf")
	y := eval[float64](b, "window.leftAt = scrollY")
	if y != 0 {
		t.Errorf("the document's page begins at %v", y)
	}
	eval[chromedp.Void](b, "history.back()")
	b.wait("document.activeElement?.textContent === 'table.pdf'")
	box := eval[[]float64](b, "(() => { const r = document.activeElement.getBoundingClientRect(); return [r.top, innerHeight, scrollY]; })()")
	if box[2] == 0 || box[0] < 0 || box[0] > box[1] {
		t.Errorf("the link is at %v of a window of %v, scrolled by %v", box[0], box[1], box[2])
	}
}

// A page without TLS has no clipboard; what can be copied can be copied all the same.
func TestCopyWithoutClipboard(t *testing.T) {
	t.Parallel()
	b := openTab(t, shared.url)
	b.open("/ui/jobs/" + shared.jobs["scan.pdf"])
	b.waitText(".command pre", "inkstream get")
	eval[chromedp.Void](b, `Object.defineProperty(navigator, 'clipboard', { value: undefined });
		document.addEventListener('copy', () => { window.copied = getSelection().toString(); })`)
	b.click(".command button", "Copy")
	b.waitText(".command button", "Copied")
	if got := eval[string](b, "window.copied"); got != "inkstream get "+shared.jobs["scan.pdf"] {
		t.Errorf("it copied %q", got)
	}
}
