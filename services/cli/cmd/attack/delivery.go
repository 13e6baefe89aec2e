package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"time"

	"inkstream.dev/pkg/pdftest"
)

var deliveryAttacks = []attack{
	{"6", "a receiver that sends on to a cloud's host address, and one that asks where from", "not followed; no Referer", attackRedirects},
	{"6", "20 webhook receivers that never answer", "another's call within 10 s", attackReceivers},
	{"queues", "one tenant fills its share of the queues", "429 with Retry-After for it; another's upload is taken", attackQueues},
}

var crashAttacks = []attack{
	{"0", "kill -9 during 60 uploads, three times", "every acknowledged document's job ends well", attackCrashes},
}

func attackReceivers(ctx context.Context, t *testbed) (string, error) {
	s := t.server
	stuck, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer closeQuietly(stuck)
	var held atomic.Int64
	go func() { // ends with the listener
		for {
			conn, err := stuck.Accept()
			if err != nil {
				return
			}
			held.Add(1)
			defer closeQuietly(conn) // they stay open as long as the attack
		}
	}()
	for i := range 20 {
		if _, err := s.callJSON(ctx, villain+"/admin", http.MethodPost, "/v1/webhooks",
			map[string]any{"url": fmt.Sprintf("http://%s/%d", stuck.Addr(), i)}, &struct{}{}); err != nil {
			return "", err
		}
	}
	called := make(chan struct{}, 100)
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called <- struct{}{} }))
	defer receiver.Close()
	if _, err := s.callJSON(ctx, victim+"/admin", http.MethodPost, "/v1/webhooks",
		map[string]any{"url": receiver.URL + "/hook"}, &struct{}{}); err != nil {
		return "", err
	}
	for range 10 {
		if _, _, err := s.runJob(ctx, villain+"/write", "", s.document); err != nil {
			return "", err
		}
	}
	worst := time.Duration(0)
	for range 3 {
		if _, _, err := s.runJob(ctx, victim+"/write", "", s.document); err != nil {
			return "", err
		}
		start := time.Now()
		select {
		case <-called:
			worst = max(worst, time.Since(start))
		case <-time.After(10 * time.Second):
			return "", fmt.Errorf("the victim's receiver was not called within 10 s; %d calls of the villain's are held", held.Load())
		}
	}
	if held.Load() == 0 {
		return "", errors.New("no call of the villain's came, so nothing was tried")
	}
	return fmt.Sprintf("%.1f s at most, while %d calls were held", worst.Seconds(), held.Load()), nil
}

func attackRedirects(ctx context.Context, t *testbed) (string, error) {
	s := t.server
	var mu sync.Mutex // guards what follows
	var referer string
	reached, followed := false, false
	target := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		followed, referer = true, r.Header.Get("Referer")
	}))
	defer target.Close()
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		reached = true
		to := target.URL
		if r.URL.Path == "/cloud" {
			to = "http://168.63.129.16/machine"
		}
		http.Redirect(w, r, to, http.StatusTemporaryRedirect)
	}))
	defer receiver.Close()
	for _, path := range []string{"/secret-path", "/cloud"} {
		var hook struct{ ID string }
		if _, err := s.callJSON(ctx, villain+"/admin", http.MethodPost, "/v1/webhooks", map[string]any{"url": receiver.URL + path}, &hook); err != nil {
			return "", err
		}
		defer func() { // the attacks after this one have the tenant's places
			_, _, _ = s.exchange(context.WithoutCancel(ctx), villain+"/admin", http.MethodDelete, "/v1/webhooks/"+hook.ID, nil, nil)
		}()
	}
	if _, _, err := s.runJob(ctx, villain+"/write", "", s.document); err != nil {
		return "", err
	}
	deadline := time.Now().Add(15 * time.Second)
	for {
		mu.Lock()
		came, went, from := reached, followed, referer
		mu.Unlock()
		if from != "" {
			return "", fmt.Errorf("the redirect's target is told %q", from)
		}
		if came && went {
			return "reached without a Referer", nil
		}
		if time.Now().After(deadline) {
			return fmt.Sprintf("receiver reached: %v, redirect followed: %v", came, went), nil
		}
		if err := waitFor(ctx, 100*time.Millisecond); err != nil {
			return "", err
		}
	}
}

// attackQueues sends more than the tenant's limit of jobs allows.
func attackQueues(ctx context.Context, t *testbed) (string, error) {
	s := t.server
	taken, refused := 0, 0
	for range 120 {
		resp, err := s.sendRequest(ctx, villain+"/write", http.MethodPost, "/v1/jobs?dedupe=false&page_timeout=20s",
			map[string]string{"Content-Type": "application/pdf"}, bytes.NewReader(pdftest.HangOnEveryPage(48).PDF))
		if err != nil {
			return "", err
		}
		resp.Body.Close()
		switch {
		case resp.StatusCode == http.StatusAccepted:
			taken++
		case (resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusServiceUnavailable) && resp.Header.Get("Retry-After") != "":
			refused++
		default:
			return "", fmt.Errorf("upload: %s", resp.Status)
		}
	}
	start := time.Now()
	_, code, err := s.submit(ctx, victim+"/write", "", s.document)
	took := time.Since(start)
	if err != nil || code != http.StatusAccepted || refused == 0 {
		return "", fmt.Errorf("%d taken, %d refused; the victim's upload: %d, %w", taken, refused, code, err)
	}
	return fmt.Sprintf("%d taken, %d refused; the victim's upload answered in %d ms", taken, refused, took.Milliseconds()), nil
}

// attackCrashes kills the server while uploads are under way, and starts it again on the same data.
func attackCrashes(ctx context.Context, t *testbed) (string, error) {
	s := t.server
	var mu sync.Mutex // guards acknowledged
	var acknowledged []string
	for round := range 3 {
		var uploads sync.WaitGroup
		for i := range 20 {
			uploads.Go(func() {
				for n := range 8 {
					j, code, err := s.submit(ctx, victim+"/write", fmt.Sprintf("&filename=r%d-%d-%d.pdf", round, i, n), s.document)
					if err != nil {
						return
					}
					if code == http.StatusAccepted {
						mu.Lock()
						acknowledged = append(acknowledged, j.ID)
						mu.Unlock()
					}
				}
			})
		}
		if err := waitFor(ctx, time.Duration(60+140*round)*time.Millisecond); err != nil {
			return "", err
		}
		if err := s.cmd.Process.Kill(); err != nil {
			return "", err
		}
		<-s.ended
		uploads.Wait()
		s.log.Close()
		if err := s.start(t.binary); err != nil {
			return "", err
		}
	}
	for _, id := range acknowledged {
		if j, err := s.awaitEnd(ctx, victim+"/write", id); err != nil || j.State != "SUCCEEDED" {
			return "", fmt.Errorf("job %s, which was acknowledged, is %s (%s), %w", id, j.State, j.Error.Code, err)
		}
	}
	if len(acknowledged) == 0 {
		return "", errors.New("no upload was acknowledged, so nothing was tried")
	}
	return fmt.Sprintf("%d of %[1]d acknowledged jobs ended well", len(acknowledged)), nil
}
