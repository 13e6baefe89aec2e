package access

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"golang.org/x/time/rate"

	"inkstream.dev/pkg/fault"
)

const (
	// signInAge is how long a person may take at the issuer.
	signInAge = 10 * time.Minute
	// exchangeRate and exchangeBurst bound the questions that sign-ins ask the issuer a second. They have a bound of
	// their own: any client can begin sign-ins, and they must not keep tokens waiting for the issuer's keys.
	exchangeRate, exchangeBurst = 10, 20
	// maxNameRunes bounds what a session is called after its person.
	maxNameRunes = 100
)

// Why a sign-in at the issuer comes to nothing.
var (
	// ErrSignInExpired means that the browser has not begun this sign-in, or too long ago.
	ErrSignInExpired = errors.New("the sign-in has expired")
	// ErrSignInDenied means that the issuer did not let the person in.
	ErrSignInDenied = errors.New("the issuer denied the sign-in")
	// ErrSignInUnknown means that the issuer let the person in, and said nothing of what it may do here.
	ErrSignInUnknown = errors.New("the issuer gives the person no scope or tenant here")
)

// SignInConfig says how people sign in on the web pages: by the authorization code flow with PKCE.
type SignInConfig struct {
	// ClientID is what the issuer knows the server as; empty offers no sign-in at the issuer.
	ClientID string
	// ClientSecretFile holds the client's secret; empty for a public client.
	ClientSecretFile string
	// Scopes are what the issuer is asked for besides openid, divided by blanks.
	Scopes string
	// RedirectURL is where the issuer sends the browser back to; empty: to the address that the browser called.
	RedirectURL string
	// Name is what people call the issuer; empty for its host.
	Name string
}

// signIns has people sign in at an issuer.
type signIns struct {
	cfg      SignInConfig
	issuer   string
	secret   string
	client   *http.Client
	provider *oidc.Provider
	verifier *oidc.IDTokenVerifier
	endpoint oauth2.Endpoint
}

func newSignIns(cfg SignInConfig, issuer string, provider *oidc.Provider) (s *signIns, err error) {
	s = &signIns{cfg: cfg, issuer: issuer, provider: provider, client: newIssuerClient(rate.NewLimiter(exchangeRate, exchangeBurst)),
		verifier: provider.Verifier(&oidc.Config{ClientID: cfg.ClientID})}
	if cfg.ClientSecretFile != "" {
		secret, err := os.ReadFile(cfg.ClientSecretFile)
		if err != nil {
			return nil, fmt.Errorf("secret of the OIDC client: %w", err)
		}
		s.secret = strings.TrimSpace(string(secret))
	}
	if s.endpoint, err = tokenEndpoint(provider, s.secret); err != nil {
		return nil, err
	}
	if s.cfg.Name == "" {
		s.cfg.Name = issuer
		if u, err := url.Parse(issuer); err == nil {
			s.cfg.Name = u.Hostname()
		}
	}
	return s, nil
}

// tokenEndpoint returns the issuer's addresses, and how it wants to see the client's secret. That is not found out by
// trial: a code is good for one trial.
func tokenEndpoint(provider *oidc.Provider, secret string) (oauth2.Endpoint, error) {
	var metadata struct {
		Methods []string `json:"token_endpoint_auth_methods_supported"`
	}
	if err := provider.Claims(&metadata); err != nil {
		return oauth2.Endpoint{}, fmt.Errorf("OIDC issuer: %w", err)
	}
	endpoint := provider.Endpoint()
	endpoint.AuthStyle = oauth2.AuthStyleInHeader // the default of OpenID Connect Discovery 1.0 §3
	if secret == "" || slices.Contains(metadata.Methods, "client_secret_post") && !slices.Contains(metadata.Methods, "client_secret_basic") {
		endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	return endpoint, nil
}

// clientConfig returns the issuer's client for a sign-in that comes back to redirect.
func (s *signIns) clientConfig(redirect string) *oauth2.Config {
	return &oauth2.Config{ClientID: s.cfg.ClientID, ClientSecret: s.secret, Endpoint: s.endpoint, RedirectURL: redirect,
		Scopes: append([]string{oidc.ScopeOpenID}, strings.Fields(s.cfg.Scopes)...)}
}

// pendingSignIn is what a browser keeps, sealed, while its person is at the issuer. So an answer is taken by the browser
// alone that began the sign-in, and no gateway keeps anything of those that are never ended.
type pendingSignIn struct {
	State    string `json:"state"`
	Nonce    string `json:"nonce"`
	Verifier string `json:"verifier"`
	Redirect string `json:"redirect"`
	Next     string `json:"next"`
	Expire   int64  `json:"expire"`
}

// BegunSignIn is a sign-in that goes on at the issuer.
type BegunSignIn struct {
	// Address is where the browser goes.
	Address string
	// State comes back with the issuer's answer.
	State string
	// Sealed is what the browser keeps until then, and Expire until when.
	Sealed string
	Expire time.Time
}

// SignInName returns what people call the issuer at which they can sign in, or nothing where they cannot.
func (a *Authenticator) SignInName() string {
	if a.oidc == nil || a.oidc.signIns == nil {
		return ""
	}
	return a.oidc.signIns.cfg.Name
}

// BeginSignIn begins a sign-in that comes back to redirect, unless the configuration says another address, and leads to
// next. SignInName must not be empty.
func (a *Authenticator) BeginSignIn(redirect, next string) (BegunSignIn, error) {
	s := a.oidc.signIns
	if s.cfg.RedirectURL != "" {
		redirect = s.cfg.RedirectURL
	}
	expire := time.Now().Add(signInAge)
	p := pendingSignIn{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), Redirect: redirect, Next: next,
		Expire: expire.Unix()}
	sealed, err := a.seal(signInPurpose, p)
	if err != nil {
		return BegunSignIn{}, err
	}
	address := s.clientConfig(redirect).AuthCodeURL(p.State, oidc.Nonce(p.Nonce), oauth2.S256ChallengeOption(p.Verifier))
	return BegunSignIn{Address: address, State: p.State, Sealed: sealed, Expire: expire}, nil
}

// EndedSignIn is a session, and what its browser wanted to see. Next is set where the browser had begun a sign-in, also
// where that came to nothing.
type EndedSignIn struct {
	Session string
	Expire  time.Time
	Next    string
}

// EndSignIn takes the issuer's answer. The error is one of the ErrSignIn, or tells of a dependency that is away.
func (a *Authenticator) EndSignIn(ctx context.Context, sealed string, answer url.Values) (EndedSignIn, error) {
	s := a.oidc.signIns
	var p pendingSignIn
	if !a.open(signInPurpose, sealed, &p) || time.Now().Unix() >= p.Expire || !sameText(p.State, answer.Get("state")) {
		return EndedSignIn{}, ErrSignInExpired
	}
	ended := EndedSignIn{Next: p.Next}
	if issuer := answer.Get("iss"); issuer != "" && issuer != s.issuer { // RFC 9207: it answers for another
		return ended, ErrSignInDenied
	}
	if answer.Get("error") != "" || answer.Get("code") == "" {
		return ended, ErrSignInDenied
	}
	ctx = oidc.ClientContext(ctx, s.client)
	token, err := s.clientConfig(p.Redirect).Exchange(ctx, answer.Get("code"), oauth2.VerifierOption(p.Verifier))
	if err != nil {
		if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok && refused.Response.StatusCode < http.StatusInternalServerError {
			return ended, fmt.Errorf("%w: %w", ErrSignInDenied, err)
		}
		return ended, fault.Wrap(fault.Busy, fault.Unavailable, fmt.Errorf("exchange the code of a sign-in: %w", err))
	}
	person, err := s.verifyPerson(ctx, token, p.Nonce)
	if err != nil {
		return ended, err
	}
	key, err := a.oidc.keyOfPerson(person)
	if err != nil {
		return ended, err
	}
	key.ExpireTime = time.Now().Add(sessionAge)
	stored, err := a.keys.createPersonKey(ctx, key)
	if err != nil {
		return ended, err
	}
	ended.Session, ended.Expire, err = a.sealSession(&stored)
	return ended, err
}

// person is whom an ID token names, with its claims.
type person struct {
	subject string
	claims  map[string]any
	// more asks the issuer for further claims.
	more func() (map[string]any, error)
}

// verifyPerson checks the ID token that came with a token: signature, issuer, audience, times, nonce, and that it
// belongs to the access token.
func (s *signIns) verifyPerson(ctx context.Context, token *oauth2.Token, nonce string) (*person, error) {
	raw, _ := token.Extra("id_token").(string)
	id, err := s.verifier.Verify(ctx, raw)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSignInDenied, err)
	}
	if !sameText(id.Nonce, nonce) {
		return nil, fmt.Errorf("%w: the ID token is another sign-in's", ErrSignInDenied)
	}
	if id.AccessTokenHash != "" {
		if err := id.VerifyAccessToken(token.AccessToken); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrSignInDenied, err)
		}
	}
	p := &person{subject: id.Subject}
	if err := id.Claims(&p.claims); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSignInDenied, err)
	}
	if party, ok := p.claims["azp"]; ok && party != s.cfg.ClientID {
		return nil, fmt.Errorf("%w: the ID token was issued to another client", ErrSignInDenied)
	}
	p.more = func() (map[string]any, error) {
		if s.provider.UserInfoEndpoint() == "" {
			return nil, nil
		}
		info, err := s.provider.UserInfo(ctx, oauth2.StaticTokenSource(token))
		if err != nil {
			return nil, fault.Wrap(fault.Busy, fault.Unavailable, fmt.Errorf("ask the issuer about a person: %w", err))
		}
		var claims map[string]any
		if err := info.Claims(&claims); err != nil || info.Subject != p.subject {
			return nil, fmt.Errorf("%w: it speaks of another person", ErrSignInDenied)
		}
		return claims, nil
	}
	return p, nil
}

// keyOfPerson returns what a person's session may do, by the claims of the ID token and, where those do not say it, of
// the issuer's UserInfo endpoint.
func (o *OIDC) keyOfPerson(p *person) (Key, error) {
	id, err := o.identify(p.subject, p.claims)
	if err != nil {
		more, moreErr := p.more()
		if moreErr != nil {
			return Key{}, moreErr
		}
		maps.Copy(p.claims, more)
		if id, err = o.identify(p.subject, p.claims); err != nil {
			return Key{}, ErrSignInUnknown
		}
	}
	key := Key{Tenant: id.Tenant, Scopes: id.Scopes, Subject: p.subject, Name: p.subject}
	for _, claim := range []string{"name", "preferred_username", "email"} {
		if name, _ := p.claims[claim].(string); name != "" {
			key.Name = name
		}
	}
	if runes := []rune(key.Name); len(runes) > maxNameRunes {
		key.Name = string(runes[:maxNameRunes])
	}
	return key, nil
}

// sameText compares in a time that does not depend on where the first difference is.
func sameText(a, b string) bool {
	return a != "" && subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1
}
