package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/processtest"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

var loadAttacks = []attack{
	{"4", "1,000 requests for a page of several megabytes", fmt.Sprintf("the process grows by %d MiB at most (PSS); others are served", pageBound>>20), attackPages},
	{"4", "ten tenants ask for large pages and never read them", fmt.Sprintf("another's page within %s", unreadWait), attackUnreadPages},
	{"weak points", "a search of many words with many hits and boxes", "within 5 s; the status of a job meanwhile within 1 s", attackSearch},
	{"1", "twenty hostile documents of one tenant in the queues", "another's page within 3 × its idle time, or 8 s", attackStages},
	{"5", "images of hanging pages, without end", "another's image within 15 s", attackImages},
	{"7", "a key with 1 MB a day announces resumable uploads of 8 MB", "one is taken", attackReserved},
	{"load", "300 connections that hardly move, 300 uploads that drip", "another's upload within 5 s", attackSlowClients},
	{"load", "700 watches from one address", "another may watch", attackWatches},
	{"load", "lists, searches and archives of dense pages, over 90 connections", "another's page and search within 8 s", attackAnswers},
	{"load", "a request for 10,000 ranges of an artifact", "bounded answer", attackRanges},
}

// idleTime returns what a page of the victim's takes on a server that has nothing else to do.
func (s *server) idleTime(ctx context.Context) (best time.Duration, err error) {
	for range 3 {
		_, took, err := s.runJob(ctx, victim+"/write", "", s.document)
		if err != nil {
			return 0, err
		}
		if best == 0 || took < best {
			best = took
		}
	}
	return best, nil
}

// cancelJobs ends what the villain has under way. After an attack with thousands of connections the server closes more
// of that address unheard, until it has seen the end of those.
func (s *server) cancelJobs(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		code, err := s.callJSON(ctx, villain+"/admin", http.MethodPost, "/v1/jobs:cancel",
			map[string]any{"filter": map[string]any{"state": []string{"PENDING", "RUNNING"}}}, &struct{}{})
		if err == nil || code != 0 || waitFor(ctx, 50*time.Millisecond) != nil {
			return err
		}
	}
}

func attackStages(ctx context.Context, t *testbed) (string, error) {
	s := t.server
	idle, err := s.idleTime(ctx)
	if err != nil {
		return "", err
	}
	seed := uint64(time.Now().UnixNano()) // other documents in each run
	for i := range 20 {
		data := pdftest.HostileFile(seed+uint64(i), 48).PDF
		if _, code, err := s.submit(ctx, villain+"/write", "&ocr=auto", data); err != nil || code != http.StatusAccepted {
			return "", fmt.Errorf("upload: %d, %w", code, err)
		}
	}
	if err := waitFor(ctx, 5*time.Second); err != nil {
		return "", err
	}
	worst := time.Duration(0)
	for range 4 {
		j, took, err := s.runJob(ctx, victim+"/write", "", s.document)
		if err != nil || j.State != "SUCCEEDED" {
			return "", fmt.Errorf("the victim's job: %s, %w", j.State, err)
		}
		worst = max(worst, took)
	}
	seen := fmt.Sprintf("idle %.1f s, worst %.1f s (%.1f ×), seed %d", idle.Seconds(), worst.Seconds(),
		worst.Seconds()/idle.Seconds(), seed)
	if worst > max(3*idle, 8*time.Second) {
		return "", errors.New(seen)
	}
	return seen, nil
}

// memory returns the process's proportional share of memory, in bytes, its children's left out.
func (s *server) memory() (int64, error) { return processtest.ProportionalMemory(s.cmd.Process.Pid) }

// watchMemory samples the memory until stop is called, which returns the most.
func (s *server) watchMemory() (stop func() int64) {
	end, most := make(chan struct{}), make(chan int64)
	go func() {
		peak := int64(0)
		for {
			if now, err := s.memory(); err == nil {
				peak = max(peak, now)
			}
			select {
			case <-end:
				most <- peak
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	return func() int64 { close(end); return <-most }
}

// pageBound is what requests for large pages may add to the process: answers get half a gibibyte at most, and decoding
// and the runtime's reserve come on top.
const pageBound = 1 << 30

func attackPages(ctx context.Context, t *testbed) (string, error) {
	s := t.server
	j, took, err := s.runJob(ctx, villain+"/write", "&artifacts=text", denseDocument(1, 780, 0))
	if err != nil || j.State != "SUCCEEDED" {
		return "", fmt.Errorf("the page's job: %s, %w", j.State, err)
	}
	path := "/v1/jobs/" + j.ID + "/pages/1"
	code, page, err := s.exchange(ctx, villain+"/read", http.MethodGet, path, nil, nil)
	if err != nil || code != http.StatusOK || len(page) < 4<<20 {
		return "", fmt.Errorf("the page: %d, %d bytes, %w", code, len(page), err)
	}
	before, err := s.memory()
	if err != nil {
		return "", err
	}
	stop := s.watchMemory()
	fctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	var served, refused, cut atomic.Int64
	var wg sync.WaitGroup
	for range 1000 {
		wg.Go(func() {
			resp, err := s.sendRequest(fctx, villain+"/read", http.MethodGet, path, nil, nil)
			if err != nil {
				cut.Add(1)
				return
			}
			defer resp.Body.Close()
			n, err := io.Copy(io.Discard, resp.Body)
			switch {
			case err != nil:
				cut.Add(1)
			case resp.StatusCode == http.StatusOK && n > 4<<20:
				served.Add(1)
			default:
				refused.Add(1)
			}
		})
	}
	_, other, jobErr := s.runJob(ctx, victim+"/write", "", s.document)
	wg.Wait()
	peak := stop()
	seen := fmt.Sprintf("page of %.1f MB (%.1f s to make), %d served, %d refused, %d given up after 20 s; PSS %d → %d MiB; another's job %.1f s",
		float64(len(page))/1e6, took.Seconds(), served.Load(), refused.Load(), cut.Load(), before>>20, peak>>20, other.Seconds())
	if jobErr != nil || peak-before > pageBound || served.Load() == 0 {
		return "", errors.Join(errors.New(seen), jobErr)
	}
	return seen, nil
}

// unreadWait is how long a page may take while the answers of others stay unread.
const unreadWait = 5 * time.Second

// attackUnreadPages has ten tenants ask for pages over gRPC and read nothing of the answers but their head, so that
// these stay in the server's memory.
func attackUnreadPages(ctx context.Context, t *testbed) (string, error) {
	const tenants, calls = 10, 20
	s := t.server
	ctx, hangUp := context.WithCancel(ctx)
	defer hangUp()
	var held atomic.Int64
	for n := range tenants {
		name := fmt.Sprintf("%s-%d", villain, n)
		for _, scope := range []string{"read", "write"} {
			if _, err := s.newKey(ctx, name, scope, nil); err != nil {
				return "", err
			}
		}
		j, _, err := s.runJob(ctx, name+"/write", "&artifacts=text", denseDocument(1, 780, 0))
		if err != nil || j.State != "SUCCEEDED" {
			return "", fmt.Errorf("the page's job: %s, %w", j.State, err)
		}
		conn, err := grpc.NewClient(s.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return "", err
		}
		defer closeQuietly(conn)
		as := metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+s.keys[name+"/read"])
		answered := make(chan error, calls)
		for range calls {
			go func() { // ends when the attack hangs up
				stream, err := conn.NewStream(as, &grpc.StreamDesc{ServerStreams: true}, inkstreamv1.InkstreamService_GetPage_FullMethodName)
				if err == nil {
					err = errors.Join(stream.SendMsg(&inkstreamv1.GetPageRequest{Id: j.ID, Number: 1}), stream.CloseSend())
				}
				if err == nil {
					var head metadata.MD
					if head, err = stream.Header(); head != nil {
						held.Add(1)
					}
				}
				answered <- err
			}()
		}
		select { // the first answer is there, as far as it is sent; the other calls wait for memory or have some
		case <-answered:
		case <-time.After(unreadWait):
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	start := time.Now()
	code, _, err := s.exchange(ctx, victim+"/read", http.MethodGet, "/v1/jobs/"+s.job+"/pages/1", nil, nil)
	seen := fmt.Sprintf("%d of %d calls were begun to be answered; another's page: %d after %s", held.Load(), tenants*calls, code,
		time.Since(start).Round(time.Millisecond))
	if err != nil || code != http.StatusOK || time.Since(start) > unreadWait || held.Load() == 0 {
		return "", errors.Join(errors.New(seen), err)
	}
	return seen, nil
}

func attackImages(ctx context.Context, t *testbed) (string, error) {
	s := t.server
	own, code, err := s.submit(ctx, villain+"/write", "&page_timeout=3s", tilingDocument(20))
	if err != nil || code != http.StatusAccepted {
		return "", fmt.Errorf("upload: %d, %w", code, err)
	}
	fctx, stop := context.WithCancel(ctx)
	var flood sync.WaitGroup
	defer func() { stop(); flood.Wait() }()
	for i := range 12 {
		flood.Go(func() {
			for n := 0; fctx.Err() == nil; n++ {
				_, _, _ = s.exchange(fctx, villain+"/read", http.MethodGet, fmt.Sprintf("/v1/jobs/%s/pages/%d/image?dpi=%d", own.ID, i+1, 72+n), nil, nil)
			}
		})
	}
	if err := waitFor(ctx, 3*time.Second); err != nil {
		return "", err
	}
	worst := time.Duration(0)
	for i := range 3 {
		start := time.Now()
		code, body, err := s.exchange(ctx, victim+"/read", http.MethodGet, fmt.Sprintf("/v1/jobs/%s/pages/1/image?dpi=%d", s.job, 90+i), nil, nil)
		if err != nil || code != http.StatusOK {
			return "", fmt.Errorf("the victim's image: %d %.100s after %.1f s, %w", code, body, time.Since(start).Seconds(), err)
		}
		worst = max(worst, time.Since(start))
	}
	if worst > 15*time.Second {
		return "", fmt.Errorf("the victim's image took %.1f s", worst.Seconds())
	}
	return fmt.Sprintf("%.1f s at most", worst.Seconds()), nil
}

func attackReserved(ctx context.Context, t *testbed) (string, error) {
	s := t.server
	id, err := s.newKey(ctx, villain, "write", map[string]any{"name": "small", "maxBytesPerDay": "1000000"})
	if err != nil {
		return "", err
	}
	taken := 0
	for range 10 {
		_, err := s.createUpload(ctx, villain+"/"+id, 800_000, "a.pdf")
		switch {
		case err == nil:
			taken++
		case !errors.Is(err, errRefused):
			return "", err
		}
	}
	if taken != 1 {
		return "", fmt.Errorf("%d uploads of 800 kB were taken", taken)
	}
	return "1 of 10 taken", nil
}

func attackSlowClients(ctx context.Context, t *testbed) (string, error) {
	s := t.server
	host := strings.TrimPrefix(s.rest, "http://")
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP("127.0.0.2")}}
	for i := range 600 {
		conn, err := dialer.DialContext(ctx, "tcp", host)
		if err != nil {
			break // the server takes no more of them
		}
		defer closeQuietly(conn)
		if i%2 == 0 {
			fmt.Fprintf(conn, "GET /v1/me HTTP/1.1\r\nHost: x\r\nX-Slow: ")
		} else {
			fmt.Fprintf(conn, "POST /v1/jobs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/pdf\r\nContent-Length: 1000000\r\n\r\n%%PDF-",
				s.keys[villain+"/write"])
		}
	}
	start := time.Now()
	_, code, err := s.submit(ctx, victim+"/write", "", s.document)
	took := time.Since(start)
	if err != nil || code != http.StatusAccepted || took > 5*time.Second {
		return "", fmt.Errorf("the victim's upload: %d after %.1f s, %w", code, took.Seconds(), err)
	}
	return fmt.Sprintf("answered in %d ms", took.Milliseconds()), nil
}

func attackWatches(ctx context.Context, t *testbed) (string, error) {
	s := t.server
	j, code, err := s.submit(ctx, villain+"/write", "&page_timeout=20s", tilingDocument(8))
	if err != nil || code != http.StatusAccepted {
		return "", fmt.Errorf("upload: %d, %w", code, err)
	}
	wctx, cancel := context.WithCancel(ctx)
	defer cancel()
	open, refused := 0, 0
	for range 700 {
		resp, err := s.sendRequest(wctx, villain+"/read", http.MethodGet, "/v1/jobs/"+j.ID+"/watch", nil, nil)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			open++
		} else {
			refused++
		}
	}
	resp, err := s.sendRequest(wctx, victim+"/read", http.MethodGet, "/v1/jobs:watch", nil, nil)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK || refused == 0 {
		return "", fmt.Errorf("%d open, %d refused; the victim's watch: %s", open, refused, resp.Status)
	}
	return fmt.Sprintf("%d open, %d refused", open, refused), nil
}

func attackRanges(ctx context.Context, t *testbed) (string, error) {
	s := t.server
	own, _, err := s.runJob(ctx, villain+"/write", "", pdftest.BornDigital(8).PDF)
	if err != nil {
		return "", err
	}
	for _, n := range []int{10_000, 33} {
		ranges := "bytes=" + strings.TrimSuffix(strings.Repeat("0-,", n), ",")
		code, body, err := s.exchange(ctx, villain+"/read", http.MethodGet, "/v1/jobs/"+own.ID+"/artifacts/document.json",
			map[string]string{"Range": ranges}, nil)
		if err != nil || code >= 500 {
			return "", fmt.Errorf("%d ranges: %d, %w", n, code, err)
		}
		_, whole, err := s.exchange(ctx, villain+"/read", http.MethodGet, "/v1/jobs/"+own.ID+"/artifacts/document.json", nil, nil)
		if err != nil || len(body) > 2*len(whole) {
			return "", fmt.Errorf("%d ranges are answered with %d bytes of a file of %d, %w", n, len(body), len(whole), err)
		}
	}
	return "no more than the file", nil
}

// attackSearch asks for many words, all of which stand on many large pages.
func attackSearch(ctx context.Context, t *testbed) (string, error) {
	s := t.server
	if j, _, err := s.runJob(ctx, villain+"/write", "&artifacts=text", denseDocument(20, 50, 0)); err != nil || j.State != "SUCCEEDED" {
		return "", fmt.Errorf("the job: %s, %w", j.State, err)
	}
	var words []string
	for i := range 60 {
		words = append(words, fmt.Sprintf("w%d*", i%10))
	}
	queries := []string{strings.Join(words[:10], " "), strings.Join(words, " "), "w*", "w1x1* w1x2* w1x3* -zzz", "\"w1x1 w1x2\" w*"}
	fctx, stop := context.WithCancel(ctx)
	var flood sync.WaitGroup
	defer func() { stop(); flood.Wait() }()
	for i := range 4 {
		flood.Go(func() {
			for fctx.Err() == nil {
				_, _, _ = s.exchange(fctx, villain+"/read", http.MethodGet, searchPath(queries[i%len(queries)]), nil, nil)
			}
		})
	}
	worst, status, hits := time.Duration(0), time.Duration(0), 0
	for _, q := range queries {
		start := time.Now()
		code, body, err := s.exchange(ctx, villain+"/read", http.MethodGet, searchPath(q), nil, nil)
		if err != nil || code >= 500 {
			return "", fmt.Errorf("%.40q: %d %.200s after %.1f s, %w", q, code, body, time.Since(start).Seconds(), err)
		}
		hits += bytes.Count(body, []byte(`"snippet"`))
		worst = max(worst, time.Since(start))
		start = time.Now()
		if code, _, err := s.exchange(ctx, victim+"/read", http.MethodGet, "/v1/jobs/"+s.job, nil, nil); err != nil || code != http.StatusOK {
			return "", fmt.Errorf("the victim's status: %d, %w", code, err)
		}
		status = max(status, time.Since(start))
	}
	seen := fmt.Sprintf("%d hits, %.1f s at most; a status %d ms", hits, worst.Seconds(), status.Milliseconds())
	if worst > 5*time.Second || status > time.Second {
		return "", errors.New(seen)
	}
	return seen, nil
}

func searchPath(q string) string {
	return "/v1/search?page_size=100&q=" + strings.NewReplacer(" ", "+", "\"", "%22").Replace(q)
}

// attackAnswers asks without end for what costs nothing to ask for.
func attackAnswers(ctx context.Context, t *testbed) (string, error) {
	s := t.server
	own, _, err := s.runJob(ctx, villain+"/write", "&artifacts=text,json", denseDocument(16, 70, 0))
	if err != nil || own.State != "SUCCEEDED" {
		return "", fmt.Errorf("the job: %s, %w", own.State, err)
	}
	before, err := s.memory()
	if err != nil {
		return "", err
	}
	stopMemory := s.watchMemory()
	fctx, stop := context.WithCancel(ctx)
	var flood sync.WaitGroup
	defer func() { stop(); flood.Wait() }()
	paths := []string{searchPath("w1x1"), "/v1/jobs/" + own.ID + "/artifacts.zip", "/v1/jobs/" + own.ID + "/pages?page_size=1000"}
	for i := range 90 {
		flood.Go(func() {
			for fctx.Err() == nil {
				_, _, _ = s.exchange(fctx, villain+"/read", http.MethodGet, paths[i%len(paths)], nil, nil)
			}
		})
	}
	if err := waitFor(ctx, 2*time.Second); err != nil {
		return "", err
	}
	_, took, jobErr := s.runJob(ctx, victim+"/write", "", s.document)
	start := time.Now()
	code, _, err := s.exchange(ctx, victim+"/read", http.MethodGet, searchPath(marker), nil, nil)
	search := time.Since(start)
	peak := stopMemory()
	seen := fmt.Sprintf("another's page %.1f s, its search %d after %.1f s; PSS %d → %d MiB", took.Seconds(), code, search.Seconds(),
		before>>20, peak>>20)
	if jobErr != nil || err != nil || code != http.StatusOK || max(took, search) > 8*time.Second || peak-before > pageBound {
		return "", errors.Join(errors.New(seen), jobErr, err)
	}
	return seen, nil
}
