package gatewaytest

import (
	"encoding/base64"
	"maps"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"inkstream.dev/services/gateway/upload"
)

// TusRequest sends a request of the protocol and returns its answer.
func (c *Client) TusRequest(key, method, path, body string, head map[string]string) (*http.Response, string) {
	c.t.Helper()
	all := map[string]string{upload.TusResumableHeader: upload.TusVersion}
	if method == http.MethodPatch {
		all["Content-Type"] = upload.TusType
	}
	maps.Copy(all, head)
	res, data := c.requestWithHead(method, path, key, body, all)
	return res, string(data)
}

// MetadataOf encodes names and values, in turns, as an Upload-Metadata header.
func MetadataOf(pairs ...string) string {
	var all []string
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, pairs[i]+" "+base64.StdEncoding.EncodeToString([]byte(pairs[i+1])))
	}
	return strings.Join(all, ",")
}

// WithTus configures a gateway with resumable uploads of up to 1,000 bytes.
func WithTus(t *testing.T) func(*Options) {
	dir := t.TempDir()
	return func(s *Options) {
		s.Cfg.TusDir, s.Cfg.MaxUploadBytes, s.Sealer = filepath.Join(dir, "tus"), 1000, WithSealer(t)
	}
}
