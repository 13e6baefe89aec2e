package watch

import (
	"net/http"

	"google.golang.org/grpc"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/access"
	"inkstream.dev/services/gateway/internal/apierror"
	"inkstream.dev/services/gateway/internal/apijson"
	"inkstream.dev/services/gateway/internal/validate"
	"inkstream.dev/services/gateway/rest"
	"inkstream.dev/services/gateway/search"
)

// WatchJobs tells of every change of the tenant's jobs until the client ends it.
func (s *Service) WatchJobs(req *inkstreamv1.WatchJobsRequest,
	stream grpc.ServerStreamingServer[inkstreamv1.JobChange]) error {
	if err := validate.CheckRequest(req); err != nil {
		return err
	}
	if _, err := search.BuildJobQuery(stream.Context(), req.GetFilter()); err != nil {
		return err
	}
	return s.hub.watchTenant(stream.Context(), access.TenantFrom(stream.Context()), req.GetFilter(),
		func(c *inkstreamv1.JobChange) error {
			return s.limits.SendWithTimeout(func() error { return stream.Send(c) })
		}, 0, nil)
}

// HandleWatchJobs is GET /v1/jobs:watch: server-sent events for those who ask for them, else one JSON object a line.
func (s *Service) HandleWatchJobs() http.HandlerFunc {
	const call = "GET jobs:watch"
	return func(w http.ResponseWriter, r *http.Request) {
		req := &inkstreamv1.WatchJobsRequest{}
		err := rest.DecodeQuery(r, "WatchJobs", req)
		if err == nil {
			err = validate.CheckRequest(req)
		}
		if err == nil {
			_, err = search.BuildJobQuery(r.Context(), req.GetFilter())
		}
		if err != nil {
			s.errors.WriteError(w, r, call, err)
			return
		}
		out := &watchWriter{w: w, control: http.NewResponseController(w), sse: acceptsEventStream(r)}
		// Lines have a heartbeat too, an empty one: a client that reads them by hand learns that the stream is alive.
		idle, every := func() error { return out.writeBytes([]byte("\n")) }, sseHeartbeat
		if out.sse {
			idle = func() error { return out.writeBytes([]byte(": still here\n\n")) }
		}
		err = s.hub.watchTenant(r.Context(), access.TenantFrom(r.Context()), req.GetFilter(),
			func(c *inkstreamv1.JobChange) error {
				data, err := apijson.EncodeJSON(c)
				if err != nil {
					return err
				}
				return out.writeEvent(newWatchEvent("change", "", data))
			}, every, idle)
		switch {
		case err == nil:
		case !out.started:
			s.errors.WriteError(w, r, call, err)
		default:
			st := s.errors.ReportError(r.Context(), call, err)
			// The stream is under way, so the error goes into it; a client that hung up has no use for it.
			_ = out.writeEvent(newWatchEvent("error", "", apierror.EncodeStatus(r.Context(), st)))
		}
	}
}
