package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

var tenantAttacks = []attack{
	{"tenants", "every route and method, as another tenant", "nothing of the victim's is told or changed", attackRoutes},
	{"tenants", "every gRPC method, as another tenant", "the same", attackCalls},
	{"tenants", "calls for many jobs, by the victim's ids", "nothing is done to them", attackBatches},
	{"tenants", "watch all jobs while the victim's run", "none of the victim's shows", attackWatch},
	{"tenants", "own numbers only: /metrics, /v1/stages", "no number of the victim's", attackNumbers},
	{"tenants", "a key made for another tenant", "refused", attackKeys},
}

// pathsOf returns the addresses of the API with the victim's ids in them, from what the server says of itself and of
// the servers that it stands in for.
func (s *server) pathsOf(ctx context.Context) ([]string, error) {
	code, data, err := s.exchange(ctx, "", http.MethodGet, "/openapi.json", nil, nil)
	var described struct {
		Paths map[string]json.RawMessage `json:"paths"`
	}
	if err == nil {
		err = json.Unmarshal(data, &described)
	}
	if err != nil || code != http.StatusOK || len(described.Paths) < 20 {
		return nil, fmt.Errorf("openapi.json: %d with %d paths, %w", code, len(described.Paths), err)
	}
	var paths []string
	for path := range described.Paths {
		id := s.job
		for prefix, other := range map[string]string{"/v1/uploads": s.upload, "/v1/keys": s.key, "/v1/webhooks": s.hook} {
			if strings.HasPrefix(path, prefix) {
				id = other
			}
		}
		for _, name := range []string{"text.txt", "document.json"} {
			paths = append(paths, strings.NewReplacer("{id}", id, "{name}", name, "{number}", "1", "{delivery}", "1").Replace(path))
		}
	}
	for _, path := range []string{"/result/%s/status", "/result/%s/markdown", "/result/%s/markdown_det", "/result/%s/layout_pdf",
		"/result/%s/images", "/result/%s/images/1", "/v1/jobs/%s/artifacts/..%%2f..%%2f..%%2f" + victim,
		"/v1/jobs/%[1]s/artifacts/../../%[1]s"} {
		paths = append(paths, fmt.Sprintf(path, s.job))
	}
	paths = append(paths, "/tasks", "/metrics", "/readyz", "/v1/search?q="+marker, "/v1/jobs?filename="+marker, "/v1/jobs:count?filename="+marker,
		"/v1/jobs?label=case%3D"+marker, "/v1/jobs?filter.filename="+marker, "/v1/deadletters?job="+s.job, "/v1/batches/"+s.job)
	slices.Sort(paths)
	return slices.Compact(paths), nil
}

// attackRoutes calls every address with every method and every key of the villain.
func attackRoutes(ctx context.Context, t *testbed) (string, error) {
	s := t.server
	paths, err := s.pathsOf(ctx)
	if err != nil {
		return "", err
	}
	tried := 0
	for _, path := range paths {
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
			http.MethodDelete, http.MethodOptions} {
			for _, scope := range []string{"read", "write", "admin"} {
				if err := s.probePath(ctx, villain+"/"+scope, method, path); err != nil {
					return "", err
				}
				tried++
			}
		}
		for _, who := range []string{"", "ink_0123456789abcdef_0123456789abcdef0123456789abcdef"} { // without a key, and with a false one
			if err := s.probePath(ctx, who, http.MethodGet, path); err != nil {
				return "", err
			}
		}
	}
	return fmt.Sprintf("%d requests to %d addresses", tried, len(paths)), s.checkVictim(ctx)
}

// probeTimeout bounds one request: some answers are streams.
const probeTimeout = 2 * time.Second

// probePath sends one request. It is an error if the answer holds anything of the victim's, does what names its
// things, or is a failure of the server.
func (s *server) probePath(ctx context.Context, who, method, path string) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	resp, err := s.sendRequest(ctx, who, method, path, map[string]string{"Content-Type": "application/json", "Tus-Resumable": "1.0.0",
		"Upload-Offset": "0"}, strings.NewReader("{}"))
	if errors.Is(err, context.DeadlineExceeded) && strings.HasSuffix(path, "watch") {
		return nil // a stream of which nothing has come
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	defer resp.Body.Close()
	body := readUntilCut(resp.Body)
	names := strings.Contains(path, s.job) || strings.Contains(path, s.key) || strings.Contains(path, s.hook) ||
		strings.Contains(path, s.upload)
	switch {
	case strings.Contains(body, marker) && !strings.Contains(path, marker):
		return fmt.Errorf("%s as %q %s tells: %.200s", method, who, path, body)
	case resp.StatusCode >= 500 && resp.StatusCode != http.StatusNotImplemented:
		return fmt.Errorf("%s as %q %s: %s %.200s", method, who, path, resp.Status, body)
	case resp.StatusCode < 300 && names && method != http.MethodOptions && !strings.Contains(path, "?"):
		return fmt.Errorf("%s as %q %s is done: %s %.200s", method, who, path, resp.Status, body)
	case resp.StatusCode < 300 && who == "" && !isPublic(path):
		return fmt.Errorf("%s without a key %s: %s", method, path, resp.Status)
	case resp.StatusCode < 300 && strings.Contains(path, marker) && strings.Contains(body, s.job):
		return fmt.Errorf("%s as %q %s finds the victim's job", method, who, path)
	}
	return nil
}

func isPublic(path string) bool {
	return path == "/readyz" || path == "/healthz" || path == "/openapi.json" || strings.HasPrefix(path, "/docs")
}

// attackCalls calls every gRPC method with the victim's ids.
func attackCalls(ctx context.Context, t *testbed) (string, error) {
	s := t.server
	conn, err := grpc.NewClient(s.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return "", err
	}
	defer conn.Close()
	methods := inkstreamv1.File_inkstream_v1_service_proto.Services().ByName("InkstreamService").Methods()
	tried := 0
	for i := range methods.Len() {
		m := methods.Get(i)
		for _, scope := range []string{"", "read", "write", "admin"} {
			cctx, cancel := context.WithTimeout(ctx, probeTimeout)
			if scope != "" {
				cctx = metadata.AppendToOutgoingContext(cctx, "authorization", "Bearer "+s.keys[villain+"/"+scope])
			}
			err := s.probeCall(cctx, conn, m, scope)
			cancel()
			if err != nil {
				return "", err
			}
			tried++
		}
	}
	if tried < 100 {
		return "", fmt.Errorf("only %d calls were tried", tried)
	}
	return fmt.Sprintf("%d calls of %d methods", tried, methods.Len()), s.checkVictim(ctx)
}

// probeCall makes one call; every id of the request is one of the victim's.
func (s *server) probeCall(ctx context.Context, conn *grpc.ClientConn, m protoreflect.MethodDescriptor, scope string) error {
	req, resp := dynamicpb.NewMessage(m.Input()), dynamicpb.NewMessage(m.Output())
	named := false
	for name, value := range map[protoreflect.Name]any{"id": s.victimID(string(m.Name())), "job": s.job, "number": int32(1), "name": "text.txt",
		"delivery": "1"} {
		field := m.Input().Fields().ByName(name)
		if field == nil || field.IsList() {
			continue
		}
		if v := protoreflect.ValueOf(value); field.Kind() == protoreflect.StringKind || name == "number" {
			req.Set(field, v)
			named = named || name == "id"
		}
	}
	method := fmt.Sprintf("/%s/%s", m.Parent().FullName(), m.Name())
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: m.IsStreamingClient()}, method)
	if err == nil {
		err = errors.Join(stream.SendMsg(req), stream.CloseSend())
	}
	if err == nil {
		err = stream.RecvMsg(resp)
	}
	if err != nil {
		return nil //nolint:nilerr // refused, or nothing came
	}
	text, err := proto.Marshal(resp)
	switch {
	case err != nil:
		return err
	case scope == "":
		return fmt.Errorf("%s without a key is done", method)
	case strings.Contains(string(text), marker):
		return fmt.Errorf("%s tells something of the victim", method)
	case named && !strings.Contains(method, "ListDeadLetter"):
		return fmt.Errorf("%s of the victim's %s is done", method, s.victimID(string(m.Name())))
	}
	return nil
}

// victimID returns the victim's id of the kind that a method takes.
func (s *server) victimID(method string) string {
	switch {
	case strings.Contains(method, "Key"):
		return s.key
	case strings.Contains(method, "Webhook"):
		return s.hook
	}
	return s.job
}

// attackBatches names the victim's job in the calls that take many.
func attackBatches(ctx context.Context, t *testbed) (string, error) {
	s := t.server
	for _, path := range []string{"/v1/jobs:delete", "/v1/jobs:cancel", "/v1/jobs:retry"} {
		for _, in := range []map[string]any{
			{"ids": []string{s.job}}, {"ids": []string{s.job}, "dryRun": true},
			{"filter": map[string]any{"filename": marker}}, {"filter": map[string]any{"state": []string{"SUCCEEDED"}}},
		} {
			var out struct {
				Done   int            `json:"done"`
				States map[string]int `json:"states"`
			}
			code, data, err := s.exchange(ctx, villain+"/admin", http.MethodPost, path, map[string]string{"Content-Type": "application/json"}, mustJSON(in))
			if err != nil {
				return "", err
			}
			if code < 300 && json.Unmarshal(data, &out) == nil && in["filter"] == nil && (out.Done > 0 || len(out.States) > 0) {
				return "", fmt.Errorf("%s %v: %s", path, in, data)
			}
		}
	}
	return "12 calls", s.checkVictim(ctx)
}

func mustJSON(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // maps of strings
	}
	return data
}

// attackWatch follows all jobs that the villain may see while the victim has one done.
func attackWatch(ctx context.Context, t *testbed) (string, error) {
	s := t.server
	wctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	resp, err := s.sendRequest(wctx, villain+"/admin", http.MethodGet, "/v1/jobs:watch", nil, nil)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("watch: %s", resp.Status)
	}
	var secret, own jobView
	done := make(chan error, 1)
	go func() {
		var err error
		if secret, _, err = s.runJob(wctx, victim+"/write", "&filename="+marker, s.document); err == nil {
			own, _, err = s.runJob(wctx, villain+"/write", "", s.document)
		}
		_ = waitFor(wctx, 2*time.Second) // for the last change to come through
		done <- err
		cancel()
	}()
	stream := readUntilCut(resp.Body)
	switch err := <-done; {
	case err != nil:
		return "", err
	case strings.Contains(stream, secret.ID):
		return "", errors.New("the victim's job shows")
	case !strings.Contains(stream, own.ID):
		return "", errors.New("the villain's own job does not show, so the watch tells nothing")
	}
	return "own jobs alone", nil
}

// attackNumbers reads what tells of the load.
func attackNumbers(ctx context.Context, t *testbed) (string, error) {
	s := t.server
	slow := denseDocument(16, 300, 0)
	j, code, err := s.submit(ctx, victim+"/write", "&lane=batch&filename="+marker, slow)
	if err != nil || code != http.StatusAccepted {
		return "", fmt.Errorf("upload: %d, %w", code, err)
	}
	defer func() { _, _ = s.callJSON(ctx, victim+"/write", http.MethodPost, "/v1/jobs/"+j.ID+":cancel", nil, nil) }()
	code, body, err := s.exchange(ctx, villain+"/read", http.MethodGet, "/metrics", nil, nil)
	if err != nil {
		return "", err
	}
	if code == http.StatusOK && (strings.Contains(string(body), victim) || strings.Contains(string(body), "inkstream_uploads_total")) {
		return "", errors.New("/metrics shows all tenants' numbers to a tenant's reader")
	}
	if code, _, err := s.exchange(ctx, "admin", http.MethodGet, "/metrics", nil, nil); err != nil || code != http.StatusOK {
		return "", fmt.Errorf("the administrator's /metrics: %d, %w", code, err)
	}
	var stages struct {
		Stages []struct {
			Name      string           `json:"name"`
			Waiting   map[string]any   `json:"waiting"`
			InFlight  string           `json:"inFlight"`
			Processes []map[string]any `json:"processes"`
		} `json:"stages"`
	}
	for range 20 {
		if _, err := s.callJSON(ctx, villain+"/read", http.MethodGet, "/v1/stages?history=true", nil, &stages); err != nil {
			return "", err
		}
		for _, st := range stages.Stages {
			if st.InFlight != "0" && st.InFlight != "" {
				return "", fmt.Errorf("/v1/stages tells a tenant without jobs of %s tasks in hand at %s", st.InFlight, st.Name)
			}
			if len(st.Processes) > 0 {
				return "", fmt.Errorf("/v1/stages tells a tenant of the processes of %s", st.Name)
			}
		}
	}
	return fmt.Sprintf("/metrics answers %d", code), nil
}

// attackKeys has the villain's administrator make a key for the victim's tenant.
func attackKeys(ctx context.Context, t *testbed) (string, error) {
	for _, tenant := range []string{victim, "default", "VICTIM", "victim ", "victim.>", "*"} {
		code, err := t.server.callJSON(ctx, villain+"/admin", http.MethodPost, "/v1/keys",
			map[string]any{"tenant": tenant, "scopes": []string{"admin"}}, nil)
		if err != nil || code < 400 {
			return "", fmt.Errorf("a key for %q: %d, %w", tenant, code, err)
		}
	}
	for _, who := range []string{villain + "/read", villain + "/write"} {
		if code, err := t.server.callJSON(ctx, who, http.MethodPost, "/v1/keys",
			map[string]any{"scopes": []string{"admin"}}, nil); err != nil || code != http.StatusForbidden {
			return "", fmt.Errorf("%s makes a key: %d, %w", who, code, err)
		}
	}
	return "8 of 8 refused", nil
}
