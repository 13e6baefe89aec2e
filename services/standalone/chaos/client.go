package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// Client is a client of the REST API that does what a client should: it repeats what was not answered, with the same
// idempotency key.
type Client struct {
	// URL is where the API is, e.g. http://127.0.0.1:8080.
	URL string
	// Key, if there is one, goes with every request.
	Key  string
	http http.Client
}

// NewClient returns a client of the API at url. It keeps no connections, which the server's death would break.
func NewClient(url string) *Client {
	return &Client{URL: url, http: http.Client{Transport: &http.Transport{DisableKeepAlives: true},
		Timeout: 30 * time.Second}}
}

// Job is what the API says of a job.
type Job struct {
	ID        string         `json:"id"`
	State     string         `json:"state"`
	PageCount int            `json:"pageCount"`
	PagesDone int            `json:"pagesDone"`
	Outcomes  map[string]int `json:"outcomes"`
	Error     struct {
		Code string `json:"code"`
	} `json:"error"`
	Failures []struct {
		Page int    `json:"page"`
		Code string `json:"code"`
	} `json:"failures"`
}

// Ended reports whether the job has ended.
func (j Job) Ended() bool { return j.State != "" && j.State != "PENDING" && j.State != "RUNNING" }

// WithoutDedupe returns options under which the work is done though the bytes are those of an earlier job.
func WithoutDedupe() url.Values { return url.Values{"dedupe": {"false"}} }

// errorResponse is an answer that is no success.
type errorResponse struct {
	status int
	body   string
}

func (r *errorResponse) Error() string { return fmt.Sprintf("status %d: %s", r.status, r.body) }

// UploadOnce tries once to upload a document.
func (c *Client) UploadOnce(ctx context.Context, key string, pdf []byte, options url.Values) (Job, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL+"/v1/jobs?"+options.Encode(), bytes.NewReader(pdf))
	if err != nil {
		return Job{}, err
	}
	req.Header.Set("Content-Type", "application/pdf")
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	var j Job
	data, err := c.doRequest(req)
	if err == nil {
		err = json.Unmarshal(data, &j)
	}
	return j, err
}

// retryPause is the wait before a request is repeated.
const retryPause = 100 * time.Millisecond

// UploadUntilAcknowledged uploads a document, again and again until the server acknowledges it, and returns the job
// and how many tries it took. A refusal that repeating cannot mend is an error.
func (c *Client) UploadUntilAcknowledged(ctx context.Context, key string, pdf []byte,
	options url.Values) (j Job, tries int, err error) {
	for {
		tries++
		j, err = c.UploadOnce(ctx, key, pdf, options)
		if r, ok := errors.AsType[*errorResponse](err); err == nil || ok && r.status < 500 &&
			r.status != http.StatusTooManyRequests {
			return j, tries, err
		}
		select {
		case <-ctx.Done():
			return j, tries, errors.Join(ctx.Err(), err)
		case <-time.After(retryPause):
		}
	}
}

// FetchJob asks for a job.
func (c *Client) FetchJob(ctx context.Context, id string) (Job, error) {
	var j Job
	data, err := c.FetchPath(ctx, "/v1/jobs/"+id)
	if err == nil {
		err = json.Unmarshal(data, &j)
	}
	return j, err
}

// CancelJob cancels a job, again and again until the server has answered. That it has ended already is no error.
func (c *Client) CancelJob(ctx context.Context, id string) error {
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL+"/v1/jobs/"+id+":cancel", nil)
		if err != nil {
			return err
		}
		_, err = c.doRequest(req)
		r, ok := errors.AsType[*errorResponse](err)
		switch {
		case err == nil, ok && r.status == http.StatusConflict:
			return nil
		case ok && r.status < 500 && r.status != http.StatusTooManyRequests:
			return fmt.Errorf("cancel job %s: %w", id, err)
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(retryPause):
		}
	}
}

// AwaitJobEnd waits for a job's end.
func (c *Client) AwaitJobEnd(ctx context.Context, id string) (Job, error) {
	for {
		j, err := c.FetchJob(ctx, id)
		if err == nil && j.Ended() {
			return j, nil
		}
		select {
		case <-ctx.Done():
			return j, fmt.Errorf("job %s is %s with %d of %d pages: %w", id, j.State, j.PagesDone, j.PageCount,
				errors.Join(ctx.Err(), err))
		case <-time.After(retryPause):
		}
	}
}

// FetchPath asks for a path of the API.
func (c *Client) FetchPath(ctx context.Context, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL+path, nil)
	if err != nil {
		return nil, err
	}
	return c.doRequest(req)
}

// AwaitReady waits until the API answers.
func (c *Client) AwaitReady(ctx context.Context) error {
	for {
		if _, err := c.FetchPath(ctx, "/readyz"); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the gateway is not ready: %w", ctx.Err())
		case <-time.After(retryPause):
		}
	}
}

func (c *Client) doRequest(req *http.Request) ([]byte, error) {
	if c.Key != "" {
		req.Header.Set("Authorization", "Bearer "+c.Key)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode/100 != 2 {
		err = &errorResponse{resp.StatusCode, fmt.Sprintf("%.300s", data)}
	}
	return data, err
}
