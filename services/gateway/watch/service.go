// Package watch answers how a job stands: now, at its end, at every change, and by the events of its audit trail.
package watch

import (
	"context"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/stage"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/internal/apierror"
	"inkstream.dev/services/gateway/jobview"
	"inkstream.dev/services/gateway/limits"
	"inkstream.dev/services/gateway/rest"
)

// Service answers how jobs stand. It is safe for concurrent use.
type Service struct {
	deps   stage.Deps
	jobs   *jobview.Service
	limits *limits.Service
	errors *apierror.Reporter
	hub    *hub
}

// New returns a Service whose watches end when stopping is closed. At most so many come from one address; 0 is no
// bound.
func New(deps stage.Deps, reader *jobview.Service, limit *limits.Service, report *apierror.Reporter, maxPerClient int,
	stopping <-chan struct{}) *Service {
	s := &Service{deps: deps, jobs: reader, limits: limit, errors: report,
		hub: newHub(reader.LoadJobView, deps.Log, stopping)}
	s.hub.perClient = maxPerClient
	return s
}

// Run tells the watches of what changes until ctx is done.
func (s *Service) Run(ctx context.Context) { s.hub.watchBucket(ctx, s.deps.Bus) }

// Wait returns when nothing of the watches is left; their clients must be gone.
func (s *Service) Wait() { s.hub.waitForTopics() }

// GetJob answers a job's state.
func (s *Service) GetJob(ctx context.Context, req *inkstreamv1.GetJobRequest) (*inkstreamv1.Job, error) {
	ref, err := jobview.ParseRef(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	wait := req.GetWait().AsDuration()
	if wait < 0 {
		return nil, apierror.InvalidField(fault.InvalidArgument, "wait", "want a duration that is not negative")
	}
	if wait > 0 {
		return s.awaitJobEnd(ctx, ref, min(wait, maxWait))
	}
	return s.jobs.LoadJobView(ctx, ref)
}

// ServeJobStatus is GET /v1/jobs/{id} without a query, by far the most frequent request: it is answered without the
// way through gRPC, which is a third of the cost. What else there is at that address next answers.
func (s *Service) ServeJobStatus(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.RawQuery != "" || r.ContentLength != 0 || !utf8.ValidString(r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		data, err := s.jobs.LoadJobJSON(r.Context(), r.PathValue("id"))
		if err != nil {
			s.errors.WriteError(w, r, "GET job", err)
			return
		}
		w.Header().Set("Content-Type", rest.JSONType)
		w.Header().Set("Content-Length", strconv.Itoa(len(data)))
		_, _ = w.Write(data) // a client that hung up has no use for it
	})
}

// maxWait is the longest that a call waits for a job's end, below what proxies allow a request.
const maxWait = time.Minute

// awaitJobEnd answers when the job ends, or as it stands when the time is over or the server stops.
func (s *Service) awaitJobEnd(ctx context.Context, ref jobview.Ref, wait time.Duration) (*inkstreamv1.Job, error) {
	timed, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	var last *inkstreamv1.Job
	err := s.hub.watchJob(timed, ref, func(v *view) error {
		last = v.job
		return nil
	}, 0, nil)
	if fault.CodeOf(err) == apierror.Unauthenticated {
		return nil, err
	}
	if last != nil && ctx.Err() == nil {
		return last, nil
	}
	if timed.Err() != nil && ctx.Err() == nil {
		return s.jobs.LoadJobView(ctx, ref)
	}
	return last, err
}

// WatchJob sends the job now and at every change until it has ended.
func (s *Service) WatchJob(req *inkstreamv1.WatchJobRequest, stream grpc.ServerStreamingServer[inkstreamv1.Job]) error {
	ctx := stream.Context()
	ref, err := jobview.ParseRef(ctx, req.GetId())
	if err != nil {
		return err
	}
	return s.hub.watchJob(ctx, ref, func(v *view) error {
		return s.limits.SendWithTimeout(func() error { return stream.Send(v.job) })
	}, 0, nil)
}
