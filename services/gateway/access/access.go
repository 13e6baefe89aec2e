// Package access says who may do what at the gateway: API keys and OIDC tokens, their scopes and tenants, and how
// much each caller may ask for.
package access

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"inkstream.dev/pkg/job"
)

// Scope is what a caller may do.
type Scope string

// The scopes. Write includes Read, Admin includes both.
const (
	Read  Scope = "read"
	Write Scope = "write"
	Admin Scope = "admin"
)

// ErrInvalidCredentials means that the credentials are not valid: unknown, revoked, expired or wrong. It does not say
// which, so that a caller cannot find out by trial what exists.
var ErrInvalidCredentials = errors.New("the credentials are not valid")

// Identity is who a request comes from.
type Identity struct {
	Tenant string
	Scopes []Scope
	// Caller names the key or the token's subject; limits go by it.
	Caller string
	// Quota is what the caller may use.
	Quota Quota
	// Credential is how the caller is known: one of the Credential constants.
	Credential string
	// ExpireTime is when the credential ends; zero where it does not.
	ExpireTime time.Time
	// onChange has a function called once the credential is removed or replaced; nil where that cannot be known.
	onChange func(func()) (stop func() bool)
}

// What callers are known by.
const (
	CredentialNone    = "none"
	CredentialKey     = "key"
	CredentialToken   = "token"
	CredentialSession = "session"
)

// Quota bounds what a caller may use; 0 means the server's default.
type Quota struct {
	// Jobs is how many jobs may be under way at once.
	Jobs int
	// BytesPerDay is how much may be uploaded a day (UTC).
	BytesPerDay int64
}

// HasScope reports whether the identity has a scope, or one that includes it.
func (id *Identity) HasScope(s Scope) bool {
	switch s {
	case Read:
		return len(id.Scopes) > 0
	case Write:
		return slices.Contains(id.Scopes, Write) || slices.Contains(id.Scopes, Admin)
	default:
		return slices.Contains(id.Scopes, s)
	}
}

// RunsServer reports whether the identity is one of those who run the server, who see what it does for all tenants: the
// default tenant's.
func (id *Identity) RunsServer() bool { return id.Tenant == job.DefaultTenant }

// OpenIdentity is the identity of every request where authentication is off.
func OpenIdentity() *Identity {
	return &Identity{Tenant: job.DefaultTenant, Scopes: []Scope{Admin}, Caller: "anonymous",
		Credential: CredentialNone}
}

type identityContextKey struct{}

// WithIdentity returns ctx with the identity of its request.
func WithIdentity(ctx context.Context, id *Identity) context.Context {
	return context.WithValue(ctx, identityContextKey{}, id)
}

// IdentityFrom returns the identity of the request that ctx belongs to, or nil outside of one.
func IdentityFrom(ctx context.Context) *Identity {
	id, _ := ctx.Value(identityContextKey{}).(*Identity)
	return id
}

// Authenticator finds out who a request comes from.
type Authenticator struct {
	*Sessions
	keys *Keys
	oidc *OIDC // nil where no issuer is configured
}

// NewAuthenticator returns an Authenticator that takes API keys, sessions that were begun with one, and tokens where
// oidc is not nil.
func NewAuthenticator(keys *Keys, sessions *Sessions, oidc *OIDC) *Authenticator {
	return &Authenticator{Sessions: sessions, keys: keys, oidc: oidc}
}

// Authenticate checks what a client sent as "Authorization: Bearer …", the word Bearer left out. The error is
// ErrInvalidCredentials where the credentials are at fault.
func (a *Authenticator) Authenticate(ctx context.Context, credentials string) (*Identity, error) {
	if strings.HasPrefix(credentials, keyPrefix) {
		return a.keys.authenticate(credentials)
	}
	if a.oidc != nil && credentials != "" {
		return a.oidc.authenticate(ctx, credentials)
	}
	return nil, ErrInvalidCredentials
}
