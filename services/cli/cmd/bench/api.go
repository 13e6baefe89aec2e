package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"inkstream.dev/pkg/pdftest"
)

// measureStatus measures the answer to the question how a job stands, asked a thousand times a second. The questions
// come when they are due, however slow the answers are, so that a stall costs every question that comes due during it.
func measureStatus(ctx context.Context, b *benchmark) (rows []row, err error) {
	s, err := b.startServer(ctx, "status")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.stopServer()) }()
	data := pdftest.BornDigital(4).PDF
	var ids []string
	for range 20 {
		j, err := s.runJob(ctx, data, "")
		if err != nil {
			return nil, err
		}
		ids = append(ids, j.ID)
	}
	const perSecond, seconds, warm = 1000, 10, 2
	latencies := make([]float64, perSecond*(seconds+warm))
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256, MaxConnsPerHost: 256}}
	g, gctx := errgroup.WithContext(ctx)
	start := time.Now()
	for i := range latencies {
		due := start.Add(time.Duration(i) * time.Second / perSecond)
		select {
		case <-gctx.Done():
			return nil, g.Wait()
		case <-time.After(time.Until(due)):
		}
		g.Go(func() error {
			req, err := http.NewRequestWithContext(gctx, http.MethodGet, "http://"+s.http+"/v1/jobs/"+ids[i%len(ids)], nil)
			if err != nil {
				return err
			}
			res, err := client.Do(req)
			if err != nil {
				return err
			}
			var body bytes.Buffer
			_, err = body.ReadFrom(res.Body)
			latencies[i] = float64(time.Since(due).Microseconds()) / 1000
			if res.Body.Close(); res.StatusCode != http.StatusOK {
				err = errors.Join(err, fmt.Errorf("status: %s", res.Status))
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	client.CloseIdleConnections()
	latencies = latencies[perSecond*warm:]
	slices.Sort(latencies)
	at := func(share float64) float64 { return latencies[int(float64(len(latencies)-1)*share)] }
	return []row{{
		"status of a job at 1,000/s, p99", fmt.Sprintf("%.1f ms (p50 %.1f, p99.9 %.1f)", at(0.99), at(0.5), at(0.999)),
		"≤ 5 ms",
		fmt.Sprintf("%d s over REST, %d jobs, client on the same cores, counted from when each was due", seconds, len(ids)),
	}}, nil
}

// measureWatchMemory measures what open watches cost the server's memory. They come from several addresses, since one
// address has a limit.
func measureWatchMemory(ctx context.Context, b *benchmark) (rows []row, err error) {
	s, err := b.startServer(ctx, "watches")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.stopServer()) }()
	const watches, jobs, addresses = 2000, 100, 5
	load := pdftest.ScannedFile(pdftest.ScanOptions{Pages: 64}).PDF
	var ids []string
	for range jobs { // work for many minutes, so that they do not end
		j, err := s.uploadDocument(ctx, bytes.NewReader(load), len(load), "&lane=batch")
		if err != nil {
			return nil, err
		}
		ids = append(ids, j.ID)
	}
	before, err := s.maxSampledMemory(ctx)
	if err != nil {
		return nil, err
	}
	wctx, stop := context.WithCancel(ctx)
	defer stop()
	var open, over sync.WaitGroup
	failures := make(chan error, watches)
	clients := make([]*http.Client, addresses)
	for i := range clients {
		from := &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(2+i))}
		clients[i] = &http.Client{Transport: &http.Transport{DialContext: (&net.Dialer{LocalAddr: from}).DialContext,
			DisableCompression: true}}
	}
	for i := range watches {
		open.Add(1)
		over.Go(func() {
			failures <- followEvents(wctx, clients[i%addresses], "http://"+s.http+"/v1/jobs/"+ids[i%jobs]+"/watch",
				sync.OnceFunc(open.Done))
		})
	}
	open.Wait()
	after, err := s.maxSampledMemory(ctx)
	stop()
	over.Wait()
	if err != nil {
		return nil, err
	}
	for range watches {
		if err := <-failures; err != nil {
			return nil, err
		}
	}
	return []row{{
		"memory of 2,000 open watches", fmt.Sprintf("%.0f MB", float64(after-before)/1e6), "< 100 MB",
		fmt.Sprintf("event streams of %d jobs under way; growth of the server's own memory", jobs),
	}}, nil
}

// maxSampledMemory returns the most of a few looks: what is under way moves it.
func (s *server) maxSampledMemory(ctx context.Context) (most int64, err error) {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for range 10 {
		now, err := s.memoryFigure("RssAnon")
		if err != nil {
			return 0, err
		}
		most = max(most, now)
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-tick.C:
		}
	}
	return most, nil
}

// followEvents follows a job until ctx is done. It calls open at the first event, or when there will be none.
func followEvents(ctx context.Context, client *http.Client, url string, open func()) error {
	defer open()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "text/event-stream")
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("watch: %s", res.Status)
	}
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "data: ") {
			open()
		}
	}
	if ctx.Err() == nil {
		return errors.New("a watch ended before its job")
	}
	return nil
}
