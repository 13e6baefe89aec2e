package admin

import (
	"context"
	"errors"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/emptypb"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/access"
	"inkstream.dev/services/gateway/internal/apierror"
	"inkstream.dev/services/gateway/internal/validate"
	"inkstream.dev/services/gateway/jobview"
	"inkstream.dev/services/gateway/limits"
)

// Keys manages API keys.
type Keys struct {
	keys  *access.Keys // nil where requests need no credentials
	rates *limits.Rates
}

// NewKeys returns Keys over a store, which is nil where requests need no credentials.
func NewKeys(store *access.Keys, rates *limits.Rates) *Keys { return &Keys{keys: store, rates: rates} }

// CreateKey makes an API key.
func (s *Keys) CreateKey(ctx context.Context, req *inkstreamv1.CreateKeyRequest) (*inkstreamv1.Key, error) {
	if s.keys == nil {
		return nil, errAuthOff()
	}
	key := access.Key{
		Tenant: req.GetTenant(), Name: req.GetName(),
		Quota: access.Quota{Jobs: int(req.GetMaxJobs()), BytesPerDay: req.GetMaxBytesPerDay()},
	}
	switch own := access.TenantFrom(ctx); key.Tenant {
	case "", own:
		key.Tenant = own
	default:
		// The default tenant's administrators run the server; others are at home in their own tenant alone.
		if own != job.DefaultTenant {
			return nil, fault.New(apierror.PermissionDenied, "only administrators of the tenant %s may make keys for other tenants",
				job.DefaultTenant)
		}
	}
	if err := s.rates.CheckQuota(access.CallerFrom(ctx), key.Quota); err != nil {
		return nil, err
	}
	for _, scope := range req.GetScopes() {
		key.Scopes = append(key.Scopes, access.Scope(scope))
	}
	slices.Sort(key.Scopes)
	if t := req.GetExpireTime(); t != nil {
		var err error
		if key.ExpireTime, err = validate.ParseTimestamp("expire_time", t); err != nil {
			return nil, err
		}
		if !key.ExpireTime.After(time.Now()) {
			return nil, apierror.InvalidField(fault.InvalidArgument, "expire_time", "the key would expire in the past")
		}
	}
	key, secret, err := s.keys.CreateKey(ctx, key)
	if err != nil {
		return nil, err
	}
	return keyToProto(key, secret), nil
}

// ListKeys answers the tenant's keys.
func (s *Keys) ListKeys(ctx context.Context, _ *inkstreamv1.ListKeysRequest) (*inkstreamv1.ListKeysResponse, error) {
	if s.keys == nil {
		return nil, errAuthOff()
	}
	resp := &inkstreamv1.ListKeysResponse{}
	for _, key := range s.keys.ListKeys(access.TenantFrom(ctx)) {
		resp.Keys = append(resp.Keys, keyToProto(key, ""))
	}
	return resp, nil
}

// RotateKey gives a key another secret.
func (s *Keys) RotateKey(ctx context.Context, req *inkstreamv1.RotateKeyRequest) (*inkstreamv1.Key, error) {
	if s.keys == nil {
		return nil, errAuthOff()
	}
	key, secret, err := s.keys.RotateKey(ctx, access.TenantFrom(ctx), req.GetId())
	if errors.Is(err, access.ErrNoKey) {
		return nil, fault.New(apierror.KeyNotFound, "there is no such key")
	}
	if err != nil {
		return nil, err
	}
	return keyToProto(key, secret), nil
}

// RevokeKey removes a key.
func (s *Keys) RevokeKey(ctx context.Context, req *inkstreamv1.RevokeKeyRequest) (*emptypb.Empty, error) {
	if s.keys == nil {
		return nil, errAuthOff()
	}
	err := s.keys.RevokeKey(ctx, access.TenantFrom(ctx), req.GetId())
	if errors.Is(err, access.ErrNoKey) {
		return nil, fault.New(apierror.KeyNotFound, "there is no such key")
	}
	if err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, nil
}

func errAuthOff() error {
	return fault.New(apierror.AuthOff, "the server asks nobody for a key; start it with --auth=keys to have keys")
}

func keyToProto(key access.Key, secret string) *inkstreamv1.Key {
	v := &inkstreamv1.Key{
		Id: key.ID, Tenant: key.Tenant, Name: key.Name, CreateTime: jobview.TimeToProto(key.CreateTime),
		ExpireTime: jobview.TimeToProto(key.ExpireTime), Secret: secret,
		MaxJobs: int32(key.Quota.Jobs), MaxBytesPerDay: key.Quota.BytesPerDay, Subject: key.Subject,
	}
	for _, scope := range key.Scopes {
		v.Scopes = append(v.Scopes, string(scope))
	}
	return v
}
