package service

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"inkstream.dev/pkg/config"
)

// runHealthcheck asks the service of that name on this machine whether it is ready. The service's environment says
// where it listens.
func runHealthcheck(ctx context.Context, name string, args []string, getenv func(string) string) error {
	cfg := DefaultConfig(name)
	fs := flag.NewFlagSet(name+" healthcheck", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&cfg.Ops, "ops", cfg.Ops, "`address` of the service's /readyz")
	if err := config.ParseFlags(fs, args, getenv); err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	return CheckReady(ctx, cfg.Ops, false)
}

// CheckReady returns an error unless what listens at addr on this machine is ready: the addresses 0.0.0.0 and [::]
// stand for its own. With https the certificate is not checked, since it is for the names that others know the
// machine by.
func CheckReady(ctx context.Context, addr string, https bool) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || port == "" || port == "0" {
		return fmt.Errorf("%w: the address of /readyz is %q, want one with a port", errUsage, addr)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	scheme, transport := "http", &http.Transport{DisableKeepAlives: true}
	if https {
		scheme, transport.TLSClientConfig = "https", &tls.Config{InsecureSkipVerify: true} //nolint:gosec // see above
	}
	ctx, cancel := context.WithTimeout(ctx, 4*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+net.JoinHostPort(host, port)+"/readyz", nil)
	if err != nil {
		return err
	}
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, 4096)) // it names what is missing
	return errors.Join(fmt.Errorf("not ready: %s %s", resp.Status, bytes.TrimSpace(body)), err)
}
