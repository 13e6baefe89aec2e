package access

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/time/rate"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
)

// OIDCConfig says whose tokens are taken.
type OIDCConfig struct {
	// Issuer is the provider's URL, as in the tokens' iss; its keys are found by discovery (OpenID Connect Discovery 1.0
	// §4).
	Issuer string
	// Audience must be among the tokens' aud; where it is empty, no tokens are taken.
	Audience string
	// TenantClaim names the claim that holds the tenant; where a token lacks it, the tenant is job.DefaultTenant if the
	// claim's name is empty, and the token is refused otherwise.
	TenantClaim string
	// ScopeClaim names the claim that holds the scopes, as a list or as words in one string (RFC 8693 §4.2).
	ScopeClaim string
	// SignIn has people sign in at the issuer on the web pages.
	SignIn SignInConfig
}

// OIDC checks tokens of one issuer. The issuer's keys are fetched again when a token is signed with one that is not
// known. It is safe for concurrent use.
type OIDC struct {
	cfg      OIDCConfig
	verifier *oidc.IDTokenVerifier // nil where no tokens are taken
	signIns  *signIns              // nil where the web pages offer no sign-in at the issuer
}

const (
	// issuerTimeout bounds one question to the issuer.
	issuerTimeout = 10 * time.Second
	// issuerRate and issuerBurst bound the questions a second: each token that names an unknown key has the keys
	// fetched again, and any client can write such tokens.
	issuerRate, issuerBurst = 2, 4
	// subjectCaller begins the names of callers that the issuer knows.
	subjectCaller = "sub:"
)

// rateLimitedTransport has requests beyond a rate wait. All tokens whose keys are not known wait for one answer, so that
// those with a key that is new are taken half a second later at most, however many name keys that there are not.
type rateLimitedTransport struct{ limiter *rate.Limiter }

// RoundTrip implements http.RoundTripper.
func (p rateLimitedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := p.limiter.Wait(r.Context()); err != nil {
		return nil, fmt.Errorf("the issuer was asked too often: %w", err)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// NewOIDC asks the issuer for its keys. The context must live as long as the result: keys are fetched with it.
func NewOIDC(ctx context.Context, cfg OIDCConfig) (*OIDC, error) {
	client := newIssuerClient(rate.NewLimiter(issuerRate, issuerBurst))
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, client), cfg.Issuer)
	if err != nil {
		return nil, fmt.Errorf("OIDC issuer: %w", err)
	}
	o := &OIDC{cfg: cfg}
	if cfg.Audience != "" {
		o.verifier = provider.Verifier(&oidc.Config{ClientID: cfg.Audience})
	}
	if cfg.SignIn.ClientID != "" {
		if o.signIns, err = newSignIns(cfg.SignIn, cfg.Issuer, provider); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// newIssuerClient returns a client that asks the issuer no more often than the limiter lets it.
func newIssuerClient(limiter *rate.Limiter) *http.Client {
	return &http.Client{Timeout: issuerTimeout, Transport: rateLimitedTransport{limiter}}
}

var tenantPattern = regexp.MustCompile(`^[a-z0-9-]{1,32}$`)

// authenticate checks a token: signature, issuer, audience, times.
func (o *OIDC) authenticate(ctx context.Context, raw string) (*Identity, error) {
	if o.verifier == nil {
		return nil, ErrInvalidCredentials
	}
	token, err := o.verifier.Verify(ctx, raw)
	if err != nil {
		// A failure to fetch keys is the issuer's, not the client's.
		if strings.Contains(err.Error(), "fetching keys") && ctx.Err() == nil {
			return nil, fault.Wrap(fault.Busy, fault.Unavailable, errors.New("the token's issuer cannot be reached"))
		}
		return nil, ErrInvalidCredentials
	}
	var claims map[string]any
	if err := token.Claims(&claims); err != nil {
		return nil, ErrInvalidCredentials
	}
	id, err := o.identify(token.Subject, claims)
	if err != nil {
		return nil, err
	}
	id.ExpireTime = token.Expiry
	return id, nil
}

// identify returns whom the claims of a subject name, and what it may do; the error is ErrInvalidCredentials.
func (o *OIDC) identify(subject string, claims map[string]any) (*Identity, error) {
	id := &Identity{Tenant: job.DefaultTenant, Caller: subjectCaller + subject, Credential: CredentialToken,
		Scopes: parseScopes(claims[o.cfg.ScopeClaim])}
	if o.cfg.TenantClaim != "" {
		tenant, _ := claims[o.cfg.TenantClaim].(string)
		if !tenantPattern.MatchString(tenant) {
			return nil, ErrInvalidCredentials
		}
		id.Tenant = tenant
	}
	if len(id.Scopes) == 0 {
		return nil, ErrInvalidCredentials
	}
	return id, nil
}

// parseScopes picks the scopes that are known here out of a claim.
func parseScopes(claim any) []Scope {
	var words []string
	switch v := claim.(type) {
	case string:
		words = strings.Fields(v)
	case []any:
		for _, w := range v {
			if s, ok := w.(string); ok {
				words = append(words, s)
			}
		}
	}
	var scopes []Scope
	for _, w := range words {
		switch s := Scope(strings.TrimPrefix(w, "inkstream:")); s {
		case Read, Write, Admin:
			scopes = append(scopes, s)
		}
	}
	return scopes
}
