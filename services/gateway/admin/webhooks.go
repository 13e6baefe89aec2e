package admin

import (
	"context"
	"errors"

	"google.golang.org/protobuf/types/known/emptypb"

	"inkstream.dev/pkg/fault"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/access"
	"inkstream.dev/services/gateway/internal/apierror"
	"inkstream.dev/services/gateway/jobview"
	"inkstream.dev/services/gateway/webhook"
)

// Webhooks manages the addresses that are told of every job of a tenant that ends.
type Webhooks struct {
	hooks  *webhook.Hooks
	policy webhook.Policy
	calls  *webhook.Dispatcher
}

// NewWebhooks returns Webhooks that take the addresses that the policy allows.
func NewWebhooks(hooks *webhook.Hooks, policy webhook.Policy, calls *webhook.Dispatcher) *Webhooks {
	return &Webhooks{hooks: hooks, policy: policy, calls: calls}
}

// CreateWebhook has an address told of every job of the tenant that ends.
func (s *Webhooks) CreateWebhook(ctx context.Context,
	req *inkstreamv1.CreateWebhookRequest) (*inkstreamv1.Webhook, error) {
	if err := s.policy.CheckURL(req.GetUrl()); err != nil {
		return nil, apierror.InvalidField(apierror.WebhookForbidden, "url", "%s", err)
	}
	hook, err := s.hooks.CreateHook(ctx, access.TenantFrom(ctx), req.GetUrl())
	if errors.Is(err, webhook.ErrTooMany) {
		return nil, fault.New(apierror.QuotaExceeded, "%s", err)
	}
	if err != nil {
		return nil, err
	}
	v := webhookToProto(hook)
	v.Secret = hook.Secret
	return v, nil
}

// ListWebhooks answers the tenant's webhooks.
func (s *Webhooks) ListWebhooks(ctx context.Context,
	_ *inkstreamv1.ListWebhooksRequest) (*inkstreamv1.ListWebhooksResponse, error) {
	resp := &inkstreamv1.ListWebhooksResponse{}
	for _, hook := range s.hooks.ListHooks(access.TenantFrom(ctx)) {
		resp.Webhooks = append(resp.Webhooks, webhookToProto(hook))
	}
	return resp, nil
}

// DeleteWebhook ends a webhook.
func (s *Webhooks) DeleteWebhook(ctx context.Context, req *inkstreamv1.DeleteWebhookRequest) (*emptypb.Empty, error) {
	if err := s.hooks.Delete(ctx, access.TenantFrom(ctx), req.GetId()); err != nil {
		return nil, classifyHookError(err)
	}
	return &emptypb.Empty{}, nil
}

// ListWebhookDeliveries answers the last attempts to call a webhook.
func (s *Webhooks) ListWebhookDeliveries(ctx context.Context,
	req *inkstreamv1.ListWebhookDeliveriesRequest) (*inkstreamv1.ListWebhookDeliveriesResponse, error) {
	attempts, err := s.hooks.ListAttempts(ctx, access.TenantFrom(ctx), req.GetId())
	if err != nil {
		return nil, classifyHookError(err)
	}
	resp := &inkstreamv1.ListWebhookDeliveriesResponse{}
	for _, a := range attempts {
		resp.Deliveries = append(resp.Deliveries, &inkstreamv1.WebhookDelivery{
			Id: a.Delivery, Job: a.Job, Run: int32(a.Run), Time: jobview.TimeToProto(a.Time), Attempt: int32(a.Number),
			Status: int32(a.Status), Error: a.Error, Seconds: a.Took.Seconds(), RetryTime: jobview.TimeToProto(a.RetryTime),
		})
	}
	return resp, nil
}

// RedeliverWebhook makes a call again.
func (s *Webhooks) RedeliverWebhook(ctx context.Context,
	req *inkstreamv1.RedeliverWebhookRequest) (*emptypb.Empty, error) {
	if err := s.calls.Redeliver(ctx, access.TenantFrom(ctx), req.GetId(), req.GetDelivery()); err != nil {
		return nil, classifyHookError(err)
	}
	return &emptypb.Empty{}, nil
}

// classifyHookError makes an answer of what the store of webhooks says.
func classifyHookError(err error) error {
	switch {
	case errors.Is(err, webhook.ErrNoHook):
		return fault.New(apierror.WebhookNotFound, "there is no such webhook")
	case errors.Is(err, webhook.ErrNoDelivery):
		return fault.New(apierror.WebhookNotFound, "there is no such delivery among the last ones")
	default:
		return err
	}
}

func webhookToProto(h webhook.Hook) *inkstreamv1.Webhook {
	return &inkstreamv1.Webhook{Id: h.ID, Url: h.URL, CreateTime: jobview.TimeToProto(h.CreateTime)}
}
