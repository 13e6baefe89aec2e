// Package certtest makes certificates for tests that speak TLS.
package certtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"os"
	"testing"
	"time"
)

// Authority is a certificate and its key, with which others can be signed.
type Authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// WriteCertificate makes a key, writes the certificate that the template describes and the key as PEM files, and
// returns them. It is valid for an hour, and signed by an authority, or by itself where that is nil. The template
// needs a serial number; the rest is as x509.CreateCertificate takes it.
func WriteCertificate(t testing.TB, certFile, keyFile string, template *x509.Certificate, by *Authority) *Authority {
	t.Helper()
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	own := &Authority{cert: template, key: key}
	if by == nil {
		by = own
	}
	der, err := x509.CreateCertificate(rand.Reader, template, by.cert, key.Public(), by.key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: der},
		keyFile: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return own
}
