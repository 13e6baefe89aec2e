package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"inkstream.dev/pkg/lifecycle"
)

const (
	// versionInfo is the name under which /readyz tells the version.
	versionInfo = "version"
	// awaitInterval is the time between two questions to the index service, awaitTimeout bounds one of them.
	awaitInterval, awaitTimeout = time.Second, 2 * time.Second
	// maxAwaitSilence is how long no index service answers before there is none to wait for: all of its processes are
	// replaced at once, and a service may not depend on one that is down for long.
	maxAwaitSilence = 20 * time.Second
	// maxReportBytes bounds what is read of a /readyz.
	maxReportBytes = 1 << 20
)

// awaitIndex waits while the index service whose /readyz is at url is of another version: what this process sends, an
// older one need not understand. It goes on where none answers for maxAwaitSilence.
func awaitIndex(ctx context.Context, client *http.Client, url string, status *lifecycle.Status,
	log *slog.Logger) error {
	waiting := newReadinessGate()
	status.AddCheck("update", waiting.checkOpen)
	defer waiting.openGate()
	heard := time.Now()
	for {
		version, err := fetchVersion(ctx, client, url)
		switch {
		case err == nil && version == Version:
			return nil
		case err == nil:
			heard = time.Now()
			err = fmt.Errorf("the index service is of version %q, this is %q: waiting for its update", version, Version)
		case time.Since(heard) >= maxAwaitSilence:
			log.WarnContext(ctx, "no index service answers, going on without", "error", err)
			return nil
		}
		if waiting.recordReason(err) {
			log.InfoContext(ctx, "waiting for the index service", "why", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(awaitInterval):
		}
	}
}

// fetchVersion returns the version that a service's /readyz tells, ready or not; empty for one that tells none.
func fetchVersion(ctx context.Context, client *http.Client, url string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, awaitTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	res, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK && res.StatusCode != http.StatusServiceUnavailable {
		return "", fmt.Errorf("%s answers %s", url, res.Status)
	}
	var report lifecycle.Report
	if err := json.NewDecoder(http.MaxBytesReader(nil, res.Body, maxReportBytes)).Decode(&report); err != nil {
		return "", fmt.Errorf("%s: %w", url, err)
	}
	return report.Info[versionInfo], nil
}

var errNotAsked = errors.New("the index service is yet to be asked")

// readinessGate is a check that fails until it is opened, and says why.
type readinessGate struct {
	closedReason atomic.Pointer[error] // nil once open
}

func newReadinessGate() *readinessGate {
	g := &readinessGate{}
	g.closedReason.Store(&errNotAsked)
	return g
}

func (g *readinessGate) checkOpen(context.Context) error {
	if err := g.closedReason.Load(); err != nil {
		return *err
	}
	return nil
}

// recordReason keeps why the gate is closed, and reports whether that is news.
func (g *readinessGate) recordReason(err error) bool {
	last := g.closedReason.Swap(&err)
	return last == nil || (*last).Error() != err.Error()
}

func (g *readinessGate) openGate() { g.closedReason.Store(nil) }
