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
