package access

import (
	"context"

	"inkstream.dev/pkg/job"
)

// CallerFrom returns who a request comes from.
func CallerFrom(ctx context.Context) *Identity {
	if id := IdentityFrom(ctx); id != nil {
		return id
	}
	return OpenIdentity()
}

// TenantFrom returns whose jobs the request may see and make.
func TenantFrom(ctx context.Context) string {
	if id := IdentityFrom(ctx); id != nil {
		return id.Tenant
	}
	return job.DefaultTenant
}
