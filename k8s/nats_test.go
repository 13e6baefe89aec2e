package k8s

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/natsconfig"
)

type flagFlag = flag.Flag

func newFlagSet(name string) *flag.FlagSet { return flag.NewFlagSet(name, flag.ContinueOnError) }

// natsOptions returns the options of a server as its pod is given them, with its Secret's files in a folder of the
// test.
func natsOptions(t *testing.T, s *set, w *workload, c *container, pod int) *server.Options {
	t.Helper()
	dir := t.TempDir()
	var args []string
	for _, arg := range c.Args {
		arg = strings.ReplaceAll(arg, "$(POD_NAME)", fmt.Sprintf("%s-%d", w.Metadata.Name, pod))
		for _, m := range c.VolumeMounts {
			rest, ok := strings.CutPrefix(arg, m.MountPath+"/")
			i := slices.IndexFunc(w.pod().Volumes, func(v volume) bool { return v.Name == m.Name && v.Secret != nil })
			if !ok || i < 0 {
				continue
			}
			text, ok := s.data["Secret/"+w.pod().Volumes[i].Secret.SecretName][rest]
			if !ok {
				t.Fatalf("%s: no %s in its Secret", w, rest)
			}
			arg = filepath.Join(dir, rest)
			if err := os.WriteFile(arg, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		args = append(args, arg)
	}
	return serverFlags(t, args)
}

// checkServer looks at what a server's configuration says.
func checkServer(t *testing.T, w *workload, opts *server.Options, pod int) {
	t.Helper()
	servers := *w.spec.Replicas
	if !opts.JetStream || opts.StoreDir != "/data" || !opts.SyncAlways {
		t.Errorf("%s: JetStream %t in %q, synced always %t; want it in /data, and synced", w, opts.JetStream, opts.StoreDir,
			opts.SyncAlways)
	}
	for name, listens := range map[string]int{"client": opts.Port, "monitor": opts.HTTPPort} {
		if i := slices.IndexFunc(w.pod().Containers[0].Ports, func(p port) bool { return p.Name == name }); i < 0 ||
			w.pod().Containers[0].Ports[i].ContainerPort != listens {
			t.Errorf("%s: listens at %d, which its port %s is not", w, listens, name)
		}
	}
	if opts.Host != "0.0.0.0" || opts.HTTPHost != "0.0.0.0" {
		t.Errorf("%s: listens at %q and %q, where nobody reaches it", w, opts.Host, opts.HTTPHost)
	}
	if servers > 1 {
		if opts.Cluster.Port != 6222 || len(opts.Routes) != servers-1 ||
			opts.ServerName != fmt.Sprintf("nats-%d.nats-peers", pod) {
			t.Errorf("%s: server %s has port %d for the others, and routes %v", w, opts.ServerName, opts.Cluster.Port,
				opts.Routes)
		}
		if opts.LameDuckDuration+stopMargin > time.Duration(*w.pod().TerminationGracePeriodSeconds)*time.Second {
			t.Errorf("%s: takes %s to leave, more than terminationGracePeriodSeconds leaves it", w, opts.LameDuckDuration)
		}
		for _, route := range opts.Routes {
			n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(route.Hostname(), "nats-"), ".nats-peers"))
			if err != nil || n < 0 || n >= servers || n == pod {
				t.Errorf("%s: server %d has a route to %s, which is none of its pods", w, pod, route.Hostname())
			}
		}
	}
	replicas := 1
	if servers > 1 {
		replicas = bus.ClusterReplicas
	}
	if len(opts.Nkeys) != len(bus.AllUsers()) {
		t.Fatalf("%s: %d users, want %d", w, len(opts.Nkeys), len(bus.AllUsers()))
	}
	for _, name := range bus.AllUsers() {
		checkUser(t, opts, bus.PermissionsFor(name, replicas))
	}
}

// checkUser looks for the user who may do exactly what bus says.
func checkUser(t *testing.T, opts *server.Options, want bus.Permissions) {
	t.Helper()
	for _, u := range opts.Nkeys {
		if u.Account.Name == natsconfig.Account && u.Permissions != nil &&
			sameSubjects(u.Permissions.Publish, want.Publish) && sameSubjects(u.Permissions.Subscribe, want.Subscribe) {
			return
		}
	}
	t.Errorf("no user may do what %s may, and no more", want.User)
}

func sameSubjects(p *server.SubjectPermission, grants []bus.Grant) bool {
	var want []string
	for _, g := range grants {
		want = append(want, g.Subject)
	}
	if p == nil || len(p.Deny) > 0 {
		return false
	}
	got := slices.Clone(p.Allow)
	slices.Sort(got)
	slices.Sort(want)
	return slices.Equal(got, want)
}

// TestEachServiceHasItsKey: the seed that a pod has is that of the user who may do what its service needs.
func TestEachServiceHasItsKey(t *testing.T) {
	eachOverlay(t, func(t *testing.T, s *set) {
		w := s.workload(t, "nats")
		opts := natsOptions(t, s, w, &w.pod().Containers[0], 0)
		replicas := 1
		if *w.spec.Replicas > 1 {
			replicas = bus.ClusterReplicas
		}
		for _, app := range append(slices.Clone(services), "provision") {
			user := app
			if app == "provision" {
				user = bus.AdminUser
			}
			public := publicKey(t, s, s.workload(t, app))
			i := slices.IndexFunc(opts.Nkeys, func(u *server.NkeyUser) bool { return u.Nkey == public })
			want := bus.PermissionsFor(user, replicas)
			if i < 0 || !sameSubjects(opts.Nkeys[i].Permissions.Publish, want.Publish) ||
				!sameSubjects(opts.Nkeys[i].Permissions.Subscribe, want.Subscribe) {
				t.Errorf("%s has the key of no user, or of one who is not %s", app, user)
			}
		}
	})
}

// publicKey returns the public key to the seed in a workload's volume nats.
func publicKey(t *testing.T, s *set, w *workload) string {
	t.Helper()
	i := slices.IndexFunc(w.pod().Volumes, func(v volume) bool { return v.Name == "nats" && v.Secret != nil })
	if i < 0 {
		t.Fatalf("%s has no key of a NATS user", w)
	}
	pair, err := nkeys.FromSeed([]byte(strings.TrimSpace(s.data["Secret/"+
		w.pod().Volumes[i].Secret.SecretName]["user.nk"])))
	if err != nil {
		t.Fatalf("%s: %v", w, err)
	}
	public, err := pair.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	return public
}

// scaled is the spec of a ScaledObject.
type scaled struct {
	ScaleTargetRef                   struct{ Name, Kind string }
	MinReplicaCount, MaxReplicaCount *int
	CooldownPeriod                   *int
	Advanced                         struct {
		ScalingModifiers struct{ Formula, Target, ActivationTarget, MetricType string }
	}
	Triggers []struct {
		Type, Name string
		Metadata   map[string]string
	}
}

// TestStagesAreScaledByTheirOwnConsumers: KEDA's nats-jetstream scaler counts of each consumer what waits and what is
// in hand.
func TestStagesAreScaledByTheirOwnConsumers(t *testing.T) {
	s := newSet(t, build(t).objects["cluster"])
	found := map[string]bool{}
	for _, o := range s.objects {
		if o.Kind != "ScaledObject" {
			continue
		}
		var so scaled
		o.spec(t, &so)
		stage := bus.Stage(so.ScaleTargetRef.Name)
		if !slices.Contains(bus.AllStages(), stage) || s.workload(t, string(stage)).Kind != "Deployment" {
			t.Errorf("%s scales %q, which is no stage", o, stage)
			continue
		}
		found[string(stage)] = true
		checkScaled(t, s, o, &so, stage)
	}
	for _, stage := range bus.AllStages() {
		if !found[string(stage)] {
			t.Errorf("nothing scales %s", stage)
		}
	}
}

func checkScaled(t *testing.T, s *set, o *object, so *scaled, stage bus.Stage) {
	t.Helper()
	if s.workload(t, string(stage)).spec.Replicas != nil {
		t.Errorf("%s: its Deployment says how many replicas there are, and each apply would set them", o)
	}
	least := 1
	if stage == bus.OCR {
		least = 0
	}
	if so.MinReplicaCount == nil || *so.MinReplicaCount != least || so.MaxReplicaCount == nil || *so.MaxReplicaCount < 1 {
		t.Errorf("%s: wants %d replicas at least, and a ceiling", o, least)
	}
	if target, err := strconv.Atoi(so.Advanced.ScalingModifiers.Target); err != nil || target < 1 ||
		so.Advanced.ScalingModifiers.ActivationTarget != "0" {
		t.Errorf("%s: target %q, activation %q", o, so.Advanced.ScalingModifiers.Target,
			so.Advanced.ScalingModifiers.ActivationTarget)
	}
	var names, consumers []string
	for _, trigger := range so.Triggers {
		m := trigger.Metadata
		if trigger.Type != "nats-jetstream" || m["account"] != natsconfig.Account || m["stream"] != stage.StreamName() {
			t.Errorf("%s: trigger %s looks at stream %q of account %q", o, trigger.Name, m["stream"], m["account"])
		}
		host, port, _ := strings.Cut(m["natsServerMonitoringEndpoint"], ":")
		name, namespace, _ := strings.Cut(strings.TrimSuffix(host, ".svc"), ".")
		if namespace != o.Metadata.Namespace || !s.serves(t, name, port) {
			t.Errorf("%s: no Service answers at %q", o, m["natsServerMonitoringEndpoint"])
		}
		names, consumers = append(names, trigger.Name), append(consumers, m["consumer"])
	}
	if want := []string{bus.DurableName(stage, bus.Interactive),
		bus.DurableName(stage, bus.Batch)}; !slices.Equal(consumers, want) {
		t.Errorf("%s: consumers %q, want those of both lanes: %q", o, consumers, want)
	}
	if want := strings.Join(names, " + "); so.Advanced.ScalingModifiers.Formula != want {
		t.Errorf("%s: formula %q, want the sum of both lanes: %q", o, so.Advanced.ScalingModifiers.Formula, want)
	}
}
