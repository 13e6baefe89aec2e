package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"inkstream.dev/pkg/pdftest"
)

var oddityAttacks = []attack{
	{"injections", "resumable uploads of odd lengths and offsets, and another's", "refused; another's not found", attackResumable},
	{"injections", "JSON with doubled, strange and surplus parts", "refused", attackJSON},
	{"injections", "searches and filters that are meant to take long", "answered or refused within 3 s", attackQueries},
	{"injections", "tenants whose names mean something to the broker", "refused", attackTenantNames},
	{"tokens", "a session's cookie after its browser has signed out, and after its key is revoked", "401 for each copy", attackSessionReplay},
	{"files", "scripts and actions of a document, in what is written for others to open", "none, as qpdf reads it", attackActiveContent},
}

// attackResumable takes the protocol of resumable uploads beside its rules.
func attackResumable(ctx context.Context, t *testbed) (string, error) {
	s, tried := t.server, 0
	for _, head := range []map[string]string{
		{"Upload-Length": "-1"}, {"Upload-Length": fmt.Sprint(uint64(math.MaxInt64) + 1)}, {"Upload-Length": "1e3"}, {"Upload-Length": "0x10"},
		{"Upload-Length": fmt.Sprint(int64(math.MaxInt64))}, {"Upload-Defer-Length": "1"}, {"Upload-Concat": "final;/v1/uploads/" + s.upload},
		{"Upload-Length": "5", "Upload-Metadata": "filename !!"}, {"Upload-Length": "5", "Upload-Metadata": strings.Repeat("k YQ==,", 1000) + "k YQ=="},
	} {
		head["Tus-Resumable"] = "1.0.0"
		code, body, err := s.exchange(ctx, villain+"/write", http.MethodPost, "/v1/uploads", head, nil)
		if tried++; err != nil || code < 400 || code >= 500 {
			return "", fmt.Errorf("create with %v: %d %.100s, %w", head, code, body, err)
		}
	}
	own, err := s.createUpload(ctx, villain+"/write", 100, "a.pdf")
	if err != nil {
		return "", err
	}
	for _, offset := range []string{"-1", "50", fmt.Sprint(uint64(math.MaxUint64)), "0", "00", ""} {
		code, body, err := s.exchange(ctx, villain+"/write", http.MethodPatch, own, map[string]string{"Tus-Resumable": "1.0.0",
			"Content-Type": "application/offset+octet-stream", "Upload-Offset": offset}, make([]byte, 200))
		if tried++; err != nil || code < 400 || code >= 500 {
			return "", fmt.Errorf("200 bytes at %q of 100: %d %.100s, %w", offset, code, body, err)
		}
	}
	for _, method := range []string{http.MethodHead, http.MethodPatch, http.MethodDelete} {
		code, _, err := s.exchange(ctx, villain+"/write", method, "/v1/uploads/"+s.upload, map[string]string{"Tus-Resumable": "1.0.0",
			"Content-Type": "application/offset+octet-stream", "Upload-Offset": "0"}, nil)
		if tried++; err != nil || code != http.StatusNotFound {
			return "", fmt.Errorf("%s of another's upload: %d, %w", method, code, err)
		}
	}
	return fmt.Sprintf("%d of %[1]d refused", tried), nil
}

func attackJSON(ctx context.Context, t *testbed) (string, error) {
	bodies := []string{`{"filter":{"state":["FAILED"]},"filter":{}}`, `{"filter":{"filename\u0000":"x"}}`, `{"f\u0131lter":{"filename":"x"}}`,
		`{"filter":{"filename":"\ud800"}}`, "\ufeff" + `{"ids":["x"]}`, `{"ids":[1.5]}`, `{"filter":{}}`, `null`, `[]`, `{"ids":["x"]}{"ids":["y"]}`,
		`{"filter":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}`, `{"filter":{"tenant":"victim","filename":"x"}}`,
		`{"dry_run":false,"dryRun":true,"filter":{"filename":"x"}}`, `{"filter":{"filename":"x"},"@type":"x"}`}
	for _, body := range bodies {
		for _, call := range []string{"cancel", "delete", "retry"} {
			code, answer, err := t.server.exchange(ctx, villain+"/write", http.MethodPost, "/v1/jobs:"+call,
				map[string]string{"Content-Type": "application/json"}, []byte(body))
			if err != nil || code < 400 || code >= 500 {
				return "", fmt.Errorf("%s of %.60s: %d %.100s, %w", call, body, code, answer, err)
			}
		}
	}
	return fmt.Sprintf("%d of %[1]d refused", 3*len(bodies)), t.server.checkVictim(ctx)
}

func attackQueries(ctx context.Context, t *testbed) (string, error) {
	s, worst, tried := t.server, time.Duration(0), 0
	repeated := []string{"\"", "a* ", "-", "(", "w1x1 ", "NOT ", "\u0300", "\"a b\"*", "*a", "%", "_", "[a-", "?", "\\", "a NEAR ", "\u200b"}
	for _, part := range repeated {
		for _, n := range []int{30, 300, 3000} {
			for _, path := range []string{"/v1/search?q=", "/v1/jobs?filename=", "/v1/jobs?label=", "/v1/search?q=w1x1&filename="} {
				start := time.Now()
				code, body, err := s.exchange(ctx, villain+"/read", http.MethodGet, path+url.QueryEscape(strings.Repeat(part, n)), nil, nil)
				took := time.Since(start)
				worst = max(worst, took)
				if tried++; err != nil || code >= 500 || took > 3*time.Second {
					return "", fmt.Errorf("%s with %d times %q: %d %.100s after %.1f s, %w", path, n, part, code, body, took.Seconds(), err)
				}
			}
		}
	}
	return fmt.Sprintf("%d, %.1f s at most", tried, worst.Seconds()), nil
}

func attackTenantNames(ctx context.Context, t *testbed) (string, error) {
	names := []string{"a.b", "*", ">", "a b", "victim.>", "v\u00edctim", "..", "a/b", "$JS", strings.Repeat("x", 300), "a\x00", "a\r\nPUB x 0", "\u202evictim"}
	for _, name := range names {
		code, body, err := t.server.exchange(ctx, "admin", http.MethodPost, "/v1/keys", map[string]string{"Content-Type": "application/json"},
			mustJSON(map[string]any{"tenant": name, "scopes": []string{"write"}}))
		if err != nil || code < 400 || code >= 500 {
			return "", fmt.Errorf("%q: %d %.100s, %w", name, code, body, err)
		}
	}
	return fmt.Sprintf("%d of %[1]d refused", len(names)), nil
}

// attackSessionReplay uses copies of a cookie when its session is over.
func attackSessionReplay(ctx context.Context, t *testbed) (string, error) {
	s := t.server
	begin := func(secret string) (string, error) {
		resp, err := s.sendRequest(ctx, "", http.MethodPost, "/v1/session", map[string]string{"Content-Type": "application/json"},
			bytes.NewReader(mustJSON(map[string]string{"key": secret})))
		if err != nil {
			return "", err
		}
		resp.Body.Close()
		if len(resp.Cookies()) == 0 {
			return "", fmt.Errorf("no session begins: %s", resp.Status)
		}
		return resp.Cookies()[0].Name + "=" + resp.Cookies()[0].Value, nil
	}
	check := func(when, cookie string, want int) error {
		code, _, err := s.exchange(ctx, "", http.MethodGet, "/v1/me", map[string]string{"Cookie": cookie}, nil)
		if err != nil || code != want {
			return fmt.Errorf("%s: %d, want %d, %w", when, code, want, err)
		}
		return nil
	}
	id, err := s.newKey(ctx, villain, "read", map[string]any{"name": "for sessions"})
	if err != nil {
		return "", err
	}
	first, err := begin(s.keys[villain+"/"+id])
	if err != nil {
		return "", err
	}
	second, err := begin(s.keys[villain+"/"+id])
	if err != nil {
		return "", err
	}
	if code, _, err := s.exchange(ctx, "", http.MethodDelete, "/v1/session", map[string]string{"Cookie": first}, nil); err != nil || code >= 300 {
		return "", fmt.Errorf("sign out: %d, %w", code, err)
	}
	if err := errors.Join(check("after its sign-out", first, http.StatusUnauthorized), check("another browser's", second, http.StatusOK)); err != nil {
		return "", err
	}
	if code, err := s.callJSON(ctx, villain+"/admin", http.MethodDelete, "/v1/keys/"+id, nil, nil); err != nil || code != http.StatusOK {
		return "", fmt.Errorf("revoke: %d, %w", code, err)
	}
	return "401 for both", errors.Join(check("after the key's end", first, http.StatusUnauthorized),
		check("after the key's end", second, http.StatusUnauthorized))
}

// attackActiveContent looks with another program at what a reader of searchable.pdf and layout.pdf finds.
func attackActiveContent(ctx context.Context, t *testbed) (string, error) {
	s, looked := t.server, 0
	document := pdftest.WithHazards(pdftest.JavaScript, pdftest.NamedScript, pdftest.PageScript, pdftest.Launch, pdftest.SubmitForm,
		pdftest.RemoteGoTo, pdftest.XFA).PDF
	for _, ocr := range []string{"auto", "force"} {
		j, _, err := s.runJob(ctx, villain+"/write", "&artifacts=all&ocr="+ocr, document)
		if err != nil || j.State != "SUCCEEDED" {
			return "", fmt.Errorf("the job: %s, %w", j.State, err)
		}
		for _, name := range []string{"searchable.pdf", "layout.pdf"} {
			code, data, err := s.exchange(ctx, villain+"/read", http.MethodGet, "/v1/jobs/"+j.ID+"/artifacts/"+name, nil, nil)
			if err != nil || code != http.StatusOK {
				return "", fmt.Errorf("%s: %d, %w", name, code, err)
			}
			path := filepath.Join(t.dir, name)
			if err := os.WriteFile(path, data, 0o600); err != nil {
				return "", err
			}
			read, err := exec.CommandContext(ctx, "qpdf", "--qdf", "--object-streams=disable", path, "-").Output()
			if err != nil {
				return "", fmt.Errorf("qpdf: %w", err)
			}
			for _, word := range []string{"/JavaScript", "/JS", "/Launch", "/SubmitForm", "/GoToR", "/XFA", "alert"} {
				if bytes.Contains(read, []byte(word)) {
					return "", fmt.Errorf("%s with ocr=%s has %s", name, ocr, word)
				}
			}
			looked++
		}
	}
	return fmt.Sprintf("%d files without", looked), nil
}
