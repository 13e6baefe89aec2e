// Package oidctest has an OpenID Connect provider for tests: it signs tokens with real keys, checks what clients send as
// strictly as the standards ask, and can be told to answer wrongly.
package oidctest

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// The client that the provider knows.
const (
	ClientID     = "inkstream-web"
	ClientSecret = "a secret with : and % in it" //nolint:gosec // the test's
)

// Issuer is a provider with one signing key at a time. Its person is always signed in already, and always consents.
type Issuer struct {
	*httptest.Server

	asked atomic.Int64 // for its keys

	mu       sync.Mutex // guards what follows
	key      *rsa.PrivateKey
	kid      string
	redirect string
	grants   map[string]grant
	change   func(answer *Answer)
}

// Answer is what the provider says of its person once a code is exchanged, which tests change.
type Answer struct {
	// Claims are those of the ID token, UserInfo what the UserInfo endpoint answers.
	Claims, UserInfo map[string]any
	// Status of the token endpoint.
	Status int
	// Sign returns the ID token; tests change it to one that is signed by another.
	Sign func(claims map[string]any) string
}

// grant is what a code stands for; a code is good for one exchange.
type grant struct{ challenge, nonce, redirect string }

// New starts a provider, which ends with the test.
func New(t *testing.T) *Issuer {
	t.Helper()
	i := &Issuer{grants: map[string]grant{}, change: func(*Answer) {}}
	i.RotateKey(t, "one")
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]any{
			"issuer": i.URL, "jwks_uri": i.URL + "/keys", "authorization_endpoint": i.URL + "/authorize",
			"token_endpoint": i.URL + "/token", "userinfo_endpoint": i.URL + "/userinfo",
			"id_token_signing_alg_values_supported": []string{"RS256"},
		})
	})
	mux.HandleFunc("/keys", i.serveKeys)
	mux.HandleFunc("/authorize", i.authorize)
	mux.HandleFunc("/token", i.exchange)
	mux.HandleFunc("/userinfo", i.describePerson)
	i.Server = httptest.NewServer(mux)
	t.Cleanup(i.Close)
	return i
}

// KeysAsked returns how often the provider was asked for its keys.
func (i *Issuer) KeysAsked() int64 { return i.asked.Load() }

// RegisterRedirect names the one address that the provider sends browsers back to.
func (i *Issuer) RegisterRedirect(address string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.redirect = address
}

// ChangeAnswers has change alter what the provider answers from now on.
func (i *Issuer) ChangeAnswers(change func(answer *Answer)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.change = change
}

// RotateKey signs with another key from now on.
func (i *Issuer) RotateKey(t *testing.T, kid string) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.key, i.kid = key, kid
}

// Token returns a token for programs, whose claims change may alter.
func (i *Issuer) Token(change func(claims map[string]any)) string {
	claims := i.claims("inkstream")
	change(claims)
	return i.Sign(claims)
}

// claims of the provider's person for an audience.
func (i *Issuer) claims(audience string) map[string]any {
	now := time.Now()
	return map[string]any{
		"iss": i.URL, "aud": audience, "sub": "ann", "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
		"tenant": "acme", "scope": "openid inkstream:write", "email": "ann@acme.example",
	}
}

// Sign returns a token with the claims.
func (i *Issuer) Sign(claims map[string]any) string {
	i.mu.Lock()
	defer i.mu.Unlock()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: i.key, KeyID: i.kid}}, nil)
	if err != nil {
		panic(err) // the key is the provider's own
	}
	raw, err := jwt.Signed(signer).Claims(claims).Serialize()
	if err != nil {
		panic(err) // claims are JSON
	}
	return raw
}

func (i *Issuer) serveKeys(w http.ResponseWriter, _ *http.Request) {
	i.asked.Add(1)
	i.mu.Lock()
	defer i.mu.Unlock()
	writeJSON(w, http.StatusOK, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{
		Key: i.key.Public(), KeyID: i.kid, Algorithm: "RS256", Use: "sig",
	}}})
}

// authorize is where browsers are sent. A request that is not as it must be is not sent back (RFC 6749 §4.1.2.1).
func (i *Issuer) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case q.Get("client_id") != ClientID || q.Get("redirect_uri") != i.redirect:
		http.Error(w, "unknown client or redirect_uri "+q.Get("redirect_uri"), http.StatusBadRequest)
	case q.Get("response_type") != "code" || !slices.Contains(strings.Fields(q.Get("scope")), "openid"):
		http.Error(w, "no code flow of OpenID Connect", http.StatusBadRequest)
	case q.Get("code_challenge_method") != "S256" || len(q.Get("code_challenge")) != 43:
		http.Error(w, "no PKCE", http.StatusBadRequest)
	case len(q.Get("state")) < 20 || len(q.Get("nonce")) < 20:
		http.Error(w, "no state or nonce", http.StatusBadRequest)
	default:
		code := rand.Text()
		i.grants[code] = grant{challenge: q.Get("code_challenge"), nonce: q.Get("nonce"), redirect: q.Get("redirect_uri")}
		back := url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {i.URL}}
		http.Redirect(w, r, i.redirect+"?"+back.Encode(), http.StatusFound)
	}
}

// exchange is the token endpoint.
func (i *Issuer) exchange(w http.ResponseWriter, r *http.Request) {
	id, secret, ok := r.BasicAuth()
	if id, err := url.QueryUnescape(id); err != nil || !ok || id != ClientID {
		writeJSON(w, http.StatusUnauthorized, map[string]string{"error": "invalid_client"})
		return
	}
	if secret, err := url.QueryUnescape(secret); err != nil || secret != ClientSecret {
		writeJSON(w, http.StatusUnauthorized, map[string]string{"error": "invalid_client"})
		return
	}
	i.mu.Lock()
	g, ok := i.grants[r.FormValue("code")]
	delete(i.grants, r.FormValue("code"))
	change := i.change
	i.mu.Unlock()
	challenge := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	if !ok || r.FormValue("grant_type") != "authorization_code" || r.FormValue("redirect_uri") != g.redirect ||
		base64.RawURLEncoding.EncodeToString(challenge[:]) != g.challenge {
		writeJSON(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant"})
		return
	}
	answer := Answer{Claims: i.claims(ClientID), Status: http.StatusOK, Sign: i.Sign}
	access := rand.Text()
	hash := sha256.Sum256([]byte(access))
	maps.Copy(answer.Claims, map[string]any{"nonce": g.nonce, "at_hash": base64.RawURLEncoding.EncodeToString(hash[:len(hash)/2])})
	change(&answer)
	writeJSON(w, answer.Status, map[string]any{
		"access_token": access, "token_type": "Bearer", "expires_in": 300, "id_token": answer.Sign(answer.Claims),
	})
}

func (i *Issuer) describePerson(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	change := i.change
	i.mu.Unlock()
	if !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ") {
		writeJSON(w, http.StatusUnauthorized, map[string]string{"error": "invalid_token"})
		return
	}
	answer := Answer{Claims: map[string]any{}, UserInfo: map[string]any{"sub": "ann"}}
	change(&answer)
	writeJSON(w, http.StatusOK, answer.UserInfo)
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that hung up has no use for the answer
}
