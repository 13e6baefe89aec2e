package gatewaytest

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/metadata"

	"inkstream.dev/services/gateway"
)

// StartWithKeys starts a gateway that wants keys, and returns the first admin key.
func StartWithKeys(t *testing.T, change func(*gateway.Config)) (r *Gateway, admin string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "keys", "admin")
	r = Start(t, func(s *Options) {
		s.Cfg.Access.Auth, s.Cfg.Access.AdminKeyFile = gateway.AuthKeys, file
		if change != nil {
			change(&s.Cfg)
		}
	})
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the admin key's file: got mode %v, %v, want 0600", info.Mode(), err)
	}
	return r, strings.TrimSpace(string(data))
}

// RequestWithKey sends a request with a key and returns the status, the headers and the body.
func (c *Client) RequestWithKey(method, path, key, contentType, body string) (int, http.Header, []byte) {
	c.t.Helper()
	resp, data := c.requestWithHead(method, path, key, body, map[string]string{"Content-Type": contentType})
	return resp.StatusCode, resp.Header, data
}

// requestWithHead is ask with headers, of which those without a value are left out. The response's body has been read.
func (c *Client) requestWithHead(method, path, key, body string, head map[string]string) (*http.Response, []byte) {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.BaseURL+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	for name, value := range head {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	resp, err := c.Web.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp, data
}

// NewKey makes a key over REST.
func (c *Client) NewKey(admin, fields string) (id, secret string) {
	c.t.Helper()
	code, _, body := c.RequestWithKey(http.MethodPost, "/v1/keys", admin, "application/json", fields)
	var key struct{ ID, Secret string }
	if err := json.Unmarshal(body, &key); err != nil || code != http.StatusOK || key.Secret == "" {
		c.t.Fatalf("make key %s: %d %s %v", fields, code, body, err)
	}
	return key.ID, key.Secret
}

// WithKey returns a context whose gRPC calls carry an API key.
func WithKey(ctx context.Context, key string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+key)
}
