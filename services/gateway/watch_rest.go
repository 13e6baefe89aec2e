package gateway

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

const (
	eventStreamType = "text/event-stream"
	ndjsonType      = "application/x-ndjson"
	// sseHeartbeat is how often an idle event stream gets a comment, so that no proxy takes it for dead.
	sseHeartbeat = 15 * time.Second
	// lastEvent and the number of a run are the id of the event that ends a stream. A browser that connects again with it is told to stop, unless the
	// job runs again.
	lastEvent = "end-"
	// lastEventParameter is where clients that imitate a browser's event streams say what they have seen, for want of the header.
	lastEventParameter = "lastEventId"
)

// restWatch is GET /v1/jobs/{id}/watch: server-sent events for those who ask for them, else one JSON object a line.
func (s *Service) restWatch(w http.ResponseWriter, r *http.Request) {
	ref, err := refOf(r.Context(), r.PathValue("id"))
	if err != nil {
		s.writeError(w, r, "GET watch", err)
		return
	}
	sse := wantsEvents(r)
	seen := cmp.Or(r.Header.Get("Last-Event-Id"), r.URL.Query().Get(lastEventParameter))
	out := &watchWriter{w: w, control: http.NewResponseController(w), sse: sse, seen: seen}
	var idle func() error
	every := time.Duration(0)
	if sse {
		every, idle = sseHeartbeat, func() error { return out.write([]byte(": still here\n\n")) }
	}
	err = s.hub.watch(r.Context(), ref, out.send, every, idle)
	switch {
	case err == nil:
	case !out.started:
		s.writeError(w, r, "GET watch", err)
	default:
		st := s.report(r.Context(), "GET watch", err)
		// The stream is under way, so the error goes into it; a client that hung up has no use for it.
		_ = out.put(newEvent("error", "", encodeError(r.Context(), st)))
	}
}

// wantsEvents reports whether the client asks for server-sent events.
func wantsEvents(r *http.Request) bool {
	for part := range strings.SplitSeq(strings.Join(r.Header.Values("Accept"), ","), ",") {
		if media, _, err := mime.ParseMediaType(part); err == nil && media == eventStreamType {
			return true
		}
	}
	return false
}

// watchWriter writes a watch in one of its two forms.
type watchWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	sse     bool
	started bool
	seen    string // the id of the last event that the client has from an earlier connection
}

// send writes a job.
func (o *watchWriter) send(v *view) error {
	e, err := v.event()
	if err != nil {
		return err
	}
	if o.sse && e.id == o.seen {
		o.seen = ""
		if strings.HasPrefix(e.id, lastEvent) {
			o.started = true
			o.w.WriteHeader(http.StatusNoContent) // the one answer that keeps a browser from connecting again
			return nil
		}
		return o.write([]byte(": nothing new\n\n"))
	}
	o.seen = ""
	return o.put(e)
}

// put writes an event.
func (o *watchWriter) put(e event) error {
	if o.sse {
		return o.write(e.text)
	}
	return o.write(e.line)
}

// write sends bytes, before the first of them the answer's header.
func (o *watchWriter) write(p []byte) error {
	if o.started {
		return o.flush(p)
	}
	o.started = true
	h := o.w.Header()
	h.Set("Content-Type", ndjsonType)
	if o.sse {
		h.Set("Content-Type", eventStreamType)
	}
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // proxies that know it pass the events on at once
	// Writing a header takes more stack than all that a watch does afterwards, and what a stack has grown to stays for long with a goroutine that
	// idles. So this goroutine lets another do it.
	done := make(chan error, 1)
	go func() { done <- o.flush(p) }()
	return <-done
}

func (o *watchWriter) flush(p []byte) error {
	if _, err := o.w.Write(p); err != nil {
		return err
	}
	return o.control.Flush()
}

// event is what a watch tells its client.
type event struct {
	id   string
	text []byte // as a server-sent event
	line []byte // its JSON alone, as a line
}

func newEvent(kind, id string, data []byte) event {
	text := fmt.Appendf(nil, "event: %s\n", kind)
	if id != "" {
		text = fmt.Appendf(text, "id: %s\n", id)
	}
	text = append(text, "data: "...)
	start := len(text)
	text = append(append(text, data...), "\n\n"...)
	return event{id, text, text[start : len(text)-1]}
}

// jobEvent returns the event that shows a job.
func jobEvent(v *inkstreamv1.Job) (event, error) {
	data, err := encodeJSON(v)
	if err != nil {
		return event{}, err
	}
	id := lastEvent + strconv.Itoa(int(v.GetRun()))
	if !final(v) {
		// The same state has the same id at every gateway, so that a client which connects again is not told what it knows.
		sum := sha256.Sum256(data)
		id = hex.EncodeToString(sum[:8])
	}
	return newEvent("job", id, data), nil
}
