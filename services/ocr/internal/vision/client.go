package vision

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"inkstream.dev/pkg/outbound"
)

// errUnusable means that a server took the page and gave no answer that could be used; another try may.
var errUnusable = errors.New("the vision model's answer cannot be used")

// errRefusedPicture means that a server does not take the picture as it is: it may be too large for it.
var errRefusedPicture = errors.New("the vision model's server refuses the picture")

// reply is what a model wrote.
type reply struct {
	text string
	// looped says that the text began to repeat itself and was cut; cut that it ended at the limit of tokens.
	looped, cut bool
	from        *endpoint
}

type client struct {
	cfg     Config
	profile profile
	http    *http.Client
	balance *balancer
	budget  *budget
}

func newClient(cfg Config) *client {
	policy := outbound.Policy{AllowPrivate: cfg.AllowPrivate}
	return &client{cfg: cfg, profile: profiles[cfg.Profile], balance: newBalancer(cfg.endpointURLs(), cfg.Concurrency),
		budget: &budget{perDay: cfg.MaxTokensPerDay, perTenant: cfg.MaxTokensPerTenant, perJob: cfg.MaxTokensPerJob},
		http: &http.Client{Transport: policy.NewTransport(defaultTimeout),
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// maxTries is how many endpoints are asked for a page before it is given back.
const maxTries = 3

// maxPatience is how long a page waits for an endpoint that is asked for too much before it is given back: reading it again
// takes a core some seconds.
const maxPatience = 20 * time.Second

// question is a picture that a model is to read.
type question struct {
	png         []byte
	prompt      string // the profile's if empty
	temperature float64
	timeout     time.Duration
	// avoided is not asked if any other endpoint can be.
	avoided *endpoint
	payer   account
}

// ask has a model read a picture. It fails with errAway where no endpoint can be asked, with errBudget where no tokens
// are left, with errRefusedPicture, and with errUnusable.
func (c *client) ask(ctx context.Context, q question) (reply, error) {
	if err := c.budget.check(q.payer); err != nil {
		return reply{}, err
	}
	body, err := c.encodeRequest(q)
	if err != nil {
		return reply{}, err
	}
	w := wish{tried: map[*endpoint]bool{}, avoided: q.avoided, patience: time.Now().Add(min(maxPatience, q.timeout))}
	var last error
	for len(w.tried) < maxTries {
		e, err := c.balance.acquire(ctx, w)
		if err != nil {
			return reply{}, errors.Join(err, last)
		}
		began := time.Now()
		got, out := c.askEndpoint(ctx, e, body, q.timeout, q.payer)
		out.began = began
		c.balance.release(e, out)
		if out.result == answered {
			got.from = e
			return got, nil
		}
		if ctx.Err() != nil {
			return reply{}, ctx.Err()
		}
		if out.result == abandoned {
			return reply{}, out.err
		}
		if last = out.err; out.result != busy || time.Now().After(w.patience) {
			w.tried[e] = true
		}
	}
	return reply{}, errors.Join(errAway, last)
}

func (c *client) encodeRequest(q question) ([]byte, error) {
	picture := map[string]any{"type": "image_url",
		"image_url": map[string]any{"url": "data:image/png;base64," + base64.StdEncoding.EncodeToString(q.png)}}
	text := map[string]any{"type": "text", "text": cmp.Or(q.prompt, c.profile.prompt)}
	content := []any{picture, text}
	if c.profile.textFirst {
		content = []any{text, picture}
	}
	messages := []any{map[string]any{"role": "user", "content": content}}
	if c.profile.system != "" {
		messages = slices.Insert(messages, 0, any(map[string]any{"role": "system", "content": c.profile.system}))
	}
	request := map[string]any{
		"model": c.cfg.Model, "messages": messages,
		"max_tokens": c.profile.maxTokens, "temperature": max(q.temperature, c.profile.temperature), "stream": true,
		"stream_options": map[string]any{"include_usage": true},
	}
	maps.Copy(request, c.profile.extra)
	data, err := json.Marshal(request)
	if err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	return data, nil
}

// askEndpoint sends one request and reads its stream. Ending the request ends the generation.
func (c *client) askEndpoint(ctx context.Context, e *endpoint, body []byte, timeout time.Duration,
	payer account) (reply, outcome) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return reply{}, outcome{result: refused, err: fmt.Errorf("vision endpoint %d: %w", e.number, err)}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	if !c.cfg.Key.IsEmpty() {
		req.Header.Set("Authorization", "Bearer "+c.cfg.Key.RevealText())
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return reply{}, outcome{result: failed, err: fmt.Errorf("vision endpoint %d: %w", e.number, err)}
	}
	defer resp.Body.Close()
	if out := judgeStatus(e, resp); out.err != nil {
		c.observe(ctx, e, out.result, usage{})
		return reply{}, out
	}
	got, used, err := readAnswer(resp)
	out := outcome{result: answered}
	if err != nil {
		out = outcome{result: failed, err: fmt.Errorf("vision endpoint %d: %w", e.number, err)}
	}
	used = c.boundUsage(used)
	if used.CompletionTokens == 0 {
		used.CompletionTokens = int64(len(got.text) / 3) // of a stream that was ended before its figures
	}
	c.observe(ctx, e, out.result, used)
	c.budget.spend(payer, used.CompletionTokens)
	return got, out
}

// maxPromptTokens is more than a picture and its prompt take with any model.
const maxPromptTokens = 1 << 20

// boundUsage returns what an endpoint says of tokens within what a request can take: less than none would give a budget
// back, and a number without measure would spend that of all, or overflow it.
func (c *client) boundUsage(u usage) usage {
	return usage{PromptTokens: min(max(u.PromptTokens, 0), maxPromptTokens),
		CompletionTokens: min(max(u.CompletionTokens, 0), int64(c.profile.maxTokens))}
}

func (c *client) observe(ctx context.Context, e *endpoint, r result, used usage) {
	if c.cfg.Observe != nil {
		c.cfg.Observe(ctx, e.number, r.String(), used.PromptTokens, used.CompletionTokens)
	}
}

// judgeStatus says what a status means for the endpoint. Its answer is not repeated: it may hold the key.
func judgeStatus(e *endpoint, resp *http.Response) outcome {
	status := resp.StatusCode
	out := outcome{err: fmt.Errorf("vision endpoint %d: status %d", e.number, status)}
	switch {
	case status == http.StatusOK:
		return outcome{result: answered}
	case status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable:
		out.result, out.retryAfter = busy, retryAfter(resp.Header.Get("Retry-After"))
		if head, _ := io.ReadAll(io.LimitReader(resp.Body, 4<<10)); bytes.Contains(head, []byte("insufficient_quota")) {
			out.result, out.err = refused, fmt.Errorf("vision endpoint %d: the quota is spent", e.number)
		}
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		out.result, out.err = refused, fmt.Errorf("vision endpoint %d: status %d, see vision.key", e.number, status)
	case status == http.StatusNotFound:
		out.result = refused
		out.err = fmt.Errorf("vision endpoint %d: status 404, see vision.model and the path of vision.endpoints", e.number)
	case status == http.StatusPaymentRequired || status >= 300 && status < 400:
		out.result = refused
	case status == http.StatusBadRequest || status == http.StatusRequestEntityTooLarge ||
		status == http.StatusUnprocessableEntity:
		out.result, out.err = abandoned, fmt.Errorf("%w: status %d", errRefusedPicture, status)
	case status >= 400 && status < 500:
		out.result, out.err = abandoned, fmt.Errorf("%w: status %d", errUnusable, status)
	default:
		out.result = failed
	}
	return out
}

// retryAfter reads the header's seconds or date; 0 where it has none.
func retryAfter(header string) time.Duration {
	if seconds, err := strconv.Atoi(strings.TrimSpace(header)); err == nil && seconds > 0 {
		return time.Duration(min(seconds, 3600)) * time.Second
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}

type usage struct {
	PromptTokens     int64 `json:"prompt_tokens"`
	CompletionTokens int64 `json:"completion_tokens"`
}

// chunk is an event of the stream, or the whole answer of a server that does not stream.
type chunk struct {
	Choices []struct {
		Delta        struct{ Content string } `json:"delta"`
		Message      struct{ Content string } `json:"message"`
		FinishReason string                   `json:"finish_reason"`
	} `json:"choices"`
	Usage *usage          `json:"usage"`
	Error json.RawMessage `json:"error"`
}

// Bounds on an answer.
const (
	maxAnswerBytes = 1 << 20
	maxEventBytes  = 1 << 20
)

// readAnswer reads the stream until it ends, loops, or is too long.
func readAnswer(resp *http.Response) (reply, usage, error) {
	var used usage
	text := &strings.Builder{}
	finish, checked := "", 0
	take := func(data []byte) error {
		var part chunk
		if err := json.Unmarshal(data, &part); err != nil {
			return errors.New("an event that is no JSON")
		}
		if len(part.Error) > 0 && string(part.Error) != "null" {
			return errors.New("an error within the stream")
		}
		if part.Usage != nil {
			used = *part.Usage
		}
		if len(part.Choices) > 0 {
			text.WriteString(part.Choices[0].Delta.Content + part.Choices[0].Message.Content)
			if r := part.Choices[0].FinishReason; r != "" {
				finish = r
			}
		}
		return nil
	}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
		data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswerBytes))
		if err == nil {
			err = take(data)
		}
		return finishReply(text.String(), finish), used, err
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(make([]byte, 0, 64<<10), maxEventBytes)
	for lines.Scan() {
		data, isData := bytes.CutPrefix(lines.Bytes(), []byte("data:"))
		if !isData {
			continue
		}
		if data = bytes.TrimSpace(data); string(data) == "[DONE]" {
			return finishReply(text.String(), finish), used, nil
		}
		if err := take(data); err != nil {
			return reply{}, used, err
		}
		if text.Len() >= checked+loopStep {
			checked = text.Len()
			if at := findLoop(text.String()); at >= 0 {
				return reply{text: text.String()[:at], looped: true}, used, nil
			}
		}
		if text.Len() > maxAnswerBytes {
			return reply{text: text.String(), cut: true}, used, nil
		}
	}
	if finish == "" {
		return reply{}, used, errors.New("the stream was cut")
	}
	return finishReply(text.String(), finish), used, nil
}

func finishReply(text, finish string) reply {
	if at := findLoop(text); at >= 0 {
		return reply{text: text[:at], looped: true}
	}
	return reply{text: text, cut: finish == "length" || finish == "content_filter" || finish == "repetition_detected"}
}

const (
	// loopStep is how many bytes come between two looks for a loop.
	loopStep = 32
	// loopBytes is how much of the end must repeat a unit of up to loopUnit bytes; loopMarks where the unit is rules or
	// blanks, which tables and contents repeat.
	loopBytes, loopUnit = 260, 86
	loopMarks           = 1200
)

// findLoop returns where the first repetition begins of a text that ends in a loop; -1 if it does not.
func findLoop(text string) int {
	n := len(text)
	if n < loopBytes {
		return -1
	}
	for unit := 1; unit <= loopUnit; unit++ {
		same := 0
		for i := n - 1; i >= unit && text[i] == text[i-unit]; i-- {
			same++
			if same >= 4*loopMarks {
				break
			}
		}
		need := loopBytes
		if !strings.ContainsFunc(text[n-unit:], func(r rune) bool { return r > ' ' && !strings.ContainsRune(".-_|:=*", r) }) {
			need = loopMarks
		}
		if same >= need {
			return n - same
		}
	}
	return -1
}
