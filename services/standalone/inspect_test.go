package standalone_test

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/telemetry"
)

// connectJetStream returns a connection of the test's own to the pipeline's broker.
func connectJetStream(t *testing.T, p *pipeline) jetstream.JetStream {
	t.Helper()
	tel := telemetry.NewDiscard()
	b, err := bus.Connect(p.nats, "test", tel.Log, tel)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b.JetStream()
}

// auditMessages returns the messages of a job's audit trail.
func auditMessages(t *testing.T, p *pipeline, id string) []jetstream.Msg {
	t.Helper()
	cons, err := connectJetStream(t, p).OrderedConsumer(t.Context(), bus.EventStream, jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{"ink.events.*." + id + ".>"},
	})
	if err != nil {
		t.Fatal(err)
	}
	batch, err := cons.FetchNoWait(100)
	if err != nil {
		t.Fatal(err)
	}
	var msgs []jetstream.Msg
	for m := range batch.Messages() {
		msgs = append(msgs, m)
	}
	return msgs
}

// Every stage's span belongs to the trace that the upload began, and no message tells what the document says or what
// its file is called.
func TestOneTraceAndNoContentOnTheBus(t *testing.T) {
	t.Parallel()
	p := inOneProcess(t)
	f := smallMixed()
	f.Name = "salaries-of-everybody.pdf"
	j := p.run(t, f)
	check(t, j)
	bustest.EventuallyWithin(t, patience, "the trail has the job's end",
		func() bool { return strings.HasSuffix(p.eventTypes(t, j.GetId()), "ended") })
	var trace string
	kinds := map[string]int{}
	for _, m := range auditMessages(t, p, j.GetId()) {
		parts := strings.Split(m.Headers().Get("traceparent"), "-")
		if len(parts) != 4 {
			t.Fatalf("traceparent %q", m.Headers().Get("traceparent"))
		}
		if trace == "" {
			trace = parts[1]
		}
		if parts[1] != trace {
			t.Errorf("%s is of trace %s, want %s", m.Subject(), parts[1], trace)
		}
		kinds[m.Subject()[strings.LastIndexByte(m.Subject(), '.')+1:]]++
		for _, page := range f.Pages {
			for _, secret := range append(strings.Fields(page.Marker), "salaries") {
				if strings.Contains(string(m.Data()), secret) {
					t.Errorf("%s says %q", m.Subject(), secret)
				}
			}
		}
	}
	checkStoredMessages(t, p)
	for _, kind := range []string{"uploaded", "ingested", "scanned", "chunk_done", "ended"} {
		if kinds[kind] != 1 {
			t.Errorf("%d events %s, want 1 (%v)", kinds[kind], kind, kinds)
		}
	}
}

// checkStoredMessages counts what the broker stores for a job of one page: the tasks, the records of the job and the audit
// trail. What the server writes now and then, to see whether it can and to tell a copy of the records from older ones, is no
// job's.
func checkStoredMessages(t *testing.T, p *pipeline) {
	t.Helper()
	js := connectJetStream(t, p)
	count := func() map[string]uint64 {
		stored := map[string]uint64{}
		streams := js.ListStreams(t.Context())
		for info := range streams.Info() {
			stored[info.Config.Name] = info.State.LastSeq
		}
		if err := streams.Err(); err != nil {
			t.Fatal(err)
		}
		delete(stored, "KV_"+bus.JobBucket)
		return stored
	}
	records, err := js.Conn().SubscribeSync("$KV." + bus.JobBucket + ".>")
	if err != nil {
		t.Fatal(err)
	}
	before := count()
	j := p.run(t, pdftest.BornDigital(1))
	bustest.EventuallyWithin(t, patience, "the trail has the job's end",
		func() bool { return strings.HasSuffix(p.eventTypes(t, j.GetId()), "ended") })
	const most = 14
	sum, of := uint64(0), map[string]uint64{}
	for name, last := range count() {
		if n := last - before[name]; n > 0 {
			sum, of[name] = sum+n, n
		}
	}
	for n, _, err := records.Pending(); n > 0 && err == nil; n, _, err = records.Pending() {
		m, err := records.NextMsg(patience)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(m.Subject, ".trial") && !strings.HasSuffix(m.Subject, ".content.mark") {
			sum++
			of[m.Subject]++
		}
	}
	if sum > most || sum < most-4 {
		t.Errorf("%d messages are stored, want %d at most, and not many less: %v", sum, most, of)
	}
}
