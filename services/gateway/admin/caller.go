package admin

import (
	"context"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/access"
	"inkstream.dev/services/gateway/jobview"
	"inkstream.dev/services/gateway/limits"
)

// Callers answers callers who they are. It is safe for concurrent use.
type Callers struct {
	rates    *limits.Rates
	features *inkstreamv1.Features
}

// NewCallers returns Callers of a server with these features.
func NewCallers(rates *limits.Rates, features *inkstreamv1.Features) *Callers {
	return &Callers{rates: rates, features: features}
}

// GetCaller answers who the caller is, what it may do, and what the server can do.
func (s *Callers) GetCaller(ctx context.Context, _ *inkstreamv1.GetCallerRequest) (*inkstreamv1.Caller, error) {
	id := access.CallerFrom(ctx)
	jobs, _ := s.rates.JobLimit(id)
	v := &inkstreamv1.Caller{
		Tenant: id.Tenant, Name: id.Caller, Credential: id.Credential, ExpireTime: jobview.TimeToProto(id.ExpireTime),
		MaxJobs: int32(jobs), MaxBytesPerDay: s.rates.BytesPerDay(id), Features: s.features,
	}
	for _, scope := range []access.Scope{access.Read, access.Write, access.Admin} {
		if id.HasScope(scope) && (scope == access.Read || !s.features.GetReadOnly()) {
			v.Scopes = append(v.Scopes, string(scope))
		}
	}
	return v, nil
}
