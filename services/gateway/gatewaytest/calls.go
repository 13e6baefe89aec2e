package gatewaytest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/genproto/googleapis/api/httpbody"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"inkstream.dev/pkg/projection"
	"inkstream.dev/pkg/search"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/rest"
)

// Caller makes a call of the API, by the method's name, as one of the protocols offers it. The key may be empty.
// Errors are *APIError.
type Caller func(ctx context.Context, key, method string, req, resp proto.Message) error

// EachCaller runs a test over both protocols.
func EachCaller(t *testing.T, r *Gateway, test func(t *testing.T, call Caller)) {
	t.Helper()
	t.Run("grpc", func(t *testing.T) { test(t, r.CallRPC) })
	t.Run("rest", func(t *testing.T) { test(t, r.CallREST) })
}

// CallRPC makes the call over gRPC.
func (c *Client) CallRPC(ctx context.Context, key, method string, req, resp proto.Message) error {
	if key != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+key)
	}
	return RPCError(c.Conn.Invoke(ctx, "/"+inkstreamv1.InkstreamService_ServiceDesc.ServiceName+"/"+method, req, resp))
}

// CallREST makes the request that the method's annotation in service.proto describes.
func (c *Client) CallREST(ctx context.Context, key, method string, req, resp proto.Message) error {
	verb, pattern, body := c.restRule(method)
	said := map[string]any{}
	data, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(req)
	if err == nil {
		err = json.Unmarshal(data, &said)
	}
	if err != nil {
		return err
	}
	for {
		before, rest, found := strings.Cut(pattern, "{")
		if !found {
			break
		}
		name, after, _ := strings.Cut(rest, "}")
		name, _, _ = strings.Cut(name, "=")
		pattern = before + url.PathEscape(fmt.Sprint(said[name])) + after
		delete(said, name)
	}
	query := url.Values{}
	var payload io.Reader
	if body == "*" {
		payload = bytes.NewReader(data)
	} else {
		flatten(query, "", said)
	}
	hr, err := http.NewRequestWithContext(ctx, verb, c.BaseURL+pattern+"?"+query.Encode(), payload)
	if err != nil {
		return err
	}
	if payload != nil {
		hr.Header.Set("Content-Type", rest.JSONType)
	}
	if key != "" {
		hr.Header.Set("Authorization", "Bearer "+key)
	}
	res, err := c.Web.Do(hr)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK && (res.StatusCode != http.StatusAccepted || res.Header.Get("Location") == "") {
		return ErrorOf(res)
	}
	if data, err = io.ReadAll(res.Body); err != nil {
		return err
	}
	if file, ok := resp.(*httpbody.HttpBody); ok {
		file.ContentType, file.Data = res.Header.Get("Content-Type"), data
		return nil
	}
	return protojson.Unmarshal(data, resp)
}

func (c *Client) restRule(method string) (verb, pattern, body string) {
	c.t.Helper()
	file := inkstreamv1.File_inkstream_v1_service_proto.Services().ByName("InkstreamService")
	m := file.Methods().ByName(protoreflect.Name(method))
	if m == nil {
		c.t.Fatalf("there is no method %s", method)
	}
	rule, _ := proto.GetExtension(m.Options(), annotations.E_Http).(*annotations.HttpRule)
	switch p := rule.GetPattern().(type) {
	case *annotations.HttpRule_Get:
		return http.MethodGet, p.Get, ""
	case *annotations.HttpRule_Delete:
		return http.MethodDelete, p.Delete, ""
	case *annotations.HttpRule_Post:
		return http.MethodPost, p.Post, rule.GetBody()
	}
	c.t.Fatalf("%s has no address", method)
	return "", "", ""
}

func flatten(into url.Values, prefix string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, x := range v {
			flatten(into, strings.TrimPrefix(prefix+"."+name, "."), x)
		}
	case []any:
		for _, x := range v {
			into.Add(prefix, fmt.Sprint(x))
		}
	default:
		into.Add(prefix, fmt.Sprint(v))
	}
}

// WithIndex gives the gateway an index, and keeps its documents as the records are.
func WithIndex(t testing.TB) func(*Options) {
	return func(s *Options) {
		store, err := search.Open(t.Context(), "sqlite://"+t.TempDir()+"/index.db")
		if err != nil {
			t.Fatalf("index: %v", err)
		}
		t.Cleanup(func() { store.Close() })
		s.Index = store
	}
}

// StartProjection keeps the index's documents as the records are, until the test ends.
func (b *Backend) StartProjection() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- projection.New(b.Deps.Jobs, b.Deps.Bus, b.Index, b.Deps.Log).Run(ctx, func() {})
	}()
	b.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			b.t.Errorf("projection: %v", err)
		}
	})
}
