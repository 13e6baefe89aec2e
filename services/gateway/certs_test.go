package gateway

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"inkstream.dev/pkg/certtest"
	"inkstream.dev/pkg/telemetry"
)

// writeCertificate writes a self-signed certificate of that name and its key, with a time stamp of its own.
func writeCertificate(t *testing.T, certFile, keyFile, name string, stamp time.Time) {
	t.Helper()
	certtest.WriteCertificate(t, certFile, keyFile, &x509.Certificate{
		SerialNumber: big.NewInt(stamp.Unix()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name, "localhost"},
	}, nil)
	for _, file := range []string{certFile, keyFile} {
		if err := os.Chtimes(file, stamp, stamp); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCertificateIsReadAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	start := time.Now()
	writeCertificate(t, certFile, keyFile, "first", start)
	c, err := loadCertificate(certFile, keyFile, telemetry.NewDiscard().Log)
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, at time.Duration, want string) {
		t.Helper()
		leaf, err := x509.ParseCertificate(c.currentPair(start.Add(at)).Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		if got := leaf.Subject.CommonName; got != want {
			t.Errorf("%s: got %q, want %q", what, got, want)
		}
	}
	writeCertificate(t, certFile, keyFile, "second", start.Add(time.Second))
	check("files are not looked at on every handshake", certCheck/2, "first")
	check("a renewal", 2*certCheck, "second")
	if err := os.WriteFile(keyFile, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	check("a renewal that is half through", 4*certCheck, "second")
	writeCertificate(t, certFile, keyFile, "third", start.Add(2*time.Second))
	check("the renewal through", 6*certCheck, "third")
	if _, err := loadCertificate(certFile, filepath.Join(dir, "none"), telemetry.NewDiscard().Log); err == nil {
		t.Error("a key that is missing: got no error")
	}
}
