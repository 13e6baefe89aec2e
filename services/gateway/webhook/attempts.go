package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// maxAttempts bounds the attempts that are kept of a webhook.
	maxAttempts = 50
	// recordTries is how often an attempt is tried to be kept while other gateways keep theirs.
	recordTries = 5
)

// ErrNoDelivery means that there is no such delivery among those that are kept.
var ErrNoDelivery = errors.New("no such delivery")

// Attempt is an attempt to call a webhook.
type Attempt struct {
	// Delivery names the call, as the receiver sees it.
	Delivery string    `json:"delivery"`
	Job      string    `json:"job"`
	Run      int       `json:"run"`
	Time     time.Time `json:"time"`
	// Number counts the attempts of the call from 1.
	Number int `json:"number"`
	// Status is the receiver's; 0 where it did not answer.
	Status int `json:"status,omitempty"`
	// Error says why it failed; it tells nothing of the address.
	Error string        `json:"error,omitempty"`
	Took  time.Duration `json:"took"`
	// RetryTime is when the next attempt is made; zero where there is none.
	RetryTime time.Time `json:"retryTime,omitzero"`
}

func attemptsKey(tenant, id string) string { return "delivery." + tenant + "." + id }

// ListAttempts returns the last attempts to call a webhook of the tenant, the newest first.
func (h *Hooks) ListAttempts(ctx context.Context, tenant, id string) ([]Attempt, error) {
	if _, err := h.Get(ctx, tenant, id); err != nil {
		return nil, err
	}
	attempts, _, err := h.readAttempts(ctx, tenant, id)
	slices.Reverse(attempts)
	return attempts, err
}

// readAttempts returns what is kept, the oldest first, and its revision; 0 where there is nothing yet.
func (h *Hooks) readAttempts(ctx context.Context, tenant, id string) ([]Attempt, uint64, error) {
	e, err := h.kv.Get(ctx, attemptsKey(tenant, id))
	if errors.Is(err, jetstream.ErrKeyNotFound) || errors.Is(err, jetstream.ErrInvalidKey) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, wrapUnavailable("read deliveries", err)
	}
	var attempts []Attempt
	if err := json.Unmarshal(e.Value(), &attempts); err != nil {
		return nil, 0, fmt.Errorf("decode deliveries: %w", err)
	}
	return attempts, e.Revision(), nil
}

// recordAttempt keeps an attempt, and drops the oldest where there are too many. It is for people to look at, so one
// that cannot be kept is no reason to call again.
func (h *Hooks) recordAttempt(ctx context.Context, tenant, id string, a Attempt) (err error) {
	for range recordTries {
		var attempts []Attempt
		var revision uint64
		if attempts, revision, err = h.readAttempts(ctx, tenant, id); err != nil {
			return err
		}
		attempts = append(attempts, a)
		data, encodeErr := json.Marshal(attempts[max(0, len(attempts)-maxAttempts):])
		if encodeErr != nil {
			return fmt.Errorf("encode deliveries: %w", encodeErr)
		}
		if revision == 0 {
			_, err = h.kv.Create(ctx, attemptsKey(tenant, id), data)
		} else {
			_, err = h.kv.Update(ctx, attemptsKey(tenant, id), data, revision)
		}
		if err == nil {
			return nil
		}
	}
	return fmt.Errorf("keep delivery: %w", err)
}

// Redeliver makes a call to a webhook of the tenant again, one of those whose attempts are kept.
func (d *Dispatcher) Redeliver(ctx context.Context, tenant, hook, id string) error {
	attempts, err := d.hooks.ListAttempts(ctx, tenant, hook)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(attempts, func(a Attempt) bool { return a.Delivery == id })
	if i < 0 {
		return ErrNoDelivery
	}
	return d.queueAgain(ctx, delivery{Tenant: tenant, Job: attempts[i].Job, Run: attempts[i].Run, Hook: hook})
}
