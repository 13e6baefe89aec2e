package admin_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/job"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/gatewaytest"
	"inkstream.dev/services/gateway/internal/apierror"
	"inkstream.dev/services/gateway/jobview"
)

// A call that was given up is made again when its dead letter is retried.
func TestRetryOfAWebhooksDeadLetter(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, func(s *gatewaytest.Options) { s.Cfg.Access.WebhookPrivate = true })
	called := make(chan string, 4)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		data, _ := io.ReadAll(req.Body)
		called <- req.Header.Get("Webhook-Id") + " " + string(data)
	}))
	t.Cleanup(receiver.Close)
	hook := &inkstreamv1.Webhook{}
	gatewaytest.CheckError(t, r.CallREST(t.Context(), "", "CreateWebhook", &inkstreamv1.CreateWebhookRequest{Url: receiver.URL},
		hook), "")
	rec := r.NewEndedJob(nil)
	gatewaytest.EachCaller(t, r, func(t *testing.T, call gatewaytest.Caller) {
		msg := nats.NewMsg("ink.dlq.webhook." + job.DefaultTenant + "." + string(rec.ID))
		msg.Data = []byte(`{"tenant":"default","job":"` + string(rec.ID) + `","run":1,"hook":"` + hook.GetId() + `"}`)
		msg.Header.Set(bus.HeaderReason, "WEBHOOK_FAILED")
		ack, err := r.Deps.Bus.JetStream().PublishMsg(t.Context(), msg)
		if err != nil {
			t.Fatal(err)
		}
		v := &inkstreamv1.Job{}
		id := jobview.EncodeToken(ack.Sequence)
		gatewaytest.CheckError(t, call(t.Context(), "", "RetryDeadLetter", &inkstreamv1.RetryDeadLetterRequest{Id: id}, v), "")
		if v.GetId() != string(rec.ID) {
			t.Errorf("got %v, want the job", v)
		}
		select {
		case got := <-called:
			if want := string(rec.ID) + ".1." + hook.GetId(); len(got) < len(want) || got[:len(want)] != want {
				t.Errorf("got call %s, want %s", got, want)
			}
		case <-time.After(10 * time.Second):
			t.Error("the call was not made")
		}
		gatewaytest.CheckError(t, call(t.Context(), "", "GetDeadLetter", &inkstreamv1.GetDeadLetterRequest{Id: id},
			&inkstreamv1.DeadLetter{}), apierror.DeadLetterNotFound)
	})
}
