package access_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/telemetry"
	"inkstream.dev/services/gateway/access"
	"inkstream.dev/services/gateway/access/oidctest"
)

// startServer starts a server that has the buckets.
func startServer(t *testing.T) *bustest.Server {
	t.Helper()
	srv := bustest.StartServer(t)
	if err := bustest.Connect(t, srv).Provision(t.Context(), bus.Topology{}); err != nil {
		t.Fatal(err)
	}
	return srv
}

func openKeys(t *testing.T, b *bus.Bus) *access.Keys {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	k, err := access.OpenKeys(ctx, b.JetStream(), telemetry.NewDiscard().Log)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func createKey(t *testing.T, k *access.Keys, key access.Key) (access.Key, string) {
	t.Helper()
	key, secret, err := k.CreateKey(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return key, secret
}

func TestKeys(t *testing.T) {
	t.Parallel()
	srv := startServer(t)
	b := bustest.Connect(t, srv)
	k := openKeys(t, b)
	auth := access.NewAuthenticator(k, nil, nil)
	key, secret := createKey(t, k, access.Key{Tenant: "acme", Scopes: []access.Scope{access.Write}, Name: "ci"})
	_, expired := createKey(t, k, access.Key{Tenant: "acme", Scopes: []access.Scope{access.Read},
		ExpireTime: time.Now().Add(-time.Second)})

	for _, tc := range []struct {
		name, given string
		ok          bool
	}{
		{"the secret", secret, true},
		{"another end", secret[:len(secret)-1] + "!", false},
		{"cut short", secret[:len(secret)-1], false},
		{"longer", secret + "A", false},
		{"unknown id", "ink_0011223344556677_" + strings.Repeat("A", 26), false},
		{"no random part", "ink_" + key.ID, false},
		{"prefix alone", "ink_", false},
		{"expired", expired, false},
		{"empty", "", false},
		{"a token without an issuer", "eyJhbGciOiJub25lIn0.e30.", false},
		{"the hash", key.Hash, false},
	} {
		id, err := auth.Authenticate(t.Context(), tc.given)
		if tc.ok != (err == nil) || err != nil && !errors.Is(err, access.ErrInvalidCredentials) {
			t.Errorf("%s: got %v, want it taken: %v", tc.name, err, tc.ok)
		}
		if tc.ok && (id.Tenant != "acme" || !id.HasScope(access.Write) || id.HasScope(access.Admin)) {
			t.Errorf("%s: got identity %+v", tc.name, id)
		}
	}
	e, err := b.JetStream().KeyValue(t.Context(), "keys")
	if err != nil {
		t.Fatal(err)
	}
	stored, err := e.Get(t.Context(), key.ID)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(stored.Value()), strings.Split(secret, "_")[2]) {
		t.Error("the bucket holds the secret")
	}
}

// A key that is rotated or revoked at one gateway is refused at another.
func TestKeysFollowBucket(t *testing.T) {
	t.Parallel()
	srv := startServer(t)
	here, there := openKeys(t, bustest.Connect(t, srv)), openKeys(t, bustest.Connect(t, srv))
	key, first := createKey(t, here, access.Key{Tenant: "acme", Scopes: []access.Scope{access.Read}})
	await := func(what, secret string, want bool) {
		t.Helper()
		for {
			_, err := access.NewAuthenticator(there, nil, nil).Authenticate(t.Context(), secret)
			if (err == nil) == want {
				return
			}
			select {
			case <-t.Context().Done():
				t.Fatalf("%s: taken: %v, want %v", what, err == nil, want)
			case <-time.After(5 * time.Millisecond):
			}
		}
	}
	await("a new key", first, true)
	if _, _, err := here.RotateKey(t.Context(), "other", key.ID); !errors.Is(err, access.ErrNoKey) {
		t.Errorf("rotate another tenant's key: got %v, want ErrNoKey", err)
	}
	_, second, err := here.RotateKey(t.Context(), "acme", key.ID)
	if err != nil {
		t.Fatal(err)
	}
	await("the old secret", first, false)
	await("the new secret", second, true)
	if err := here.RevokeKey(t.Context(), "other", key.ID); !errors.Is(err, access.ErrNoKey) {
		t.Errorf("revoke another tenant's key: got %v, want ErrNoKey", err)
	}
	if err := here.RevokeKey(t.Context(), "acme", key.ID); err != nil {
		t.Fatal(err)
	}
	await("a revoked key", second, false)
	if got := here.ListKeys("acme"); len(got) != 0 {
		t.Errorf("got %d keys after the last was revoked, want 0", len(got))
	}
}

func TestOIDC(t *testing.T) {
	t.Parallel()
	i := oidctest.New(t)
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	o, err := access.NewOIDC(ctx, access.OIDCConfig{Issuer: i.URL, Audience: "inkstream", TenantClaim: "tenant",
		ScopeClaim: "scope"})
	if err != nil {
		t.Fatal(err)
	}
	auth := access.NewAuthenticator(openKeys(t, bustest.New(t)), nil, o)
	other := oidctest.New(t)
	for _, tc := range []struct {
		name  string
		token string
		ok    bool
	}{
		{"sound", i.Token(func(map[string]any) {}), true},
		{"scopes as a list", i.Token(func(c map[string]any) { c["scope"] = []string{"write"} }), true},
		{"another audience", i.Token(func(c map[string]any) { c["aud"] = "else" }), false},
		{"another issuer", i.Token(func(c map[string]any) { c["iss"] = other.URL }), false},
		{"signed by another", other.Token(func(c map[string]any) { c["iss"] = i.URL }), false},
		{"expired", i.Token(func(c map[string]any) { c["exp"] = time.Now().Add(-time.Hour).Unix() }), false},
		{"no scope of ours", i.Token(func(c map[string]any) { c["scope"] = "openid" }), false},
		{"no tenant", i.Token(func(c map[string]any) { delete(c, "tenant") }), false},
		{"a tenant that is a subject", i.Token(func(c map[string]any) { c["tenant"] = "a.b.>" }), false},
		{"unsigned", "eyJhbGciOiJub25lIn0.e30.", false},
	} {
		id, err := auth.Authenticate(t.Context(), tc.token)
		if tc.ok != (err == nil) {
			t.Errorf("%s: got %v, want it taken: %v", tc.name, err, tc.ok)
		}
		if tc.ok && (id == nil || id.Tenant != "acme" || !slices.Equal(id.Scopes, []access.Scope{access.Write}) ||
			id.Caller != "sub:ann") {
			t.Errorf("%s: got identity %+v", tc.name, id)
		}
	}
	i.RotateKey(t, "two")
	if _, err := auth.Authenticate(t.Context(), i.Token(func(map[string]any) {})); err != nil {
		t.Errorf("after the issuer rotated its keys: %v", err)
	}
}

// Tokens that name keys which there are not cost the issuer few questions, and no new key is missed for them.
func TestUnknownKeysLeaveRoomForNewOnes(t *testing.T) {
	t.Parallel()
	i := oidctest.New(t)
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	o, err := access.NewOIDC(ctx, access.OIDCConfig{Issuer: i.URL, Audience: "inkstream", TenantClaim: "tenant", ScopeClaim: "scope"})
	if err != nil {
		t.Fatal(err)
	}
	auth := access.NewAuthenticator(openKeys(t, bustest.New(t)), nil, o)
	other := oidctest.New(t)
	other.RotateKey(t, "unknown")
	forged := other.Token(func(c map[string]any) { c["iss"] = i.URL })
	flood, stop := context.WithCancel(t.Context())
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for flood.Err() == nil {
				if _, err := auth.Authenticate(flood, forged); err == nil {
					t.Error("a forged token is taken")
				}
			}
		})
	}
	for range 40 { // more than the burst of questions
		_, _ = auth.Authenticate(t.Context(), forged)
		if i.KeysAsked() > 5 {
			break
		}
	}
	i.RotateKey(t, "two")
	token, start := i.Token(func(map[string]any) {}), time.Now()
	for {
		_, err := auth.Authenticate(t.Context(), token)
		if err == nil {
			break
		}
		if !errors.Is(err, access.ErrInvalidCredentials) || time.Since(start) > 5*time.Second {
			t.Fatalf("the new key's token after %s: %v", time.Since(start), err)
		}
	}
	stop()
	workers.Wait()
	if n := i.KeysAsked(); n > 40 {
		t.Errorf("the issuer was asked %d times", n)
	}
}

// TestImportKey: several gateways that take up the same key at once have it once, and none takes up what is no key.
func TestImportKey(t *testing.T) {
	t.Parallel()
	const secret = "ink_0123456789abcdef_0123456789abcdef0123456789abcdef"
	srv := startServer(t)
	one, other := openKeys(t, bustest.Connect(t, srv)), openKeys(t, bustest.Connect(t, srv))
	key := access.Key{Tenant: job.DefaultTenant, Scopes: []access.Scope{access.Admin}}
	for _, k := range []*access.Keys{one, other, one} {
		if err := k.ImportKey(t.Context(), key, secret); err != nil {
			t.Fatal(err)
		}
	}
	bustest.EventuallyWithin(t, 10*time.Second, "both have it",
		func() bool { return one.HasAdminKey(job.DefaultTenant) && other.HasAdminKey(job.DefaultTenant) })
	if got := len(other.ListKeys(job.DefaultTenant)); got != 1 {
		t.Errorf("got %d keys, want 1", got)
	}
	for _, bad := range []string{"", "secret", "ink_0123456789abcdef_short", "ink_XYZ_0123456789abcdef0123456789abcdef"} {
		if err := one.ImportKey(t.Context(), key, bad); err == nil {
			t.Errorf("%q was taken for a key", bad)
		}
	}
}
