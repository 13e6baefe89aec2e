package rest

import (
	"net/http"
	"time"
)

// deadlineResponse notes the status and makes every write end within the stall timeout: on a connection without a
// deadline, a write could block without end.
type deadlineResponse struct {
	http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
	status  int
}

// extendDeadline moves the deadline of writes. A connection that has none, as in some tests, goes without.
func (w *deadlineResponse) extendDeadline() {
	_ = w.control.SetWriteDeadline(time.Now().Add(w.timeout))
}

// WriteHeader notes the status and passes it on.
func (w *deadlineResponse) WriteHeader(status int) {
	if w.status == 0 || w.status < http.StatusOK {
		w.status = status
	}
	w.extendDeadline()
	w.ResponseWriter.WriteHeader(status)
}

// Write moves the deadline and passes the bytes on.
func (w *deadlineResponse) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	w.extendDeadline()
	return w.ResponseWriter.Write(p)
}

// FlushError sends what is buffered; http.ResponseController calls it.
func (w *deadlineResponse) FlushError() error {
	w.extendDeadline()
	return w.control.Flush()
}

// Unwrap lets http.ResponseController reach the connection.
func (w *deadlineResponse) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// minHeldBytes is from what length on an answer is counted that waits in memory for its client.
const minHeldBytes = 64 << 10

// heldResponse takes the tenant's share of memory for a long answer until it is sent. The answer of a call is written at
// once, before anything else is.
type heldResponse struct {
	http.ResponseWriter
	request *http.Request
	shell   *Shell
}

// Write passes the answer on, or says why there is none.
func (w *heldResponse) Write(p []byte) (int, error) {
	if len(p) < minHeldBytes || w.Header().Get("Content-Type") != JSONType {
		return w.ResponseWriter.Write(p)
	}
	if err := w.shell.cfg.Limits.HoldMemory(w.request.Context(), 2*int64(len(p))); err != nil { // the message is there too
		w.Header().Del("Content-Length")
		w.shell.errors.WriteError(w.ResponseWriter, w.request, "answer", err)
		return len(p), nil
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *heldResponse) Unwrap() http.ResponseWriter { return w.ResponseWriter }
