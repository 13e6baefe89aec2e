package pagegen

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// measureScript fits the text into its boxes and returns what stands where.
//
//go:embed measure.js
var measureScript string

// pageTimeout bounds what the browser takes for one document.
const pageTimeout = time.Minute

// browser is a Chromium with one tab. It is spoken to by the DevTools protocol over a pair of pipes, which needs
// neither a port nor a WebSocket. It is not safe for concurrent use.
type browser struct {
	cmd     *exec.Cmd
	dir     string
	send    *os.File
	receive *bufio.Reader
	pipe    *os.File
	session string
	frame   string
	calls   int
}

// startBrowser starts Chromium.
func startBrowser(ctx context.Context) (*browser, error) {
	program, err := exec.LookPath("chromium")
	if err != nil {
		return nil, fmt.Errorf("%w (Debian package chromium)", err)
	}
	dir, err := os.MkdirTemp("", "pagegen-browser-*")
	if err != nil {
		return nil, err
	}
	args := []string{"--headless", "--remote-debugging-pipe", "--user-data-dir=" + dir, "--disable-gpu", "--no-first-run",
		"--hide-scrollbars", "about:blank"}
	if os.Geteuid() == 0 {
		args = append(args, "--no-sandbox") // the browser's own walls do not stand for root
	}
	b := &browser{dir: dir, cmd: exec.CommandContext(ctx, program, args...)}
	if err := b.connect(); err != nil {
		b.close()
		return nil, fmt.Errorf("start the browser: %w", err)
	}
	return b, nil
}

// connect starts the program with its pipes, and opens a tab.
func (b *browser) connect() error {
	theirInput, send, err := os.Pipe()
	if err != nil {
		return err
	}
	defer theirInput.Close()
	receive, theirOutput, err := os.Pipe()
	if err != nil {
		return errors.Join(err, send.Close())
	}
	defer theirOutput.Close()
	b.send, b.pipe, b.receive = send, receive, bufio.NewReaderSize(receive, 1<<20)
	b.cmd.ExtraFiles = []*os.File{theirInput, theirOutput} // descriptors 3 and 4

	if err := b.cmd.Start(); err != nil {
		return err
	}
	var target struct{ TargetID string }
	if err := b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target); err != nil {
		return err
	}
	var session struct{ SessionID string }
	if err := b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &session); err != nil {
		return err
	}
	b.session = session.SessionID
	var tree struct {
		FrameTree struct{ Frame struct{ ID string } }
	}
	if err := b.call("Page.getFrameTree", nil, &tree); err != nil {
		return err
	}
	b.frame = tree.FrameTree.Frame.ID
	return b.call("Emulation.setEmulatedMedia", map[string]any{"media": "print"}, nil)
}

// close ends the browser and removes its profile.
func (b *browser) close() {
	for _, file := range []*os.File{b.send, b.pipe} {
		if file != nil {
			file.Close()
		}
	}
	if b.cmd.Process != nil {
		_ = b.cmd.Process.Kill() // it may have ended
		_ = b.cmd.Wait()
	}
	os.RemoveAll(b.dir)
}

// call calls a method of the protocol and waits for its answer.
func (b *browser) call(method string, params, result any) error {
	b.calls++
	request := map[string]any{"id": b.calls, "method": method}
	if params != nil {
		request["params"] = params
	}
	if b.session != "" {
		request["sessionId"] = b.session
	}
	data, err := json.Marshal(request)
	if err != nil {
		return err
	}
	if err := b.pipe.SetReadDeadline(time.Now().Add(pageTimeout)); err != nil {
		return err
	}
	if _, err := b.send.Write(append(data, 0)); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	for {
		message, err := b.receive.ReadBytes(0)
		if err != nil {
			return fmt.Errorf("%s: the browser is gone: %w", method, err)
		}
		var answer struct {
			ID     int
			Method string
			Result json.RawMessage
			Error  *struct{ Message string }
		}
		if err := json.Unmarshal(message[:len(message)-1], &answer); err != nil {
			return fmt.Errorf("%s: %w", method, err)
		}
		switch {
		case answer.Method == "Inspector.detached":
			return fmt.Errorf("%s: the browser's tab is gone", method)
		case answer.ID != b.calls: // another event
		case answer.Error != nil:
			return fmt.Errorf("%s: %s", method, answer.Error.Message)
		case result == nil:
			return nil
		default:
			return json.Unmarshal(answer.Result, result)
		}
	}
}

// printed is what the browser made of a document.
type printed struct {
	Pages  []PageSize `json:"pages"`
	Blocks []Block    `json:"blocks"`
}

// printDocument typesets HTML, and returns the PDF and what stands where in it.
func (b *browser) printDocument(html string) ([]byte, *printed, error) {
	if err := b.call("Page.setDocumentContent", map[string]any{"frameId": b.frame, "html": html}, nil); err != nil {
		return nil, nil, err
	}
	var measured struct {
		Result struct {
			Value json.RawMessage
		}
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	if err := b.call("Runtime.evaluate", map[string]any{"expression": measureScript, "awaitPromise": true,
		"returnByValue": true}, &measured); err != nil {
		return nil, nil, err
	}
	if e := measured.ExceptionDetails; e != nil {
		return nil, nil, fmt.Errorf("measure the page: %s %s", e.Text, e.Exception.Description)
	}
	found := &printed{}
	if err := json.Unmarshal(measured.Result.Value, found); err != nil {
		return nil, nil, fmt.Errorf("measure the page: %w", err)
	}
	if len(found.Pages) == 0 {
		return nil, nil, errors.New("the document has no page")
	}
	var file struct{ Data string }
	// Tags would tell readers what stands where, which hardly any document does.
	if err := b.call("Page.printToPDF", map[string]any{"printBackground": true, "preferCSSPageSize": true,
		"paperWidth": found.Pages[0].Width / 72, "paperHeight": found.Pages[0].Height / 72, "marginTop": 0, "marginBottom": 0,
		"marginLeft": 0, "marginRight": 0, "generateTaggedPDF": false}, &file); err != nil {
		return nil, nil, err
	}
	pdf, err := io.ReadAll(base64.NewDecoder(base64.StdEncoding, bytes.NewBufferString(file.Data)))
	if err != nil {
		return nil, nil, fmt.Errorf("read the PDF: %w", err)
	}
	return pdf, found, nil
}
