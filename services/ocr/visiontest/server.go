// Package visiontest is a server of a vision model for tests and measurements. It answers as DeepSeek-OCR does, at once,
// and with the texts that it is told.
package visiontest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io"
	"net/http"
	"slices"

	"inkstream.dev/services/ocr/internal/vision"
)

// Handler answers chat completions. Pages that endpoints are tried with it reads by itself; answer returns what it
// writes about any other picture, a PNG. See WriteBlock.
func Handler(answer func(picture []byte) string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		picture, err := readPicture(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		content, isTrial := readTrialPage(picture)
		if !isTrial {
			content = answer(picture)
		}
		data, err := json.Marshal(map[string]any{"choices": []any{map[string]any{
			"message": map[string]any{"content": content}, "finish_reason": "stop"}}})
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(data) // a client that is gone wants nothing
	})
}

// WriteBlock returns a text as a model writes a block of the whole page.
func WriteBlock(text string) string {
	return "<|ref|>text<|/ref|><|det|>[[0, 0, 999, 999]]<|/det|>\n" + text + "\n"
}

// readPicture returns the picture of a request.
func readPicture(body io.Reader) ([]byte, error) {
	data, err := io.ReadAll(body)
	if err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	_, data, found := bytes.Cut(data, []byte("base64,"))
	data, _, closed := bytes.Cut(data, []byte(`"`))
	if !found || !closed {
		return nil, fmt.Errorf("a request without a picture")
	}
	picture := make([]byte, base64.StdEncoding.DecodedLen(len(data)))
	n, err := base64.StdEncoding.Decode(picture, data)
	if err != nil {
		return nil, fmt.Errorf("decode picture: %w", err)
	}
	return picture[:n], nil
}

// readTrialPage reads a page that endpoints are tried with; false for any other picture.
func readTrialPage(picture []byte) (string, bool) {
	size, err := png.DecodeConfig(bytes.NewReader(picture))
	if err != nil || image.Pt(size.Width, size.Height) != vision.TrialPageSize() {
		return "", false
	}
	page, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		return "", false
	}
	if grey, isGrey := page.(*image.Gray); !isGrey || slices.Min(grey.Pix) > 128 {
		return "", true // the blank one
	}
	return vision.WriteTrialPage(999, 999), true
}
