package k8s

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"inkstream.dev/pkg/service"
)

// set is the objects of an overlay, by what is asked of them.
type set struct {
	objects   []*object
	workloads []*workload
	// data are the contents of ConfigMaps and Secrets, by kind and name.
	data map[string]map[string]string
}

// workload is an object that makes pods.
type workload struct {
	*object
	spec struct {
		Replicas *int
		Selector selector
		Strategy struct{ Type string }
		Template struct {
			Metadata metadata
			Spec     podSpec
		}
		VolumeClaimTemplates []struct{ Metadata metadata }
	}
}

// app is the workload's name without the release's suffix that Jobs have.
func (w *workload) app() string { return w.spec.Template.Metadata.Labels["app.kubernetes.io/name"] }

func (w *workload) pod() *podSpec { return &w.spec.Template.Spec }

type podSpec struct {
	AutomountServiceAccountToken, EnableServiceLinks *bool
	ServiceAccountName                               string
	HostNetwork, HostPID, HostIPC                    bool
	TerminationGracePeriodSeconds                    *int
	SecurityContext                                  securityContext
	TopologySpreadConstraints                        []struct {
		LabelSelector selector
		TopologyKey   string
	}
	Affinity struct {
		PodAntiAffinity struct {
			RequiredDuringSchedulingIgnoredDuringExecution []struct{ LabelSelector selector }
		}
	}
	InitContainers, Containers []container
	Volumes                    []volume
}

type securityContext struct {
	RunAsNonRoot, AllowPrivilegeEscalation, ReadOnlyRootFilesystem, Privileged *bool
	RunAsUser                                                                  *int
	SeccompProfile                                                             struct{ Type string }
	Capabilities                                                               struct{ Add, Drop []string }
}

type container struct {
	Name, Image     string
	Command, Args   []string
	Env             []variable
	EnvFrom         []struct{ ConfigMapRef, SecretRef *struct{ Name string } }
	Ports           []port
	SecurityContext securityContext
	Resources       struct{ Requests, Limits map[string]any }
	VolumeMounts    []struct{ Name, MountPath string }
	Lifecycle       struct {
		PreStop *struct {
			Sleep *struct{ Seconds int }
			Exec  *struct{ Command []string }
		}
	}
	StartupProbe, ReadinessProbe, LivenessProbe *probe
}

type variable struct {
	Name, Value string
	ValueFrom   *struct {
		SecretKeyRef, ConfigMapKeyRef *struct{ Name, Key string }
		FieldRef                      *struct{ FieldPath string }
	}
}

type port struct {
	Name          string
	ContainerPort int
	Protocol      string
}

type probe struct {
	HTTPGet *struct {
		Path string
		Port any
	}
}

type volume struct {
	Name                  string
	Secret                *struct{ SecretName string }
	ConfigMap             *struct{ Name string }
	EmptyDir              *struct{}
	PersistentVolumeClaim *struct{ ClaimName string }
	HostPath              *struct{}
}

func newSet(t *testing.T, objects []*object) *set {
	t.Helper()
	s := &set{objects: objects, data: map[string]map[string]string{}}
	for _, o := range objects {
		switch o.Kind {
		case "Deployment", "StatefulSet", "DaemonSet", "Job":
			w := &workload{object: o}
			o.spec(t, &w.spec)
			s.workloads = append(s.workloads, w)
		case "ConfigMap", "Secret":
			data := map[string]string{}
			if err := json.Unmarshal(o.Data, &data); err != nil {
				t.Fatalf("%s: %v", o, err)
			}
			for key, value := range data {
				if o.Kind == "Secret" {
					text, err := base64.StdEncoding.DecodeString(value)
					if err != nil {
						t.Fatalf("%s: %v", o, err)
					}
					data[key] = string(text)
				}
			}
			s.data[o.Kind+"/"+o.Metadata.Name] = data
		}
	}
	return s
}

// spec decodes the object's spec.
func (o *object) spec(t *testing.T, into any) {
	t.Helper()
	if err := json.Unmarshal(o.Spec, into); err != nil {
		t.Fatalf("%s: %v", o, err)
	}
}

// images are those of other projects, by what their version must be; nil for one that is pinned to a line of releases.
var images = map[string]func(t *testing.T) string{
	"nats": func(t *testing.T) string {
		return moduleVersion(t, "../pkg/go.mod", "github.com/nats-io/nats-server/v2") + "-alpine"
	},
	"versity/versitygw": func(t *testing.T) string {
		return "v" + moduleVersion(t, "../pkg/tools/go.mod", "github.com/versity/versitygw")
	},
	"clickhouse/clickhouse-server": nil,
	"vllm/vllm-openai":             nil, // never run here
}

// moduleVersion returns the version of a module that a go.mod requires.
func moduleVersion(t *testing.T, gomod, module string) string {
	t.Helper()
	text, err := os.ReadFile(gomod)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^\s*` + regexp.QuoteMeta(module) + ` v(\S+)`).FindSubmatch(text)
	if found == nil {
		t.Fatalf("%s does not require %s", gomod, module)
	}
	return string(found[1])
}

func TestPodsAreRestricted(t *testing.T) { eachOverlay(t, checkPods) }

func checkPods(t *testing.T, s *set) {
	t.Helper()
	if len(s.workloads) < 8 {
		t.Fatalf("only %d workloads", len(s.workloads))
	}
	for _, w := range s.workloads {
		p := w.pod()
		if p.AutomountServiceAccountToken == nil || *p.AutomountServiceAccountToken {
			t.Errorf("%s: has a token of the cluster's API", w)
		}
		if p.EnableServiceLinks == nil || *p.EnableServiceLinks {
			t.Errorf("%s: has variables of Services, such as NATS_PORT, which may be flags", w)
		}
		if p.HostNetwork || p.HostPID || p.HostIPC {
			t.Errorf("%s: is in namespaces of its node", w)
		}
		c := p.SecurityContext
		if c.RunAsNonRoot == nil || !*c.RunAsNonRoot || c.RunAsUser == nil || *c.RunAsUser == 0 ||
			c.SeccompProfile.Type != "RuntimeDefault" {
			t.Errorf("%s: want runAsNonRoot, a runAsUser and the seccomp profile RuntimeDefault", w)
		}
		for _, v := range p.Volumes {
			if v.HostPath != nil {
				t.Errorf("%s: volume %s is a folder of the node", w, v.Name)
			}
		}
		for _, c := range slices.Concat(p.InitContainers, p.Containers) {
			checkContainer(t, w, &c)
		}
	}
}

func checkContainer(t *testing.T, w *workload, c *container) {
	t.Helper()
	sc := c.SecurityContext
	if sc.AllowPrivilegeEscalation == nil || *sc.AllowPrivilegeEscalation || sc.Privileged != nil && *sc.Privileged ||
		sc.RunAsNonRoot != nil && !*sc.RunAsNonRoot || sc.RunAsUser != nil && *sc.RunAsUser == 0 {
		t.Errorf("%s: container %s may gain privileges", w, c.Name)
	}
	if !slices.Equal(sc.Capabilities.Drop, []string{"ALL"}) || len(sc.Capabilities.Add) > 0 {
		t.Errorf("%s: container %s has capabilities", w, c.Name)
	}
	// Tilt replaces programs in the containers of the overlay dev.
	replaced := path.Base(t.Name()) == "dev" && w.Kind == "Deployment"
	if !replaced && (sc.ReadOnlyRootFilesystem == nil || !*sc.ReadOnlyRootFilesystem) {
		t.Errorf("%s: container %s has a root that it can write to", w, c.Name)
	}
	for _, r := range []map[string]any{c.Resources.Requests, c.Resources.Limits} {
		if r["cpu"] == nil || r["memory"] == nil {
			t.Errorf("%s: container %s: want requests and limits of cpu and memory", w, c.Name)
		}
	}
	name, tag, _ := strings.Cut(c.Image, ":")
	version, known := images[name]
	switch {
	case strings.HasPrefix(name, "inkstream/"):
		if tag != service.Version && tag != "dev" {
			t.Errorf("%s: image %s, want %s:%s as pkg/service has it", w, c.Image, name, service.Version)
		}
	case !known:
		t.Errorf("%s: image %s is neither ours nor one of %q", w, c.Image, slices.Sorted(maps.Keys(images)))
	case version != nil && tag != version(t):
		t.Errorf("%s: image %s, want %s:%s, the version that is tested here", w, c.Image, name, version(t))
	case tag == "" || tag == "latest":
		t.Errorf("%s: image %s is not pinned", w, c.Image)
	}
	if w.Kind == "Job" {
		return
	}
	for which, p := range map[string]*probe{"startup": c.StartupProbe, "readiness": c.ReadinessProbe,
		"liveness": c.LivenessProbe} {
		if p == nil || p.HTTPGet == nil {
			t.Errorf("%s: container %s has no %s probe", w, c.Name, which)
			continue
		}
		if name, ok := p.HTTPGet.Port.(string); !ok ||
			!slices.ContainsFunc(c.Ports, func(p port) bool { return p.Name == name }) {
			t.Errorf("%s: container %s: %s probe at port %v, which is none of its named ports", w, c.Name, which, p.HTTPGet.Port)
		}
	}
}

// TestServicesProbesTellTheTruth: ready is what /readyz says, which asks what the service works with; a service that
// waits for that is alive.
func TestServicesProbesTellTheTruth(t *testing.T) {
	eachOverlay(t, func(t *testing.T, s *set) {
		for _, name := range services {
			c := s.workload(t, name).pod().Containers[0]
			for which, want := range map[string]struct {
				probe *probe
				path  string
			}{"startup": {c.StartupProbe, "/readyz"}, "readiness": {c.ReadinessProbe, "/readyz"},
				"liveness": {c.LivenessProbe, "/healthz"}} {
				if p := want.probe.HTTPGet; p.Path != want.path || p.Port != "ops" {
					t.Errorf("%s: %s probe asks %s of port %v, want %s of port ops", name, which, p.Path, p.Port, want.path)
				}
			}
			ops := variables(t, s, &c)["OPS"]
			if i := slices.IndexFunc(c.Ports, func(p port) bool { return p.Name == "ops" }); i < 0 ||
				!strings.HasSuffix(ops, ":9100") || c.Ports[i].ContainerPort != 9100 {
				t.Errorf("%s: OPS is %q, and its port ops is not that one", name, ops)
			}
		}
	})
}

// workload returns the workload of an app.
func (s *set) workload(t *testing.T, app string) *workload {
	t.Helper()
	for _, w := range s.workloads {
		if w.app() == app {
			return w
		}
	}
	t.Fatalf("no workload of %s", app)
	return nil
}

// stopMargin is what a service needs besides its drain: what it hands back, the spans that it sends, its connections.
const stopMargin = 20 * time.Second

func TestPodsHaveTimeToDrain(t *testing.T) {
	eachOverlay(t, func(t *testing.T, s *set) {
		for _, name := range services {
			w := s.workload(t, name)
			grace := w.pod().TerminationGracePeriodSeconds
			if grace == nil {
				t.Errorf("%s: no terminationGracePeriodSeconds", w)
				continue
			}
			c := w.pod().Containers[0]
			need := drainTimeout(t, s, name, &c) + stopMargin
			if stop := c.Lifecycle.PreStop; stop != nil && stop.Sleep != nil {
				need += time.Duration(stop.Sleep.Seconds) * time.Second
			}
			if got := time.Duration(*grace) * time.Second; got < need {
				t.Errorf("%s: terminationGracePeriodSeconds is %s, want at least %s", w, got, need)
			}
		}
	})
}

// TestJobsBelongToTheRelease: a Job's template cannot be changed, so a release's Jobs have names of their own, and
// what they read has names that stay.
func TestJobsBelongToTheRelease(t *testing.T) {
	suffix := "-" + strings.ReplaceAll(service.Version, ".", "-")
	eachOverlay(t, func(t *testing.T, s *set) {
		for _, name := range []string{"provision", "migrate"} {
			w := s.workload(t, name)
			if w.Kind != "Job" || w.Metadata.Name != name+suffix {
				t.Errorf("%s, want Job %s: jobs/kustomization.yaml has the suffix", w, name+suffix)
			}
			for _, ref := range references(w) {
				if regexp.MustCompile(`-[0-9a-z]{10}$`).MatchString(ref) {
					t.Errorf("%s: reads %s, whose name changes with what is in it", w, ref)
				}
			}
		}
		if w := s.workload(t, "index"); w.spec.Strategy.Type != "Recreate" {
			t.Errorf("%s: strategy %q, want Recreate: an older process must not write to a newer index", w, w.spec.Strategy.Type)
		}
	})
}

// references returns the ConfigMaps and Secrets that a workload's pods read, as kind/name.
func references(w *workload) []string {
	var refs []string
	for _, v := range w.pod().Volumes {
		if v.Secret != nil {
			refs = append(refs, "Secret/"+v.Secret.SecretName)
		}
		if v.ConfigMap != nil {
			refs = append(refs, "ConfigMap/"+v.ConfigMap.Name)
		}
	}
	for _, c := range slices.Concat(w.pod().InitContainers, w.pod().Containers) {
		for _, from := range c.EnvFrom {
			if from.SecretRef != nil {
				refs = append(refs, "Secret/"+from.SecretRef.Name)
			}
			if from.ConfigMapRef != nil {
				refs = append(refs, "ConfigMap/"+from.ConfigMapRef.Name)
			}
		}
		for _, v := range c.Env {
			if v.ValueFrom != nil && v.ValueFrom.SecretKeyRef != nil {
				refs = append(refs, "Secret/"+v.ValueFrom.SecretKeyRef.Name)
			}
			if v.ValueFrom != nil && v.ValueFrom.ConfigMapKeyRef != nil {
				refs = append(refs, "ConfigMap/"+v.ValueFrom.ConfigMapKeyRef.Name)
			}
		}
	}
	return refs
}

// TestEverySecretHasOneReader: a service's pods have the key of their own NATS user, and no other; that of the
// administrator has the Job alone.
func TestEverySecretHasOneReader(t *testing.T) {
	eachOverlay(t, func(t *testing.T, s *set) {
		for _, w := range s.workloads {
			for _, ref := range references(w) {
				if s.data[ref] == nil {
					t.Errorf("%s reads %s, which is not there", w, ref)
				}
				user, isUser := strings.CutPrefix(ref, "Secret/nats-")
				if !isUser || strings.HasPrefix(user, "config") {
					continue
				}
				want := w.app()
				if want == "provision" {
					want = "admin"
				}
				if user != want && !strings.HasPrefix(user, want+"-") {
					t.Errorf("%s reads %s, another's key", w, ref)
				}
			}
		}
	})
}
