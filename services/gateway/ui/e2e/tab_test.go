package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// tab is a browser's tab with storage of its own. At the test's end, the test fails for every message on the console,
// exception, violation of the policy, and request to another origin.
type tab struct {
	t    *testing.T
	ctx  context.Context
	base string

	mu      sync.Mutex // guards what follows
	wrong   []string
	allowed []string
}

// watchPolicy notes violations of the policy where the test finds them, before any script of the page runs.
const watchPolicy = `window.violations = [];
document.addEventListener('securitypolicyviolation', (e) => window.violations.push(e.violatedDirective + ' ' + e.blockedURI));`

func openTab(t *testing.T, base string) *tab {
	t.Helper()
	return openTabIn(browser, t, base)
}

func openTabIn(browser context.Context, t *testing.T, base string) *tab {
	t.Helper()
	ctx, closeTab := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	ctx, cancel := context.WithTimeout(ctx, 2*waitTimeout)
	b := &tab{t: t, ctx: ctx, base: base}
	t.Cleanup(func() {
		b.checkPolicy()
		cancel()
		closeTab()
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, text := range b.wrong {
			t.Errorf("the browser says: %s", text)
		}
	})
	b.must(chromedp.Listen(ctx, b.note))
	_, err := chromedp.Call(ctx, page.AddScriptToEvaluateOnNewDocument,
		page.AddScriptToEvaluateOnNewDocumentParams{Source: watchPolicy})
	b.must(err)
	_, err = chromedp.Call(ctx, network.Enable, network.EnableParams{})
	b.must(err)
	return b
}

func (b *tab) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// allow takes refusals that the test asks for: the browser writes each to its console.
func (b *tab) allow(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.allowed = append(b.allowed, text)
}

func (b *tab) note(ev any) {
	text := ""
	switch ev := ev.(type) {
	case *runtime.EventConsoleAPICalled:
		if ev.Type == "error" || ev.Type == "warning" {
			text = fmt.Sprintf("console: %+v", ev.Args)
		}
	case *runtime.EventExceptionThrown:
		text = "exception: " + ev.ExceptionDetails.Text
		if ev.ExceptionDetails.Exception != nil {
			text += " " + ev.ExceptionDetails.Exception.Description
		}
	case *log.EventEntryAdded:
		if ev.Entry.Level == "error" || ev.Entry.Level == "warning" {
			text = fmt.Sprintf("%s: %s %s", ev.Entry.Source, ev.Entry.Text, ev.Entry.URL)
		}
	case *network.EventRequestWillBeSent:
		u, err := url.Parse(ev.Request.URL)
		if err != nil || u.Scheme != "data" && u.Scheme != "blob" && u.Scheme+"://"+u.Host != b.base {
			text = "request to another origin: " + ev.Request.URL
		}
	}
	if text == "" {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, allowed := range b.allowed {
		if strings.Contains(text, allowed) {
			return
		}
	}
	b.wrong = append(b.wrong, text)
}

// checkPolicy fails for violations on the page that is open.
func (b *tab) checkPolicy() {
	b.t.Helper()
	for _, text := range eval[[]string](b, "window.violations ?? []") {
		b.t.Errorf("violation of the policy: %s", text)
	}
}

// open loads an address of the server.
func (b *tab) open(path string) {
	b.t.Helper()
	b.must(chromedp.Do(b.ctx, chromedp.Navigate(b.base+path)))
}

// eval returns the value of an expression, or what its promise comes to.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// wait waits until an expression is true, looking at every change of the page and at least every 100 ms.
func (b *tab) wait(expression string) {
	b.t.Helper()
	script := fmt.Sprintf(`new Promise((resolve, reject) => {
		const holds = () => { try { return !!(%s); } catch { return false; } };
		if (holds()) { resolve(true); return; }
		const end = (ok) => { observer.disconnect(); clearInterval(timer); clearTimeout(last); resolve(ok); };
		const observer = new MutationObserver(() => { if (holds()) end(true); });
		observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
		const timer = setInterval(() => { if (holds()) end(true); }, 100);
		const last = setTimeout(() => end(false), %d);
	})`, expression, waitTimeout.Milliseconds())
	for {
		ok, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](script, chromedp.EvalAwaitPromise))
		if err != nil && strings.Contains(err.Error(), "navigated") {
			continue // on to the next page, as signing in elsewhere does
		}
		b.must(err)
		if ok {
			return
		}
		b.t.Fatalf("it does not come true: %s\nthe page:\n%.3000s", expression, eval[string](b, "document.body.innerText"))
	}
}

// waitText waits until an element has a text in it.
func (b *tab) waitText(selector, text string) {
	b.t.Helper()
	b.wait(fmt.Sprintf("[...document.querySelectorAll(%s)].some((e) => e.textContent.includes(%s))", quote(selector), quote(text)))
}

// click clicks the first element of a selector that has the text, as the mouse would.
func (b *tab) click(selector, text string) {
	b.t.Helper()
	find := fmt.Sprintf("[...document.querySelectorAll(%s)].find((e) => e.textContent.includes(%s))", quote(selector), quote(text))
	b.wait(find)
	eval[chromedp.Void](b, find+".scrollIntoView({block: 'center'})")
	at := eval[[]float64](b, "(() => { const r = "+find+".getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()")
	b.must(chromedp.Do(b.ctx, chromedp.MouseClickXY(at[0], at[1])))
}

// fill puts a text into the field of a selector at once, as pasting does, in the place of what was in it. A return at the
// text's end is pressed.
func (b *tab) fill(selector, text string) {
	b.t.Helper()
	b.wait("document.querySelector(" + quote(selector) + ")")
	eval[chromedp.Void](b, "(() => { const e = document.querySelector("+quote(selector)+"); e.focus(); e.select(); })()")
	text, enter := strings.CutSuffix(text, "\r")
	_, err := chromedp.Call(b.ctx, input.InsertText, input.InsertTextParams{Text: text})
	b.must(err)
	if enter {
		b.press("\r")
	}
}

func (b *tab) press(keys string) {
	b.t.Helper()
	b.must(chromedp.Do(b.ctx, chromedp.KeyEvent(keys)))
}

// look sets the colour scheme and the size of what is seen. Nothing moves, so that what is looked at is not half way there.
func (b *tab) look(scheme string, width, height int64) {
	b.t.Helper()
	b.must(chromedp.Do(b.ctx, chromedp.EmulateViewport(width, height)))
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
		},
	})
	b.must(err)
}

// keepScreenshot writes what is seen into the folder that INKSTREAM_SCREENSHOTS names, for people to look at.
func (b *tab) keepScreenshot(name string) {
	b.t.Helper()
	dir := os.Getenv("INKSTREAM_SCREENSHOTS")
	if dir == "" {
		return
	}
	image, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	b.must(err)
	name = strings.NewReplacer("/", "_", "?", "_", "=", "_", "&", "_", shared.jobs["scan.pdf"], "scan").Replace(b.t.Name() + name)
	b.must(os.WriteFile(filepath.Join(dir, name+".png"), image, 0o600))
}

// quote returns a text as JavaScript.
func quote(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(data)
}
