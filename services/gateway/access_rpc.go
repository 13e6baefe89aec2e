package gateway

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/emptypb"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/access"
	"inkstream.dev/services/gateway/webhook"
)

const (
	keyNotFound      fault.Code = "KEY_NOT_FOUND"
	webhookNotFound  fault.Code = "WEBHOOK_NOT_FOUND"
	authOff          fault.Code = "AUTH_OFF"
	webhookForbidden fault.Code = "WEBHOOK_FORBIDDEN"
)

// openAccess makes ready what decides about callers, and the webhooks. The context must last as long as the service.
func (s *Service) openAccess(ctx context.Context) error {
	var err error
	js := s.deps.Bus.JetStream()
	if s.hooks, err = webhook.OpenHooks(ctx, js, s.log); err != nil {
		return err
	}
	s.dispatcher = webhook.NewDispatcher(webhook.Config{
		Policy: s.webhookPolicy(), Secret: s.cfg.Access.WebhookSecret.RevealText(),
	}, js, s.hooks, s.loadWebhookJob, s.log)
	if s.cfg.Access.Auth != AuthKeys {
		return nil
	}
	if s.keys, err = access.OpenKeys(ctx, js, s.log); err != nil {
		return err
	}
	var tokens *access.OIDC
	if s.cfg.Access.OIDC.Issuer != "" {
		if tokens, err = access.NewOIDC(ctx, s.cfg.Access.OIDC); err != nil {
			return err
		}
	}
	s.auth = access.NewAuthenticator(s.keys, tokens)
	return s.ensureAdminKey(ctx)
}

// ensureAdminKey makes an admin key where there is none: without one, no caller can make any key. Where the file is
// there already, the key in it becomes that key: so several gateways that start at once can have the same.
func (s *Service) ensureAdminKey(ctx context.Context) error {
	file := s.cfg.Access.AdminKeyFile
	if file == "" || s.keys.HasAdminKey(tenantFromContext(ctx)) {
		return nil
	}
	key := access.Key{Tenant: tenantFromContext(ctx), Scopes: []access.Scope{access.Admin}, Name: "first admin key"}
	given, err := os.ReadFile(file)
	if err == nil {
		if err := s.keys.ImportKey(ctx, key, strings.TrimSpace(string(given))); err != nil {
			return fmt.Errorf("file %s of the first admin key: %w", file, err)
		}
		s.log.WarnContext(ctx, "there was no admin key: the one in the file is taken", "file", file)
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("file of the first admin key: %w", err)
	}
	_, secret, err := s.keys.CreateKey(ctx, key)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		return fmt.Errorf("file of the first admin key: %w", err)
	}
	if err := os.WriteFile(file, []byte(secret+"\n"), 0o600); err != nil {
		return fmt.Errorf("file of the first admin key: %w", err)
	}
	s.log.WarnContext(ctx, "there was no admin key: one was made; take it from the file and remove that", "file", file)
	return nil
}

// CreateKey makes an API key.
func (s *Service) CreateKey(ctx context.Context, req *inkstreamv1.CreateKeyRequest) (*inkstreamv1.Key, error) {
	if s.keys == nil {
		return nil, errAuthOff()
	}
	key := access.Key{
		Tenant: req.GetTenant(), Name: req.GetName(),
		Quota: access.Quota{Jobs: int(req.GetMaxJobs()), BytesPerDay: req.GetMaxBytesPerDay()},
	}
	switch own := tenantFromContext(ctx); key.Tenant {
	case "", own:
		key.Tenant = own
	default:
		// The default tenant's administrators run the server; others are at home in their own tenant alone.
		if own != job.DefaultTenant {
			return nil, fault.New(permissionDenied, "only administrators of the tenant %s may make keys for other tenants",
				job.DefaultTenant)
		}
	}
	for _, scope := range req.GetScopes() {
		key.Scopes = append(key.Scopes, access.Scope(scope))
	}
	slices.Sort(key.Scopes)
	if t := req.GetExpireTime(); t != nil {
		var err error
		if key.ExpireTime, err = parseTimestamp("expire_time", t); err != nil {
			return nil, err
		}
		if !key.ExpireTime.After(time.Now()) {
			return nil, invalidField(fault.InvalidArgument, "expire_time", "the key would expire in the past")
		}
	}
	key, secret, err := s.keys.CreateKey(ctx, key)
	if err != nil {
		return nil, err
	}
	return keyToProto(key, secret), nil
}

// ListKeys answers the tenant's keys.
func (s *Service) ListKeys(ctx context.Context, _ *inkstreamv1.ListKeysRequest) (*inkstreamv1.ListKeysResponse, error) {
	if s.keys == nil {
		return nil, errAuthOff()
	}
	resp := &inkstreamv1.ListKeysResponse{}
	for _, key := range s.keys.ListKeys(tenantFromContext(ctx)) {
		resp.Keys = append(resp.Keys, keyToProto(key, ""))
	}
	return resp, nil
}

// RotateKey gives a key another secret.
func (s *Service) RotateKey(ctx context.Context, req *inkstreamv1.RotateKeyRequest) (*inkstreamv1.Key, error) {
	if s.keys == nil {
		return nil, errAuthOff()
	}
	key, secret, err := s.keys.RotateKey(ctx, tenantFromContext(ctx), req.GetId())
	if errors.Is(err, access.ErrNoKey) {
		return nil, fault.New(keyNotFound, "there is no such key")
	}
	if err != nil {
		return nil, err
	}
	return keyToProto(key, secret), nil
}

// RevokeKey removes a key.
func (s *Service) RevokeKey(ctx context.Context, req *inkstreamv1.RevokeKeyRequest) (*emptypb.Empty, error) {
	if s.keys == nil {
		return nil, errAuthOff()
	}
	err := s.keys.RevokeKey(ctx, tenantFromContext(ctx), req.GetId())
	if errors.Is(err, access.ErrNoKey) {
		return nil, fault.New(keyNotFound, "there is no such key")
	}
	if err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, nil
}

func errAuthOff() error {
	return fault.New(authOff, "the server asks nobody for a key; start it with --auth=keys to have keys")
}

func keyToProto(key access.Key, secret string) *inkstreamv1.Key {
	v := &inkstreamv1.Key{
		Id: key.ID, Tenant: key.Tenant, Name: key.Name, CreateTime: timeToProto(key.CreateTime),
		ExpireTime: timeToProto(key.ExpireTime), Secret: secret,
		MaxJobs: int32(key.Quota.Jobs), MaxBytesPerDay: key.Quota.BytesPerDay,
	}
	for _, scope := range key.Scopes {
		v.Scopes = append(v.Scopes, string(scope))
	}
	return v
}

func (s *Service) webhookPolicy() webhook.Policy {
	return webhook.Policy{AllowPrivate: s.cfg.Access.WebhookPrivate}
}

// CreateWebhook has an address told of every job of the tenant that ends.
func (s *Service) CreateWebhook(ctx context.Context,
	req *inkstreamv1.CreateWebhookRequest) (*inkstreamv1.Webhook, error) {
	if err := s.webhookPolicy().CheckURL(req.GetUrl()); err != nil {
		return nil, invalidField(webhookForbidden, "url", "%s", err)
	}
	hook, err := s.hooks.CreateHook(ctx, tenantFromContext(ctx), req.GetUrl())
	if errors.Is(err, webhook.ErrTooMany) {
		return nil, fault.New(quotaExceeded, "%s", err)
	}
	if err != nil {
		return nil, err
	}
	v := webhookToProto(hook)
	v.Secret = hook.Secret
	return v, nil
}

// ListWebhooks answers the tenant's webhooks.
func (s *Service) ListWebhooks(ctx context.Context,
	_ *inkstreamv1.ListWebhooksRequest) (*inkstreamv1.ListWebhooksResponse, error) {
	resp := &inkstreamv1.ListWebhooksResponse{}
	for _, hook := range s.hooks.ListHooks(tenantFromContext(ctx)) {
		resp.Webhooks = append(resp.Webhooks, webhookToProto(hook))
	}
	return resp, nil
}

// DeleteWebhook ends a webhook.
func (s *Service) DeleteWebhook(ctx context.Context, req *inkstreamv1.DeleteWebhookRequest) (*emptypb.Empty, error) {
	err := s.hooks.Delete(ctx, tenantFromContext(ctx), req.GetId())
	if errors.Is(err, webhook.ErrNoHook) {
		return nil, fault.New(webhookNotFound, "there is no such webhook")
	}
	if err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, nil
}

func webhookToProto(h webhook.Hook) *inkstreamv1.Webhook {
	return &inkstreamv1.Webhook{Id: h.ID, Url: h.URL, CreateTime: timeToProto(h.CreateTime)}
}

// loadWebhookJob tells the webhooks about a job.
func (s *Service) loadWebhookJob(ctx context.Context, tenant, id string) (webhook.Job, error) {
	rec, err := s.deps.Jobs.LoadRecord(ctx, tenant, job.ID(id))
	if errors.Is(err, job.ErrNotFound) || err == nil && rec.State.IsGone() {
		return webhook.Job{}, webhook.ErrNoJob
	}
	if err != nil {
		return webhook.Job{}, err
	}
	p, err := s.loadProgress(ctx, rec)
	if err != nil {
		return webhook.Job{}, err
	}
	body, err := encodeJSON(jobToProto(rec, p))
	if err != nil {
		return webhook.Job{}, err
	}
	return webhook.Job{Body: body, URL: rec.Webhook}, nil
}
