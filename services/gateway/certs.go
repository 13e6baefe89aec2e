package gateway

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// certCheck is how often the files of the certificate are looked at, at most.
const certCheck = 10 * time.Second

// certificate is a TLS certificate that is read again when its files change, so that a renewal needs no restart. While the new files do not
// fit together, as in the midst of a renewal, the old certificate stays. It is safe for concurrent use.
type certificate struct {
	certFile, keyFile string
	log               *slog.Logger
	every             time.Duration

	mu      sync.Mutex // guards what follows
	pair    *tls.Certificate
	stamp   [2]time.Time // of the files, when the pair was read
	checked time.Time
}

// loadCertificate reads a certificate with its chain, and its key, both PEM.
func loadCertificate(certFile, keyFile string, log *slog.Logger) (*certificate, error) {
	c := &certificate{certFile: certFile, keyFile: keyFile, log: log, every: certCheck}
	if err := c.read(); err != nil {
		return nil, fmt.Errorf("TLS certificate: %w", err)
	}
	c.checked = time.Now()
	return c, nil
}

// config returns a TLS configuration that serves the certificate (TLS 1.2 and later).
func (c *certificate) config(protocols ...string) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: protocols, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		return c.current(time.Now()), nil
	}}
}

// current returns the certificate, read again if its files have changed.
func (c *certificate) current(now time.Time) *tls.Certificate {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.checked) < c.every {
		return c.pair
	}
	c.checked = now
	stamp, err := c.stamps()
	if err == nil && stamp != c.stamp {
		err = c.read()
		if err == nil {
			c.log.Info("TLS certificate read again")
		}
	}
	if err != nil {
		c.log.Warn("the TLS certificate on disk is of no use; the one read before stays", "error", err)
	}
	return c.pair
}

func (c *certificate) read() error {
	stamp, err := c.stamps()
	if err != nil {
		return err
	}
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return err
	}
	c.pair, c.stamp = &pair, stamp
	return nil
}

func (c *certificate) stamps() (stamp [2]time.Time, err error) {
	for i, name := range []string{c.certFile, c.keyFile} {
		info, err := os.Stat(name)
		if err != nil {
			return stamp, err
		}
		stamp[i] = info.ModTime()
	}
	return stamp, nil
}
