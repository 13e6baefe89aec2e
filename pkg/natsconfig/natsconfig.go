// Package natsconfig writes configurations of NATS servers for the pipeline: an account of its own, one user for each
// service with the least that it needs (see bus.PermissionsFor), one administrator, and JetStream that has on disk
// what it acknowledges.
package natsconfig

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
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
	p.CheckFlag(err == nil, "listen", "%q, want an address such as 0.0.0.0:4222", o.Listen)
	if o.Monitor != "" {
		_, _, err = net.SplitHostPort(o.Monitor)
		p.CheckFlag(err == nil, "monitor", "%q, want an address such as 127.0.0.1:8222", o.Monitor)
	}
	p.CheckFlag(o.Dir != "", "store-dir", "empty, want a folder")
	p.CheckFlag(len(o.Cluster) == 0 || len(o.Cluster) >= clusterSize, "cluster", "%d servers, want none or at least %d",
		len(o.Cluster), clusterSize)
	p.CheckFlag(len(slices.Compact(slices.Sorted(slices.Values(o.Cluster)))) == len(o.Cluster), "cluster",
		"a server is named twice")
	for _, name := range o.Cluster {
		p.CheckFlag(name != "" && !strings.ContainsAny(name, "/\\: \t\""), "cluster", "%q, want the name of a host", name)
	}
	p.CheckFlag(o.ClusterPort > 0 && o.ClusterPort < 1<<16, "cluster-port", "%d, want 1 to 65535", o.ClusterPort)
	p.CheckFlag((o.TLS.Cert == "") == (o.TLS.Key == ""), "tls-cert", "and tls-key belong together, want both or none")
	p.CheckFlag(o.TLS.CA == "" || o.TLS.Cert != "", "tls-ca", "without tls-cert and tls-key")
	return p.Err()
}

// StreamReplicas returns how often each stream is to be kept.
func (o Options) StreamReplicas() int {
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

// routePattern finds the secret in a configuration of a cluster's server.
var routePattern = regexp.MustCompile(`(?m)^  authorization: \{ user: route, password: "([^"\\]+)"`)

// ParseClusterSecret returns what a cluster's servers know each other by, from the configuration of one that
// GenerateFiles wrote; empty where it is no cluster's.
func ParseClusterSecret(conf []byte) string {
	if found := routePattern.FindSubmatch(conf); found != nil {
		return string(found[1])
	}
	return ""
}

// SeedFileName returns the name of the file that holds a user's seed.
func SeedFileName(user string) string { return user + ".nk" }

// GenerateFiles makes keys, and returns a configuration for each server and the seed of each user whose key is new.
func GenerateFiles(o Options) ([]File, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	var files []File
	var users strings.Builder
	for _, name := range bus.AllUsers() {
		public := o.Keys[name]
		if public == "" {
			seed, fresh, err := newUserKey()
			if err != nil {
				return nil, err
			}
			files = append(files, File{SeedFileName(name), append(seed, '\n')})
			public = fresh
		}
		writeUser(&users, bus.PermissionsFor(name, o.StreamReplicas()), public)
	}
	if len(o.Cluster) == 0 {
		return append(files, File{"nats.conf", o.serverConfig("nats", users.String(), "")}), nil
	}
	secret := cmp.Or(o.Secret, rand.Text())
	for _, name := range o.Cluster {
		files = append(files, File{"nats-" + name + ".conf", o.serverConfig(name, users.String(), secret)})
	}
	return files, nil
}

// newUserKey makes the key of a user.
func newUserKey() (seed []byte, public string, err error) {
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

// LoadOrCreateKey returns the public key of the seed in a file, for a process that has the file's folder to itself: a
// seed that is missing is made, and its owner alone can read it.
func LoadOrCreateKey(path string) (public string, err error) {
	seed, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if seed, _, err = newUserKey(); err == nil {
			seed = append(seed, '\n')
			err = writeSeedFile(path, seed)
		}
	}
	if err != nil {
		return "", fmt.Errorf("NATS key: %w", err)
	}
	pair, err := nkeys.FromSeed(bytes.TrimSpace(seed))
	if err != nil {
		return "", fmt.Errorf("NATS key %s: no seed", path) // without the cause, which may repeat a part of it
	}
	defer pair.Wipe()
	return pair.PublicKey()
}

// writeSeedFile writes a file whole or not at all.
func writeSeedFile(path string, seed []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".nats-key-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(seed)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the error matters more
	}
	return err
}

// serverConfig returns the configuration of one server.
func (o Options) serverConfig(name, users, secret string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, `# Written by 'inkstream nats-config'. Nobody but the server should be able to read it.

server_name: %s
listen: %s
`, quoteString(name), quoteString(o.Listen))
	if o.Monitor != "" {
		fmt.Fprintf(&b, "http: %s\n", quoteString(o.Monitor))
	}
	if o.TLS.Cert != "" {
		fmt.Fprintf(&b, "\ntls: %s\n", o.TLS.formatTLSBlock(""))
	}
	fmt.Fprintf(&b, `
jetstream: {
  store_dir: %s
  # What is acknowledged is on disk, so a power cut takes nothing.
  sync_interval: always
}
`, quoteString(o.Dir))
	if len(o.Cluster) > 0 {
		o.writeClusterBlock(&b, name, secret)
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

// writeClusterBlock writes how the servers find each other. They know each other by a password, and by their
// certificates where they have some.
func (o Options) writeClusterBlock(b *strings.Builder, name, secret string) {
	host, _, _ := net.SplitHostPort(o.Listen) // Validate has looked at it
	fmt.Fprintf(b, `
# How long a server that is told to leave takes to hand over what it leads and to send its clients to the others.
lame_duck_duration: 30s
lame_duck_grace_period: 10s

cluster: {
  name: inkstream
  listen: %s
  authorization: { user: route, password: %s, timeout: 5 }
`, quoteString(net.JoinHostPort(cmp.Or(host, "0.0.0.0"), strconv.Itoa(o.ClusterPort))), quoteString(secret))
	if o.TLS.Cert != "" {
		// Each end of a route is a client of the other.
		fmt.Fprintf(b, "  tls: %s\n", o.TLS.formatTLSBlock("  "))
	}
	b.WriteString("  routes: [\n")
	for _, other := range o.Cluster {
		if other != name {
			fmt.Fprintf(b, "    %s\n", quoteString("nats-route://route:"+secret+"@"+
				net.JoinHostPort(other, strconv.Itoa(o.ClusterPort))))
		}
	}
	b.WriteString("  ]\n}\n")
}

func (t TLS) formatTLSBlock(indent string) string {
	s := fmt.Sprintf("{\n%[1]s  cert_file: %[2]s\n%[1]s  key_file: %[3]s\n", indent, quoteString(t.Cert),
		quoteString(t.Key))
	if t.CA != "" {
		s += fmt.Sprintf("%[1]s  ca_file: %[2]s\n%[1]s  verify: true\n", indent, quoteString(t.CA))
	}
	return s + indent + "}"
}

// answerTimeout is how long after a question a user may answer it.
const answerTimeout = "1m"

// writeUser writes a user with a comment on each subject.
func writeUser(b *strings.Builder, p bus.Permissions, public string) {
	fmt.Fprintf(b, "      { # %s\n        nkey: %s\n        permissions: {\n          publish: { allow: [\n", p.User,
		public)
	writeGrants(b, p.Publish)
	b.WriteString("          ] }\n          subscribe: { allow: [\n")
	writeGrants(b, p.Subscribe)
	b.WriteString("          ] }\n")
	if p.AnswersRequests {
		fmt.Fprintf(b, "          allow_responses: { max: 1, expires: %q } # whoever asks is answered\n", answerTimeout)
	}
	b.WriteString("        }\n      }\n")
}

func writeGrants(b *strings.Builder, grants []bus.Grant) {
	for _, g := range grants {
		fmt.Fprintf(b, "            %s # %s\n", quoteString(g.Subject), g.Purpose)
	}
}

// quoteString writes a text as the server's configuration language has it: what follows a $ outside of quotes is a
// variable.
func quoteString(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
