package standalone_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
)

// publishable are subjects with the users who may publish to them; to all others they are refused. The administrator
// has a table of its own.
var publishable = []struct {
	subject string
	users   string // separated by spaces
}{
	// Tasks: of the user's own stage, which are queued again when they wait for long, and of its successors. Every stage
	// may publish ingest tasks, because a handler that ends a job wakes the jobs that waited for it.
	{"ink.ingest.batch.default.j", "gateway ingest scan render ocr index"},
	{"ink.scan.batch.default.j", "gateway ingest scan index"},
	{"ink.render.batch.default.j", "gateway scan render ocr index"},
	{"ink.ocr.batch.default.j", "gateway render ocr"},
	{"ink.index.batch.default.j", "gateway ingest scan render ocr index"},
	{"ink.webhook.default.j", "gateway"},
	{"ink.events.default.j.ended", "gateway ingest scan render ocr index"},
	{"ink.call.render.image", "gateway"},
	{"ink.something.else", ""},
	// Dead letters: of one's own stage only.
	{"ink.dlq.ingest.default.j", "gateway ingest"},
	{"ink.dlq.scan.default.j", "gateway scan"},
	{"ink.dlq.render.default.j", "gateway render"},
	{"ink.dlq.ocr.default.j", "gateway ocr"},
	{"ink.dlq.index.default.j", "gateway index"},
	{"ink.dlq.webhook.default.j", "gateway"},
	// Consumers: each stage has its own, and no stage pulls another's.
	{"$JS.API.CONSUMER.INFO.INK_OCR.ocr-batch", "gateway ocr"},
	{"$JS.API.CONSUMER.INFO.INK_INGEST.ingest-interactive", "gateway ingest"},
	{"$JS.API.CONSUMER.MSG.NEXT.INK_INGEST.ingest-batch", "ingest"},
	{"$JS.API.CONSUMER.MSG.NEXT.INK_SCAN.scan-batch", "scan"},
	{"$JS.API.CONSUMER.MSG.NEXT.INK_RENDER.render-batch", "render"},
	{"$JS.API.CONSUMER.MSG.NEXT.INK_OCR.ocr-batch", "ocr"},
	{"$JS.API.CONSUMER.MSG.NEXT.INK_OCR.ocr-interactive", "ocr"},
	{"$JS.API.CONSUMER.MSG.NEXT.INK_INDEX.index-batch", "index"},
	{"$JS.API.CONSUMER.MSG.NEXT.INK_WEBHOOK.webhook", "gateway"},
	{"$JS.API.CONSUMER.MSG.NEXT.INK_EVENTS.webhook", "gateway"},
	{"$JS.API.CONSUMER.MSG.NEXT.INK_ADVISORIES.janitor", "gateway"},
	{"$JS.ACK.INK_OCR.ocr-batch.1.1.1.1.0", "ocr"},
	{"$JS.ACK._.hash.INK_OCR.ocr-batch.1.1.1.1.0", "ocr"},
	{"$JS.ACK.INK_SCAN.scan-interactive.1.1.1.1.0", "scan"},
	{"$JS.ACK.INK_INDEX.index-interactive.1.1.1.1.0", "index"},
	{"$JS.ACK.INK_WEBHOOK.webhook.1.1.1.1.0", "gateway"},
	{"$JS.ACK.INK_OCR.other.1.1.1.1.0", ""},
	// Only the administrator makes, changes or removes anything.
	{"$JS.API.STREAM.CREATE.INK_OCR", ""},
	{"$JS.API.STREAM.CREATE.OTHER", ""},
	{"$JS.API.STREAM.UPDATE.INK_OCR", ""},
	{"$JS.API.STREAM.DELETE.INK_OCR", ""},
	{"$JS.API.STREAM.DELETE.KV_jobs", ""},
	{"$JS.API.STREAM.PURGE.KV_jobs", ""},
	{"$JS.API.STREAM.PURGE.KV_keys", ""},
	{"$JS.API.STREAM.PURGE.INK_EVENTS", ""},
	{"$JS.API.STREAM.MSG.DELETE.INK_EVENTS", ""},
	{"$JS.API.STREAM.MSG.DELETE.KV_jobs", ""},
	{"$JS.API.STREAM.SNAPSHOT.KV_jobs", ""},
	{"$JS.API.STREAM.RESTORE.KV_jobs", ""},
	{"$JS.API.STREAM.LIST", ""},
	{"$JS.API.STREAM.NAMES", ""},
	{"$JS.API.CONSUMER.LIST.INK_OCR", ""},
	{"$JS.API.CONSUMER.CREATE.INK_OCR.x.ink.ocr.batch.>", ""},
	{"$JS.API.CONSUMER.CREATE.INK_OCR.x", ""},
	{"$JS.API.CONSUMER.CREATE.INK_OCR", ""},
	{"$JS.API.CONSUMER.CREATE.INK_EVENTS.x.ink.events.>", ""},
	{"$JS.API.CONSUMER.DURABLE.CREATE.INK_OCR.ocr-batch", ""},
	{"$JS.API.CONSUMER.DELETE.INK_OCR.ocr-batch", ""},
	{"$JS.API.CONSUMER.PAUSE.INK_OCR.ocr-batch", ""},
	{"$JS.API.CONSUMER.RESET.INK_OCR.ocr-batch", ""},
	{"$JS.API.CONSUMER.UNPIN.INK_OCR.ocr-batch", ""},
	{"$JS.API.STREAM.LEADER.STEPDOWN.INK_OCR", ""},
	{"$JS.API.META.LEADER.STEPDOWN", ""},
	// Reading and clearing of queues.
	{"$JS.API.STREAM.INFO.INK_INGEST", "gateway ingest"},
	{"$JS.API.STREAM.INFO.INK_OCR", "gateway render ocr"},
	{"$JS.API.STREAM.PURGE.INK_OCR", ""},
	{"$JS.API.STREAM.MSG.GET.INK_OCR", "gateway"},
	{"$JS.API.STREAM.MSG.DELETE.INK_OCR", "gateway"},
	{"$JS.API.DIRECT.GET.INK_OCR", ""},
	{"$JS.API.DIRECT.GET.INK_OCR.ink.ocr.batch.default.j", ""},
	{"$JS.API.DIRECT.GET.INK_EVENTS", "gateway ingest scan render ocr index"},
	{"$JS.API.DIRECT.GET.INK_DLQ", "gateway"},
	{"$JS.API.STREAM.MSG.DELETE.INK_DLQ", "gateway"},
	{"$JS.API.STREAM.PURGE.INK_DLQ", "index"},
	// Keys of the bucket of jobs.
	{"$KV.jobs.job.default.j", "gateway ingest scan render ocr index"},
	{"$KV.jobs.content.default.h.o", "gateway ingest scan render ocr index"},
	{"$KV.jobs.prog.default.j", "scan index"},
	{"$KV.jobs.idem.default.k", "gateway"},
	{"$KV.jobs.meta.languages", "ocr"},
	{"$KV.jobs.other.k", ""},
	{"$JS.API.DIRECT.GET.KV_jobs", ""},
	{"$JS.API.DIRECT.GET.KV_jobs.$KV.jobs.job.default.j", "gateway ingest scan render ocr index"},
	{"$JS.API.DIRECT.GET.KV_jobs.$KV.jobs.idem.default.k", "gateway"},
	{"$JS.API.DIRECT.GET.KV_jobs.$KV.jobs.meta.languages", "gateway"},
	{"$JS.API.STREAM.MSG.GET.KV_jobs", ""},
	{"$JS.API.CONSUMER.CREATE.KV_jobs.x.$KV.jobs.job.>", "gateway index"},
	{"$JS.API.CONSUMER.CREATE.KV_jobs.x.$KV.jobs.idem.>", ""},
	{"$JS.API.CONSUMER.CREATE.KV_jobs.x", "gateway"},
	{"$JS.API.CONSUMER.DELETE.KV_jobs.x", "gateway index"},
	// The gateway's own buckets.
	{"$JS.API.STREAM.INFO.KV_keys", "gateway"},
	{"$JS.API.DIRECT.GET.KV_keys.$KV.keys.k", "gateway"},
	{"$JS.API.STREAM.MSG.GET.KV_keys", ""},
	{"$JS.API.CONSUMER.CREATE.KV_keys.x.$KV.keys.>", "gateway"},
	{"$JS.API.CONSUMER.CREATE.KV_keys.x", ""},
	{"$KV.keys.k", "gateway"},
	{"$KV.webhooks.webhook.default.h", "gateway"},
	{"$JS.API.DIRECT.GET.KV_webhooks.$KV.webhooks.webhook.default.h", "gateway"},
	// The server, its advisories, and others' answers.
	{"$SYS.REQ.USER.INFO", "gateway ingest scan render ocr index"},
	{"$SYS.REQ.SERVER.PING", ""},
	{"$SYS.REQ.ACCOUNT.INK.JSZ", ""},
	{"$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.INK_OCR.ocr-batch", ""},
	{"$JS.API.INFO", "gateway ingest scan render ocr index"},
	{"_INBOX_gateway.x", ""},
	{"_INBOX_ocr.x", ""},
	{"_INBOX_admin.x", ""},
	{"_INBOX.x", ""},
}

// audible are subjects with the user who may subscribe to them; to all other users they are refused. A subject without
// a user is refused to all of them.
var audible = []struct{ subject, user string }{
	{"_INBOX_gateway.>", "gateway"},
	{"_INBOX_ingest.>", "ingest"},
	{"_INBOX_scan.>", "scan"},
	{"_INBOX_render.>", "render"},
	{"_INBOX_ocr.>", "ocr"},
	{"_INBOX_index.>", "index"},
	{"_INBOX_admin.>", "admin"},
	{"_INBOX_*.>", ""},
	{"_INBOX.>", ""},
	{">", ""},
	{"ink.>", ""},
	{"ink.ocr.>", ""},
	{"ink.call.render.image", ""}, // without the group
	{"ink.call.>", ""},
	{"$KV.jobs.>", ""},
	{"$KV.keys.>", ""},
	{"$JS.EVENT.>", ""},
	{"$JS.API.>", ""},
	{"$JS.ACK.>", ""},
	{"$SYS.>", ""},
}

// adminRefused are subjects that even the administrator has no business with.
var adminRefused = []string{
	"ink.ocr.batch.default.j", "ink.dlq.ocr.default.j", "$KV.jobs.job.default.j", "$KV.keys.k",
	"$JS.ACK.INK_OCR.ocr-batch.1.1.1.1.0",
	"$SYS.REQ.SERVER.PING", "_INBOX_ocr.x",
}

// wantRefused tries as each user what the user may not do. What it may do has been seen to work, and need only stand
// in the lists.
func wantRefused(t *testing.T, s *bustest.SecuredServer) {
	t.Helper()
	for _, user := range bus.AllUsers() {
		p := bus.PermissionsFor(user, 1)
		var publish, subscribe []string
		for _, row := range publishable {
			may := slices.Contains(strings.Fields(row.users), user)
			if user == bus.AdminUser {
				continue
			}
			if got := p.CanPublish(row.subject); got != may {
				t.Errorf("%s may publish to %s: %t, want %t", user, row.subject, got, may)
			}
			if !may {
				publish = append(publish, row.subject)
			}
		}
		if user == bus.AdminUser {
			publish = adminRefused
		}
		for _, row := range audible {
			if got := p.CanSubscribe(row.subject); got != (row.user == user) {
				t.Errorf("%s may subscribe to %s: %t, want %t", user, row.subject, got, row.user == user)
			}
			if row.user != user {
				subscribe = append(subscribe, row.subject)
			}
		}
		tryRefused(t, s, user, publish, subscribe)
	}
}

// forbiddenName is the name of the connections that try what is refused.
const forbiddenName = "forbidden"

// tryRefused publishes and subscribes to each subject, and wants as many refusals.
func tryRefused(t *testing.T, s *bustest.SecuredServer, user string, publish, subscribe []string) {
	t.Helper()
	want := make(map[string]bool)
	denials := make(chan string, len(publish)+len(subscribe))
	credentials := bus.Credentials{NKey: s.SeedFile(user), InboxPrefix: bus.InboxPrefix(user)}
	opts, err := credentials.Options()
	if err != nil {
		t.Fatal(err)
	}
	nc, err := nats.Connect(s.ClientURL(), append(opts, nats.Name(forbiddenName),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			if !errors.Is(err, nats.ErrPermissionViolation) {
				t.Errorf("%s: %v, want a refusal", user, err)
			}
			denials <- err.Error()
		}))...)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	for _, subject := range publish {
		want[`publish to "`+subject+`"`] = true
		if err := nc.Publish(subject, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, subject := range subscribe {
		want[`subscription to "`+subject+`"`] = true
		if _, err := nc.SubscribeSync(subject); err != nil {
			t.Fatal(err)
		}
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	timeout := time.After(patience)
	for len(want) > 0 {
		select {
		case denial := <-denials:
			denial = strings.ToLower(denial)
			for w := range want {
				if strings.Contains(denial, strings.ToLower(w)) {
					delete(want, w)
					break
				}
			}
		case <-timeout:
			t.Fatalf("%s was let through, or not told: %v", user, want)
		}
	}
	t.Logf("%s: %d subjects to publish to and %d to subscribe to were refused", user, len(publish), len(subscribe))
}
