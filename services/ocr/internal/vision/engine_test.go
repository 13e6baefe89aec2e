package vision

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image/png"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"inkstream.dev/pkg/config"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/ocr/recognise"
)

// writeStream answers with a text in small events.
func writeStream(w http.ResponseWriter, text, finish string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for part := range slices.Chunk([]byte(text), 40) {
		data, _ := json.Marshal(map[string]any{"choices": []any{map[string]any{"delta": map[string]any{"content": string(part)}}}})
		fmt.Fprintf(w, "data: %s\n\n", data)
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
	}
	if finish != "" {
		fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{},\"finish_reason\":%q}]}\n\ndata: [DONE]\n\n", finish)
	}
}

const pageText = "The ferry leaves the harbour at seven every morning and comes back before the light on the pier is lit again"

// fixedWitness reads every page as a line of words of six points a letter, and nothing on parts that are read again,
// which are not to be turned.
type fixedWitness struct{ text string }

func (f fixedWitness) RecognisePage(_ context.Context, img recognise.Image, opts recognise.Options) (*inkstreamv1.Page, error) {
	size, err := img.CheckHeader()
	if err != nil {
		return nil, err
	}
	page := &inkstreamv1.Page{}
	if !opts.Rotate {
		return recognise.Sanitize(page, size, img.DPI), nil
	}
	block := &inkstreamv1.Block{}
	for i, w := range f.setWords() {
		if i == 0 || w.GetBbox()[0] == 20 {
			block.Lines = append(block.Lines, &inkstreamv1.Line{})
		}
		line := block.GetLines()[len(block.GetLines())-1]
		line.Words = append(line.Words, w)
	}
	page.Blocks = []*inkstreamv1.Block{block}
	return recognise.Sanitize(page, size, img.DPI), nil
}

// setWords returns the words in lines from 20 to 400 points.
func (f fixedWitness) setWords() (words []*inkstreamv1.Word) {
	x, y := float32(20), float32(20)
	for _, w := range strings.Fields(f.text) {
		width := float32(len(w)) * 6
		if x+width > 400 {
			x, y = 20, y+16
		}
		confidence := float32(0.95)
		words = append(words, &inkstreamv1.Word{Text: w, Bbox: []float32{x, y, x + width, y + 10}, Confidence: &confidence})
		x += width + 6
	}
	return words
}

// newEngine returns an engine over servers that answer as they are told, and a page with ink where the words stand.
func newEngine(t *testing.T, always bool, handlers ...http.HandlerFunc) (*Engine, recognise.Image) {
	t.Helper()
	var urls []string
	for _, h := range handlers {
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		urls = append(urls, s.URL)
	}
	cfg := DefaultConfig()
	cfg.Endpoints, cfg.Model, cfg.AllowPrivate, cfg.Key = strings.Join(urls, ","), "m", true, config.NewSecret("secret-key")
	witness := fixedWitness{pageText}
	e, err := New(cfg, witness, always, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	const width, height = 420, 300
	pix := bytes.Repeat([]byte{255}, width*height)
	for _, w := range witness.setWords() {
		box := w.GetBbox()
		for y := int(box[1]); y < int(box[3]); y++ {
			for x := int(box[0]); x < int(box[2]); x += 3 {
				pix[y*width+x] = 0
			}
		}
	}
	f := newTestFile(t, append(fmt.Appendf(nil, "P5\n%d %d\n255\n", width, height), pix...))
	return e, recognise.Image{File: f, DPI: 72}
}

var sent = recognise.Options{Languages: "eng", Timeout: 5 * time.Second, Deskew: true, Rotate: true,
	Engine: job.EngineVision}

func tagged(text string) string {
	return "<|ref|>text<|/ref|><|det|>[[20, 40, 980, 300]]<|/det|>\n" + text + "\n"
}

// describe returns a page's doubts, and the words that say so of themselves.
func describe(page *inkstreamv1.Page) string {
	out := ""
	for _, d := range page.GetDoubts() {
		out += fmt.Sprintf("%s %q %q", d.GetKind(), d.GetText(), d.GetWitness())
		if d.GetLeftOut() {
			out += " left out"
		}
		out += "; "
	}
	var words []string
	for _, b := range page.GetBlocks() {
		for _, l := range b.GetLines() {
			for _, w := range l.GetWords() {
				if w.GetDoubt() != "" {
					words = append(words, w.GetText())
				}
			}
		}
	}
	return out + fmt.Sprint("on words ", words)
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, answer, finish string
		text                 string // of the page
		note                 string
		model                bool // the page is the model's
		doubts               string
	}{
		{name: "sound", answer: tagged(pageText), finish: "stop", text: pageText,
			note: "read by a vision model", model: true},
		{name: "words that the page has no room for",
			answer: tagged(strings.Replace(pageText, "every", "every golden autumn festival morning every", 1)),
			finish: "stop", text: pageText, note: "left out", model: true,
			doubts: `unsupported "every golden autumn festival morning" "" left out;`},
		{name: "a number", answer: tagged(strings.Replace(pageText, "harbour", "hotel77", 1)), finish: "stop",
			text: strings.Replace(pageText, "harbour", "hotel77", 1), note: "doubt word", model: true,
			doubts: `word "hotel77" "harbour"; on words [hotel77]`},
		{name: "words left out", answer: tagged(strings.Replace(pageText, "the light on the pier ", "", 1)),
			finish: "stop", note: "left out \"the light on the pier", model: true,
			doubts: `dropped "" "the light on the pier"; on words [the light on the pier]`},
		{name: "a loop", answer: tagged(pageText + strings.Repeat(" and the other side", 4000)),
			finish: "length", text: pageText, note: "repeated itself"},
		{name: "another page",
			answer: tagged(strings.Repeat("quite different paper about growing apples in gardens of the north ", 3)),
			finish: "stop", text: pageText, note: "not what the page says"},
		{name: "nothing", finish: "stop", text: pageText, note: "not what the page says"},
		{name: "a refusal", answer: "I'm sorry, I can't read this image.", finish: "stop", text: pageText,
			note: "not what the page says"},
		{name: "an end at the limit", answer: tagged(strings.Join(strings.Fields(pageText)[:15], " ")),
			finish: "length", note: "doubt cut", model: true, doubts: `cut "light" ""; dropped "" "on the pier is lit again";`},
		{name: "an end by the provider's filter", answer: tagged(strings.Join(strings.Fields(pageText)[:15], " ")),
			finish: "content_filter", note: "doubt cut", model: true,
			doubts: `cut "light" ""; dropped "" "on the pier is lit again";`},
		{name: "nothing but the provider's filter", finish: "content_filter", text: pageText, note: "not what the page says"},
		{name: "broken tags", answer: "<|ref|>text<|/ref|><|det|>[[1, 2\n" + pageText, finish: "stop",
			note: "read by", model: true, doubts: `cut "again"`},
		{name: "a wrong scale",
			answer: "<|ref|>text<|/ref|><|det|>[[200, 400, 9800, 3000]]<|/det|>\n" + pageText, finish: "stop",
			text: pageText, note: "read by", model: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e, img := newEngine(t, true, func(w http.ResponseWriter, _ *http.Request) { writeStream(w, tt.answer, tt.finish) })
			page, err := e.RecognisePage(t.Context(), img, sent)
			if err != nil {
				t.Fatalf("RecognisePage: %v", err)
			}
			got := strings.Join(strings.Fields(page.GetText()), " ")
			if tt.text != "" && got != tt.text || !strings.Contains(strings.Join(page.GetNotes(), "\n"), tt.note) {
				t.Errorf("got %q, notes %q; want %q, %q", got, page.GetNotes(), tt.text, tt.note)
			}
			if !strings.Contains(describe(page), tt.doubts) || tt.doubts == "" && tt.model && len(page.GetDoubts()) > 0 {
				t.Errorf("doubts: got %q, want %q", describe(page), tt.doubts)
			}
			if strings.HasPrefix(page.GetEngine(), "vision") != tt.model {
				t.Errorf("engine %q", page.GetEngine())
			}
		})
	}
}

// writeUntilCut writes a head, and then something over and over until the client has enough, or 100 MB.
func writeUntilCut(w io.Writer, head, more string) {
	block := strings.Repeat(more, 64<<10/len(more))
	if _, err := io.WriteString(w, head); err != nil {
		return
	}
	for range 100 << 20 / len(block) {
		if _, err := io.WriteString(w, block); err != nil {
			return
		}
	}
}

// What a server does when it does not answer, and what that means for the page in both modes.
func TestFailures(t *testing.T) {
	t.Parallel()
	status := func(code int, header ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			if len(header) > 0 {
				w.Header().Set("Retry-After", header[0])
			}
			w.WriteHeader(code)
		}
	}
	for _, tt := range []struct {
		name    string
		handler http.HandlerFunc
		waits   bool // the page waits where only a model may read it
	}{
		{"429", status(429, "7"), true}, {"503", status(503), true}, {"500", status(500), true}, {"wrong key", status(401), true},
		{"wrong model", status(404), true}, {"no money", status(402), true}, {"too large", status(413), false},
		{"a cut stream", func(w http.ResponseWriter, _ *http.Request) { writeStream(w, "The ferry", "") }, true},
		{"no JSON", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "data: {\n\n")
		}, true},
		{"a redirect", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) }, true},
		{"an error within the stream", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "data: {\"choices\":[{\"delta\":{\"content\":\"The ferry\"}}]}\n\n"+
				"data: {\"error\":{\"message\":\"CUDA out of memory\",\"code\":500}}\n\ndata: [DONE]\n\n")
		}, true},
		{"a spent quota", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(429)
			fmt.Fprint(w, `{"error":{"type":"insufficient_quota","message":"You exceeded your current quota"}}`)
		}, true},
		{"a line without end", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			writeUntilCut(w, "data: {\"choices\":[{\"delta\":{\"content\":\"", "a")
		}, true},
		{"a bomb", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Encoding", "gzip")
			packed := gzip.NewWriter(w)
			defer packed.Close()
			writeUntilCut(packed, "{\"choices\":[{\"message\":{\"content\":\"", "a")
		}, true},
		{"deep JSON", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "data: {\"choices\":"+strings.Repeat("[", 500_000)+"\n\ndata: [DONE]\n\n")
		}, true},
		{"comments without end", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			writeUntilCut(w, "", ": still there\n\n")
		}, true},
		{"a slow first byte", func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // else the server does not see that the client is gone
			<-r.Context().Done()
		}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			opts := sent
			if tt.name == "a slow first byte" || tt.name == "comments without end" {
				opts.Timeout = 100 * time.Millisecond
			}
			e, img := newEngine(t, true, tt.handler)
			page, err := e.RecognisePage(t.Context(), img, opts)
			if tt.waits && fault.KindOf(err) != fault.Busy || !tt.waits && err != nil {
				t.Errorf("got page %v, error %v (%v)", page.GetNotes(), err, fault.KindOf(err))
			}
			if err != nil && strings.Contains(err.Error(), "secret-key") {
				t.Errorf("the key is in %v", err)
			}
			if tt.waits == (e.CheckReady(t.Context()) == nil) {
				t.Errorf("ready: %v", e.CheckReady(t.Context()))
			}
			opts.Engine = job.EngineAuto
			e.witness = fixedWitness{strings.Repeat("x#?y ~|] ", 12)} // poor, so that a model is wanted
			page, err = e.RecognisePage(t.Context(), img, opts)
			if err != nil || len(page.GetNotes()) == 0 || page.GetText() == "" {
				t.Errorf("auto: got notes %q, error %v", page.GetNotes(), err)
			}
		})
	}
}

// A page is read by another endpoint where one fails, and the one that limits is asked for less.
func TestEndpointsTakeOver(t *testing.T) {
	t.Parallel()
	var dead, limited, sound atomic.Int64
	e, img := newEngine(t, true,
		func(w http.ResponseWriter, _ *http.Request) { dead.Add(1); w.WriteHeader(500) },
		func(w http.ResponseWriter, _ *http.Request) {
			limited.Add(1)
			w.Header().Set("Retry-After", "60")
			w.WriteHeader(429)
		},
		func(w http.ResponseWriter, r *http.Request) {
			sound.Add(1)
			if r.Header.Get("Authorization") != "Bearer secret-key" {
				t.Error("no key")
			}
			writeStream(w, tagged(pageText), "stop")
		})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 5 {
				page, err := e.RecognisePage(t.Context(), img, sent)
				if err != nil || !strings.HasPrefix(page.GetEngine(), "vision") {
					t.Errorf("got engine %q, error %v", page.GetEngine(), err)
				}
			}
		})
	}
	wg.Wait()
	if sound.Load() != 40 || limited.Load() > 16 || dead.Load() > 24 {
		t.Errorf("asked: dead %d, limited %d, sound %d", dead.Load(), limited.Load(), sound.Load())
	}
}

// A picture that a server finds too large is sent again smaller, and boxes are read on the size that was taken.
func TestSmallerPictureAfterRefusal(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 413, 422} {
		var sizes []int
		e, img := newEngine(t, true, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			_, data, _ := bytes.Cut(body, []byte("base64,"))
			data, _, _ = bytes.Cut(data, []byte(`"`))
			size, err := png.DecodeConfig(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(data)))
			if err != nil {
				t.Errorf("picture: %v", err)
			}
			if sizes = append(sizes, size.Width); size.Width > 300 {
				w.WriteHeader(status)
				return
			}
			writeStream(w, fmt.Sprintf(`[{"bbox": [0, 0, %d, %d], "category": "Text", "text": %q}]`, size.Width, size.Height,
				pageText), "stop")
		})
		e.client.profile = profiles["dots.ocr"]
		page, err := e.RecognisePage(t.Context(), img, sent)
		if err != nil || !strings.HasPrefix(page.GetEngine(), "vision") || len(page.GetTags()) != 1 {
			t.Fatalf("status %d: got %v, %v, want a model's page", status, page, err)
		}
		if got := page.GetTags()[0].GetBbox(); len(sizes) != 2 || got[2] < 415 || got[3] < 295 {
			t.Errorf("status %d: sizes %v, box %v, want two sizes and the whole page", status, sizes, got)
		}
	}
}

// A quota that is spent comes back by no waiting of seconds, whatever the server says: the endpoint is left alone.
func TestSpentQuotaIsNotAskedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		e := newBubbleEngine(t, handlerTransport{"only": func(w http.ResponseWriter, _ *http.Request) {
			asked.Add(1)
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			fmt.Fprint(w, `{"error":{"code":"insufficient_quota"}}`)
		}})
		for range 10 {
			if _, err := e.RecognisePage(t.Context(), newNumberedPage(t, 1), sent); fault.KindOf(err) != fault.Busy {
				t.Errorf("got %v, want the page to wait", err)
			}
			<-time.After(3 * time.Second)
		}
		if err := e.CheckReady(t.Context()); asked.Load() != 1 || err == nil || !strings.Contains(err.Error(), "quota is spent") {
			t.Errorf("asked %d times, ready: %v; want once, and the reason", asked.Load(), err)
		}
	})
}

// A loop ends the request within some hundred characters, not at the limit of tokens.
func TestLoopIsCutEarly(t *testing.T) {
	t.Parallel()
	var most atomic.Int64
	e, img := newEngine(t, true, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // as above
		w.Header().Set("Content-Type", "text/event-stream")
		for n := int64(0); n < 1_000_000 && r.Context().Err() == nil; n += 20 {
			if _, err := fmt.Fprint(w, "data: {\"choices\":[{\"delta\":{\"content\":\" and the other side \"}}]}\n\n"); err != nil {
				break
			}
			most.Store(max(most.Load(), n))
		}
	})
	if _, err := e.client.ask(t.Context(), question{timeout: time.Minute}); err != nil {
		t.Fatalf("ask: %v", err)
	}
	_ = img
	if findLoop(strings.Repeat(" and the other side ", 16)) < 0 || findLoop(strings.Repeat("| --- ", 60)) >= 0 {
		t.Error("a loop of 320 characters is not seen, or a table's rule is")
	}
}

// Without the job's leave no picture is sent.
func TestPicturesStayWithoutLeave(t *testing.T) {
	t.Parallel()
	e, img := newEngine(t, true, func(http.ResponseWriter, *http.Request) { t.Error("a picture was sent") })
	opts := sent
	opts.Engine = ""
	if page, err := e.RecognisePage(t.Context(), img, opts); err != nil || page.GetEngine() != "" {
		t.Errorf("got %v, %v", page.GetEngine(), err)
	}
}

func TestConfigNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	c := Config{Endpoints: "http://127.0.0.1:1/v1,ftp://x", Profile: "gpt", Concurrency: 0}
	err := c.Validate()
	for _, want := range []string{"vision.allow-private", "vision.profile", "vision.model", "vision.concurrency"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
