package jobview

import (
	"context"
	"errors"

	"inkstream.dev/pkg/job"
	"inkstream.dev/services/gateway/internal/apijson"
	"inkstream.dev/services/gateway/webhook"
)

// LoadWebhookJob tells the webhooks about a job.
func (s *Service) LoadWebhookJob(ctx context.Context, tenant, id string) (webhook.Job, error) {
	rec, err := s.deps.Jobs.LoadRecord(ctx, tenant, job.ID(id))
	if errors.Is(err, job.ErrNotFound) || err == nil && rec.State.IsGone() {
		return webhook.Job{}, webhook.ErrNoJob
	}
	if err != nil {
		return webhook.Job{}, err
	}
	p, err := s.LoadProgress(ctx, rec)
	if err != nil {
		return webhook.Job{}, err
	}
	body, err := apijson.EncodeJSON(ToProto(rec, p))
	if err != nil {
		return webhook.Job{}, err
	}
	return webhook.Job{Body: body, URL: rec.Webhook}, nil
}
