package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"inkstream.dev/pkg/pdftest"
)

// asTenant returns the server as a client of a tenant sees it.
func (s *server) asTenant(ctx context.Context, admin, tenant string) (*server, error) {
	body, err := json.Marshal(map[string]any{"tenant": tenant, "scopes": []string{"read", "write"}, "name": "bench"})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.http+"/v1/keys", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+admin)
	var key struct{ Secret string }
	if err := doRequest(req, http.StatusOK, &key); err != nil {
		return nil, err
	}
	return &server{http: s.http, key: key.Secret}, nil
}

// measureHostile compares the time of a page of one tenant while others have hostile documents in the queues with its
// time on the idle server: 20 documents of one tenant, then 50 of ten.
func measureHostile(ctx context.Context, b *benchmark) (rows []row, err error) {
	s, err := b.startServer(ctx, "hostile", "--auth=keys")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.stopServer()) }()
	secret, err := os.ReadFile(filepath.Join(b.dir, "hostile", "admin.key"))
	if err != nil {
		return nil, err
	}
	admin := strings.TrimSpace(string(secret))
	honest, err := s.asTenant(ctx, admin, "honest")
	if err != nil {
		return nil, err
	}
	documents := []struct {
		name string
		data []byte
	}{{"born-digital", pdftest.BornDigital(1).PDF}, {"scanned", pdftest.ScannedFile(pdftest.ScanOptions{Pages: 1}).PDF}}
	idle := make(map[string][]float64)
	for _, d := range documents {
		if idle[d.name], err = honest.timeJobs(ctx, d.data, 4); err != nil {
			return nil, err
		}
		idle[d.name] = idle[d.name][1:] // the first starts the children
	}
	seed := uint64(time.Now().UnixNano()) // other documents at each run; the row shows it
	for _, load := range []struct{ tenants, each int }{{1, 20}, {10, 5}} {
		for t := range load.tenants {
			hostile, err := s.asTenant(ctx, admin, fmt.Sprintf("hostile-%d-%d", load.tenants, t))
			if err != nil {
				return nil, err
			}
			for range load.each {
				data := pdftest.HostileFile(seed, 48).PDF
				seed++
				if _, err := hostile.uploadDocument(ctx, bytes.NewReader(data), len(data), ""); err != nil {
					return nil, err
				}
			}
		}
		for _, d := range documents {
			busy, err := honest.timeJobs(ctx, d.data, 6)
			if err != nil {
				return nil, err
			}
			base := medianOf(idle[d.name])
			rows = append(rows, row{
				fmt.Sprintf("a %s page beside %d hostile documents of %d tenants, against the idle server", d.name,
					load.tenants*load.each, load.tenants),
				fmt.Sprintf("%.1f × (worst %.1f ×; %.0f ms against %.0f)", medianOf(busy)/base, slices.Max(busy)/base,
					medianOf(busy), base), "≤ 3 ×",
				fmt.Sprintf("6 tries, documents of 48 pages, seeds before %d", seed),
			})
		}
	}
	return rows, nil
}

// timeJobs returns how many milliseconds each of n jobs takes, one after the other.
func (s *server) timeJobs(ctx context.Context, data []byte, n int) (all []float64, err error) {
	for range n {
		took, err := timeCall(func() error {
			_, err := s.runJob(ctx, data, "&lane=interactive")
			return err
		})
		if err != nil {
			return nil, err
		}
		all = append(all, float64(took.Microseconds())/1000)
	}
	return all, nil
}
