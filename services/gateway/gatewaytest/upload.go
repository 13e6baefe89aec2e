package gatewaytest

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/job"
	busv1 "inkstream.dev/proto/gen/inkstream/bus/v1"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// WantStored checks the blobs of an upload.
func (b *Backend) WantStored(t *testing.T, id job.ID, data []byte) {
	t.Helper()
	got, err := b.Deps.Blobs.ReadBytes(t.Context(), job.SourceKey(job.DefaultTenant, id), int64(len(data)))
	if err != nil || !bytes.Equal(got, data) {
		t.Errorf("the stored document has %d bytes (%v), want the %d that were sent", len(got), err, len(data))
	}
	rec, err := b.Deps.Jobs.LoadRecord(t.Context(), job.DefaultTenant, id)
	if err != nil {
		t.Fatalf("record: %v", err)
	}
	if int(rec.Size) != len(data) || rec.Options.Lane != "batch" || rec.CreateTime.IsZero() {
		t.Errorf("got record %+v", rec)
	}
}

// WantQueued checks the task and the event of an upload.
func (b *Backend) WantQueued(t *testing.T, v *inkstreamv1.Job, lane bus.Lane) {
	t.Helper()
	js := b.Deps.Bus.JetStream()
	stream, err := js.Stream(t.Context(), bus.Ingest.StreamName())
	if err != nil {
		t.Fatalf("stream: %v", err)
	}
	msg, err := stream.GetLastMsgForSubject(t.Context(), "ink.ingest."+string(lane)+".default."+v.GetId())
	if err != nil {
		t.Fatalf("the job is not queued: %v", err)
	}
	task := &busv1.IngestTask{}
	if err := protojson.Unmarshal(msg.Data, task); err != nil {
		t.Fatalf("task: %v", err)
	}
	if task.GetUnit().GetJob() != v.GetId() || task.GetUnit().GetRun() != 1 ||
		task.GetSource().GetSha256() != v.GetSha256() ||
		task.GetSource().GetSize() != v.GetSizeBytes() {
		t.Errorf("got task %v for job %v", task, v)
	}
	events, err := js.Stream(t.Context(), bus.EventStream)
	if err != nil {
		t.Fatalf("stream: %v", err)
	}
	Eventually(t, "the audit trail has the upload", func() bool {
		_, err := events.GetLastMsgForSubject(t.Context(), "ink.events.default."+v.GetId()+".uploaded")
		return err == nil
	})
}

// Zeros returns a reader of n zero bytes whose length the client cannot tell in advance.
func Zeros(n int64) io.Reader { return io.LimitReader(zero{}, n) }

type zero struct{}

func (zero) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// Dial returns a bare connection to the REST API.
func (r *Gateway) Dial(t *testing.T) net.Conn {
	t.Helper()
	conn, err := net.DialTimeout("tcp", r.Service.Addrs().HTTP, 5*time.Second)
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return conn
}
