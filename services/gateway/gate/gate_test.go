package gate_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"inkstream.dev/pkg/certtest"
	"inkstream.dev/pkg/fault"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway"
	"inkstream.dev/services/gateway/access"
	"inkstream.dev/services/gateway/gatewaytest"
	"inkstream.dev/services/gateway/limits"
)

func TestScopes(t *testing.T) {
	t.Parallel()
	r, admin := gatewaytest.StartWithKeys(t, nil)
	_, read := r.NewKey(admin, `{"scopes":["read"]}`)
	_, write := r.NewKey(admin, `{"scopes":["write"]}`)
	id := r.NewJob(nil).ID
	for _, tc := range []struct {
		method, path, body string
		need               access.Scope // "" for none
		call               func(ctx context.Context) error
	}{
		{http.MethodGet, "/healthz", "", "", nil},
		{http.MethodGet, "/v1/jobs/" + string(id), "", access.Read, func(ctx context.Context) error {
			_, err := r.RPC.GetJob(ctx, &inkstreamv1.GetJobRequest{Id: string(id)})
			return err
		}},
		{http.MethodGet, "/v1/jobs/" + string(id) + "/events", "", access.Read, func(ctx context.Context) error {
			_, err := r.RPC.ListEvents(ctx, &inkstreamv1.ListEventsRequest{Id: string(id)})
			return err
		}},
		{http.MethodGet, "/metrics", "", access.Read, nil},
		{http.MethodPost, "/v1/jobs/" + string(id) + ":cancel", "", access.Write, func(ctx context.Context) error {
			_, err := r.RPC.CancelJob(ctx, &inkstreamv1.CancelJobRequest{Id: string(id)})
			return err
		}},
		{http.MethodGet, "/v1/keys", "", access.Admin, func(ctx context.Context) error {
			_, err := r.RPC.ListKeys(ctx, &inkstreamv1.ListKeysRequest{})
			return err
		}},
		{http.MethodGet, "/v1/webhooks", "", access.Admin, func(ctx context.Context) error {
			_, err := r.RPC.ListWebhooks(ctx, &inkstreamv1.ListWebhooksRequest{})
			return err
		}},
	} {
		for _, k := range []struct {
			name, key string
			has       []access.Scope
		}{
			{"no key", "", nil}, {"a wrong key", admin + "x", nil}, {"read", read, []access.Scope{access.Read}},
			{"write", write, []access.Scope{access.Write}}, {"admin", admin, []access.Scope{access.Admin}},
		} {
			want, wantRPC := http.StatusOK, codes.OK
			id := access.Identity{Scopes: k.has}
			switch {
			case tc.need == "":
			case k.has == nil:
				want, wantRPC = http.StatusUnauthorized, codes.Unauthenticated
			case !id.HasScope(tc.need):
				want, wantRPC = http.StatusForbidden, codes.PermissionDenied
			}
			code, header, body := r.RequestWithKey(tc.method, tc.path, k.key, "", tc.body)
			if code != want {
				t.Errorf("%s %s with %s: got %d, want %d: %s", tc.method, tc.path, k.name, code, want, body)
			}
			if (code == http.StatusUnauthorized) != (header.Get("WWW-Authenticate") != "") {
				t.Errorf("%s %s with %s: got %d and WWW-Authenticate %q", tc.method, tc.path, k.name, code,
					header.Get("WWW-Authenticate"))
			}
			if tc.call == nil {
				continue
			}
			ctx := t.Context()
			if k.key != "" {
				ctx = gatewaytest.WithKey(ctx, k.key)
			}
			if got := status.Code(tc.call(ctx)); got != wantRPC {
				t.Errorf("gRPC of %s %s with %s: got %s, want %s", tc.method, tc.path, k.name, got, wantRPC)
			}
		}
	}
	if logs := r.Logs.String(); strings.Contains(logs, admin) || strings.Contains(logs, read) {
		t.Error("the log holds a key")
	}
}

func TestKeyLifecycle(t *testing.T) {
	t.Parallel()
	r, admin := gatewaytest.StartWithKeys(t, nil)
	id, secret := r.NewKey(admin, `{"scopes":["read"],"name":"ci","maxJobs":3,"expireTime":"`+
		time.Now().Add(time.Hour).Format(time.RFC3339)+`"}`)
	works := func(key string) bool {
		code, _, _ := r.RequestWithKey(http.MethodGet, "/v1/deadletters", key, "", "")
		return code == http.StatusOK
	}
	if !works(secret) {
		t.Error("a new key is refused")
	}
	_, _, body := r.RequestWithKey(http.MethodGet, "/v1/keys", admin, "", "")
	if !bytes.Contains(body, []byte(id)) || bytes.Contains(body, []byte(secret)) {
		t.Errorf("list of keys: %s", body)
	}
	_, _, body = r.RequestWithKey(http.MethodPost, "/v1/keys/"+id+":rotate", admin, "", "")
	var rotated struct{ Secret string }
	if err := json.Unmarshal(body, &rotated); err != nil || works(secret) || !works(rotated.Secret) {
		t.Errorf("rotation: %s, %v; old works: %v, new works: %v", body, err, works(secret), works(rotated.Secret))
	}
	if code, _, body := r.RequestWithKey(http.MethodDelete, "/v1/keys/"+id, admin, "", ""); code != http.StatusOK ||
		works(rotated.Secret) {
		t.Errorf("revocation: %d %s; works: %v", code, body, works(rotated.Secret))
	}
	if code, _, body := r.RequestWithKey(http.MethodPost, "/v1/keys", admin, "application/json",
		`{"scopes":["read"],"expireTime":"2001-01-01T00:00:00Z"}`); code != http.StatusBadRequest ||
		!bytes.Contains(body, []byte("expire_time")) {
		t.Errorf("a key that has expired: got %d %s, want 400 that names the field", code, body)
	}
	far := &inkstreamv1.CreateKeyRequest{Scopes: []string{"read"}, ExpireTime: &timestamppb.Timestamp{Seconds: 253402300800}} // the year 10000
	gatewaytest.CheckError(t, r.CallRPC(t.Context(), admin, "CreateKey", far, &inkstreamv1.Key{}), fault.InvalidArgument)
}

func TestRateLimit(t *testing.T) {
	t.Parallel()
	r, admin := gatewaytest.StartWithKeys(t, func(c *gateway.Config) {
		c.Access.Limits = limits.RatesConfig{UploadsPerSecond: 0.01, ReadsPerSecond: 0.2}
	})
	path := "/v1/jobs/" + string(r.NewJob(nil).ID)
	last := 0
	for i := range 3 {
		code, h, body := r.RequestWithKey(http.MethodGet, path, admin, "", "")
		last = code
		if i < 2 && (code != http.StatusOK || h.Get("RateLimit-Limit") != "2" ||
			h.Get("RateLimit-Remaining") != fmt.Sprint(1-i)) {
			t.Fatalf("request %d: got %d, %v: %s", i, code, h, body)
		}
		if i == 2 && (h.Get("Retry-After") != "5" || !bytes.Contains(body, []byte("RATE_LIMITED"))) {
			t.Errorf("beyond the limit: got %v: %s", h, body)
		}
	}
	if last != http.StatusTooManyRequests {
		t.Errorf("beyond the limit: got %d, want 429", last)
	}
	var told metadata.MD
	_, err := r.RPC.GetJob(gatewaytest.WithKey(t.Context(), admin), &inkstreamv1.GetJobRequest{Id: path[len("/v1/jobs/"):]},
		grpc.Header(&told))
	if status.Code(err) != codes.ResourceExhausted {
		t.Errorf("gRPC beyond the limit: got %v, want ResourceExhausted", err)
	}
	if limit, left := told.Get("ratelimit-limit"), told.Get("ratelimit-remaining"); !slices.Equal(limit, []string{"2"}) ||
		!slices.Equal(left, []string{"0"}) {
		t.Errorf("gRPC beyond the limit: told of a limit of %v with %v left, want 2 and 0", limit, left)
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "c"), filepath.Join(dir, "k")
	certtest.WriteCertificate(t, certFile, keyFile, &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
	}, nil)
	r := gatewaytest.Start(t, func(s *gatewaytest.Options) { s.Cfg.Access.TLSCert, s.Cfg.Access.TLSKey = certFile, keyFile })
	pem, err := os.ReadFile(certFile)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	trust := &tls.Config{RootCAs: roots, ServerName: "localhost", MinVersion: tls.VersionTLS12}
	web := &http.Client{Transport: &http.Transport{TLSClientConfig: trust, ForceAttemptHTTP2: true}}
	t.Cleanup(web.CloseIdleConnections)
	resp, err := web.Get("https://" + r.Service.Addrs().HTTP + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if got := resp.Header.Get("Strict-Transport-Security"); got == "" {
		t.Error("no Strict-Transport-Security over TLS")
	}
	if resp.StatusCode != http.StatusOK || resp.ProtoMajor != 2 {
		t.Errorf("got %s over %s, want 200 over HTTP/2", resp.Status, resp.Proto)
	}
	conn, err := grpc.NewClient(r.Service.Addrs().GRPC, grpc.WithTransportCredentials(credentials.NewTLS(trust)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	id := string(r.NewJob(nil).ID)
	if _, err := inkstreamv1.NewInkstreamServiceClient(conn).GetJob(t.Context(),
		&inkstreamv1.GetJobRequest{Id: id}); err != nil {
		t.Errorf("gRPC over TLS: %v", err)
	}
	if _, err := r.RPC.GetJob(t.Context(), &inkstreamv1.GetJobRequest{Id: id}); status.Code(err) != codes.Unavailable {
		t.Errorf("gRPC without TLS: got %v, want Unavailable", err)
	}
}

// TestFirstAdminKeyOfSeveralGateways: where the file is there already, the key in it is the first admin key, at every
// gateway that has the file.
func TestFirstAdminKeyOfSeveralGateways(t *testing.T) {
	t.Parallel()
	const secret = "ink_0123456789abcdef_0123456789abcdef0123456789abcdef"
	file := filepath.Join(t.TempDir(), "admin.key")
	if err := os.WriteFile(file, []byte(secret+"\n"), 0o400); err != nil {
		t.Fatal(err)
	}
	first := gatewaytest.Start(t, func(s *gatewaytest.Options) { s.Cfg.Access.Auth, s.Cfg.Access.AdminKeyFile = gateway.AuthKeys, file })
	second := gatewaytest.Start(t, func(s *gatewaytest.Options) {
		s.Bus = first.Deps.Bus
		s.Cfg.Access.Auth, s.Cfg.Access.AdminKeyFile = gateway.AuthKeys, file
	})
	for _, r := range []*gatewaytest.Gateway{first, second} {
		if code, _, body := r.RequestWithKey(http.MethodGet, "/v1/keys", secret, "", ""); code != http.StatusOK ||
			strings.Count(string(body), `"id"`) != 1 {
			t.Errorf("got %d, %s, want 200 and one key", code, body)
		}
		if code, _, _ := r.RequestWithKey(http.MethodGet, "/v1/keys", secret+"0", "", ""); code != http.StatusUnauthorized {
			t.Errorf("another secret: got %d, want 401", code)
		}
	}
}
