package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/natsconf"
)

// generate is natsconf.Generate, but that the servers of a cluster listen for each other where they do for the services.
func generate(opts natsconf.Options) ([]natsconf.File, error) {
	files, err := natsconf.Generate(opts)
	if err != nil {
		return nil, err
	}
	host, _, err := net.SplitHostPort(opts.Listen)
	if err != nil {
		return nil, err // Generate has looked at it
	}
	if len(opts.Cluster) == 0 || host == "" {
		return files, nil
	}
	port := strconv.Itoa(opts.ClusterPort)
	replace(files, strings.NewReplacer(
		"\n  listen: "+strconv.Quote(net.JoinHostPort("0.0.0.0", port)), "\n  listen: "+strconv.Quote(net.JoinHostPort(host, port))))
	return files, nil
}

// replace changes the servers' configurations.
func replace(files []natsconf.File, with *strings.Replacer) {
	for i, f := range files {
		if !isSeed(f.Name) {
			files[i].Data = []byte(with.Replace(string(f.Data)))
		}
	}
}

func isSeed(name string) bool {
	return slices.ContainsFunc(bus.Users(), func(user string) bool { return natsconf.SeedFile(user) == name })
}

// natsConfigAnew writes the servers' configurations around the keys that the folder has, and the password that a cluster's servers know each other
// by, and says what to do with them.
func natsConfigAnew(opts natsconf.Options, dir string, out io.Writer) error {
	files, err := generate(opts)
	if err != nil {
		return err
	}
	conf := files[len(files)-1].Data
	var instead []string // what Generate made, and what there is
	kept := make(map[string]bool)
	for _, user := range userLine.FindAllSubmatch(conf, -1) {
		name := natsconf.SeedFile(string(user[1]))
		public, err := publicKey(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		instead, kept[name] = append(instead, string(user[2]), public), true
	}
	if len(kept) == 0 {
		return fmt.Errorf("%s has no keys to keep: name the folder that they are in, or leave --keep-keys out", dir)
	}
	old, err := routePassword(dir, files)
	if err != nil {
		return err
	}
	if fresh := password(conf); old != "" && fresh != "" {
		instead = append(instead, fresh, old)
	}
	replace(files, strings.NewReplacer(instead...))
	for _, f := range files {
		path := filepath.Join(dir, f.Name)
		if kept[f.Name] {
			fmt.Fprintf(out, "%s: kept\n", path)
			continue
		}
		what, err := rewrite(path, f.Data)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s: %s\n", path, what)
	}
	fmt.Fprintf(out, `
Next:
  1. have each server read its configuration: nats-server --signal reload, on its machine
  2. bring the streams up to date: inkstream provision --nats nats://HOST:4222 --nats.nkey %s
`, filepath.Join(dir, natsconf.SeedFile(bus.AdminUser)))
	return nil
}

// publicKey returns the public key of a user whose seed is in a file.
func publicKey(file string) (string, error) {
	option, err := nats.NkeyOptionFromSeed(file)
	if err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	var o nats.Options
	if err := option(&o); err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	return o.Nkey, nil
}

// userLine and routeLine find in a server's configuration, as natsconf writes it, the public key of a user, and the password of a cluster.
var (
	userLine  = regexp.MustCompile(`(?m)^ *\{ # (\S+)\n *nkey: (\S+)$`)
	routeLine = regexp.MustCompile(`(?m)^  authorization: \{ user: route, password: "([^"\\]+)"`)
)

// password returns what a cluster's servers know each other by; empty where there is no cluster.
func password(conf []byte) string {
	if found := routeLine.FindSubmatch(conf); found != nil {
		return string(found[1])
	}
	return ""
}

// routePassword returns the password in the configurations that are there; empty where there are none.
func routePassword(dir string, files []natsconf.File) (string, error) {
	for _, f := range files {
		if isSeed(f.Name) {
			continue
		}
		conf, err := os.ReadFile(filepath.Join(dir, f.Name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err // names the file
		}
		if found := password(conf); found != "" {
			return found, nil
		}
	}
	return "", nil
}

// rewrite writes a file that its owner alone can read, and keeps beside it what it replaces. It says which of that it did.
func rewrite(path string, data []byte) (what string, err error) {
	old, err := os.ReadFile(path)
	if err == nil && bytes.Equal(old, data) {
		return "as it was", nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err // names the file
	}
	if err == nil {
		what = "written anew, the old one is in " + filepath.Base(path) + ".old"
		if err := os.Rename(path, path+".old"); err != nil {
			return "", err
		}
	} else {
		what = "made"
	}
	return what, writeSecret(path, data)
}
