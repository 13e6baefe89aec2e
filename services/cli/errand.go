package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

const (
	// inFlight is how many documents are in the pipeline at once: enough to keep every stage busy.
	inFlight = 32
	// maxUploads is how many of them are sent at once.
	maxUploads = 4
)

// errand takes files to a server: it uploads them and, if it is told to, waits for the end of their jobs and fetches what they yield.
type errand struct {
	c       *client
	bars    *progress
	meta    *inkstreamv1.UploadMetadata // of every file, but for its name
	wait    bool
	uploads chan struct{} // a slot for each upload under way
	// taken is told when a file has become a job, or has failed to; it may be nil.
	taken func(i int, r *result)
	// fetchInto returns the folder that a file's artifacts go to; nil fetches none.
	fetchInto func(i int) string
}

// result is what became of one file.
type result struct {
	path string
	job  *inkstreamv1.Job
	err  error // why it became no job
}

// each calls do for files 0 to n-1, many at a time. An error of one ends all.
func (e *errand) each(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(inFlight)
	for i := range n {
		g.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return do(ctx, i)
		})
	}
	return g.Wait()
}

// run takes files all the way. What is wrong with a file is its result; an error is one of the server.
func (e *errand) run(ctx context.Context, files []input) ([]result, error) {
	e.uploads = make(chan struct{}, maxUploads)
	results := make([]result, len(files))
	err := e.each(ctx, len(files), func(ctx context.Context, i int) error {
		results[i].path = files[i].path
		return e.one(ctx, i, &results[i])
	})
	return results, err
}

func (e *errand) one(ctx context.Context, i int, r *result) error {
	select {
	case e.uploads <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	t := e.bars.begin(r.path, fileSize(r.path))
	err := e.upload(ctx, t, r, e.meta)
	<-e.uploads
	if err != nil {
		return err
	}
	if e.taken != nil {
		e.taken(i, r)
	}
	if r.err != nil || !e.wait {
		t.end(r)
		return nil //nolint:nilerr // what is wrong with the file is its result
	}
	if err := e.await(ctx, t, r); err != nil {
		return err
	}
	if e.fetchInto == nil {
		return nil
	}
	_, err = e.c.fetch(ctx, r.job.GetId(), e.fetchInto(i), nil)
	return err
}

// upload sends a file. With wait a server that is too busy is asked again when it said.
func (e *errand) upload(ctx context.Context, t *task, r *result, meta *inkstreamv1.UploadMetadata) error {
	say := func(err error, wait time.Duration) {
		t.restart(fmt.Sprintf("the server is busy; again in %s", wait))
		if e.bars.bars == nil {
			e.bars.say("%s: %v; again in %s", t.name, messageOf(status.Convert(err)), wait)
		}
	}
	send := func() error {
		f, err := os.Open(r.path)
		if err != nil {
			return err
		}
		defer f.Close()
		m, _ := proto.Clone(meta).(*inkstreamv1.UploadMetadata)
		m.Filename = filepath.Base(r.path)
		r.job, err = e.c.upload(ctx, f, m, t.uploaded)
		return err
	}
	var err error
	if e.wait {
		err = patience{say: say}.try(ctx, send)
	} else {
		err = send()
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	switch status.Code(err) {
	case codes.Unavailable, codes.Unauthenticated, codes.PermissionDenied:
		return err // that is the same for every file
	}
	r.err = err
	return nil
}

// await follows a file's job to its end.
func (e *errand) await(ctx context.Context, t *task, r *result) error {
	j, err := e.c.follow(ctx, r.job.GetId(), t.set)
	if err != nil {
		return err
	}
	r.job = j
	t.end(r)
	return nil
}

func fileSize(path string) int64 {
	if info, err := os.Stat(path); err == nil {
		return info.Size()
	}
	return 0
}

// verdict returns a result's state, how long it took, and what kinds of pages it has.
func (r *result) verdict() (state, took, kinds string) {
	if r.err != nil {
		return "REFUSED", "-", "-"
	}
	kinds = "-"
	if o := outcomes(r.job); o != "" {
		kinds = o[2:]
	}
	if r.job.GetEndTime() == nil {
		return r.job.GetState().String(), "-", kinds
	}
	return r.job.GetState().String(), fmt.Sprintf("%.2f", r.job.GetEndTime().AsTime().Sub(r.job.GetCreateTime().AsTime()).Seconds()), kinds
}

// fine reports whether nothing has gone wrong so far.
func (r *result) fine() bool {
	return r.err == nil && (!ended(r.job) || r.job.GetState() == inkstreamv1.Job_SUCCEEDED)
}

// reason says, on one line, why a file did not succeed.
func (r *result) reason() string {
	if r.err != nil {
		return printable(strings.ReplaceAll(explain(r.err).Error(), "\n", " "))
	}
	switch e, failed := r.job.GetError(), r.job.GetFailures(); {
	case e != nil:
		return printable(e.GetCode() + ": " + e.GetMessage())
	case len(failed) > 0:
		reason := fmt.Sprintf("page %d: %s", failed[0].GetPage(), failed[0].GetReason())
		if len(failed) > 1 {
			reason += fmt.Sprintf(" and %d more", len(failed)-1)
		}
		return printable(reason)
	}
	return "-"
}

// verdict returns errSome unless every file became a job, and, where they were waited for, every job succeeded.
func verdict(results []result, waited bool) error {
	for _, r := range results {
		if r.err != nil || waited && r.job.GetState() != inkstreamv1.Job_SUCCEEDED {
			return errSome
		}
	}
	return nil
}

// outcome is a result as programs get it.
type outcome struct {
	File  string          `json:"file"`
	Job   json.RawMessage `json:"job,omitempty"`
	Error *refusal        `json:"error,omitempty"`
}

// refusal says why a file became no job.
type refusal struct {
	Code    string `json:"code,omitempty"`
	Message string `json:"message"`
}

func refusalOf(err error) *refusal {
	st := status.Convert(err)
	if st.Code() == codes.Unknown {
		return &refusal{Message: err.Error()}
	}
	return &refusal{Code: reasonOf(st), Message: messageOf(st)}
}

func outcomesOf(results []result) ([]outcome, error) {
	out := make([]outcome, len(results))
	for i, r := range results {
		out[i].File = r.path
		if r.err != nil {
			out[i].Error = refusalOf(r.err)
			continue
		}
		job, err := marshalMessage(r.job)
		if err != nil {
			return nil, err
		}
		out[i].Job = job
	}
	return out, nil
}

// summary prints what became of files.
func (a *app) summary(how output, results []result) error {
	all, err := outcomesOf(results)
	if err != nil {
		return err
	}
	t := sheet{head: []string{"STATE", "PAGES", "SECONDS", "OUTCOMES", "FILE", "ID", "REASON"}, plain: 5, data: all}
	common, reasons, states, pages := commonFolder(results), false, map[string]int{}, 0
	for _, r := range results {
		state, seconds, kinds := r.verdict()
		states[state]++
		pages += int(r.job.GetPageCount())
		reasons = reasons || r.reason() != "-"
		t.rows = append(t.rows, []string{
			state, fmt.Sprint(r.job.GetPageCount()), seconds, kinds, printable(strings.TrimPrefix(r.path, common)), first(r.job.GetId(), "-"), r.reason(),
		})
	}
	if !reasons { // a column of hyphens says nothing
		t.head, t.plain = []string{"STATE", "PAGES", "SECONDS", "OUTCOMES", "ID", "FILE"}, 4
		for i, row := range t.rows {
			t.rows[i] = []string{row[0], row[1], row[2], row[3], row[5], row[4]}
		}
	}
	if err := a.show(how, t); err != nil || how.machine() || len(results) == 1 {
		return err
	}
	var parts []string
	for _, state := range slices.Sorted(maps.Keys(states)) {
		parts = append(parts, fmt.Sprintf("%d %s", states[state], state))
	}
	fmt.Fprintf(a.err, "%s with %s: %s\n", plural(len(results), "file"), plural(pages, "page"), strings.Join(parts, ", "))
	return nil
}

// commonFolder returns the folder that all files lie in, with a slash; empty if that is none, or there is one file alone.
func commonFolder(results []result) string {
	if len(results) < 2 {
		return ""
	}
	common := filepath.Dir(results[0].path) + "/"
	for _, r := range results {
		for !strings.HasPrefix(r.path, common) {
			if common = filepath.Dir(strings.TrimSuffix(common, "/")) + "/"; common == "./" || common == "//" {
				return ""
			}
		}
	}
	return common
}

// labelsOf reads labels that were given as key=value.
func labelsOf(given []string) (map[string]string, error) {
	labels := map[string]string{}
	for _, l := range given {
		key, value, ok := strings.Cut(l, "=")
		if !ok || key == "" {
			return nil, usageError{fmt.Errorf("--label %q: want key=value", l)}
		}
		if _, twice := labels[key]; twice {
			return nil, usageError{fmt.Errorf("--label %s is given twice; there are %s", key, strings.Join(slices.Sorted(maps.Keys(labels)), ", "))}
		}
		labels[key] = value
	}
	return labels, nil
}

// errNoFiles means that folders and patterns hold none.
var errNoFiles = errors.New("no PDF files found")
