// Package webhook tells other servers of jobs that have ended: by the tenant's webhooks, and by an address that the
// job itself came with. A call is signed, tried again for a day, and then becomes a dead letter, which can be
// replayed.
package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/services/gateway/internal/mirror"
)

// maxHooks bounds the webhooks of a tenant.
const maxHooks = 20

var (
	// ErrNoHook means that there is no such webhook in the tenant.
	ErrNoHook = errors.New("no such webhook")
	// ErrTooMany means that the tenant has as many webhooks as it may have.
	ErrTooMany = fmt.Errorf("a tenant has at most %d webhooks", maxHooks)
)

// Hook is an address that is told of every job of its tenant that ends.
type Hook struct {
	ID         string    `json:"id"`
	Tenant     string    `json:"tenant"`
	URL        string    `json:"url"`
	CreateTime time.Time `json:"createTime"`
	// Secret is what calls are signed with. It is stored sealed, in Sealed, where there is a key to seal it with; webhooks
	// of earlier versions have it as it is.
	Secret string `json:"secret,omitempty"`
	Sealed string `json:"sealed,omitempty"`
}

// Hooks is the store of the tenants' webhooks: a KV bucket, and a copy of it in memory, because every job that ends
// is looked up. It is safe for concurrent use.
type Hooks struct {
	kv     jetstream.KeyValue
	sealer *job.Sealer // nil where there is none
	mirror *mirror.Mirror[Hook]
}

// OpenHooks opens the bucket, which bus.Provision makes, and follows it until ctx is done. The sealer seals the
// webhooks' secrets; nil leaves them as they are.
func OpenHooks(ctx context.Context, js jetstream.JetStream, sealer *job.Sealer, log *slog.Logger) (*Hooks, error) {
	kv, err := js.KeyValue(ctx, bus.WebhookBucket)
	if err != nil {
		return nil, fmt.Errorf("bucket of webhooks: %w", err)
	}
	known, err := mirror.Open[Hook](ctx, kv, "webhook.>", log)
	if err != nil {
		return nil, err
	}
	return &Hooks{kv: kv, sealer: sealer, mirror: known}, nil
}

// Wait returns when the bucket is no longer followed; the context of OpenHooks must be done.
func (h *Hooks) Wait() { h.mirror.Wait() }

func hookKey(tenant, id string) string { return "webhook." + tenant + "." + id }

// CreateHook stores a webhook of the tenant with a secret of its own.
func (h *Hooks) CreateHook(ctx context.Context, tenant, url string) (Hook, error) {
	if len(h.ListHooks(tenant)) >= maxHooks {
		return Hook{}, ErrTooMany
	}
	hook := Hook{ID: string(job.NewID()), Tenant: tenant, URL: url, CreateTime: time.Now().UTC(), Secret: NewSecret()}
	stored := hook
	if h.sealer != nil {
		stored.Secret, stored.Sealed = "", h.sealer.SealSecret(tenant, job.ID(hook.ID), hook.Secret)
	}
	data, err := json.Marshal(stored)
	if err != nil {
		return Hook{}, fmt.Errorf("encode webhook: %w", err)
	}
	rev, err := h.kv.Create(ctx, hookKey(tenant, hook.ID), data)
	if err != nil {
		return Hook{}, wrapUnavailable("store webhook", err)
	}
	h.mirror.Set(hookKey(tenant, hook.ID), stored, rev)
	return hook, nil
}

// ListHooks returns the tenant's webhooks, the oldest first. One that another gateway makes is among them a moment
// later.
func (h *Hooks) ListHooks(tenant string) []Hook {
	hooks := h.mirror.Select(func(hook Hook) bool { return hook.Tenant == tenant })
	slices.SortFunc(hooks, func(a, b Hook) int { return strings.Compare(a.ID, b.ID) }) // ids begin with the time
	return hooks
}

// Get returns a webhook of the tenant, as the bucket has it now: a call is queued by a gateway that may have known of
// the webhook first.
func (h *Hooks) Get(ctx context.Context, tenant, id string) (Hook, error) {
	e, err := h.kv.Get(ctx, hookKey(tenant, id))
	if errors.Is(err, jetstream.ErrKeyNotFound) || errors.Is(err, jetstream.ErrInvalidKey) {
		return Hook{}, ErrNoHook
	}
	if err != nil {
		return Hook{}, wrapUnavailable("read webhook", err)
	}
	var hook Hook
	if err := json.Unmarshal(e.Value(), &hook); err != nil {
		return Hook{}, fmt.Errorf("decode webhook: %w", err)
	}
	if hook.Sealed == "" {
		return hook, nil
	}
	if h.sealer == nil {
		return Hook{}, errors.New("the webhook's secret is sealed, and the key to open it is not here")
	}
	if hook.Secret, err = h.sealer.OpenSecret(tenant, job.ID(id), hook.Sealed); err != nil {
		return Hook{}, fmt.Errorf("webhook's secret: %w", err)
	}
	return hook, nil
}

// Delete removes a webhook of the tenant.
func (h *Hooks) Delete(ctx context.Context, tenant, id string) error {
	if _, err := h.Get(ctx, tenant, id); err != nil {
		return err
	}
	if err := h.kv.Purge(ctx, hookKey(tenant, id)); err != nil {
		return wrapUnavailable("remove webhook", err)
	}
	h.mirror.Remove(hookKey(tenant, id))
	// What is left of it then, no webhook leads to.
	_ = h.kv.Purge(ctx, attemptsKey(tenant, id))
	return nil
}

func wrapUnavailable(what string, err error) error {
	return fault.Wrap(fault.Busy, fault.Unavailable, fmt.Errorf("%s: %w", what, err))
}
