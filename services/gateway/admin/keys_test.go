package admin_test

import (
	"errors"
	"testing"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/gatewaytest"
	"inkstream.dev/services/gateway/internal/apierror"
)

// Administrators of the default tenant run the server; those of another tenant have no say in the others.
func TestKeysForOtherTenants(t *testing.T) {
	t.Parallel()
	r, admin := gatewaytest.StartWithKeys(t, nil)
	_, acme := r.NewKey(admin, `{"tenant":"acme","scopes":["admin"]}`)
	gatewaytest.EachCaller(t, r, func(t *testing.T, call gatewaytest.Caller) {
		for tenant, want := range map[string]fault.Code{"": "", "acme": "", job.DefaultTenant: apierror.PermissionDenied,
			"other": apierror.PermissionDenied} {
			key := &inkstreamv1.Key{}
			err := call(t.Context(), acme, "CreateKey", &inkstreamv1.CreateKeyRequest{Tenant: tenant, Scopes: []string{"read"}},
				key)
			gatewaytest.CheckError(t, err, want)
			if err == nil && key.GetTenant() != "acme" {
				t.Errorf("tenant %q: got a key of %q, want acme", tenant, key.GetTenant())
			}
		}
	})
	if _, err := r.RPC.GetJob(gatewaytest.WithKey(t.Context(), acme),
		&inkstreamv1.GetJobRequest{Id: string(gatewaytest.UnknownJob)}); errors.Is(err, nil) {
		t.Error("the tenant's own key finds a job that is none")
	}
}
