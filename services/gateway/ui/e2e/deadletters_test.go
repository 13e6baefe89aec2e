package e2e

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/nats-io/nats.go"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/telemetry"
)

// addDeadLetters stores tasks of a job that were given up, as the bus does.
func (s *server) addDeadLetters(t *testing.T, id string, count int) {
	t.Helper()
	b, err := bus.Connect(s.nats, "e2e", slog.New(slog.DiscardHandler), telemetry.NewDiscard())
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for i := range count {
		msg := nats.NewMsg("ink.dlq.render." + job.DefaultTenant + "." + id)
		msg.Data = fmt.Appendf(nil, `{"unit":{"job":%q,"tenant":%q,"run":1},"chunk":%d}`, id, job.DefaultTenant, i)
		for name, value := range map[string]string{
			bus.HeaderClass: "transient", bus.HeaderReason: "INTERNAL", bus.HeaderError: "<b>it broke</b>", bus.HeaderAttempts: "8", bus.HeaderRun: "1",
			bus.HeaderSubject: "ink.render.batch." + job.DefaultTenant + "." + id, bus.HeaderMsgID: fmt.Sprintf("%s.1.render.chunk-%d", id, i),
			bus.HeaderTime: fmt.Sprintf("2026-01-31T12:00:%02dZ", i),
		} {
			msg.Header.Set(name, value)
		}
		if _, err := b.JetStream().PublishMsg(t.Context(), msg); err != nil {
			t.Fatal(err)
		}
	}
}

// Dead letters are shown by stage and code, and dropped one by one, some, or all of a group.
func TestDeadLettersAreDropped(t *testing.T) {
	t.Parallel()
	axe, err := os.ReadFile("testdata/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	s, err := startServer(t.Context(), filepath.Join(t.TempDir(), "data"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	s.addDeadLetters(t, s.addWaitingJob(t, "given-up.pdf"), 5)
	b := openTab(t, s.url)
	b.open("/ui/deadletters")
	b.waitText(".card h2", "render INTERNAL")
	b.waitText(".card p", "<b>it broke</b>")
	b.click(".card button", "Show them")
	b.wait("document.querySelectorAll('tbody tr').length === 5")
	drop := func(selector, button, question string) {
		t.Helper()
		b.click(selector, button)
		b.waitText("dialog[open]", question)
		b.click("dialog button", "Drop")
	}
	drop("tbody .danger", "Drop", "Drop one of render INTERNAL?")
	b.wait("document.querySelectorAll('tbody tr').length === 4")
	eval[chromedp.Void](b, "[...document.querySelectorAll('tbody input')].slice(0, 2).forEach((e) => e.click())")
	b.waitText(".selection", "2 selected")
	b.look("light", 390, 844)
	checkAccessible(b, string(axe), "/ui/deadletters?selected-narrow")
	b.look("dark", 1360, 850)
	checkAccessible(b, string(axe), "/ui/deadletters?selected")
	drop(".selection button", "Drop the selected", "Drop 2 of render INTERNAL?")
	b.waitText("[role=status]", "2 dropped.")
	b.wait("document.querySelectorAll('tbody tr').length === 2 && !document.querySelector('.selection')")
	drop("button", "Drop all", "Drop 2 of render INTERNAL?")
	// The job itself, which has no document, is given up as well where the test takes so long that it is looked for.
	b.wait("![...document.querySelectorAll('.card h2')].some((e) => e.textContent.includes('render INTERNAL'))")
}
