package e2e

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// However long the words of names and labels are, they stay where there is room for them.
func TestLongNamesLeaveOthersRoom(t *testing.T) {
	t.Parallel()
	b := openTab(t, shared.url)
	id, err := shared.send(t.Context(), strings.Repeat("W", 200)+".pdf", makePDF("A long name."), "long="+strings.Repeat("L", 60))
	if err != nil {
		t.Fatal(err)
	}
	for _, width := range []int64{1360, 390} {
		b.look("light", width, 800)
		b.open("/ui/jobs/" + id + "/pages/1")
		b.waitText("h1", "WWW")
		if extra := eval[int](b, "document.documentElement.scrollWidth - innerWidth"); extra > 0 {
			t.Errorf("the viewer is %d pixels wider than a screen of %d", extra, width)
		}
		if lines := eval[int](b, "document.querySelector('.crumb').getClientRects().length"); lines != 1 {
			t.Errorf("at a width of %d the way back to the document takes %d lines, want 1", width, lines)
		}
		b.open("/ui/?filter=WWW")
		b.waitText("td.file", "WWW")
		if extra := eval[int](b, "document.documentElement.scrollWidth - innerWidth"); extra > 0 {
			t.Errorf("the list is %d pixels wider than a screen of %d", extra, width)
		}
		if got := eval[int](b, "Math.round(document.querySelector('td.file').offsetWidth)"); got < 200 {
			t.Errorf("at a width of %d file names have %d pixels, want 200", width, got)
		}
	}
}

// The tab key leads past the strip of a long document: at the strip it stops once, and at the page that is open.
func TestTabLeadsPastTheStrip(t *testing.T) {
	t.Parallel()
	b := openTab(t, shared.url)
	b.look("light", 1360, 850)
	b.open("/ui/jobs/" + shared.jobs["long.pdf"] + "/pages/1")
	b.wait("document.querySelectorAll('.thumb').length > 5")
	eval[chromedp.Void](b, "document.querySelector('.strip').focus()")
	var stops []string
	for range 5 {
		b.press("\t")
		if !eval[bool](b, "!!document.activeElement.closest('.strip')") {
			break
		}
		stops = append(stops, eval[string](b, "document.activeElement.textContent"))
	}
	if len(stops) != 1 || stops[0] != "1" {
		t.Errorf("in the strip the tab key stops at %q, want the page that is open", stops)
	}
}

// Where there is no such document, a link leads back to those that there are.
func TestMissingDocumentLeadsBack(t *testing.T) {
	t.Parallel()
	b := openTab(t, shared.url)
	b.allow("404")
	b.open("/ui/jobs/01m8ch769hjxykf00skpznwky0")
	b.waitText(".notice", "no such")
	b.click("main a", "To the documents")
	b.waitText("h1", "Documents")
}
