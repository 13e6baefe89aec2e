package gateway

import (
	"errors"
	"flag"
	"fmt"
	"net/url"

	"inkstream.dev/pkg/config"
	"inkstream.dev/services/gateway/access"
	"inkstream.dev/services/gateway/gate"
	"inkstream.dev/services/gateway/limits"
	"inkstream.dev/services/gateway/webhook"
)

// The values of AccessConfig.Auth.
const (
	// AuthNone takes requests without credentials.
	AuthNone = "none"
	// AuthKeys wants an API key, or a token where an issuer is configured.
	AuthKeys = "keys"
)

// AccessConfig says who may call the gateway, over what, and how often.
type AccessConfig struct {
	// Auth is AuthNone, AuthKeys, or empty: none on loopback addresses, and no start on others.
	Auth string
	// AdminKeyFile is where the first admin key goes, made when there is none, or comes from where the file is there;
	// empty makes none.
	AdminKeyFile string
	// OIDC is the issuer of tokens that are taken besides keys; none where Issuer is empty.
	OIDC access.OIDCConfig
	// Limits bound every caller.
	Limits limits.RatesConfig
	// TLSCert and TLSKey are the PEM files of the certificate that both APIs are served with; empty for none.
	TLSCert, TLSKey string
	// WebhookPrivate allows webhooks to addresses of loopback and private networks.
	WebhookPrivate bool
	// WebhookSecret signs calls to addresses that jobs came with; empty refuses such addresses.
	WebhookSecret config.Secret
}

func (c *AccessConfig) webhookPolicy() webhook.Policy {
	return webhook.Policy{AllowPrivate: c.WebhookPrivate}
}

func (c *AccessConfig) registerFlags(fs *flag.FlagSet) {
	fs.StringVar(&c.Auth, "auth", c.Auth,
		"keys: requests need an API key or a token; none: they need nothing, wherever the server listens; "+
			"empty: none on loopback addresses, and the server refuses to listen on others")
	fs.StringVar(&c.AdminKeyFile, "auth.admin-key-file", c.AdminKeyFile,
		"`file` that the first admin key is written to when there is none, or taken from where it is there")
	fs.StringVar(&c.OIDC.Issuer, "oidc.issuer", c.OIDC.Issuer,
		"`URL` of an OpenID Connect issuer whose tokens are taken besides API keys")
	fs.StringVar(&c.OIDC.Audience, "oidc.audience", c.OIDC.Audience, "audience that tokens must name; empty takes no tokens")
	fs.StringVar(&c.OIDC.TenantClaim, "oidc.tenant-claim", c.OIDC.TenantClaim,
		"claim that holds the tenant; empty: all tokens belong to the default tenant")
	fs.StringVar(&c.OIDC.ScopeClaim, "oidc.scope-claim", c.OIDC.ScopeClaim,
		"claim that holds the scopes read, write, admin, also as inkstream:read and so on")
	fs.StringVar(&c.OIDC.SignIn.ClientID, "oidc.client-id", c.OIDC.SignIn.ClientID,
		"what the issuer knows this server as; people sign in on the web pages there then, by the code flow with PKCE")
	fs.StringVar(&c.OIDC.SignIn.ClientSecretFile, "oidc.client-secret-file", c.OIDC.SignIn.ClientSecretFile,
		"`file` with the client's secret; empty for a public client")
	fs.StringVar(&c.OIDC.SignIn.Scopes, "oidc.client-scopes", c.OIDC.SignIn.Scopes,
		"what the issuer is asked for besides openid, divided by blanks")
	fs.StringVar(&c.OIDC.SignIn.RedirectURL, "oidc.redirect-url", c.OIDC.SignIn.RedirectURL,
		"`URL` of /v1/session/callback as browsers reach it; empty: by the name that they call the server")
	fs.StringVar(&c.OIDC.SignIn.Name, "oidc.name", c.OIDC.SignIn.Name, "what people call the issuer; empty for its host")
	fs.Float64Var(&c.Limits.UploadsPerSecond, "limit.uploads", c.Limits.UploadsPerSecond,
		fmt.Sprintf("uploads a second by one caller, ten seconds' worth at once; 0 for no limit, -1 for %d with --auth=keys", limits.DefaultUploadsPerSecond))
	fs.Float64Var(&c.Limits.ReadsPerSecond, "limit.requests", c.Limits.ReadsPerSecond,
		fmt.Sprintf("other requests a second by one caller, never less than uploads; 0 for no limit, -1 for %d with --auth=keys",
			limits.DefaultReadsPerSecond))
	fs.IntVar(&c.Limits.Quota.Jobs, "limit.jobs", c.Limits.Quota.Jobs,
		fmt.Sprintf("jobs under way at once of one tenant, but for keys that are given more; 0 for no limit, -1 for %d with --auth=keys",
			limits.DefaultJobs))
	fs.Int64Var(&c.Limits.Quota.BytesPerDay, "limit.bytes-per-day", c.Limits.Quota.BytesPerDay,
		fmt.Sprintf("bytes uploaded a day (UTC) by one tenant, but for keys that are given more; 0 for no limit, -1 for %.0f with --auth=keys",
			float64(limits.DefaultBytesPerDay)))
	fs.StringVar(&c.TLSCert, "tls.cert", c.TLSCert,
		"PEM `file` of the certificate with its chain; read again when it changes")
	fs.StringVar(&c.TLSKey, "tls.key", c.TLSKey, "PEM `file` of the certificate's key")
	fs.BoolVar(&c.WebhookPrivate, "webhook.allow-private", c.WebhookPrivate,
		"call webhooks in loopback and private networks too")
	fs.Var(&c.WebhookSecret, "webhook.secret",
		"`secret` (whsec_ and base64) that signs calls to addresses that jobs came with; without it such addresses are refused")
}

func isLimit(v float64) bool { return v >= 0 || v == limits.Default }

func (c *AccessConfig) validate(addrs ...string) error {
	var p config.Problems
	switch c.Auth {
	case AuthNone, AuthKeys:
	case "":
		for _, addr := range addrs {
			if !gate.OnLoopback(addr) {
				p.AddError(errors.New("auth: " + addr +
					" can be reached from other machines, and anybody there could use the server: set --auth=keys, or " +
					"--auth=none if that is what you want"))
			}
		}
	default:
		p.CheckFlag(false, "auth", "%q, want keys or none", c.Auth)
	}
	p.CheckFlag(c.OIDC.Issuer == "" || c.OIDC.Audience != "" || c.OIDC.SignIn.ClientID != "", "oidc.audience",
		"empty, want the audience that tokens of the issuer must name, or a client id by which people sign in")
	p.CheckFlag(c.OIDC.Issuer != "" || c.OIDC.SignIn.ClientID == "", "oidc.client-id", "set, but without an issuer")
	redirect, err := url.Parse(c.OIDC.SignIn.RedirectURL)
	p.CheckFlag(c.OIDC.SignIn.RedirectURL == "" || err == nil && redirect.Host != "" && redirect.Path == gate.CallbackPath,
		"oidc.redirect-url", "%q, want https://NAME%s", c.OIDC.SignIn.RedirectURL, gate.CallbackPath)
	p.CheckFlag(c.OIDC.Issuer == "" || c.Auth == AuthKeys, "oidc.issuer",
		"set, but without --auth=keys nobody is asked for a token")
	p.CheckFlag((c.TLSCert == "") == (c.TLSKey == ""), "tls.cert", "want both tls.cert and tls.key, or none")
	p.CheckFlag(isLimit(c.Limits.UploadsPerSecond) && isLimit(c.Limits.ReadsPerSecond), "limit.uploads", "less than 0, and not -1")
	p.CheckFlag(isLimit(float64(c.Limits.Quota.Jobs)) && isLimit(float64(c.Limits.Quota.BytesPerDay)), "limit.jobs",
		"less than 0, and not -1")
	return p.Err()
}
