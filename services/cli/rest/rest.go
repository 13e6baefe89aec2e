// Package rest carries the calls of a generated gRPC client over a server's REST API, by the routes that the API's
// proto states. So one client works with either, and a server behind a proxy that knows HTTP alone can be used.
//
// It knows unary calls, the streams of a server (a watch, a download) and the one stream of a client (an upload),
// which becomes a form.
package rest

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/genproto/googleapis/api/httpbody"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// maxAnswer bounds an answer that is held in memory; the largest is a page with all its words.
const maxAnswer = 64 << 20

// Config says where the server is and how it is called.
type Config struct {
	// Server is the URL of the REST API; what follows its path is added to it.
	Server string
	// Authorization is the value of the header, empty for none.
	Authorization string
	// UserAgent names the client.
	UserAgent string
	// TLS is for https; nil means the system's certificates.
	TLS *tls.Config
}

// Conn is a grpc.ClientConnInterface. It is safe for concurrent use.
type Conn struct {
	base   *url.URL
	cfg    Config
	client *http.Client

	mu     sync.Mutex // guards routes
	routes map[string]route
}

// New returns a connection; it dials when first used. An error is one of the address.
func New(cfg Config) (*Conn, error) {
	base, err := url.Parse(cfg.Server)
	if err != nil {
		return nil, err
	}
	if base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return nil, fmt.Errorf("%q, want http://host:port or https://host:port", cfg.Server)
	}
	base.Path = strings.TrimRight(base.Path, "/")
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: cfg.TLS, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 64,
		IdleConnTimeout:     90 * time.Second,
		TLSHandshakeTimeout: 10 * time.Second, ExpectContinueTimeout: 2 * time.Second,
	}
	client := &http.Client{Transport: transport, CheckRedirect: sameHost}
	return &Conn{base: base, cfg: cfg, client: client, routes: map[string]route{}}, nil
}

// sameHost keeps the key from being sent to another server.
func sameHost(req *http.Request, via []*http.Request) error {
	const most = 5
	if len(via) >= most || req.URL.Host != via[0].URL.Host || req.URL.Scheme != via[0].URL.Scheme {
		return http.ErrUseLastResponse
	}
	return nil
}

// Close drops the connections that are kept for later.
func (c *Conn) Close() error {
	c.client.CloseIdleConnections()
	return nil
}

// route is how a method is called over HTTP.
type route struct {
	verb, path string
	body       bool
	input      protoreflect.MessageDescriptor
}

// findRoute returns the route of a method such as /inkstream.v1.InkstreamService/GetJob.
func (c *Conn) findRoute(method string) (route, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r, ok := c.routes[method]; ok {
		return r, nil
	}
	name := protoreflect.FullName(strings.ReplaceAll(strings.TrimPrefix(method, "/"), "/", "."))
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
	m, ok := d.(protoreflect.MethodDescriptor)
	if err != nil || !ok {
		return route{}, status.Errorf(codes.Unimplemented, "there is no method %s", name)
	}
	rule, ok := proto.GetExtension(m.Options(), annotations.E_Http).(*annotations.HttpRule)
	if !ok || rule == nil {
		return route{}, status.Errorf(codes.Unimplemented, "%s cannot be called over REST", m.Name())
	}
	r := route{body: rule.GetBody() == "*", input: m.Input()}
	switch p := rule.GetPattern().(type) {
	case *annotations.HttpRule_Get:
		r.verb, r.path = http.MethodGet, p.Get
	case *annotations.HttpRule_Post:
		r.verb, r.path = http.MethodPost, p.Post
	case *annotations.HttpRule_Delete:
		r.verb, r.path = http.MethodDelete, p.Delete
	default:
		return route{}, status.Errorf(codes.Unimplemented, "%s cannot be called over REST", m.Name())
	}
	c.routes[method] = r
	return r, nil
}

// newRequest makes the HTTP request of a call.
func (c *Conn) newRequest(ctx context.Context, method string, in proto.Message) (*http.Request, error) {
	r, err := c.findRoute(method)
	if err != nil {
		return nil, err
	}
	m := in.ProtoReflect()
	path, used, err := fillPath(r.path, m)
	if err != nil {
		return nil, err
	}
	// The path is escaped already, with escapes that a parsed one would lose, such as that of a slash.
	target := *c.base
	target.Path, target.RawPath = "", ""
	address := target.String() + c.base.EscapedPath() + path
	var body io.Reader
	if r.body {
		data, err := protojson.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(data)
	} else if query := encodeQuery(m, used); query != "" {
		address += "?" + query
	}
	req, err := http.NewRequestWithContext(ctx, r.verb, address, body)
	if err != nil {
		return nil, err
	}
	if r.body {
		req.Header.Set("Content-Type", "application/json")
	}
	c.authorize(req)
	return req, nil
}

func (c *Conn) authorize(req *http.Request) {
	req.Header.Set("User-Agent", c.cfg.UserAgent)
	if c.cfg.Authorization != "" {
		req.Header.Set("Authorization", c.cfg.Authorization)
	}
}

// sendRequest sends a request. The answer is one of success; every other is an error.
func (c *Conn) sendRequest(req *http.Request) (*http.Response, error) {
	res, err := c.client.Do(req)
	if err != nil {
		return nil, unansweredError(req.Context(), err)
	}
	if err := responseError(res); err != nil {
		res.Body.Close()
		return nil, err
	}
	return res, nil
}

// Invoke implements grpc.ClientConnInterface. Call options have no meaning over REST.
func (c *Conn) Invoke(ctx context.Context, method string, args, reply any, _ ...grpc.CallOption) error {
	in, inOK := args.(proto.Message)
	out, outOK := reply.(proto.Message)
	if !inOK || !outOK {
		return status.Errorf(codes.Internal, "%s: %T and %T are no messages", method, args, reply)
	}
	req, err := c.newRequest(ctx, method, in)
	if err != nil {
		return err
	}
	res, err := c.sendRequest(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	switch {
	case err != nil:
		return unansweredError(ctx, err)
	case len(data) > maxAnswer:
		return status.Errorf(codes.ResourceExhausted, "the server's answer is larger than %d bytes", maxAnswer)
	}
	if raw, ok := out.(*httpbody.HttpBody); ok {
		raw.ContentType, raw.Data = res.Header.Get("Content-Type"), data
		return nil
	}
	return decodeAnswer(data, out)
}

// decodeAnswer reads an answer. Fields that this client does not know are a newer server's.
func decodeAnswer(data []byte, into proto.Message) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil
	}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(data, into); err != nil {
		return status.Error(codes.Internal, "the answer is not one of an Inkstream server")
	}
	return nil
}
