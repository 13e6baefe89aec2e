// Package natsconf writes configurations of NATS servers for the pipeline: an account of its own, one user for each service with the least that it
// needs (see bus.Permit), one administrator, and JetStream that has on disk what it acknowledges.
package natsconf

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nkeys"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/config"
)

// Account is the account that the pipeline's users, streams and buckets are in.
const Account = "INK"

// clusterSize is how many servers a cluster has at least: with two, one that is away stops both.
const clusterSize = 3

// TLS names the PEM files of a server, which it reads itself.
type TLS struct {
	Cert, Key string
	// CA signs the certificates of clients and of the cluster's other servers; then each of them must show one.
	CA string
}

// Options say how the servers run.
type Options struct {
	// Listen is the address for clients, and Monitor the one of the monitoring pages; empty for none.
	Listen, Monitor string
	// Dir is where a server keeps the streams.
	Dir string
	// Cluster names the servers of a cluster as they find each other; empty for a single server.
	Cluster []string
	// ClusterPort is where they listen for each other.
	ClusterPort int
	// TLS is for clients, and between servers; the zero value is for none.
	TLS TLS
	// Keys are the public keys of users who have one already; the others get new ones.
	Keys map[string]string
	// Secret is what a cluster's servers know each other by; empty for a new one.
	Secret string
}

// DefaultOptions returns the options of a single server.
func DefaultOptions() Options {
	return Options{Listen: "0.0.0.0:4222", Monitor: "127.0.0.1:8222", Dir: "/var/lib/nats", ClusterPort: 6222}
}

// Validate joins every problem with the options.
func (o Options) Validate() error {
	var p config.Problems
	_, _, err := net.SplitHostPort(o.Listen)
	p.Check(err == nil, "listen", "%q, want an address such as 0.0.0.0:4222", o.Listen)
	if o.Monitor != "" {
		_, _, err = net.SplitHostPort(o.Monitor)
		p.Check(err == nil, "monitor", "%q, want an address such as 127.0.0.1:8222", o.Monitor)
	}
	p.Check(o.Dir != "", "store-dir", "empty, want a folder")
	p.Check(len(o.Cluster) == 0 || len(o.Cluster) >= clusterSize, "cluster", "%d servers, want none or at least %d", len(o.Cluster), clusterSize)
	p.Check(len(slices.Compact(slices.Sorted(slices.Values(o.Cluster)))) == len(o.Cluster), "cluster", "a server is named twice")
	for _, name := range o.Cluster {
		p.Check(name != "" && !strings.ContainsAny(name, "/\\: \t\""), "cluster", "%q, want the name of a host", name)
	}
	p.Check(o.ClusterPort > 0 && o.ClusterPort < 1<<16, "cluster-port", "%d, want 1 to 65535", o.ClusterPort)
	p.Check((o.TLS.Cert == "") == (o.TLS.Key == ""), "tls-cert", "and tls-key belong together, want both or none")
	p.Check(o.TLS.CA == "" || o.TLS.Cert != "", "tls-ca", "without tls-cert and tls-key")
	return p.Err()
}

// Replicas returns how often each stream is to be kept.
func (o Options) Replicas() int {
	if len(o.Cluster) > 0 {
		return clusterSize
	}
	return 1
}

// File is a file to be written, readable by its owner alone.
type File struct {
	Name string
	Data []byte
}

// routeLine finds the secret in a configuration of a cluster's server.
var routeLine = regexp.MustCompile(`(?m)^  authorization: \{ user: route, password: "([^"\\]+)"`)

// SecretIn returns what a cluster's servers know each other by, from the configuration of one that Generate wrote; empty where it is no cluster's.
func SecretIn(conf []byte) string {
	if found := routeLine.FindSubmatch(conf); found != nil {
		return string(found[1])
	}
	return ""
}

// SeedFile returns the name of the file that holds a user's seed.
func SeedFile(user string) string { return user + ".nk" }

// Generate makes keys, and returns a configuration for each server and the seed of each user whose key is new.
func Generate(o Options) ([]File, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	var files []File
	var users strings.Builder
	for _, name := range bus.Users() {
		public := o.Keys[name]
		if public == "" {
			seed, fresh, err := newKey()
			if err != nil {
				return nil, err
			}
			files = append(files, File{SeedFile(name), append(seed, '\n')})
			public = fresh
		}
		writeUser(&users, bus.Permit(name, o.Replicas()), public)
	}
	if len(o.Cluster) == 0 {
		return append(files, File{"nats.conf", o.server("nats", users.String(), "")}), nil
	}
	secret := cmp.Or(o.Secret, rand.Text())
	for _, name := range o.Cluster {
		files = append(files, File{"nats-" + name + ".conf", o.server(name, users.String(), secret)})
	}
	return files, nil
}

// newKey makes the key of a user.
func newKey() (seed []byte, public string, err error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return nil, "", fmt.Errorf("make key: %w", err)
	}
	defer pair.Wipe()
	if seed, err = pair.Seed(); err != nil {
		return nil, "", fmt.Errorf("make key: %w", err)
	}
	if public, err = pair.PublicKey(); err != nil {
		return nil, "", fmt.Errorf("make key: %w", err)
	}
	return slices.Clone(seed), public, nil
}

// server returns the configuration of one server.
func (o Options) server(name, users, secret string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, `# Written by 'inkstream nats-config'. Nobody but the server should be able to read it.

server_name: %s
listen: %s
`, quote(name), quote(o.Listen))
	if o.Monitor != "" {
		fmt.Fprintf(&b, "http: %s\n", quote(o.Monitor))
	}
	if o.TLS.Cert != "" {
		fmt.Fprintf(&b, "\ntls: %s\n", o.TLS.block(""))
	}
	fmt.Fprintf(&b, `
jetstream: {
  store_dir: %s
  # What is acknowledged is on disk, so a power cut takes nothing.
  sync_interval: always
}
`, quote(o.Dir))
	if len(o.Cluster) > 0 {
		o.cluster(&b, name, secret)
	}
	fmt.Fprintf(&b, `
accounts: {
  %s: {
    jetstream: enabled
    users: [
%s    ]
  }
  SYS: {}
}
system_account: SYS
`, Account, users)
	return []byte(b.String())
}

// cluster writes how the servers find each other. They know each other by a password, and by their certificates where they have some.
func (o Options) cluster(b *strings.Builder, name, secret string) {
	host, _, _ := net.SplitHostPort(o.Listen) // Validate has looked at it
	fmt.Fprintf(b, `
cluster: {
  name: inkstream
  listen: %s
  authorization: { user: route, password: %s, timeout: 5 }
`, quote(net.JoinHostPort(cmp.Or(host, "0.0.0.0"), strconv.Itoa(o.ClusterPort))), quote(secret))
	if o.TLS.Cert != "" {
		// Each end of a route is a client of the other.
		fmt.Fprintf(b, "  tls: %s\n", o.TLS.block("  "))
	}
	b.WriteString("  routes: [\n")
	for _, other := range o.Cluster {
		if other != name {
			fmt.Fprintf(b, "    %s\n", quote("nats-route://route:"+secret+"@"+net.JoinHostPort(other, strconv.Itoa(o.ClusterPort))))
		}
	}
	b.WriteString("  ]\n}\n")
}

func (t TLS) block(indent string) string {
	s := fmt.Sprintf("{\n%[1]s  cert_file: %[2]s\n%[1]s  key_file: %[3]s\n", indent, quote(t.Cert), quote(t.Key))
	if t.CA != "" {
		s += fmt.Sprintf("%[1]s  ca_file: %[2]s\n%[1]s  verify: true\n", indent, quote(t.CA))
	}
	return s + indent + "}"
}

// answerTime is how long after a question a user may answer it.
const answerTime = "1m"

// writeUser writes a user with a comment on each subject.
func writeUser(b *strings.Builder, p bus.Permissions, public string) {
	fmt.Fprintf(b, "      { # %s\n        nkey: %s\n        permissions: {\n          publish: { allow: [\n", p.User, public)
	writeGrants(b, p.Publish)
	b.WriteString("          ] }\n          subscribe: { allow: [\n")
	writeGrants(b, p.Subscribe)
	b.WriteString("          ] }\n")
	if p.Answers {
		fmt.Fprintf(b, "          allow_responses: { max: 1, expires: %q } # whoever asks is answered\n", answerTime)
	}
	b.WriteString("        }\n      }\n")
}

func writeGrants(b *strings.Builder, grants []bus.Grant) {
	for _, g := range grants {
		fmt.Fprintf(b, "            %s # %s\n", quote(g.Subject), g.For)
	}
}

// quote writes a text as the server's configuration language has it: what follows a $ outside of quotes is a variable.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
