package natsconfig_test

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/bustest"
	"inkstream.dev/pkg/certtest"
	"inkstream.dev/pkg/natsconfig"
	"inkstream.dev/pkg/telemetry"
)

func TestTLS(t *testing.T) {
	t.Parallel()
	dir := bustest.ServerFolder(t)
	file := func(name string) string { return filepath.Join(dir, name) }
	makeCertificates(t, dir)
	opts := natsconfig.DefaultOptions()
	opts.Listen, opts.Monitor, opts.Dir = "127.0.0.1:-1", "", file("store")
	opts.TLS = natsconfig.TLS{Cert: file("server.pem"), Key: file("server.key"), CA: file("ca.pem")}
	write(t, dir, opts)
	cfg, err := server.ProcessConfigFile(file("nats.conf"))
	if err != nil {
		t.Fatal(err)
	}
	srv := bustest.StartWithOptions(t, cfg)
	tests := []struct {
		name        string
		credentials bus.Credentials
		ok          bool
	}{
		{"certificate and authority", bus.Credentials{CA: file("ca.pem"), Cert: file("client.pem"), Key: file("client.key")},
			true},
		{"no certificate", bus.Credentials{CA: file("ca.pem")}, false},
		{"no authority", bus.Credentials{Cert: file("client.pem"), Key: file("client.key")}, false},
	}
	for _, tt := range tests {
		tt.credentials.NKey, tt.credentials.InboxPrefix = file(natsconfig.SeedFileName(bus.AdminUser)),
			bus.InboxPrefix(bus.AdminUser)
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if err := provisionAs(t, srv.ClientURL(), tt.credentials); (err == nil) != tt.ok {
				t.Errorf("%v, want success: %t", err, tt.ok)
			}
		})
	}
}

// TestTLSBlocks looks at what a cluster's servers are told.
func TestTLSBlocks(t *testing.T) {
	t.Parallel()
	opts := natsconfig.DefaultOptions()
	opts.Cluster = []string{"a", "b", "c"}
	opts.TLS = natsconfig.TLS{Cert: "/etc/nats/cert.pem", Key: "/etc/nats/key.pem", CA: "/etc/nats/ca.pem"}
	files, err := natsconfig.GenerateFiles(opts)
	if err != nil {
		t.Fatal(err)
	}
	conf := string(files[len(files)-1].Data)
	for _, want := range []string{
		`cert_file: "/etc/nats/cert.pem"`, `key_file: "/etc/nats/key.pem"`, `ca_file: "/etc/nats/ca.pem"`, "verify: true",
	} {
		if got := strings.Count(conf, want); got != 2 {
			t.Errorf("%s is there %d times, want 2: for clients and for routes", want, got)
		}
	}
}

func provisionAs(t *testing.T, url string, credentials bus.Credentials) error {
	t.Helper()
	opts, err := credentials.Options()
	if err != nil {
		t.Fatal(err)
	}
	tel := telemetry.NewDiscard()
	opts = append(opts, nats.RetryOnFailedConnect(false)) // a refusal is told at once
	b, err := bus.Connect(strings.Replace(url, "nats://", "tls://", 1), "test", tel.Log, tel, opts...)
	if err != nil {
		return err
	}
	defer b.Close()
	return b.ProvisionWhenUp(t.Context(), bus.Topology{})
}

// makeCertificates makes an authority, and a certificate for a server and a client.
func makeCertificates(t *testing.T, dir string) {
	t.Helper()
	write := func(name string, template *x509.Certificate, by *certtest.Authority) *certtest.Authority {
		template.Subject = pkix.Name{CommonName: name}
		return certtest.WriteCertificate(t, filepath.Join(dir, name+".pem"), filepath.Join(dir, name+".key"), template, by)
	}
	ca := write("ca", &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign}, nil)
	for i, name := range []string{"server", "client"} {
		write(name, &x509.Certificate{
			SerialNumber: big.NewInt(int64(i + 2)), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
			KeyUsage:    x509.KeyUsageDigitalSignature,
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		}, ca)
	}
}
