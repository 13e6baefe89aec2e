package cli

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/nats-io/nats.go"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/natsconfig"
)

// rewriteNATSConfig writes the servers' configurations around the keys that the folder has, and the secret that a
// cluster's servers know each other by, and says what to do with them.
func rewriteNATSConfig(opts natsconfig.Options, dir string, out io.Writer) error {
	opts.Keys = make(map[string]string)
	for _, user := range bus.AllUsers() {
		path := filepath.Join(dir, natsconfig.SeedFileName(user))
		public, err := readPublicKey(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		opts.Keys[user] = public
		fmt.Fprintf(out, "%s: kept\n", path)
	}
	if len(opts.Keys) == 0 {
		return fmt.Errorf("%s has no keys to keep: name the folder that they are in, or leave --keep-keys out", dir)
	}
	confs, err := filepath.Glob(filepath.Join(dir, "*.conf"))
	if err != nil {
		return err
	}
	for _, path := range confs {
		conf, err := os.ReadFile(path)
		if err != nil {
			return err // names the file
		}
		opts.Secret = cmp.Or(opts.Secret, natsconfig.ParseClusterSecret(conf))
	}
	files, err := natsconfig.GenerateFiles(opts)
	if err != nil {
		return err
	}
	for _, f := range files {
		path := filepath.Join(dir, f.Name)
		what, err := replaceFile(path, f.Data)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s: %s\n", path, what)
	}
	fmt.Fprintf(out, `
Next:
  1. have each server read its configuration: nats-server --signal reload, on its machine
  2. bring the streams up to date: inkstream provision --nats nats://HOST:4222 --nats.nkey %s
`, filepath.Join(dir, natsconfig.SeedFileName(bus.AdminUser)))
	return nil
}

// readPublicKey returns the public key of a user whose seed is in a file.
func readPublicKey(file string) (string, error) {
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

// replaceFile writes a file that its owner alone can read, and keeps what it replaces as .old. It says which of
// that it did.
func replaceFile(path string, data []byte) (what string, err error) {
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
