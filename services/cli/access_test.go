package cli

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"inkstream.dev/pkg/certtest"
	"inkstream.dev/services/standalone"
)

// selfSigned writes a certificate for 127.0.0.1, which is its own authority, and its key.
func selfSigned(t *testing.T) (cert, key string) {
	t.Helper()
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	certtest.WriteCertificate(t, cert, key, &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "inkstream test"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA:        true, BasicConstraintsValid: true,
	}, nil)
	return cert, key
}

// Keys over TLS: no client gets in without one, an admin makes more, and they end when they are rotated or revoked.
func TestKeys(t *testing.T) {
	t.Parallel()
	cert, certKey := selfSigned(t)
	admin := filepath.Join(t.TempDir(), "admin.key")
	addrs := startServer(t, func(cfg *standalone.Config) {
		a := &cfg.Gateway.Access
		a.Auth, a.AdminKeyFile, a.TLSCert, a.TLSKey = "keys", admin, cert, certKey
	})
	for name, server := range map[string]string{"rest": "https://" + addrs.HTTP, "grpc": "grpcs://" + addrs.GRPC} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shell{}.want(t, exitError, "--ca-file", "list", "--server", server)
			shell{}.want(t, exitError, "inkstream keys create", "list", "--server", server, "--insecure-tls")
			plain := strings.NewReplacer("https://", "http://", "grpcs://", "grpc://").Replace(server)
			shell{}.want(t, exitError, "", "list", "--server", plain)

			home := t.TempDir()
			path := filepath.Join(home, "config", "inkstream", "config.yaml")
			text := "default: here\nprofiles:\n  here:\n    server: " + server + "\n    ca_file: " + cert + "\n    key_file: " +
				admin + "\n"
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			env := shell{"XDG_CONFIG_HOME": filepath.Join(home, "config")}
			env.want(t, 0, "There are no jobs yet", "list")
			mine := filepath.Join(home, "mine.key")
			env.want(t, 0, "the secret is in", "keys", "create", "--name", name, "--scope", "read", "--expires", "1d", "--save",
				mine)
			env.want(t, exitUsage, "exists", "keys", "create", "--save", mine)
			if info, err := os.Stat(mine); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("the saved key: got %v, %v, want it readable by its owner alone", info, err)
			}
			row := ""
			for line := range strings.Lines(env.want(t, 0, name, "keys", "ls")) {
				if strings.HasSuffix(strings.TrimSpace(line), name) {
					row = line
				}
			}
			id := strings.Fields(row)[0]
			env.want(t, 0, "There are no jobs yet", "list", "--api-key-file", mine)
			env.want(t, exitError, "--scope write", "cancel", "--api-key-file", mine, "01m7z3g43yb9atzzvtxpj2ph4p")
			env.want(t, 0, id+"\tread "+name, "__complete", "keys", "revoke", "")
			secret := strings.TrimSpace(env.want(t, 0, "not shown again", "keys", "rotate", id))
			env.want(t, exitError, "Give a key", "list", "--api-key-file", mine)
			env.want(t, 0, "There are no jobs yet", "list", "--api-key", secret)
			env.want(t, 0, "revoked", "keys", "revoke", id)
			env.want(t, exitError, "Give a key", "list", "--api-key", secret)
			env.want(t, exitError, "no such key", "keys", "revoke", id)
		})
	}
}
