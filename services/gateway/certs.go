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

// certificate is a TLS certificate that is read again when its files change, so that a renewal needs no restart.
// While the new files do not fit together, as in the midst of a renewal, the old certificate stays. It is safe for
// concurrent use.
type certificate struct {
	certFile, keyFile string
	log               *slog.Logger
	every             time.Duration

	mu       sync.Mutex // guards what follows
	pair     *tls.Certificate
	modTimes [2]time.Time // of the files, when the pair was read
	checked  time.Time
}

// loadCertificate reads a certificate with its chain, and its key, both PEM.
func loadCertificate(certFile, keyFile string, log *slog.Logger) (*certificate, error) {
	c := &certificate{certFile: certFile, keyFile: keyFile, log: log, every: certCheck}
	if err := c.loadPair(); err != nil {
		return nil, fmt.Errorf("TLS certificate: %w", err)
	}
	c.checked = time.Now()
	return c, nil
}

// tlsConfig returns a TLS configuration that serves the certificate (TLS 1.2 and later).
func (c *certificate) tlsConfig(protocols ...string) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: protocols,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return c.currentPair(time.Now()), nil
		}}
}

// currentPair returns the certificate, read again if its files have changed.
func (c *certificate) currentPair(now time.Time) *tls.Certificate {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.checked) < c.every {
		return c.pair
	}
	c.checked = now
	stamp, err := c.readModTimes()
	if err == nil && stamp != c.modTimes {
		err = c.loadPair()
		if err == nil {
			c.log.Info("TLS certificate read again")
		}
	}
	if err != nil {
		c.log.Warn("the TLS certificate on disk is of no use; the one read before stays", "error", err)
	}
	return c.pair
}

// end returns when the certificate ends.
func (c *certificate) end() time.Time { return c.currentPair(time.Now()).Leaf.NotAfter }

func (c *certificate) loadPair() error {
	stamp, err := c.readModTimes()
	if err != nil {
		return err
	}
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return err
	}
	c.pair, c.modTimes = &pair, stamp
	return nil
}

func (c *certificate) readModTimes() (stamp [2]time.Time, err error) {
	for i, name := range []string{c.certFile, c.keyFile} {
		info, err := os.Stat(name)
		if err != nil {
			return stamp, err
		}
		stamp[i] = info.ModTime()
	}
	return stamp, nil
}
