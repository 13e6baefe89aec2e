package gateway

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"inkstream.dev/services/gateway/access"
	"inkstream.dev/services/gateway/webhook"
)

// openedAccess is what decides about callers, and the webhooks, while the gateway runs.
type openedAccess struct {
	// auth and keys are nil where requests need no credentials.
	auth       *access.Authenticator
	keys       *access.Keys
	hooks      *webhook.Hooks
	dispatcher *webhook.Dispatcher
}

// openAccess opens it. The context must last as long as the service.
func (s *Service) openAccess(ctx context.Context) (o openedAccess, err error) {
	js := s.deps.Bus.JetStream()
	if o.hooks, err = webhook.OpenHooks(ctx, js, s.deps.Sealer, s.log); err != nil {
		return o, err
	}
	o.dispatcher = webhook.NewDispatcher(webhook.Config{
		Policy: s.cfg.Access.webhookPolicy(), Secret: s.cfg.Access.WebhookSecret.RevealText(),
	}, js, o.hooks, s.components.Jobs.LoadWebhookJob, s.log)
	if s.cfg.Access.Auth != AuthKeys {
		return o, nil
	}
	if o.keys, err = access.OpenKeys(ctx, js, s.log); err != nil {
		return o, err
	}
	var tokens *access.OIDC
	if s.cfg.Access.OIDC.Issuer != "" {
		if tokens, err = access.NewOIDC(ctx, s.cfg.Access.OIDC); err != nil {
			return o, err
		}
	}
	var sealKey []byte
	if s.deps.Sealer != nil {
		if sealKey, err = s.deps.Sealer.DeriveKey("session"); err != nil {
			return o, err
		}
	}
	sessions, err := access.NewSessions(sealKey, o.keys)
	if err != nil {
		return o, err
	}
	o.auth = access.NewAuthenticator(o.keys, sessions, tokens)
	return o, s.ensureAdminKey(ctx, o.keys)
}

// wait returns when the buckets are no longer followed; the context of openAccess must be done.
func (o openedAccess) wait() {
	o.hooks.Wait()
	if o.keys != nil {
		o.keys.Wait()
	}
}

// ensureAdminKey makes an admin key where there is none: without one, no caller can make any key. Where the file is
// there already, the key in it becomes that key: so several gateways that start at once can have the same.
func (s *Service) ensureAdminKey(ctx context.Context, keys *access.Keys) error {
	file := s.cfg.Access.AdminKeyFile
	if file == "" || keys.HasAdminKey(access.TenantFrom(ctx)) {
		return nil
	}
	key := access.Key{Tenant: access.TenantFrom(ctx), Scopes: []access.Scope{access.Admin}, Name: "first admin key"}
	given, err := os.ReadFile(file)
	if err == nil {
		if err := keys.ImportKey(ctx, key, strings.TrimSpace(string(given))); err != nil {
			return fmt.Errorf("file %s of the first admin key: %w", file, err)
		}
		s.log.WarnContext(ctx, "there was no admin key: the one in the file is taken", "file", file)
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("file of the first admin key: %w", err)
	}
	_, secret, err := keys.CreateKey(ctx, key)
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
