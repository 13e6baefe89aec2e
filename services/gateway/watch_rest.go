package gateway

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"time"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

const (
	eventStreamType = "text/event-stream"
	ndjsonType      = "application/x-ndjson"
	// sseHeartbeat is how often an idle event stream gets a comment, so that no proxy takes it for dead.
	sseHeartbeat = 15 * time.Second
	// lastEvent is the id of the event that ends a stream. A browser that connects again with it is told to stop.
	lastEvent = "end"
)

// restWatch is GET /v1/jobs/{id}/watch: server-sent events for those who ask for them, else one JSON object a line.
func (s *Service) restWatch(w http.ResponseWriter, r *http.Request) {
	ref, err := refOf(r.Context(), r.PathValue("id"))
	if err != nil {
		s.writeError(w, r, "GET watch", err)
		return
	}
	sse := wantsEvents(r)
	if sse && r.Header.Get("Last-Event-Id") == lastEvent {
		w.WriteHeader(http.StatusNoContent) // the one answer that keeps a browser from connecting again
		return
	}
	out := &watchWriter{w: w, control: http.NewResponseController(w), sse: sse, seen: r.Header.Get("Last-Event-Id")}
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
		_ = out.event("error", "", encodeError(r.Context(), st))
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
func (o *watchWriter) send(v *inkstreamv1.Job) error {
	data, err := encodeJSON(v)
	if err != nil {
		return err
	}
	id := lastEvent
	if !final(v) {
		// The same state has the same id at every gateway, so that a client which connects again is not told what it knows.
		sum := sha256.Sum256(data)
		id = hex.EncodeToString(sum[:8])
	}
	if o.sse && id == o.seen {
		o.seen = ""
		return o.write([]byte(": nothing new\n\n"))
	}
	o.seen = ""
	return o.event("job", id, data)
}

func (o *watchWriter) event(kind, id string, data []byte) error {
	if !o.sse {
		return o.write(append(data, '\n'))
	}
	event := fmt.Appendf(nil, "event: %s\n", kind)
	if id != "" {
		event = fmt.Appendf(event, "id: %s\n", id)
	}
	return o.write(fmt.Appendf(event, "data: %s\n\n", data))
}

func (o *watchWriter) write(p []byte) error {
	if !o.started {
		o.started = true
		h := o.w.Header()
		h.Set("Content-Type", ndjsonType)
		if o.sse {
			h.Set("Content-Type", eventStreamType)
		}
		h.Set("Cache-Control", "no-store")
		h.Set("X-Accel-Buffering", "no") // proxies that know it pass the events on at once
	}
	if _, err := o.w.Write(p); err != nil {
		return err
	}
	return o.control.Flush()
}
