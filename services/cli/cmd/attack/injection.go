package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

var injectionAttacks = []attack{
	{"injections", "names, labels, options, queries, page tokens", "refused or taken literally; no 5xx", attackFields},
	{"injections", "paths out of a job's folder", "404 or 400", attackPaths},
	{"injections", "request smuggling and broken HTTP", "one answer each, no 5xx", attackHTTP},
	{"injections", "forms and JSON without measure", "refused, bounded", attackBodies},
	{"injections", "cells that a spreadsheet runs", "written so that they are text", attackCSV},
}

// nasty are texts that mean something somewhere.
var nasty = []string{
	"'; DROP TABLE jobs; --", "\" OR \"\"=\"", "' UNION SELECT * FROM documents --", "\\' OR 1=1 --", "%' OR '1'='1", "a\r\nX-Injected: yes", "a\x00b",
	"../../../../etc/passwd", "..\\..\\windows", "$(touch /tmp/inkstream-attack)", "`id`", "{{7*7}}", "${jndi:ldap://127.0.0.1/x}", "<script>alert(1)</script>",
	"\u202efdp.exe", strings.Repeat("a", 3000), strings.Repeat("(", 500), "NEAR(a b, 1000000)", "a* OR b*", "\"unclosed", "-", "*", "^a", "a:b", "tenant:victim",
	"{tenant} : victim", "ink.ocr.>", "*.>", "\xff\xfe", "\U0010ffff", "a AND NOT b", "🦑", "\t\n ",
}

func attackFields(ctx context.Context, t *testbed) (string, error) {
	s := t.server
	tried := 0
	for _, text := range nasty {
		v := url.QueryEscape(text)
		for _, path := range []string{"/v1/search?q=%s", "/v1/jobs?filename=%s", "/v1/jobs?label=%s", "/v1/jobs?label=case%%3D%s", "/v1/jobs?page_token=%s",
			"/v1/search?q=a&page_token=%s", "/v1/search?q=a&job=%s", "/v1/search?q=a&language=%s", "/v1/jobs?state=%s", "/v1/jobs?create_after=%s",
			"/v1/deadletters?page_token=%s", "/v1/deadletters?stage=%s", "/v1/jobs/%s", "/v1/batches/%s", "/v1/jobs:count?filename=%s",
			"/v1/jobs?filter.batch=%s", "/tasks?x=%s", "/v1/jobs/%s/events", "/v1/jobs?order_by=%s"} {
			code, body, err := s.exchange(ctx, villain+"/read", http.MethodGet, fmt.Sprintf(path, v), nil, nil)
			tried++
			if err != nil || code >= 500 || strings.Contains(string(body), s.job) || strings.Contains(string(body), "root:x:") {
				return "", fmt.Errorf("%s with %.40q: %d %.200s, %w", path, text, code, body, err)
			}
		}
		for _, option := range []string{"filename", "labels", "languages", "pages", "engine", "lane", "artifacts", "password", "webhook_url", "ocr", "retention"} {
			j, code, err := s.submit(ctx, villain+"/write", "&"+option+"="+v, s.document)
			tried++
			if err != nil || code >= 500 {
				return "", fmt.Errorf("upload with %s=%.40q: %d, %w", option, text, code, err)
			}
			if code != http.StatusAccepted {
				continue
			}
			resp, err := s.sendRequest(ctx, villain+"/read", http.MethodGet, "/v1/jobs/"+j.ID, nil, nil)
			if err != nil {
				return "", err
			}
			resp.Body.Close()
			if resp.Header.Get("X-Injected") != "" {
				return "", fmt.Errorf("%s=%.40q becomes a header", option, text)
			}
		}
	}
	var jobs struct {
		Jobs []struct{ ID string } `json:"jobs"`
	}
	if _, err := s.callJSON(ctx, villain+"/read", http.MethodGet, "/v1/jobs", nil, &jobs); err != nil {
		return "", fmt.Errorf("the list afterwards: %w", err)
	}
	return fmt.Sprintf("%d requests, the list still answers", tried), s.checkVictim(ctx)
}

func attackPaths(ctx context.Context, t *testbed) (string, error) {
	s := t.server
	own, _, err := s.runJob(ctx, villain+"/write", "", s.document)
	if err != nil {
		return "", err
	}
	names := []string{"../source.pdf", "..%2fsource.pdf", "%2e%2e/%2e%2e/source.pdf", "..%5c..%5csource.pdf", "....//source.pdf", "/etc/passwd", "%2fetc%2fpasswd",
		"%00", "text.txt%00.pdf", "tmp/x", "images/../../../../" + victim + "/" + s.job + "/source.pdf", "..;/source.pdf", "%c0%ae%c0%ae/source.pdf",
		"tables/..%2f..%2f..%2f" + victim + "%2f" + s.job + "%2fsource.pdf"}
	for _, name := range names {
		for _, base := range []string{"/v1/jobs/" + own.ID + "/artifacts/", "/result/" + own.ID + "/images/", "/ui/", "/docs/", "/v1/uploads/"} {
			resp, err := s.sendRequest(ctx, villain+"/read", http.MethodGet, base+name, map[string]string{"Tus-Resumable": "1.0.0"}, nil)
			if err != nil {
				continue // no URL that the client sends
			}
			body := readUntilCut(resp.Body)
			resp.Body.Close()
			if resp.StatusCode >= 500 || resp.StatusCode < 300 && !strings.HasPrefix(base, "/ui") && !strings.HasPrefix(base, "/docs") ||
				strings.Contains(body, "root:x:") || strings.Contains(body, marker) {
				return "", fmt.Errorf("%s%s: %s %.100s", base, name, resp.Status, body)
			}
		}
	}
	return fmt.Sprintf("%d names", len(names)), nil
}

// attackHTTP writes requests to the wire that no client library would.
func attackHTTP(ctx context.Context, t *testbed) (string, error) {
	s := t.server
	host := strings.TrimPrefix(s.rest, "http://")
	key := "Authorization: Bearer " + s.keys[villain+"/write"] + "\r\n"
	smuggled := "GET /v1/jobs/" + s.job + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\r\n\r\n"
	raw := map[string]string{
		"both lengths":        "POST /v1/jobs HTTP/1.1\r\nHost: x\r\n" + key + "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + smuggled,
		"two lengths":         "POST /v1/jobs HTTP/1.1\r\nHost: x\r\n" + key + "Content-Length: 5\r\nContent-Length: 50\r\n\r\n" + smuggled,
		"an odd encoding":     "POST /v1/jobs HTTP/1.1\r\nHost: x\r\n" + key + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
		"a folded header":     "GET /v1/me HTTP/1.1\r\nHost: x\r\nX: a\r\n " + key + "\r\n",
		"no host":             "GET /v1/me HTTP/1.1\r\n" + key + "\r\n",
		"a bare newline":      "GET /v1/me HTTP/1.1\nHost: x\n" + key + "\n",
		"a header of 2 MB":    "GET /v1/me HTTP/1.1\r\nHost: x\r\n" + key + "X: " + strings.Repeat("a", 2<<20) + "\r\n\r\n",
		"100,000 headers":     "GET /v1/me HTTP/1.1\r\nHost: x\r\n" + key + strings.Repeat("X: a\r\n", 100_000) + "\r\n",
		"two keys":            "GET /v1/jobs/" + s.job + " HTTP/1.1\r\nHost: x\r\n" + key + "Authorization: Bearer y\r\n\r\n",
		"an absolute address": "GET http://127.0.0.1:1/v1/me HTTP/1.1\r\nHost: x\r\n" + key + "\r\n",
		"CONNECT":             "CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: x\r\n" + key + "\r\n",
		"no HTTP":             "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + strings.Repeat("\x00", 100),
		"HTTP/2 without TLS":  "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + strings.Repeat("\xff", 200),
		"a chunk of all":      "POST /v1/jobs HTTP/1.1\r\nHost: x\r\n" + key + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
	}
	for name, text := range raw {
		conn, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP("127.0.0.2")}}).DialContext(ctx, "tcp", host)
		if err != nil {
			return "", err
		}
		_ = conn.SetDeadline(time.Now().Add(1500 * time.Millisecond)) // what has come until then counts
		go func() { _, _ = io.WriteString(conn, text) }()             // the server may close before all of it is sent
		answer := readUntilCut(conn)
		closeQuietly(conn)
		status, _, _ := strings.Cut(answer, "\r\n")
		if strings.Contains(answer, marker) || strings.Contains(status, " 50") && !strings.Contains(status, " 501") && !strings.Contains(status, " 505") {
			return "", fmt.Errorf("%s: %.200s", name, answer)
		}
		if name == "two lengths" && !strings.Contains(status, " 400") {
			return "", fmt.Errorf("%s: %.200s", name, answer)
		}
	}
	return fmt.Sprintf("%d requests", len(raw)), nil
}

// attackBodies sends bodies that are larger or deeper than any that are meant.
func attackBodies(ctx context.Context, t *testbed) (string, error) {
	s := t.server
	var form bytes.Buffer
	parts := multipart.NewWriter(&form)
	for i := range 20_000 {
		if err := parts.WriteField(fmt.Sprint("label", i), "x"); err != nil {
			return "", err
		}
	}
	if err := parts.Close(); err != nil {
		return "", err
	}
	var files bytes.Buffer
	many := multipart.NewWriter(&files)
	for range 3000 {
		w, err := many.CreateFormFile("file", "a.pdf")
		if err != nil {
			return "", err
		}
		_, _ = w.Write([]byte("%PDF-")) // to memory
	}
	if err := many.Close(); err != nil {
		return "", err
	}
	before, err := s.memory()
	if err != nil {
		return "", err
	}
	jsonType := "application/json"
	for _, c := range []struct {
		name, path, media string
		body              []byte
	}{
		{"20,000 fields", "/v1/jobs", parts.FormDataContentType(), form.Bytes()},
		{"3,000 files", "/v1/jobs", many.FormDataContentType(), files.Bytes()},
		{"JSON of 100,000 levels", "/v1/jobs:cancel", jsonType, []byte(strings.Repeat(`{"filter":`, 100_000))},
		{"JSON of 64 MB", "/v1/jobs:cancel", jsonType, append([]byte(`{"ids":["`), bytes.Repeat([]byte("a"), 64<<20)...)},
		{"a list of a million", "/v1/jobs:delete", jsonType, []byte(`{"ids":[` + strings.Repeat(`"a",`, 1_000_000) + `"a"]}`)},
		{"no boundary", "/v1/jobs", "multipart/form-data", []byte("--x")},
		{"an odd type", "/v1/jobs", "text/html; charset=\"\x00\"", []byte("x")},
	} {
		code, body, err := s.exchange(ctx, villain+"/admin", http.MethodPost, c.path, map[string]string{"Content-Type": c.media}, c.body)
		if err != nil && errors.Is(err, context.DeadlineExceeded) {
			return "", fmt.Errorf("%s: %w", c.name, err)
		}
		if err == nil && (code < 400 || code >= 500) {
			return "", fmt.Errorf("%s: %d %.200s", c.name, code, body)
		}
	}
	after, err := s.memory()
	const bound = 256 << 20
	if err == nil && after-before > bound {
		err = fmt.Errorf("the server has grown by %d MiB", (after-before)>>20)
	}
	return fmt.Sprintf("7 of 7 refused, %+d MiB", (after-before)>>20), err
}

func attackCSV(ctx context.Context, t *testbed) (string, error) {
	s := t.server
	j, _, err := s.runJob(ctx, villain+"/write", "", formulaDocument())
	if err != nil || j.State != "SUCCEEDED" {
		return "", fmt.Errorf("job: %s, %w", j.State, err)
	}
	code, data, err := s.exchange(ctx, villain+"/read", http.MethodGet, "/v1/jobs/"+j.ID+"/artifacts/tables/1-1.csv", nil, nil)
	if err != nil || code != http.StatusOK || !strings.Contains(string(data), "SUM") {
		return "", fmt.Errorf("the table: %d %.200s, %w", code, data, err)
	}
	for line := range strings.SplitSeq(strings.TrimSpace(string(data)), "\n") {
		for cell := range strings.SplitSeq(line, ",") {
			if cell = strings.Trim(cell, "\"\r"); cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
				return "", fmt.Errorf("a cell begins with %.40q", cell)
			}
		}
	}
	return fmt.Sprintf("4 formulas: %.60q", string(data)), nil
}

// readUntilCut reads what comes until the end, or until the connection or the context ends it.
func readUntilCut(r io.Reader) string {
	data, _ := io.ReadAll(io.LimitReader(r, maxAnswer)) // what came before the error counts
	return string(data)
}
