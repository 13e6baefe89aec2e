package vision

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image/png"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"inkstream.dev/pkg/fault"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/ocr/recognise"
)

// handlerTransport answers requests to each host with its handler, without sockets, so that time may be the bubble's.
type handlerTransport map[string]http.HandlerFunc

// RoundTrip calls the handler of the request's host.
func (h handlerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	defer r.Body.Close()
	h[r.URL.Host](w, r)
	if w.Code == http.StatusBadGateway {
		return nil, io.ErrUnexpectedEOF // as of a server that died
	}
	return w.Result(), nil
}

// newNumberedPage returns a page whose first two pixels are its number, and which has ink where words stand.
func newNumberedPage(t *testing.T, number int) recognise.Image {
	const width, height, dpi = 105, 23, 18 // a quarter of a pixel a point: few bytes a page
	pix := bytes.Repeat([]byte{255}, width*height)
	for _, w := range (fixedWitness{numberedText(number)}).setWords() {
		box := w.GetBbox()
		for y := int(box[1] / 4); y < int(box[3]/4); y++ {
			for x := int(box[0]/4) + 1; x < int(box[2]/4); x += 3 {
				pix[y*width+x] = 0
			}
		}
	}
	pix[0], pix[1] = byte(number/100), byte(number%100)
	return recognise.Image{DPI: dpi,
		File: newTestFile(t, append(fmt.Appendf(nil, "P5\n%d %d\n255\n", width, height), pix...))}
}

func numberedText(number int) string {
	return fmt.Sprintf("Record %d%d of the register says that the ferry of number %d comes back at night", number, number, number)
}

// numberWitness reads numbered pages.
type numberWitness struct{}

func (numberWitness) RecognisePage(ctx context.Context, img recognise.Image, opts recognise.Options) (*inkstreamv1.Page, error) {
	size, err := img.CheckHeader()
	if err != nil {
		return nil, err
	}
	var head [2]byte
	if _, err := img.File.ReadAt(head[:], size.Offset); err != nil {
		return nil, err
	}
	return fixedWitness{numberedText(int(head[0])*100 + int(head[1]))}.RecognisePage(ctx, img, opts)
}

// countedWitness counts the pages that a witness reads whole.
type countedWitness struct {
	Witness
	pages *atomic.Int64
}

func (c countedWitness) RecognisePage(ctx context.Context, img recognise.Image, opts recognise.Options) (*inkstreamv1.Page, error) {
	if opts.Rotate {
		c.pages.Add(1)
	}
	return c.Witness.RecognisePage(ctx, img, opts)
}

// answerNumbered answers with what the picture of the request says.
func answerNumbered(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	_, data, _ := bytes.Cut(body, []byte("base64,"))
	data, _, _ = bytes.Cut(data, []byte(`"`))
	raw, _ := base64.StdEncoding.DecodeString(string(data))
	picture, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	high, _, _, _ := picture.At(0, 0).RGBA()
	low, _, _, _ := picture.At(1, 0).RGBA()
	writeStream(w, tagged(numberedText(int(high>>8)*100+int(low>>8))), "stop")
}

// A thousand pages are asked of three endpoints, of which one dies, one loops and one limits. Each page comes back once,
// with its own text, nearly all of them from a model, and at most a tenth are given back and read again.
func TestThousandPagesThroughBadEndpoints(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var served, looped, busy atomic.Int64
		e := newBubbleEngine(t, handlerTransport{
			"dies": func(w http.ResponseWriter, r *http.Request) {
				if served.Add(1) > 100 {
					w.WriteHeader(http.StatusBadGateway)
					return
				}
				answerNumbered(w, r)
			},
			"loops": func(w http.ResponseWriter, _ *http.Request) {
				looped.Add(1)
				writeStream(w, tagged(strings.Repeat("and the other side ", 100)), "")
			},
			"limits": func(w http.ResponseWriter, r *http.Request) {
				defer busy.Add(-1)
				if busy.Add(1) > 2 {
					w.Header().Set("Retry-After", "2")
					w.WriteHeader(http.StatusTooManyRequests)
					return
				}
				<-time.After(50 * time.Millisecond)
				answerNumbered(w, r)
			}})
		const pages, workers = 1000, 16
		var next, models, readings atomic.Int64
		e.witness = countedWitness{e.witness, &readings}
		var wg sync.WaitGroup
		for range workers {
			wg.Go(func() {
				for n := int(next.Add(1)); n <= pages; n = int(next.Add(1)) {
					page := readUntilDone(t, e, newNumberedPage(t, n))
					if got := strings.Join(strings.Fields(page.GetText()), " "); got != numberedText(n) {
						t.Errorf("page %d: got %q, want %q", n, got, numberedText(n))
					}
					if strings.HasPrefix(page.GetEngine(), "vision") {
						models.Add(1)
					}
				}
			})
		}
		wg.Wait()
		if models.Load() < pages*9/10 {
			t.Errorf("%d of %d pages are a model's", models.Load(), pages)
		}
		if readings.Load() > pages*11/10 {
			t.Errorf("%d pages were read %d times", pages, readings.Load())
		}
		if looped.Load() > pages/4 {
			t.Errorf("the endpoint that loops was asked %d times", looped.Load())
		}
	})
}

func newBubbleEngine(t *testing.T, servers handlerTransport) *Engine {
	cfg := DefaultConfig()
	var urls []string
	for host := range servers {
		urls = append(urls, "http://"+host)
	}
	cfg.Endpoints, cfg.Model, cfg.AllowPrivate = strings.Join(urls, ","), "m", true
	e, err := New(cfg, numberWitness{}, true, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	e.client.http.Transport = servers
	return e
}

// readUntilDone asks for a page again as the queue does while it is told that the engine is busy. A page has the time that
// it has by default, which bounds how long it waits for an endpoint.
func readUntilDone(t *testing.T, e *Engine, img recognise.Image) *inkstreamv1.Page {
	opts := sent
	opts.Timeout = 2 * time.Minute
	for {
		page, err := e.RecognisePage(t.Context(), img, opts)
		if err == nil {
			return page
		}
		if fault.KindOf(err) != fault.Busy {
			t.Errorf("RecognisePage: %v", err)
			return nil
		}
		<-time.After(time.Second) // of the bubble's time, as the queue waits before it delivers again
	}
}

// A model that answers nothing of use is left alone, and asked again after a while.
func TestUselessEndpointIsLeftAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		isBack := atomic.Bool{}
		e := newBubbleEngine(t, handlerTransport{"only": func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			if isBack.Load() {
				answerNumbered(w, r)
				return
			}
			data, _ := json.Marshal(map[string]any{"choices": []any{map[string]any{
				"message": map[string]any{"content": "I can't read this image."}, "finish_reason": "stop"}}})
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(data)
		}})
		var readings atomic.Int64
		e.witness = countedWitness{e.witness, &readings}
		for n := range 20 {
			_, err := e.RecognisePage(t.Context(), newNumberedPage(t, n), sent)
			if err != nil && fault.KindOf(err) != fault.Busy {
				t.Fatalf("RecognisePage: %v", err)
			}
		}
		if asked.Load() != maxUseless || e.CheckReady(t.Context()) == nil {
			t.Errorf("asked %d times, ready %v; want %d, not ready", asked.Load(), e.CheckReady(t.Context()), maxUseless)
		}
		if readings.Load() > maxUseless {
			t.Errorf("%d pages were read while no endpoint could be asked", readings.Load()-maxUseless)
		}
		isBack.Store(true)
		if page := readUntilDone(t, e, newNumberedPage(t, 7)); !strings.HasPrefix(page.GetEngine(), "vision") {
			t.Errorf("engine %q, want the model's page", page.GetEngine())
		}
		if err := e.CheckReady(t.Context()); err != nil {
			t.Errorf("not ready: %v", err)
		}
	})
}
