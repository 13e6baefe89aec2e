package vision

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"inkstream.dev/services/ocr/internal/vision/answer"
)

// Families that read one block at a time are asked with their own words, and what they write is held against the page.
func TestFamiliesThatReadBlocks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ profile, prompt, system string }{
		{"paddleocr-vl", "OCR:", ""},
		{"glm-ocr", "Text Recognition:", ""},
		{"mineru2.5", "\nText Recognition:", "You are a helpful assistant."},
	} {
		t.Run(tt.profile, func(t *testing.T) {
			t.Parallel()
			e, img := newEngine(t, true, func(w http.ResponseWriter, r *http.Request) {
				prompt, system := readPrompt(t, r)
				if prompt != tt.prompt || system != tt.system {
					t.Errorf("asked %q with the system's %q, want %q and %q", prompt, system, tt.prompt, tt.system)
				}
				writeStream(w, pageText, "stop")
			})
			e.client.profile = profiles[tt.profile]
			page, err := e.RecognisePage(t.Context(), img, sent)
			if err != nil {
				t.Fatalf("RecognisePage: %v", err)
			}
			if got := strings.Join(strings.Fields(page.GetText()), " "); got != pageText || !strings.HasPrefix(page.GetEngine(), "vision") {
				t.Errorf("got %q by %q, notes %q", got, page.GetEngine(), page.GetNotes())
			}
			if len(page.GetTags()) == 0 || len(page.GetDoubts()) > 0 {
				t.Errorf("tags %v, doubts %v; want the block's place and no doubts", page.GetTags(), page.GetDoubts())
			}
		})
	}
}

// readPrompt returns the texts of a request.
func readPrompt(t *testing.T, r *http.Request) (prompt, system string) {
	var request struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &request)
	}
	if err != nil {
		t.Errorf("request: %v", err)
	}
	for _, m := range request.Messages {
		var parts []struct{ Text string }
		if m.Role == "system" {
			_ = json.Unmarshal(m.Content, &system) // what is no text is not what is wanted
		} else if json.Unmarshal(m.Content, &parts) == nil {
			for _, p := range parts {
				prompt += p.Text
			}
		}
	}
	return prompt, system
}

// A block that a model repeats without end is asked for once more, and then stays as the witness reads it.
func TestBlockThatLoopsStaysAsItWas(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	e, img := newEngine(t, true, func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) == 1 {
			writeStream(w, strings.Repeat("and the other side ", 100), "length")
			return
		}
		writeStream(w, pageText, "stop")
	})
	e.client.profile = profiles["paddleocr-vl"]
	page, err := e.RecognisePage(t.Context(), img, sent)
	if err != nil || asked.Load() != 2 || strings.Join(strings.Fields(page.GetText()), " ") != pageText {
		t.Errorf("asked %d times: %q, %v", asked.Load(), page.GetText(), err)
	}
}

// A table's block is asked for as a table, and comes back as one in any of the families' forms.
func TestTablesOfBlocks(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"OTSL": "<fcel>Port<fcel>Boats<nl><fcel>North<fcel>17<nl>",
		"HTML": "<table><tr><td>Port</td><td>Boats</td></tr><tr><td>North</td><td>17</td></tr></table>",
	} {
		got := answer.ParsePart(answer.TableBlock, 0, text)
		if len(got.Blocks) != 1 || got.Blocks[0].Table == nil || got.Blocks[0].Text != "Port Boats\nNorth 17" {
			t.Errorf("%s: got %+v", name, got)
		}
	}
	if p := profiles["glm-ocr"]; p.promptFor("table") != "Table Recognition:" || p.promptFor("formula") != "Formula Recognition:" ||
		p.promptFor("heading") != "Text Recognition:" {
		t.Error("a kind of block is asked for as another one")
	}
}

// The canary page is shown to such families block by block, and they may be used when they read it.
func TestCanaryOfFamiliesThatReadBlocks(t *testing.T) {
	t.Parallel()
	for _, sees := range []bool{true, false} {
		var asked atomic.Int64
		e, _ := newEngine(t, true, func(w http.ResponseWriter, _ *http.Request) {
			n := int(asked.Add(1)) - 1
			text := ""
			switch {
			case !sees:
				text = "I can't see any picture in this conversation, please send one."
			case n < len(canaryBlocks):
				text = strings.Join(canaryBlocks[n].lines, "\n")
			}
			writeStream(w, text, "stop")
		})
		e.client.profile = profiles["paddleocr-vl"]
		page, err := drawCanary()
		if err != nil {
			t.Fatal(err)
		}
		e.tryEndpoint(t.Context(), e.client.balance.endpoints[0], page)
		if err := e.CheckEndpoints(t.Context()); (err == nil) != sees {
			t.Errorf("sees pictures: %v, found wrong: %v", sees, err)
		}
	}
}
