package vision_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"inkstream.dev/pkg/job"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/ocr"
	"inkstream.dev/services/ocr/enginetest"
	"inkstream.dev/services/ocr/internal/vision"
	"inkstream.dev/services/ocr/recognise"
)

// The engine keeps the contract of engines with a model that reads the suite's sheets and invents text on blank ones.
func TestPassesTheSuite(t *testing.T) {
	t.Parallel()
	enginetest.Run(t, func(t *testing.T) ocr.Engine {
		return askModel(t, newModelEngine(t, enginetest.NewFakeEngine(t), "deepseek-ocr"))
	})
}

// So it does with a family that reads one block at a time.
func TestBlockByBlockPassesTheSuite(t *testing.T) {
	t.Parallel()
	enginetest.Run(t, func(t *testing.T) ocr.Engine {
		return askModel(t, newModelEngine(t, enginetest.NewFakeEngine(t), "paddleocr-vl"))
	})
}

func newModelEngine(t *testing.T, witness vision.Witness, profile string) *vision.Engine {
	server := httptest.NewServer(http.HandlerFunc(readSheet))
	t.Cleanup(server.Close)
	cfg := vision.DefaultConfig()
	cfg.Endpoints, cfg.Model, cfg.AllowPrivate, cfg.Profile = server.URL, "m", true, profile
	engine, err := vision.New(cfg, witness, true, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return engine
}

// askModel asks the engine as a job does that chose a vision model, and fails the test where a page with words is not
// the model's.
func askModel(t *testing.T, engine *vision.Engine) enginetest.EngineFunc {
	return func(ctx context.Context, img recognise.Image, opts recognise.Options) (*inkstreamv1.Page, error) {
		opts.Engine = job.EngineVision
		page, err := engine.RecognisePage(ctx, img, opts)
		if err == nil && len(page.GetBlocks()) > 0 && !strings.HasPrefix(page.GetEngine(), "vision") {
			t.Errorf("engine %q, notes %q; want a page of the model's", page.GetEngine(), page.GetNotes())
		}
		return page, err
	}
}

const inventedText = "All warfare is based on deception and a wise general makes a point of foraging on the enemy"

// readSheet answers a request with the words of the suite's sheet, or, where the picture is blank, with others.
func readSheet(w http.ResponseWriter, r *http.Request) {
	picture, err := decodePicture(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	text := inventedText
	if hasInk(picture) {
		sheet, err := enginetest.NewTextSample(72, 0)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		text = ""
		for _, word := range sheet.Words {
			text += word.Text + " "
		}
	}
	content := "<|ref|>text<|/ref|><|det|>[[50, 100, 950, 800]]<|/det|>\n" + text
	data, _ := json.Marshal(map[string]any{"choices": []any{map[string]any{
		"message": map[string]any{"content": content}, "finish_reason": "stop"}}})
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(data)
}

// decodePicture returns the picture of a request.
func decodePicture(r *http.Request) (image.Image, error) {
	var request struct {
		Messages []struct {
			Content []struct {
				Picture struct{ URL string } `json:"image_url"`
			}
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		return nil, fmt.Errorf("decode request: %w", err)
	}
	for _, m := range request.Messages {
		for _, c := range m.Content {
			if data, found := strings.CutPrefix(c.Picture.URL, "data:image/png;base64,"); found {
				raw, err := base64.StdEncoding.DecodeString(data)
				if err != nil {
					return nil, fmt.Errorf("decode picture: %w", err)
				}
				return png.Decode(bytes.NewReader(raw))
			}
		}
	}
	return nil, fmt.Errorf("a request of %d messages without a picture", len(request.Messages))
}

func hasInk(picture image.Image) bool {
	grey, isGrey := picture.(*image.Gray)
	return isGrey && slices.Min(grey.Pix) < 128
}
