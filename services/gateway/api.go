package gateway

import (
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/admin"
	"inkstream.dev/services/gateway/results"
	"inkstream.dev/services/gateway/search"
	"inkstream.dev/services/gateway/upload"
	"inkstream.dev/services/gateway/watch"
)

type (
	uploadCalls  = upload.Service
	watchCalls   = watch.Service
	resultCalls  = results.Service
	searchCalls  = search.Service
	controlCalls = admin.Service
	letterCalls  = admin.DeadLetters
	keyCalls     = admin.Keys
	hookCalls    = admin.Webhooks
	callerCalls  = admin.Callers
)

// api is the gRPC service: each call is that of the part that has it.
type api struct {
	unknownCalls
	*uploadCalls
	*watchCalls
	*resultCalls
	*searchCalls
	*controlCalls
	*letterCalls
	*keyCalls
	*hookCalls
	*callerCalls
}

// unknownCalls answers the calls that no part has. It is deeper than the parts, whose methods go first.
type unknownCalls struct {
	inkstreamv1.UnimplementedInkstreamServiceServer
}

func (s *Service) newAPI(access openedAccess) *api {
	p := s.components
	control := admin.New(s.deps, p.Jobs, p.Search, p.History)
	return &api{uploadCalls: p.Uploads, watchCalls: p.Watches, resultCalls: p.Results, searchCalls: p.Search,
		controlCalls: control, letterCalls: admin.NewDeadLetters(control, access.dispatcher), keyCalls: admin.NewKeys(access.keys, p.Limits.Rates()),
		hookCalls:   admin.NewWebhooks(access.hooks, s.cfg.Access.webhookPolicy(), access.dispatcher),
		callerCalls: admin.NewCallers(p.Limits.Rates(), s.describeFeatures())}
}

// describeFeatures says what the gateway can do, as it was started.
func (s *Service) describeFeatures() *inkstreamv1.Features {
	_, err := s.components.Jobs.RequireIndex()
	f := &inkstreamv1.Features{
		Version: s.deps.Tel.Version, Auth: AuthNone, Index: err == nil, Resumable: s.cfg.TusDir != "", ReadOnly: s.cfg.ReadOnly,
		MaxUploadBytes: int64(s.cfg.MaxUploadBytes), RetentionSeconds: int64(s.cfg.Retention.Seconds()),
		Durability: s.cfg.Durability,
	}
	if s.cfg.Access.Auth == AuthKeys {
		f.Auth = AuthKeys
	}
	return f
}
