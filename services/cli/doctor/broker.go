package doctor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	natsgo "github.com/nats-io/nats.go"

	"inkstream.dev/pkg/bus"
)

const (
	// minNATSMajor and minNATSMinor are the oldest server that has all that is used: deleting marks with a time of their own, and syncing a
	// cluster's writes together.
	minNATSMajor, minNATSMinor = 2, 12
	// maxAnswer bounds what is read of an answer.
	maxAnswer = 4 << 20
	// standaloneNATS is where a standalone server's broker listens.
	standaloneNATS = "nats://127.0.0.1:4222"
)

// checkNATS looks at the broker: that it answers, its version, what it keeps, and whether what it acknowledges is on
// disk.
func (e *checker) checkNATS(ctx context.Context) {
	const name = "nats"
	where := e.cfg.NATS
	if where == "" {
		if !e.running {
			e.addSkipped(name,
				"the server that would run it is down, and no other is named with --nats; starting one here would get into its way")
			return
		}
		where = standaloneNATS
	}
	credentials, err := e.cfg.Credentials.Options()
	if err != nil {
		e.addFailure(name, "check --nats.nkey and --nats.creds", "%v", err)
		return
	}
	b, err := bus.Connect(where, "doctor", e.log, nil, credentials...)
	if err != nil {
		e.addFailure(name, "check --nats: want nats://host:4222", "%v", err)
		return
	}
	defer b.Close()
	connected, cancel := context.WithTimeout(ctx, min(e.cfg.Timeout, 5*time.Second))
	defer cancel()
	for err = b.CheckServer(connected); err != nil && connected.Err() == nil; err = b.CheckServer(connected) {
		select { // the connection is made in the background
		case <-connected.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
	if err != nil {
		fix := "start it with JetStream switched on (nats-server -js), and check address, user and permissions"
		switch {
		case errors.Is(err, bus.ErrNoLeader):
			fix = startCluster
		case errors.Is(err, natsgo.ErrAuthorization):
			fix = "name the administrator's key with --nats.nkey, as 'inkstream nats-config' wrote it with the server's configuration"
			if file := e.cfg.Credentials.NKey + e.cfg.Credentials.Creds; file != "" { // at most one is given
				fix = "see that the key in " + file + " is one that the server's configuration was written with"
			}
		case e.cfg.NATS == "":
			fix = "name the address that the server was started with: --nats nats://host:port"
		}
		e.addFailure(name, fix, "%s: no answer from JetStream: %v", redactServerURLs(where), err)
		return
	}
	server := b.ServerInfo()
	said := fmt.Sprintf("server %s of version %s, JetStream is on", server.Name, server.Version)
	if server.Cluster != "" {
		said += ", cluster " + server.Cluster
	}
	if isOlderVersion(server.Version, minNATSMajor, minNATSMinor) {
		e.addFailure(name, fmt.Sprintf("install nats-server %d.%d or later", minNATSMajor, minNATSMinor), "%s", said)
	} else {
		e.addOK(name, "%s", said)
	}
	e.checkWrites(ctx, b)
	e.checkSync(ctx)
	e.checkStreams(ctx, b, where)
}

// startCluster is what to do about a cluster without a leader.
const startCluster = "start the cluster's other servers: more than half of them have to be up"

// checkWrites finds out whether the broker takes what is written.
func (e *checker) checkWrites(ctx context.Context, b *bus.Bus) {
	const name = "nats writes"
	if !b.CanProbeWrite(ctx) {
		e.addSkipped(name, "cannot tell: the user may not write; name one of a service")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, min(e.cfg.Timeout, 5*time.Second))
	defer cancel()
	if err := b.ProbeWrite(ctx); err != nil {
		e.addFailure(name, "free its disk, then restart it", "%v", err)
		return
	}
	e.addOK(name, "it takes what is written")
}

// checkSync finds out whether the broker writes to disk before it acknowledges.
func (e *checker) checkSync(ctx context.Context) {
	const name = "nats durability"
	const fix = "set sync_interval: always in the jetstream block of its configuration, or be ready to lose the last two minutes at a power cut"
	if profile := e.info["durability"]; e.running && profile != "" {
		if profile == "full" {
			e.addOK(name, "the server runs with --durability=full: what is acknowledged is on disk")
		} else {
			e.addWarning(name, "start the server with --durability=full",
				"the server runs with --durability=%s: a power cut may take what was acknowledged", profile)
		}
		return
	}
	if e.cfg.Monitor == "" {
		e.addSkipped(name, "cannot tell: name the monitoring port of the NATS server, e.g. --nats-monitor http://host:8222")
		return
	}
	var answer struct {
		Config *struct {
			SyncAlways bool `json:"sync_always"`
		} `json:"config"`
	}
	if err := fetchJSON(ctx, strings.TrimSuffix(e.cfg.Monitor, "/")+"/jsz?config=true", &answer); err != nil {
		e.addFailure(name, "check --nats-monitor, and http_port in the server's configuration",
			"the monitoring port does not answer: %v", err)
		return
	}
	switch {
	case answer.Config == nil:
		e.addSkipped(name, "cannot tell: the monitoring port shows no JetStream configuration")
	case answer.Config.SyncAlways:
		e.addOK(name, "sync_interval is always: what is acknowledged is on disk")
	default:
		e.addFailure(name, fix, "sync_interval is not always: a power cut takes what was acknowledged")
	}
}

// checkStreams compares what the broker keeps with what it should.
func (e *checker) checkStreams(ctx context.Context, b *bus.Bus, where string) {
	const name = "nats streams"
	cluster := b.ServerInfo().Cluster != ""
	found, replicas, err := b.InspectTopology(ctx, bus.Topology{})
	switch {
	case errors.Is(err, bus.ErrNoLeader):
		e.addFailure(name, startCluster, "%v", err)
	case err != nil:
		e.addFailure(name, "check the permissions of the user", "%v", err)
	case len(found) > 0:
		for _, d := range found {
			e.addFailure(name,
				fmt.Sprintf("run '%s', which makes and repairs streams; if it refuses to, delete the stream when it is empty",
					e.provisionCommand(where, cmp.Or(replicas, replicasFor(cluster)))), "%s: %s", d.Name, d.Problem)
		}
	case cluster && replicas < bus.ClusterReplicas:
		e.addWarning(name, fmt.Sprintf("run '%s'", e.provisionCommand(where, bus.ClusterReplicas)),
			"all streams, consumers and buckets are as they should be, but the server is part of a cluster, and replicas: %d, want %d, so that one "+
				"server may be away", replicas, bus.ClusterReplicas)
	default:
		e.addOK(name, "all streams, consumers and buckets are as they should be, replicas: %d", replicas)
	}
}

func replicasFor(cluster bool) int {
	if cluster {
		return bus.ClusterReplicas
	}
	return 1
}

// provisionCommand returns the command that makes and repairs streams, with all that says which.
func (e *checker) provisionCommand(where string, replicas int) string {
	command := "inkstream provision --nats " + redactServerURLs(where)
	c := e.cfg.Credentials
	for _, f := range []struct{ flag, file string }{
		{"nkey", c.NKey}, {"creds", c.Creds}, {"ca", c.CA}, {"cert", c.Cert}, {"key", c.Key},
	} {
		if f.file != "" {
			command += " --nats." + f.flag + " " + f.file
		}
	}
	return fmt.Sprintf("%s --nats.replicas %d", command, replicas)
}

// redactServerURLs returns the addresses of NATS servers without the credentials that they may hold.
func redactServerURLs(where string) string {
	list := strings.Split(where, ",")
	for i, one := range list {
		if one = strings.TrimSpace(one); !strings.Contains(one, "://") {
			one = "nats://" + one
		}
		list[i] = redactURL(one)
	}
	return strings.Join(list, ",")
}

// isOlderVersion reports whether a version is below another.
func isOlderVersion(version string, major, minor int) bool {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(parts) < 2 {
		return true
	}
	a, errA := strconv.Atoi(parts[0])
	b, errB := strconv.Atoi(parts[1])
	return errors.Join(errA, errB) != nil || a < major || a == major && b < minor
}

// readyResponse is what a server says at /readyz.
type readyResponse struct {
	Ready  bool `json:"ready"`
	Checks map[string]struct {
		Up       bool   `json:"up"`
		Error    string `json:"error"`
		Optional bool   `json:"optional"`
	} `json:"checks"`
	Info map[string]string `json:"info"`
}

func (r readyResponse) describeProblems() string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(r.Checks)) {
		if c := r.Checks[name]; !c.Up {
			out = append(out, strings.TrimSuffix(name+": "+c.Error, ": "))
		}
	}
	if len(out) == 0 {
		return "it has not started everything yet"
	}
	return strings.Join(out, "; ")
}

// fetchReadiness asks a server how it is.
func fetchReadiness(ctx context.Context, addr string) (readyResponse, error) {
	var r readyResponse
	if !strings.Contains(addr, "://") {
		addr = "http://" + addr
	}
	err := fetchJSON(ctx, addr+"/readyz", &r)
	return r, err
}

func describeInfo(info map[string]string) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(info)) {
		out = append(out, k+": "+info[k])
	}
	if len(out) == 0 {
		return ""
	}
	return " (" + strings.Join(out, ", ") + ")"
}

// fetchJSON reads the answer to a request, whatever its status.
func fetchJSON(ctx context.Context, url string, to any) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, to); err != nil {
		return fmt.Errorf("status %d, and no JSON", res.StatusCode)
	}
	return nil
}
