package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/nats-io/nats.go"
)

var openAttacks = []attack{
	{"open", "web pages of other origins, and names that lead to this machine", "403 for all", attackFromPages},
	{"2", "without keys: the broker's buckets of keys and webhooks", "neither read nor written", attackOpenBroker},
}

func attackFromPages(ctx context.Context, t *testbed) (string, error) {
	s := t.server
	tried := 0
	for _, head := range []map[string]string{
		{"Host": "evil.example"}, {"Host": "localhost.evil.example"}, {"Host": "127.0.0.1.evil.example"}, {"Origin": "https://evil.example"},
		{"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Origin": "http://localhost.evil.example"},
	} {
		for _, path := range []string{"/v1/jobs", "/v1/jobs:delete", "/process_pdf", "/v1/uploads"} {
			code, body, err := s.exchange(ctx, "", http.MethodPost, path, head, []byte("{}"))
			tried++
			if err != nil || code != http.StatusForbidden {
				return "", fmt.Errorf("POST %s with %v: %d %.100s, %w", path, head, code, body, err)
			}
		}
		if head["Host"] != "" {
			if code, _, err := s.exchange(ctx, "", http.MethodGet, "/v1/jobs", head, nil); err != nil || code != http.StatusForbidden {
				return "", fmt.Errorf("GET with %v: %d, %w", head, code, err)
			}
		}
	}
	if code, _, err := s.exchange(ctx, "", http.MethodGet, "/v1/jobs", nil, nil); err != nil || code != http.StatusOK {
		return "", fmt.Errorf("the API itself: %d, %w", code, err)
	}
	return fmt.Sprintf("%d of %[1]d refused", tried), nil
}

func attackOpenBroker(ctx context.Context, t *testbed) (string, error) {
	conn, err := nats.Connect(t.server.nats, quiet)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if _, err := conn.RequestWithContext(ctx, "$JS.API.STREAM.INFO.INK_INGEST", nil); err != nil {
		return "", fmt.Errorf("the queues cannot be looked at: %w", err)
	}
	subjects := []string{"$KV.keys.0123456789abcdef", "$JS.API.DIRECT.GET.KV_keys", "$JS.API.STREAM.MSG.GET.KV_keys", "$JS.API.STREAM.DELETE.KV_keys",
		"$JS.API.STREAM.PURGE.KV_keys", "$JS.API.CONSUMER.CREATE.KV_keys", "$KV.webhooks.x", "$JS.API.STREAM.MSG.GET.KV_webhooks",
		"$JS.API.STREAM.UPDATE.KV_keys", "$JS.API.STREAM.SNAPSHOT.KV_keys"}
	for _, subject := range subjects {
		rctx, cancel := context.WithTimeout(ctx, 400*time.Millisecond)
		_, err := conn.RequestWithContext(rctx, subject, []byte(`{"last_by_subj":"$KV.keys.>"}`))
		cancel()
		if err == nil || errors.Is(err, nats.ErrConnectionClosed) {
			return "", fmt.Errorf("%s is answered, %w", subject, err)
		}
	}
	return fmt.Sprintf("%d of %[1]d refused", len(subjects)), nil
}
