package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// settleTenants makes the tenants' keys, and what the victim has.
func (s *server) settleTenants(ctx context.Context) error {
	admin, err := os.ReadFile(filepath.Join(s.dir, "admin.key"))
	if err != nil {
		return err
	}
	s.keys["admin"] = strings.TrimSpace(string(admin))
	for _, tenant := range []string{victim, villain} {
		for _, scope := range []string{"read", "write", "admin"} {
			if _, err := s.newKey(ctx, tenant, scope, nil); err != nil {
				return err
			}
		}
	}
	s.document = documentOf("BT /F1 12 Tf 72 700 Td (" + marker + " is what this page says.) Tj ET")
	j, _, err := s.runJob(ctx, victim+"/write", "&filename="+marker+".pdf&labels=case%3D"+marker, s.document)
	if err != nil || j.State != "SUCCEEDED" {
		return fmt.Errorf("the victim's job: %s, %w", j.State, err)
	}
	s.job = j.ID
	var hook struct{ ID string }
	if _, err := s.callJSON(ctx, victim+"/admin", http.MethodPost, "/v1/webhooks",
		map[string]any{"url": "https://" + marker + ".example/hook"}, &hook); err != nil {
		return err
	}
	s.hook = hook.ID
	var key struct{ ID string }
	if _, err := s.callJSON(ctx, victim+"/admin", http.MethodPost, "/v1/keys",
		map[string]any{"scopes": []string{"read"}, "name": marker}, &key); err != nil {
		return err
	}
	s.key = key.ID
	location, err := s.createUpload(ctx, victim+"/write", 1000, marker+".pdf")
	s.upload = strings.TrimPrefix(location, "/v1/uploads/")
	return err
}

// newKey makes a key of a tenant; the fields are more of the request.
func (s *server) newKey(ctx context.Context, tenant, scope string, fields map[string]any) (id string, err error) {
	in := map[string]any{"tenant": tenant, "scopes": []string{scope}}
	for name, value := range fields {
		in[name] = value
	}
	var key struct{ ID, Secret string }
	if _, err := s.callJSON(ctx, "admin", http.MethodPost, "/v1/keys", in, &key); err != nil {
		return "", err
	}
	name := tenant + "/" + scope
	if fields != nil {
		name = tenant + "/" + key.ID
	}
	s.keys[name] = key.Secret
	return key.ID, nil
}

var errRefused = errors.New("refused")

// createUpload announces a resumable upload and returns its address; errRefused where it was not taken.
func (s *server) createUpload(ctx context.Context, who string, length int64, filename string) (string, error) {
	resp, err := s.sendRequest(ctx, who, http.MethodPost, "/v1/uploads", map[string]string{
		"Tus-Resumable": "1.0.0", "Upload-Length": fmt.Sprint(length),
		"Upload-Metadata": "filename " + base64.StdEncoding.EncodeToString([]byte(filename)),
	}, nil)
	if err != nil {
		return "", err
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusCreated {
		return "", fmt.Errorf("%w: %s", errRefused, resp.Status)
	}
	return resp.Header.Get("Location"), nil
}

// checkVictim makes sure that the victim's things are as they were.
func (s *server) checkVictim(ctx context.Context) error {
	var j jobView
	if _, err := s.callJSON(ctx, victim+"/read", http.MethodGet, "/v1/jobs/"+s.job, nil, &j); err != nil {
		return fmt.Errorf("the victim's job: %w", err)
	}
	if j.State != "SUCCEEDED" {
		return fmt.Errorf("the victim's job is %s", j.State)
	}
	code, text, err := s.exchange(ctx, victim+"/read", http.MethodGet, "/v1/jobs/"+s.job+"/artifacts/text.txt", nil, nil)
	if err != nil || code != http.StatusOK || !strings.Contains(string(text), marker) {
		return fmt.Errorf("the victim's text: %d %.100s, %w", code, text, err)
	}
	resp, err := s.sendRequest(ctx, victim+"/read", http.MethodHead, "/v1/uploads/"+s.upload, map[string]string{"Tus-Resumable": "1.0.0"}, nil)
	if err != nil {
		return err
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Upload-Offset") != "0" {
		return fmt.Errorf("the victim's upload: %s at %s", resp.Status, resp.Header.Get("Upload-Offset"))
	}
	for path, id := range map[string]string{"/v1/keys": s.key, "/v1/webhooks": s.hook} {
		code, list, err := s.exchange(ctx, victim+"/admin", http.MethodGet, path, nil, nil)
		if err != nil || code != http.StatusOK || !strings.Contains(string(list), id) {
			return fmt.Errorf("the victim's %s: %d without %s, %w", path, code, id, err)
		}
	}
	return nil
}
