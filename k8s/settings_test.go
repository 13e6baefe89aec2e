package k8s

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"inkstream.dev/pkg/config"
	"inkstream.dev/pkg/pdf"
	"inkstream.dev/pkg/reconcile"
	"inkstream.dev/pkg/search"
	"inkstream.dev/pkg/service"
	"inkstream.dev/services/gateway"
	"inkstream.dev/services/index"
	"inkstream.dev/services/ingest"
	"inkstream.dev/services/ocr"
	"inkstream.dev/services/render"
	"inkstream.dev/services/scan"
)

var services = []string{"gateway", "ingest", "scan", "render", "ocr", "index"}

// settings returns what a service's main gives to service.Main, and where its drain timeout is.
func settings(t *testing.T, name string) ([]service.Settings, *time.Duration) {
	t.Helper()
	engine := pdf.DefaultConfig()
	switch name {
	case "gateway":
		cfg, rec := gateway.DefaultConfig(), reconcile.DefaultConfig()
		return []service.Settings{&cfg, &rec, &search.Config{}}, &cfg.DrainTimeout
	case "ingest":
		cfg := ingest.DefaultConfig()
		return []service.Settings{&cfg, &engine}, &cfg.DrainTimeout
	case "scan":
		cfg := scan.DefaultConfig()
		return []service.Settings{&cfg, &engine}, &cfg.DrainTimeout
	case "render":
		cfg := render.DefaultConfig()
		return []service.Settings{&cfg, &engine}, &cfg.DrainTimeout
	case "ocr":
		cfg, engine := ocr.DefaultConfig(), ocr.DefaultEngineConfig()
		return []service.Settings{&cfg, &engine}, &cfg.DrainTimeout
	case "index":
		cfg := index.DefaultConfig()
		return []service.Settings{&cfg, &search.Config{}, &engine}, &cfg.DrainTimeout
	}
	t.Fatalf("no service %q", name)
	return nil, nil
}

// TestSettingsAreThoseOfTheMains: settings has as many parts as the service's main.
func TestSettingsAreThoseOfTheMains(t *testing.T) {
	for _, name := range services {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "services", name, "cmd", name, "main.go"), nil,
			0)
		if err != nil {
			t.Fatal(err)
		}
		parts := 0
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.CompositeLit); ok {
				if array, ok := lit.Type.(*ast.ArrayType); ok && isSettings(array.Elt) {
					parts = len(lit.Elts)
				}
			}
			return true
		})
		if list, _ := settings(t, name); len(list) != parts {
			t.Errorf("%s: main has %d parts of settings, the test looks at %d", name, parts, len(list))
		}
	}
}

func isSettings(e ast.Expr) bool {
	s, ok := e.(*ast.SelectorExpr)
	return ok && s.Sel.Name == "Settings"
}

// foreign are the variables that are read by others than the flags: by Go, by the clients of S3 and of OpenTelemetry,
// by whatever wants a home.
var foreign = []string{"HOME", "TMPDIR", "GOMEMLIMIT", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION",
	"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_TRACES_SAMPLER",
	"OTEL_TRACES_SAMPLER_ARG", "OTEL_RESOURCE_ATTRIBUTES"}

// variables returns a container's environment. What it reads must be there.
func variables(t *testing.T, s *set, c *container) map[string]string {
	t.Helper()
	env := map[string]string{}
	from := func(ref string) map[string]string {
		data, ok := s.data[ref]
		if !ok {
			t.Errorf("container %s reads %s, which is not there", c.Name, ref)
		}
		return data
	}
	for _, source := range c.EnvFrom {
		if source.ConfigMapRef != nil {
			for name, value := range from("ConfigMap/" + source.ConfigMapRef.Name) {
				env[name] = value
			}
		}
		if source.SecretRef != nil {
			for name, value := range from("Secret/" + source.SecretRef.Name) {
				env[name] = value
			}
		}
	}
	for _, v := range c.Env {
		env[v.Name] = v.Value
		if v.ValueFrom == nil {
			continue
		}
		ref, kind := v.ValueFrom.SecretKeyRef, "Secret/"
		if ref == nil {
			ref, kind = v.ValueFrom.ConfigMapKeyRef, "ConfigMap/"
		}
		if ref == nil {
			continue // of the pod itself
		}
		value, ok := from(kind + ref.Name)[ref.Key]
		if !ok {
			t.Errorf("container %s: %s%s has no key %s", c.Name, kind, ref.Name, ref.Key)
		}
		env[v.Name] = value
	}
	return env
}

func TestFlagsAndVariablesExist(t *testing.T) {
	tr := build(t).tree
	eachOverlay(t, func(t *testing.T, s *set) { checkSettings(t, s, tr) })
}

func checkSettings(t *testing.T, s *set, tr *tree) {
	t.Helper()
	for _, w := range s.workloads {
		for _, c := range slices.Concat(w.pod().InitContainers, w.pod().Containers) {
			image, _, _ := strings.Cut(c.Image, ":")
			checkMounts(t, s, w, &c)
			switch name, ours := strings.CutPrefix(image, "inkstream/"); {
			case ours && slices.Contains(services, name):
				checkService(t, s, name, &c)
			case ours && name == "inkstream":
				checkCommand(t, s, tr, &c)
			case image == "nats":
				checkNATS(t, s, w, &c)
			case image == "versity/versitygw":
				checkS3(t, s, &c)
			case image == "clickhouse/clickhouse-server":
				// TestClickHouseTakesItsConfiguration runs one.
			case image == "vllm/vllm-openai":
				checkVision(t, s, &c)
			default:
				t.Errorf("%s: what %s is told is not looked at", w, c.Image)
			}
		}
	}
}

// checkService parses a service's flags and variables as the service does.
func checkService(t *testing.T, s *set, name string, c *container) {
	t.Helper()
	env := variables(t, s, c)
	args := c.Args
	if len(c.Command) > 1 {
		args = append(c.Command[1:], args...)
	}
	checkVariables(t, name, args, env)
	if name != "index" && env["AWAIT_INDEX"] != "http://index:9100/readyz" {
		t.Errorf("%s: AWAIT_INDEX is %q: at an update it would not wait for index", name, env["AWAIT_INDEX"])
	}
	if workers := strings.ToUpper(name) + "_WORKERS"; name != "gateway" && env[workers] == "" {
		t.Errorf("%s: no %s: it would take as many tasks as its node has cores", name, workers)
	}
}

// checkVariables: a service takes the flags and variables, has a flag for each of these, and is told what it needs.
func checkVariables(t *testing.T, name string, args []string, env map[string]string) {
	t.Helper()
	list, _ := settings(t, name)
	if err := service.CheckFlags(name, args, func(name string) string { return env[name] }, list); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	fs := config.NewFlagSet(name, os.Stderr)
	list, _ = settings(t, name)
	common := service.DefaultConfig(name)
	common.Register(fs)
	for _, part := range list {
		part.Register(fs)
	}
	known := slices.Clone(foreign)
	fs.VisitAll(func(f *flagFlag) { known = append(known, config.VariableName(f.Name)) })
	for variable := range env {
		if !slices.Contains(known, variable) {
			t.Errorf("%s has no flag for the variable %s", name, variable)
		}
	}
	for _, required := range []string{"NATS", "NATS_NKEY", "SEAL_KEY_FILE", "BLOBS"} {
		if env[required] == "" {
			t.Errorf("%s: no %s", name, required)
		}
	}
	if env["NATS_PROVISION"] != "false" {
		t.Errorf("%s: NATS_PROVISION is %q: it would make streams as a user who may not", name, env["NATS_PROVISION"])
	}
}

// drainTimeout returns how long a service finishes what it has in hand.
func drainTimeout(t *testing.T, s *set, name string, c *container) time.Duration {
	t.Helper()
	env := variables(t, s, c)
	list, drain := settings(t, name)
	if err := service.CheckFlags(name, c.Args, func(name string) string { return env[name] }, list); err != nil {
		t.Fatal(err)
	}
	return *drain
}

// ownMemory is what a service's process itself may take, beside its engine's children.
const ownMemory = 192 << 20

// TestMemoryLimitsLeaveRoomForTheChildren: the service ends a child that takes too much, and the page fails; a pod
// over its limit ends as a whole.
func TestMemoryLimitsLeaveRoomForTheChildren(t *testing.T) {
	eachOverlay(t, func(t *testing.T, s *set) {
		for _, name := range services {
			w := s.workload(t, name)
			c := w.pod().Containers[0]
			env := variables(t, s, &c)
			list, _ := settings(t, name)
			if err := service.CheckFlags(name, c.Args, func(name string) string { return env[name] }, list); err != nil {
				t.Fatal(err)
			}
			need := int64(ownMemory)
			for _, part := range list {
				workers, _ := strconv.Atoi(env[strings.ToUpper(name)+"_WORKERS"]) // the gateway has none
				limit := int64(0)
				switch engine := part.(type) {
				case *pdf.Config:
					limit, workers = engine.MemoryLimit, cmp.Or(engine.Workers, workers)
				case *ocr.EngineConfig:
					limit = engine.MemoryLimit
				}
				need += int64(workers) * limit
			}
			mebibytes, err := strconv.ParseInt(strings.TrimSuffix(fmt.Sprint(c.Resources.Limits["memory"]), "Mi"), 10, 64)
			if err != nil || mebibytes<<20 < need {
				t.Errorf("%s: the limit of memory is %v, want %d Mi at least", w, c.Resources.Limits["memory"], need>>20)
			}
		}
	})
}

// checkMounts looks for the files that variables name.
func checkMounts(t *testing.T, s *set, w *workload, c *container) {
	t.Helper()
	values := slices.Clone(c.Args)
	for name, value := range variables(t, s, c) {
		if name != "HOME" {
			values = append(values, value)
		}
	}
	for _, value := range values {
		if _, after, ok := strings.Cut(value, "="); ok && strings.HasPrefix(value, "--") {
			value = after
		}
		path := strings.TrimPrefix(strings.TrimPrefix(value, "sqlite://"), "file://")
		if !strings.HasPrefix(path, "/") || strings.ContainsAny(path, "?$ ") || path == "/health" {
			continue
		}
		if !mounted(s, w, c, path) {
			t.Errorf("%s: container %s is told of %s, which is not in its volumes", w, c.Name, path)
		}
	}
}

// mounted reports whether a path is in a volume, and there if that is a ConfigMap or a Secret.
func mounted(s *set, w *workload, c *container, path string) bool {
	for _, m := range c.VolumeMounts {
		rest, ok := strings.CutPrefix(path, m.MountPath)
		if !ok || rest != "" && rest[0] != '/' {
			continue
		}
		i := slices.IndexFunc(w.pod().Volumes, func(v volume) bool { return v.Name == m.Name })
		if i < 0 {
			return slices.ContainsFunc(w.spec.VolumeClaimTemplates,
				func(v struct{ Metadata metadata }) bool { return v.Metadata.Name == m.Name })
		}
		var ref string
		if v := w.pod().Volumes[i]; v.Secret != nil {
			ref = "Secret/" + v.Secret.SecretName
		} else if v.ConfigMap != nil {
			ref = "ConfigMap/" + v.ConfigMap.Name
		} else {
			return true
		}
		_, ok = s.data[ref][strings.TrimPrefix(rest, "/")]
		return ok
	}
	return false
}

// checkCommand has the command inkstream read the flags of a Job.
func checkCommand(t *testing.T, s *set, tr *tree, c *container) {
	t.Helper()
	if !slices.Equal(c.Command, []string{"inkstream"}) {
		t.Errorf("container %s: command %q, want inkstream", c.Name, c.Command)
	}
	cmd := exec.CommandContext(t.Context(), tr.inkstream, append(slices.Clone(c.Args), "--help")...)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "inkstream "+strings.Join(commandWords(c.Args), " ")+" [flags]") {
		t.Errorf("container %s: inkstream %q: %v\n%s", c.Name, c.Args, err, out)
	}
	for name := range variables(t, s, c) {
		if name != "INDEX" && !slices.Contains(foreign, name) {
			t.Errorf("container %s: nothing reads the variable %s", c.Name, name)
		}
	}
}

// commandWords returns the arguments before the first flag.
func commandWords(args []string) []string {
	if i := slices.IndexFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "-") }); i >= 0 {
		return args[:i]
	}
	return args
}

// checkNATS has the server's package read each pod's arguments and configuration.
func checkNATS(t *testing.T, s *set, w *workload, c *container) {
	t.Helper()
	for pod := range *w.spec.Replicas {
		opts := natsOptions(t, s, w, c, pod)
		checkServer(t, w, opts, pod)
	}
	if stop := c.Lifecycle.PreStop; *w.spec.Replicas > 1 &&
		(stop == nil || stop.Exec == nil || !slices.Equal(stop.Exec.Command, []string{"nats-server", "--signal", "ldm=1"})) {
		t.Errorf("%s: a server that stops does not hand over before", w)
	}
	if grace := *w.pod().TerminationGracePeriodSeconds; time.Duration(grace)*time.Second < 30*time.Second+stopMargin {
		t.Errorf("%s: terminationGracePeriodSeconds is %d, less than a server takes to leave", w, grace)
	}
}

// checkS3 has versitygw print its help with the flags that it is given.
func checkS3(t *testing.T, s *set, c *container) {
	t.Helper()
	help := string(run(t, nil, tool(t, "versitygw"), "--help"))
	for name := range variables(t, s, c) {
		if !strings.Contains(help, name) {
			t.Errorf("versitygw reads no variable %s", name)
		}
	}
	last := len(c.Args) - 1 // the folder of the buckets, which only a server that runs takes
	if !slices.Contains(c.Args, "posix") || c.Args[last] != "/s3/buckets" {
		t.Fatalf("versitygw %q: want its back end posix over /s3/buckets", c.Args)
	}
	run(t, nil, tool(t, "versitygw"), append(slices.Clone(c.Args[:last]), "--help")...)
}

// checkVision looks whether the model's server is told what its family of models needs, and whether the ocr service, and
// nothing else, asks it under the name and address that it has.
func checkVision(t *testing.T, s *set, c *container) {
	t.Helper()
	for _, flag := range []string{"--no-enable-prefix-caching", "--mm-processor-cache-gb=0",
		"--logits_processors=vllm.model_executor.models.deepseek_ocr:NGramPerReqLogitsProcessor"} {
		if !slices.Contains(c.Args, flag) {
			t.Errorf("vllm %q: want %s", c.Args, flag)
		}
	}
	ocr := s.workload(t, "ocr")
	env := variables(t, s, &ocr.pod().Containers[0])
	if name := "--served-model-name=" + env["VISION_MODEL"]; !slices.Contains(c.Args, name) {
		t.Errorf("vllm %q: want %s, the name that ocr asks for", c.Args, name)
	}
	at, err := url.Parse(env["VISION_ENDPOINTS"])
	if err != nil || !s.serves(t, at.Hostname(), at.Port()) || !slices.Contains(c.Args, "--port="+at.Port()) {
		t.Errorf("ocr asks %q, where no model is", env["VISION_ENDPOINTS"])
	}
	for _, r := range []map[string]any{c.Resources.Requests, c.Resources.Limits} {
		if r["nvidia.com/gpu"] == nil {
			t.Error("vllm has no graphics card")
		}
	}
	policies, model := s.policies(t), s.workload(t, "vision")
	for _, other := range s.workloads {
		reached := allows(policies, "Egress", other, model, "http") && allows(policies, "Ingress", model, other, "http")
		if reached != (other == ocr) {
			t.Errorf("%s reaches the model: %v", other, reached)
		}
		for _, port := range other.pod().Containers[0].Ports {
			if allows(policies, "Egress", model, other, port.Name) {
				t.Errorf("the model may talk to %s", other)
			}
		}
	}
}

// serverFlags parses the arguments of nats-server.
func serverFlags(t *testing.T, args []string) *server.Options {
	t.Helper()
	fs := newFlagSet("nats-server")
	opts, err := server.ConfigureOptions(fs, args, nil, nil, nil)
	if err != nil {
		t.Fatalf("nats-server %q: %v", args, err)
	}
	return opts
}
