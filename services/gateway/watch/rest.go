package watch

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
	"inkstream.dev/services/gateway/internal/apierror"
	"inkstream.dev/services/gateway/internal/apijson"
	"inkstream.dev/services/gateway/jobview"
	"inkstream.dev/services/gateway/rest"
)

const (
	// sseHeartbeat is how often an idle event stream gets a comment, so that no proxy takes it for dead.
	sseHeartbeat = 15 * time.Second
	// endEventPrefix and the number of a run are the id of the event that ends a stream. A browser that connects again
	// with it is told to stop, unless the job runs again.
	endEventPrefix = "end-"
	// LastEventParameter is where clients that imitate a browser's event streams say what they have seen, for want of
	// the header.
	LastEventParameter = "lastEventId"
)

// HandleWatch is GET /v1/jobs/{id}/watch: server-sent events for those who ask for them, else one JSON object a
// line.
func (s *Service) HandleWatch(w http.ResponseWriter, r *http.Request) {
	ref, err := jobview.ParseRef(r.Context(), r.PathValue("id"))
	if err != nil {
		s.errors.WriteError(w, r, "GET watch", err)
		return
	}
	sse := acceptsEventStream(r)
	seen := cmp.Or(r.Header.Get("Last-Event-Id"), r.URL.Query().Get(LastEventParameter))
	out := &watchWriter{w: w, control: http.NewResponseController(w), sse: sse, seen: seen}
	var idle func() error
	every := time.Duration(0)
	if sse {
		every, idle = sseHeartbeat, func() error { return out.writeBytes([]byte(": still here\n\n")) }
	}
	err = s.hub.watchJob(r.Context(), ref, out.sendJob, every, idle)
	switch {
	case err == nil:
	case !out.started:
		s.errors.WriteError(w, r, "GET watch", err)
	default:
		st := s.errors.ReportError(r.Context(), "GET watch", err)
		// The stream is under way, so the error goes into it; a client that hung up has no use for it.
		_ = out.writeEvent(newWatchEvent("error", "", apierror.EncodeStatus(r.Context(), st)))
	}
}

// acceptsEventStream reports whether the client asks for server-sent events.
func acceptsEventStream(r *http.Request) bool {
	for part := range strings.SplitSeq(strings.Join(r.Header.Values("Accept"), ","), ",") {
		if media, _, err := mime.ParseMediaType(part); err == nil && media == rest.EventStreamType {
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

// sendJob writes a job.
func (o *watchWriter) sendJob(v *view) error {
	e, err := v.event()
	if err != nil {
		return err
	}
	if o.sse && e.id == o.seen {
		o.seen = ""
		if strings.HasPrefix(e.id, endEventPrefix) {
			o.started = true
			o.w.WriteHeader(http.StatusNoContent) // the one answer that keeps a browser from connecting again
			return nil
		}
		return o.writeBytes([]byte(": nothing new\n\n"))
	}
	o.seen = ""
	return o.writeEvent(e)
}

// writeEvent writes an event.
func (o *watchWriter) writeEvent(e watchEvent) error {
	if o.sse {
		return o.writeBytes(e.text)
	}
	return o.writeBytes(e.line)
}

// writeBytes sends bytes, before the first of them the answer's header.
func (o *watchWriter) writeBytes(p []byte) error {
	if o.started {
		return o.writeAndFlush(p)
	}
	o.started = true
	h := o.w.Header()
	h.Set("Content-Type", rest.NDJSONType)
	if o.sse {
		h.Set("Content-Type", rest.EventStreamType)
	}
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // proxies that know it pass the events on at once
	// Writing a header takes more stack than all that a watch does afterwards, and what a stack has grown to stays for
	// long with a goroutine that idles. So this goroutine lets another do it.
	done := make(chan error, 1)
	go func() { done <- o.writeAndFlush(p) }()
	return <-done
}

func (o *watchWriter) writeAndFlush(p []byte) error {
	if _, err := o.w.Write(p); err != nil {
		return err
	}
	return o.control.Flush()
}

// watchEvent is what a watch tells its client.
type watchEvent struct {
	id   string
	text []byte // as a server-sent event
	line []byte // its JSON alone, as a line
}

func newWatchEvent(kind, id string, data []byte) watchEvent {
	text := fmt.Appendf(nil, "event: %s\n", kind)
	if id != "" {
		text = fmt.Appendf(text, "id: %s\n", id)
	}
	text = append(text, "data: "...)
	start := len(text)
	text = append(append(text, data...), "\n\n"...)
	return watchEvent{id, text, text[start : len(text)-1]}
}

// newJobEvent returns the event that shows a job.
func newJobEvent(v *inkstreamv1.Job) (watchEvent, error) {
	data, err := apijson.EncodeJSON(v)
	if err != nil {
		return watchEvent{}, err
	}
	id := endEventPrefix + strconv.Itoa(int(v.GetRun()))
	if !isFinalView(v) {
		// The same state has the same id at every gateway, so that a client which connects again is not told what it knows.
		sum := sha256.Sum256(data)
		id = hex.EncodeToString(sum[:8])
	}
	return newWatchEvent("job", id, data), nil
}
