package main

import (
	"context"
	"crypto"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

var credentialAttacks = []attack{
	{"tokens", "forged and misused JWTs", "401 for all, 200 for the sound one", attackTokens},
	{"tokens", "tokens with unknown kids while the issuer changes its key", "the new key's tokens work within 5 s", attackIssuerKeys},
	{"tokens", "forged API keys and sessions", "401 for all", attackSecrets},
	{"weak points", "a watch whose key is revoked", "ends within a second", attackRevokedWatch},
	{"weak points", "retention=0 without the scope for it", "refused", attackRetention},
	{"weak points", "limits of a tenant, unless the operator sets others", "jobs, bytes and requests are bounded", attackDefaults},
}

const audience = "inkstream-attack"

// issuer signs tokens as an OpenID Connect provider does.
type issuer struct {
	*httptest.Server
	asked atomic.Int64 // for its keys

	mu  sync.Mutex // guards what follows
	key *rsa.PrivateKey
	kid string
}

func newIssuer() *issuer {
	i := &issuer{}
	i.changeKey("first")
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"issuer": i.URL, "jwks_uri": i.URL + "/keys",
			"id_token_signing_alg_values_supported": []string{"RS256"}})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		i.asked.Add(1)
		i.mu.Lock()
		defer i.mu.Unlock()
		_ = json.NewEncoder(w).Encode(map[string]any{"keys": []any{encodePublicKey(&i.key.PublicKey, i.kid)}})
	})
	i.Server = httptest.NewServer(mux)
	return i
}

func encodePublicKey(key *rsa.PublicKey, kid string) map[string]any {
	return map[string]any{"kty": "RSA", "alg": "RS256", "use": "sig", "kid": kid, "n": base64.RawURLEncoding.EncodeToString(key.N.Bytes()),
		"e": base64.RawURLEncoding.EncodeToString(big.NewInt(int64(key.E)).Bytes())}
}

func (i *issuer) changeKey(kid string) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err) // never
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.key, i.kid = key, kid
}

func encodePart(v any) string { return base64.RawURLEncoding.EncodeToString(mustJSON(v)) }

// signToken returns a token; claims and head replace those of a sound one, nil takes one away.
func (i *issuer) signToken(key *rsa.PrivateKey, head, claims map[string]any) string {
	i.mu.Lock()
	defer i.mu.Unlock()
	if key == nil {
		key = i.key
	}
	now := time.Now()
	h := map[string]any{"alg": "RS256", "typ": "JWT", "kid": i.kid}
	c := map[string]any{"iss": i.URL, "aud": audience, "sub": "eve", "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(), "tenant": villain,
		"scope": "read"}
	for to, from := range map[*map[string]any]map[string]any{&h: head, &c: claims} {
		maps.Copy(*to, from)
		maps.DeleteFunc(*to, func(_ string, v any) bool { return v == nil })
	}
	signed := encodePart(h) + "." + encodePart(c)
	sum := sha256.Sum256([]byte(signed))
	signature, err := rsa.SignPKCS1v15(nil, key, crypto.SHA256, sum[:])
	if err != nil {
		panic(err) // never
	}
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// forgedTokens returns tokens that must not be taken.
func (i *issuer) forgedTokens() (map[string]string, error) {
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	type m = map[string]any
	sound := i.signToken(nil, nil, nil)
	parts := strings.Split(sound, ".")
	toVictim := encodePart(m{"iss": i.URL, "aud": audience, "sub": "eve", "exp": time.Now().Add(time.Hour).Unix(), "tenant": victim,
		"scope": "admin"})
	public, err := x509.MarshalPKIXPublicKey(&i.key.PublicKey)
	if err != nil {
		return nil, err
	}
	confused := encodePart(m{"alg": "HS256", "kid": i.kid}) + "." + toVictim
	mac := hmac.New(sha256.New, public)
	mac.Write([]byte(confused))
	all := map[string]string{
		"alg none":               encodePart(m{"alg": "none"}) + "." + toVictim + ".",
		"alg None":               encodePart(m{"alg": "None", "kid": i.kid}) + "." + toVictim + ".",
		"the public key as HMAC": confused + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil)),
		"another payload":        parts[0] + "." + toVictim + "." + parts[2],
		"no signature":           parts[0] + "." + parts[1] + ".",
		"two parts":              parts[0] + "." + parts[1],
		"signed by another":      i.signToken(other, nil, m{"tenant": victim}),
		"its own key":            i.signToken(other, m{"jwk": encodePublicKey(&other.PublicKey, "x"), "kid": nil}, m{"tenant": victim}),
		"a key elsewhere":        i.signToken(other, m{"jku": "http://127.0.0.1:1/keys", "x5u": "http://127.0.0.1:1/"}, m{"tenant": victim}),
		"a kid with a path":      i.signToken(other, m{"kid": "../../../dev/null"}, m{"tenant": victim}),
		"a critical extension":   i.signToken(nil, m{"crit": []string{"exp2"}, "exp2": 1}, nil),
	}
	for name, claims := range map[string]m{
		"expired": {"exp": time.Now().Add(-time.Hour).Unix()}, "no end": {"exp": nil}, "not yet valid": {"nbf": time.Now().Add(time.Hour).Unix()},
		"another audience": {"aud": "other"}, "no audience": {"aud": nil}, "another issuer": {"iss": "https://evil.example"},
		"no tenant": {"tenant": nil}, "a tenant of two": {"tenant": []string{villain, victim}}, "a tenant with a path": {"tenant": "../" + victim},
		"a tenant as a subject": {"tenant": victim + ".>"}, "a tenant in capitals": {"tenant": strings.ToUpper(victim)}, "no scope": {"scope": nil},
		"an unknown scope": {"scope": "root"}, "a tenant with a newline": {"tenant": victim + "\n"},
	} {
		all[name] = i.signToken(nil, nil, claims)
	}
	return all, nil
}

func attackTokens(ctx context.Context, t *testbed) (string, error) {
	forged, err := t.issuer.forgedTokens()
	if err != nil {
		return "", err
	}
	path := "/v1/jobs/" + t.server.job
	for name, token := range forged {
		for _, p := range []string{path, "/v1/me"} {
			if code, body, err := t.server.exchange(ctx, token, http.MethodGet, p, nil, nil); err != nil || code != http.StatusUnauthorized {
				return "", fmt.Errorf("%s: %d %.100s, %w", name, code, body, err)
			}
		}
	}
	sound := t.issuer.signToken(nil, nil, nil)
	if code, body, err := t.server.exchange(ctx, sound, http.MethodGet, "/v1/me", nil, nil); err != nil || code != http.StatusOK {
		return "", fmt.Errorf("a sound token: %d %.100s, %w", code, body, err)
	}
	if code, _, err := t.server.exchange(ctx, sound, http.MethodGet, path, nil, nil); err != nil || code != http.StatusNotFound {
		return "", fmt.Errorf("a sound token of the villain's for the victim's job: %d, %w", code, err)
	}
	return fmt.Sprintf("%d of %d refused", len(forged), len(forged)), nil
}

// attackIssuerKeys sends tokens that name keys which there are not, without end, while the issuer takes another key.
func attackIssuerKeys(ctx context.Context, t *testbed) (string, error) {
	s := t.server
	fctx, stop := context.WithCancel(ctx)
	var flood sync.WaitGroup
	defer func() { stop(); flood.Wait() }()
	var sent atomic.Int64
	for worker := range 8 {
		flood.Go(func() {
			for n := 0; fctx.Err() == nil; n++ {
				token := t.issuer.signToken(nil, map[string]any{"kid": fmt.Sprintf("none-%d-%d", worker, n)}, nil)
				_, _, _ = s.exchange(fctx, token, http.MethodGet, "/v1/me", map[string]string{}, nil) // whatever comes of it
				sent.Add(1)
			}
		})
	}
	asked := t.issuer.asked.Load()
	if err := waitFor(ctx, 3*time.Second); err != nil {
		return "", err
	}
	t.issuer.changeKey("second")
	start := time.Now()
	for {
		code, _, err := s.exchange(ctx, t.issuer.signToken(nil, nil, nil), http.MethodGet, "/v1/me", nil, nil)
		if err != nil {
			return "", err
		}
		took := time.Since(start)
		if code == http.StatusOK {
			return fmt.Sprintf("%.1f s, %d requests to the issuer for %d tokens", took.Seconds(), t.issuer.asked.Load()-asked, sent.Load()), nil
		}
		if took > 5*time.Second || code == http.StatusServiceUnavailable {
			return "", fmt.Errorf("after %.1f s the new key's token is answered %d", took.Seconds(), code)
		}
	}
}

func waitFor(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

func attackSecrets(ctx context.Context, t *testbed) (string, error) {
	s := t.server
	own := s.keys[villain+"/admin"]
	victims := s.keys[victim+"/read"]
	id, _, _ := strings.Cut(strings.TrimPrefix(victims, "ink_"), "_")
	forged := []string{"ink_", "ink__", "ink_" + id, "ink_" + id + "_", "ink_" + id + "_" + own[len(own)-26:], victims[:len(victims)-1],
		victims + "x", strings.ToUpper(victims), "ink_" + strings.Repeat("a", 60_000), "Basic x", "null", "undefined", "' OR 1=1 --"}
	for _, secret := range forged {
		code, body, err := s.exchange(ctx, secret, http.MethodGet, "/v1/jobs/"+s.job, nil, nil)
		if err != nil || code != http.StatusUnauthorized && code != http.StatusRequestHeaderFieldsTooLarge {
			return "", fmt.Errorf("%.30q: %d %.100s, %w", secret, code, body, err)
		}
	}
	for _, cookie := range []string{"inkstream_session=", "inkstream_session=" + victims, "inkstream_session=" + strings.Repeat("A", 200)} {
		code, _, err := s.exchange(ctx, "", http.MethodGet, "/v1/me", map[string]string{"Cookie": cookie}, nil)
		if err != nil || code != http.StatusUnauthorized {
			return "", fmt.Errorf("cookie %.40q: %d, %w", cookie, code, err)
		}
	}
	// A session is for pages of the server's own alone.
	resp, err := s.sendRequest(ctx, villain+"/write", http.MethodPost, "/v1/session", map[string]string{"Content-Type": "application/json"},
		strings.NewReader(string(mustJSON(map[string]string{"key": s.keys[villain+"/write"]}))))
	if err != nil {
		return "", err
	}
	resp.Body.Close()
	if len(resp.Cookies()) == 0 {
		return "", fmt.Errorf("no session begins: %s", resp.Status)
	}
	for _, c := range resp.Cookies() {
		if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode {
			return "", fmt.Errorf("the session's cookie is open to scripts or other sites: %v", c)
		}
		code, _, err := s.exchange(ctx, "", http.MethodPost, "/v1/jobs:delete", map[string]string{"Cookie": c.Name + "=" + c.Value,
			"Origin": "https://evil.example", "Content-Type": "application/json"}, []byte(`{"filter":{"filename":"x"}}`))
		if err != nil || code != http.StatusForbidden {
			return "", fmt.Errorf("a page of another origin with the session: %d, %w", code, err)
		}
	}
	return fmt.Sprintf("%d of %[1]d refused", len(forged)+4), nil
}

// attackRevokedWatch keeps streams open with keys that are revoked.
func attackRevokedWatch(ctx context.Context, t *testbed) (string, error) {
	s := t.server
	j, code, err := s.submit(ctx, villain+"/write", "&lane=batch&page_timeout=20s", tilingDocument(2))
	if err != nil || code != http.StatusAccepted {
		return "", fmt.Errorf("upload: %d, %w", code, err)
	}
	defer func() {
		_, _ = s.callJSON(ctx, villain+"/write", http.MethodPost, "/v1/jobs/"+j.ID+":cancel", nil, nil)
	}()
	worst := time.Duration(0)
	for _, path := range []string{"/v1/jobs/" + j.ID + "/watch", "/v1/jobs:watch", "/v1/jobs/" + j.ID + "?wait=30s"} {
		id, err := s.newKey(ctx, villain, "read", map[string]any{"name": "to be revoked"})
		if err != nil {
			return "", err
		}
		wctx, cancel := context.WithTimeout(ctx, 8*time.Second)
		ended := make(chan error, 1)
		go func() {
			_, _, err := s.exchange(wctx, villain+"/"+id, http.MethodGet, path, map[string]string{"Accept": "text/event-stream"}, nil)
			ended <- err
		}()
		if err := waitFor(ctx, 500*time.Millisecond); err != nil {
			cancel()
			return "", err
		}
		if code, err := s.callJSON(ctx, villain+"/admin", http.MethodDelete, "/v1/keys/"+id, nil, nil); err != nil || code != http.StatusOK {
			cancel()
			return "", fmt.Errorf("revoke: %d, %w", code, err)
		}
		start := time.Now()
		<-ended
		open := wctx.Err() != nil
		cancel()
		took := time.Since(start)
		if worst = max(worst, took); open || took > 1500*time.Millisecond {
			return "", fmt.Errorf("%s goes on for %.1f s after its key was revoked", path, took.Seconds())
		}
	}
	return fmt.Sprintf("%.1f s at most", worst.Seconds()), nil
}

func attackRetention(ctx context.Context, t *testbed) (string, error) {
	s := t.server
	for _, who := range []string{villain + "/write", villain + "/admin"} {
		j, code, err := s.submit(ctx, who, "&retention=0s", s.document)
		if err != nil {
			return "", err
		}
		want := http.StatusForbidden
		if strings.HasSuffix(who, "admin") {
			want = http.StatusAccepted
		}
		if code != want {
			return "", fmt.Errorf("%s keeps job %s for ever: %d, want %d", who, j.ID, code, want)
		}
	}
	return "403 for a writer, 202 for an administrator", nil
}

// attackDefaults reads what a caller may use.
func attackDefaults(ctx context.Context, t *testbed) (string, error) {
	var me struct {
		MaxJobs        int    `json:"maxJobs"`
		MaxBytesPerDay string `json:"maxBytesPerDay"`
	}
	if _, err := t.server.callJSON(ctx, villain+"/write", http.MethodGet, "/v1/me", nil, &me); err != nil {
		return "", err
	}
	resp, err := t.server.sendRequest(ctx, villain+"/write", http.MethodGet, "/v1/jobs", nil, nil)
	if err != nil {
		return "", err
	}
	resp.Body.Close()
	rate := resp.Header.Get("RateLimit-Limit")
	if me.MaxJobs == 0 || me.MaxBytesPerDay == "0" || rate == "" {
		return "", errors.New("not bounded: " + fmt.Sprintf("%d jobs, %s bytes a day, %q requests", me.MaxJobs, me.MaxBytesPerDay, rate))
	}
	return fmt.Sprintf("%d jobs, %s bytes a day, %s requests at once", me.MaxJobs, me.MaxBytesPerDay, rate), nil
}
