package cli

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"inkstream.dev/pkg/config"
	"inkstream.dev/pkg/service"
	"inkstream.dev/services/cli/rest"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// defaultServer is where 'inkstream serve' listens.
const defaultServer = "http://127.0.0.1:8080"

// maxMessage bounds an answer; the largest is a page with all its words.
const maxMessage = 64 << 20

// connection holds the flags that say which server is talked to.
type connection struct {
	server, apiKey, apiKeyFile, profile, caFile string
	insecureTLS                                 bool
}

func (c *connection) registerFlags(f *pflag.FlagSet) {
	// The defaults are not the flags': help would show them, and one of them is secret.
	f.StringVar(&c.server, "server", "",
		"`URL` of the server, http(s):// for REST or grpc(s)://; else INKSTREAM_SERVER, else the profile's, else "+
			defaultServer)
	f.StringVar(&c.apiKey, "api-key", "",
		"API `key` or token; better in INKSTREAM_API_KEY or a file, where the list of processes does not show it")
	f.StringVar(&c.apiKeyFile, "api-key-file", "", "`file` with the API key or token")
	f.StringVar(&c.profile, "profile", "",
		"`name` of a profile in the configuration file; else INKSTREAM_PROFILE, else its default")
	f.StringVar(&c.caFile, "ca-file", "", "PEM `file` of the authority that the server's certificate is checked against")
	f.BoolVar(&c.insecureTLS, "insecure-tls", false, "do not check the server's certificate")
}

// endpoint is a server and what is needed to talk to it.
type endpoint struct {
	server string
	key    config.Secret
	tls    *tls.Config
	// warn, if set, tells the user something.
	warn func(format string, args ...any)
}

// resolveEndpoint finds the server: flags before the environment, the environment before the profile.
func (c *connection) resolveEndpoint(s streams) (endpoint, error) {
	p, err := loadProfile(s, firstNonEmpty(c.profile, s.getenv("INKSTREAM_PROFILE")))
	if err != nil {
		return endpoint{}, usageError{err}
	}
	e := endpoint{
		server: firstNonEmpty(c.server, s.getenv("INKSTREAM_SERVER"), p.Server, defaultServer),
		warn:   func(format string, args ...any) { fmt.Fprintf(s.err, "inkstream: "+format+"\n", args...) },
	}
	key := c.apiKey
	switch keyFile := c.apiKeyFile; {
	case key != "":
	case keyFile == "" && s.getenv("INKSTREAM_API_KEY") != "":
		key = s.getenv("INKSTREAM_API_KEY")
	default:
		// A profile's key belongs to the profile's server, and is not sent to another.
		if keyFile == "" && (e.server == p.Server || c.server == "" && s.getenv("INKSTREAM_SERVER") == "") {
			keyFile = expandHome(s, p.KeyFile)
		}
		if keyFile != "" {
			if key, err = readSecret(keyFile); err != nil {
				return e, usageError{fmt.Errorf("API key: %w", err)}
			}
		}
	}
	if key != "" {
		e.key = config.NewSecret(key)
	}
	e.tls, err = tlsConfig(firstNonEmpty(c.caFile, expandHome(s, p.CAFile)), c.insecureTLS || p.InsecureTLS)
	if err != nil {
		return e, usageError{err}
	}
	return e, nil
}

// firstNonEmpty returns the first value that is set.
func firstNonEmpty(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

func readSecret(path string) (string, error) {
	const most = 64 << 10
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(data)), nil
}

func tlsConfig(caFile string, insecureTLS bool) (*tls.Config, error) {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: insecureTLS}
	if caFile == "" {
		return cfg, nil
	}
	data, err := os.ReadFile(caFile)
	if err != nil {
		return nil, fmt.Errorf("--ca-file: %w", err)
	}
	cfg.RootCAs = x509.NewCertPool()
	if !cfg.RootCAs.AppendCertsFromPEM(data) {
		return nil, fmt.Errorf("--ca-file: %s holds no certificate in PEM form", caFile)
	}
	return cfg, nil
}

// client talks to a server.
type client struct {
	inkstreamv1.InkstreamServiceClient
	conn   io.Closer
	server string
}

// dialServer returns a client of the server at an address, without a key.
func dialServer(server string) (*client, error) {
	return endpoint{server: server}.dialEndpoint(context.Background())
}

// connectServer returns a client of the server that the flags name; the caller closes its conn.
func (a *app) connectServer(ctx context.Context) (*client, error) {
	e, err := a.conn.resolveEndpoint(a.streams)
	if err != nil {
		return nil, err
	}
	return e.dialEndpoint(ctx)
}

// withClient makes a command's function of one that needs a client.
func (a *app) withClient(do func(cmd *cobra.Command, c *client, args []string) error) func(*cobra.Command,
	[]string) error {
	return func(cmd *cobra.Command, args []string) error {
		c, err := a.connectServer(cmd.Context())
		if err != nil {
			return err
		}
		defer c.conn.Close()
		return do(cmd, c, args)
	}
}

func (e endpoint) dialEndpoint(ctx context.Context) (*client, error) {
	server := e.server
	if !strings.Contains(server, "://") {
		server = probeScheme(ctx, server) + server
	}
	u, err := url.Parse(server)
	if err != nil || u.Host == "" {
		return nil,
			usageError{fmt.Errorf("--server %q: want http://host:port, https://host:port, grpc://host:port or grpcs://host:port", e.server)}
	}
	if !e.key.IsEmpty() && (u.Scheme == "http" || u.Scheme == "grpc") && !isLoopback(u.Hostname()) && e.warn != nil {
		e.warn("the API key goes to %s without encryption; use https or grpcs where the network is not yours alone", u.Host)
	}
	switch u.Scheme {
	case "http", "https":
		conn, err := rest.New(rest.Config{Server: server, Authorization: e.authorization(), UserAgent: userAgent, TLS: e.tls})
		if err != nil {
			return nil, usageError{fmt.Errorf("--server: %w", err)}
		}
		return &client{InkstreamServiceClient: inkstreamv1.NewInkstreamServiceClient(conn), conn: conn, server: server}, nil
	case "grpc", "grpcs":
		return e.dialGRPC(u, server)
	default:
		return nil, usageError{fmt.Errorf("--server %q: the scheme %s is none of http, https, grpc and grpcs", e.server,
			u.Scheme)}
	}
}

func (e endpoint) dialGRPC(u *url.URL, server string) (*client, error) {
	transport := insecure.NewCredentials()
	if u.Scheme == "grpcs" {
		transport = credentials.NewTLS(e.tls)
	}
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(transport), grpc.WithUserAgent(userAgent),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)),
	}
	if !e.key.IsEmpty() {
		options = append(options, grpc.WithPerRPCCredentials(bearerToken(e.authorization())))
	}
	conn, err := grpc.NewClient(u.Host, options...)
	if err != nil {
		return nil, usageError{fmt.Errorf("--server: %w", err)}
	}
	return &client{InkstreamServiceClient: inkstreamv1.NewInkstreamServiceClient(conn), conn: conn, server: server}, nil
}

var userAgent = "inkstream/" + service.Version

func (e endpoint) authorization() string {
	if e.key.IsEmpty() {
		return ""
	}
	return "Bearer " + e.key.RevealText()
}

// bearerToken sends a key with every call.
type bearerToken string

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (b bearerToken) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": string(b)}, nil
}

// RequireTransportSecurity answers no: a server on this machine needs none, and for others a warning is printed.
func (bearerToken) RequireTransportSecurity() bool { return false }

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// probeTimeout bounds the question what a port speaks.
const probeTimeout = 2 * time.Second

// probeScheme asks what speaks at an address that was given without a scheme: it begins as HTTP/2 does, which a gRPC
// server answers in kind and an HTTP/1 server does not. Where no server answers it is http, and the error comes when it
// is used.
func probeScheme(ctx context.Context, address string) string {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return "http://"
	}
	defer func() { _ = conn.Close() }() // nothing of it is wanted any more
	if err := conn.SetDeadline(time.Now().Add(probeTimeout)); err != nil {
		return "http://"
	}
	// The preface of HTTP/2, and an empty frame of settings.
	const hello = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"
	answer := make([]byte, 9)
	if _, err := io.WriteString(conn, hello); err != nil {
		return "http://"
	}
	const settings = 4
	if _, err := io.ReadFull(conn, answer); err == nil && answer[0] == 0 && answer[3] == settings {
		return "grpc://"
	} else if errors.Is(err, io.EOF) {
		return "https://" // a TLS server hangs up on what is none of its own
	}
	if answer[0] == 0x15 { // a TLS alert
		return "https://"
	}
	return "http://"
}
