package cli

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

const (
	// maxInFlight is how many documents are in the pipeline at once: enough to keep every stage busy.
	maxInFlight = 32
	// maxUploads is how many of them are sent at once.
	maxUploads = 4
)

// uploader takes files to a server: it uploads them and, if it is told to, waits for the end of their jobs and
// fetches what they yield.
type uploader struct {
	client   *client
	progress *progress
	meta     *inkstreamv1.UploadMetadata // of every file, but for its name
	wait     bool
	uploads  chan struct{}             // a slot for each upload under way
	reached  atomic.Pointer[time.Time] // when the server took bytes of a file last; nil if it never did
	// onAccepted is told when a file has become a job, or has failed to; it may be nil.
	onAccepted func(i int, r *uploadResult)
	// artifactFolder returns the folder that a file's artifacts go to; nil fetches none.
	artifactFolder func(i int) string
}

// uploadResult is what became of one file.
type uploadResult struct {
	path string
	job  *inkstreamv1.Job
	err  error // why it became no job
}

// forEachFile calls do for files 0 to n-1, many at a time. An error of one ends all.
func (e *uploader) forEachFile(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(maxInFlight)
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

// uploadFiles takes files all the way. What is wrong with a file is its result; an error is one of the server.
func (e *uploader) uploadFiles(ctx context.Context, files []inputFile) ([]uploadResult, error) {
	e.uploads = make(chan struct{}, maxUploads)
	results := make([]uploadResult, len(files))
	err := e.forEachFile(ctx, len(files), func(ctx context.Context, i int) error {
		results[i].path = files[i].path
		return e.processFile(ctx, i, &results[i])
	})
	return results, err
}

func (e *uploader) processFile(ctx context.Context, i int, r *uploadResult) error {
	select {
	case e.uploads <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	t := e.progress.startFile(r.path, fileSize(r.path))
	err := e.uploadFile(ctx, t, r, e.meta)
	<-e.uploads
	if err != nil {
		return err
	}
	if e.onAccepted != nil {
		e.onAccepted(i, r)
	}
	if r.err != nil || !e.wait {
		t.finishFile(r)
		return nil //nolint:nilerr // what is wrong with the file is its result
	}
	if err := e.awaitJob(ctx, t, r); err != nil {
		return err
	}
	if e.artifactFolder == nil {
		return nil
	}
	_, err = e.client.downloadArtifacts(ctx, r.job.GetId(), e.artifactFolder(i), nil)
	return err
}

// uploadFile sends a file. With wait a server that is too busy is asked again when it said, and one that went away for
// some time: a file whose answer was lost is the same job when it is sent again.
func (e *uploader) uploadFile(ctx context.Context, t *fileProgress, r *uploadResult,
	meta *inkstreamv1.UploadMetadata) error {
	say := func(err error, wait time.Duration) {
		t.restartUpload(fmt.Sprintf("the server is away or busy; again in %s", wait))
		if e.progress.bars == nil {
			e.progress.printLine("%s: %v; again in %s", t.name, errorMessage(status.Convert(err)), wait)
		}
	}
	m, _ := proto.Clone(meta).(*inkstreamv1.UploadMetadata)
	m.Filename = filepath.Base(r.path)
	if e.wait && m.IdempotencyKey == "" {
		m.IdempotencyKey = rand.Text()
	}
	send := func() error {
		f, err := os.Open(r.path)
		if err != nil {
			return err
		}
		defer f.Close()
		r.job, err = e.client.uploadDocument(ctx, f, m, func(n int) {
			now := time.Now()
			e.reached.Store(&now)
			t.addUploaded(n)
		})
		return err
	}
	var err error
	if e.wait {
		err = retryPolicy{onWait: say, unreachableLimit: awayLimit, lastReached: e.lastReached}.runWithRetry(ctx, send)
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

// lastReached returns when the server took bytes of a file last; the zero time if it never did.
func (e *uploader) lastReached() time.Time {
	if at := e.reached.Load(); at != nil {
		return *at
	}
	return time.Time{}
}

// awaitJob follows a file's job to its end.
func (e *uploader) awaitJob(ctx context.Context, t *fileProgress, r *uploadResult) error {
	j, err := e.client.followJob(ctx, r.job.GetId(), t.updateFromJob)
	if err != nil {
		return err
	}
	r.job = j
	t.finishFile(r)
	return nil
}

func fileSize(path string) int64 {
	if info, err := os.Stat(path); err == nil {
		return info.Size()
	}
	return 0
}

// resultState returns a result's state, how long it took, and what kinds of pages it has.
func (r *uploadResult) resultState() (state, took, kinds string) {
	if r.err != nil {
		return "REFUSED", "-", "-"
	}
	kinds = "-"
	if o := formatOutcomes(r.job); o != "" {
		kinds = o[2:]
	}
	if r.job.GetEndTime() == nil {
		return r.job.GetState().String(), "-", kinds
	}
	return r.job.GetState().String(), fmt.Sprintf("%.2f",
		r.job.GetEndTime().AsTime().Sub(r.job.GetCreateTime().AsTime()).Seconds()), kinds
}

// succeededSoFar reports whether nothing has gone wrong so far.
func (r *uploadResult) succeededSoFar() bool {
	return r.err == nil && (!hasEnded(r.job) || r.job.GetState() == inkstreamv1.Job_SUCCEEDED)
}

// failureReason says, on one line, why a file did not succeed.
func (r *uploadResult) failureReason() string {
	if r.err != nil {
		return printableText(strings.ReplaceAll(explainError(r.err).Error(), "\n", " "))
	}
	switch e, failed := r.job.GetError(), r.job.GetFailures(); {
	case e != nil:
		return printableText(e.GetCode() + ": " + e.GetMessage())
	case len(failed) > 0:
		reason := fmt.Sprintf("page %d: %s", failed[0].GetPage(), failed[0].GetReason())
		if len(failed) > 1 {
			reason += fmt.Sprintf(" and %d more", len(failed)-1)
		}
		return printableText(reason)
	}
	return "-"
}

// resultsError returns errSomeFailed unless every file became a job, and, where they were waited for, every job
// succeeded.
func resultsError(results []uploadResult, waited bool) error {
	for _, r := range results {
		if r.err != nil || waited && r.job.GetState() != inkstreamv1.Job_SUCCEEDED {
			return errSomeFailed
		}
	}
	return nil
}

// fileOutcome is a result as programs get it.
type fileOutcome struct {
	File  string          `json:"file"`
	Job   json.RawMessage `json:"job,omitempty"`
	Error *rejection      `json:"error,omitempty"`
}

// rejection says why a file became no job.
type rejection struct {
	Code    string `json:"code,omitempty"`
	Message string `json:"message"`
}

func rejectionOf(err error) *rejection {
	st := status.Convert(err)
	if st.Code() == codes.Unknown {
		return &rejection{Message: err.Error()}
	}
	return &rejection{Code: errorReason(st), Message: errorMessage(st)}
}

func fileOutcomes(results []uploadResult) ([]fileOutcome, error) {
	out := make([]fileOutcome, len(results))
	for i, r := range results {
		out[i].File = r.path
		if r.err != nil {
			out[i].Error = rejectionOf(r.err)
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

// printSummary prints what became of files.
func (s streams) printSummary(how outputFormat, results []uploadResult) error {
	all, err := fileOutcomes(results)
	if err != nil {
		return err
	}
	t := table{columns: []string{"STATE", "PAGES", "SECONDS", "OUTCOMES", "FILE", "ID", "REASON"}, plainColumns: 5,
		data: all}
	common, reasons, states, pages := commonFolder(results), false, map[string]int{}, 0
	for _, r := range results {
		state, seconds, kinds := r.resultState()
		states[state]++
		pages += int(r.job.GetPageCount())
		reasons = reasons || r.failureReason() != "-"
		t.rows = append(t.rows, []string{
			state, fmt.Sprint(r.job.GetPageCount()), seconds, kinds, printableText(strings.TrimPrefix(r.path, common)),
			firstNonEmpty(r.job.GetId(), "-"), r.failureReason(),
		})
	}
	if !reasons { // a column of hyphens says nothing
		t.columns, t.plainColumns = []string{"STATE", "PAGES", "SECONDS", "OUTCOMES", "ID", "FILE"}, 4
		for i, row := range t.rows {
			t.rows[i] = []string{row[0], row[1], row[2], row[3], row[5], row[4]}
		}
	}
	if err := s.printTable(how, t); err != nil || how.isMachineReadable() || len(results) == 1 {
		return err
	}
	var parts []string
	for _, state := range slices.Sorted(maps.Keys(states)) {
		parts = append(parts, fmt.Sprintf("%d %s", states[state], state))
	}
	fmt.Fprintf(s.err, "%s with %s: %s\n", pluralize(len(results), "file"), pluralize(pages, "page"),
		strings.Join(parts, ", "))
	return nil
}

// commonFolder returns the folder that all files lie in, with a slash; empty if that is none, or there is one file
// alone.
func commonFolder(results []uploadResult) string {
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

// parseLabels reads labels that were given as key=value.
func parseLabels(given []string) (map[string]string, error) {
	labels := map[string]string{}
	for _, l := range given {
		key, value, ok := strings.Cut(l, "=")
		if !ok || key == "" {
			return nil, usageError{fmt.Errorf("--label %q: want key=value", l)}
		}
		if _, twice := labels[key]; twice {
			return nil, usageError{fmt.Errorf("--label %s is given twice; there are %s", key,
				strings.Join(slices.Sorted(maps.Keys(labels)), ", "))}
		}
		labels[key] = value
	}
	return labels, nil
}

// errNoFiles means that folders and patterns hold none.
var errNoFiles = errors.New("no PDF files found")
