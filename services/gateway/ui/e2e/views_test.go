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
