package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"inkstream.dev/services/cli/hotfolder"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// watchHelp is what help says of hot folders.
const watchHelp = `A watched folder: a PDF is taken once its size and time have stayed for 2 seconds; symbolic links, hidden and empty files, and folders
are left alone. A file that succeeded goes to done/ with its results beside, every other to failed/ with a note that says why. What was under
way when the command ended is taken up again at the next start: the same bytes with the same options are the same job. To try a failed file
again, move it back.`

const (
	// lookEvery is how often a hot folder is looked at.
	lookEvery = 500 * time.Millisecond
	// hotAgain is when a file is tried again after an error that was not the file's.
	hotAgain = 10 * time.Second
	// maxReplays bounds the search for a key whose job has not been deleted.
	maxReplays = 8
)

// hot takes the files of a folder.
type hot struct {
	c       *client
	bars    *progress
	folder  *hotfolder.Folder
	results string // where results go; beside the files if empty
	meta    *inkstreamv1.UploadMetadata
	away    atomic.Bool // the server does not answer, and that has been said
}

// hot takes the files that are put into a folder until ctx is done. Only what would be the same for every file is an error.
func (a *app) hot(ctx context.Context, c *client, dir, results string, meta *inkstreamv1.UploadMetadata) error {
	folder, err := hotfolder.Open(dir)
	if errors.Is(err, hotfolder.ErrInUse) {
		return fmt.Errorf("%w\nEnd the other 'inkstream --watch' first, or watch another folder", err)
	}
	if err != nil {
		return usageError{fmt.Errorf("--watch: %w", err)}
	}
	defer folder.Close()
	h := &hot{c: c, bars: newProgress(a.streams, endless), folder: folder, results: results, meta: meta}
	defer h.bars.finish()
	h.bars.say("Watching %s for PDFs; Ctrl-C ends.", printable(dir))

	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	slots := make(chan struct{}, inFlight)
	var wg sync.WaitGroup
	defer wg.Wait()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		files, err := folder.Scan(time.Now())
		if err != nil {
			stop(nil)
			return err
		}
		for _, file := range files {
			wg.Go(func() {
				select {
				case slots <- struct{}{}:
					defer func() { <-slots }()
					if err := h.one(ctx, file); err != nil {
						stop(err)
					}
				case <-ctx.Done():
				}
			})
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
				return explain(cause)
			}
			return nil // that is how it is ended
		}
	}
}

// one takes a file all the way into its place. An error is the same for every file.
func (h *hot) one(ctx context.Context, file hotfolder.File) error {
	t := h.bars.begin(file.Name, file.Size())
	r := &result{path: file.Name}
	err := h.run(ctx, t, file, r)
	switch {
	case ctx.Err() != nil:
		return nil //nolint:nilerr // the next start takes it up again
	case errors.Is(err, hotfolder.ErrChanged):
		t.drop()
		h.folder.Release(file, time.Time{})
		return nil
	case err != nil:
		t.drop()
		if code := status.Code(err); code == codes.Unauthenticated || code == codes.PermissionDenied {
			return err
		}
		h.bars.say("%s: %s; it is tried again in %s", t.name, oneLine(err), hotAgain)
		h.folder.Release(file, time.Now().Add(hotAgain))
		return nil
	}
	h.settle(ctx, t, file, r)
	return nil
}

func oneLine(err error) string {
	line, _, _ := strings.Cut(explain(err).Error(), "\n")
	return line
}

// run uploads a file and follows its job to the end. What is wrong with the file is its result.
func (h *hot) run(ctx context.Context, t *task, file hotfolder.File, r *result) error {
	content, key, err := h.keyOf(file)
	if err != nil {
		return err
	}
	for n := 1; ; n++ {
		meta, _ := proto.Clone(h.meta).(*inkstreamv1.UploadMetadata)
		meta.Filename, meta.IdempotencyKey = file.Name, fmt.Sprintf("%s-%d", key, n)
		j, err := h.upload(ctx, t, file, meta)
		if err == nil && ended(j) {
			j, err = h.replayed(ctx, j)
		}
		gone := isReason(err, "JOB_DELETED", "JOB_EXPIRED") || j.GetState() == inkstreamv1.Job_DELETED || j.GetState() == inkstreamv1.Job_EXPIRED
		switch {
		case gone && n < maxReplays:
			continue // the job of an earlier time is gone with its results: this is another
		case err != nil && !refused(err):
			return err
		case err != nil:
			r.err = err
			return nil //nolint:nilerr // it is the file's, not the server's
		case j.GetSha256() != content:
			return hotfolder.ErrChanged
		}
		if r.job, err = h.c.follow(ctx, j.GetId(), t.set); err != nil {
			return err
		}
		return nil
	}
}

// refused reports whether an upload's error is one of the document.
func refused(err error) bool {
	switch status.Code(err) {
	case codes.InvalidArgument, codes.AlreadyExists, codes.FailedPrecondition, codes.OutOfRange:
		return true
	case codes.ResourceExhausted:
		return retryDelay(err) < 0 // too large; not: too many
	default:
		return false
	}
}

// replayed returns the job that the same bytes became an earlier time, run again if it did not succeed: somebody has put the file back.
func (h *hot) replayed(ctx context.Context, j *inkstreamv1.Job) (*inkstreamv1.Job, error) {
	switch j.GetState() {
	case inkstreamv1.Job_FAILED, inkstreamv1.Job_PARTIAL, inkstreamv1.Job_CANCELLED:
		again, err := h.c.RetryJob(ctx, &inkstreamv1.RetryJobRequest{Id: j.GetId()})
		if isReason(err, "JOB_RUNNING", "JOB_NOT_RETRYABLE") {
			return j, nil
		}
		return again, err
	default:
		return j, nil
	}
}

// keyOf returns the hash of a file's bytes, and the idempotency key: the same bytes with the same options are the same job, whatever process asks.
func (h *hot) keyOf(file hotfolder.File) (content, key string, err error) {
	f, err := h.folder.Open(file)
	if err != nil {
		return "", "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", "", err
	}
	content = hex.EncodeToString(sum.Sum(nil))
	options, err := proto.MarshalOptions{Deterministic: true}.Marshal(h.meta)
	if err != nil {
		return "", "", err
	}
	both := sha256.Sum256(append([]byte(content), options...))
	return content, "hot-" + hex.EncodeToString(both[:24]), nil
}

// upload sends a file, and waits for as long as the server is away or too busy.
func (h *hot) upload(ctx context.Context, t *task, file hotfolder.File, meta *inkstreamv1.UploadMetadata) (j *inkstreamv1.Job, err error) {
	say := func(err error, wait time.Duration) {
		t.restart(fmt.Sprintf("the server is away or busy; again in %s", wait))
		if !h.away.Swap(true) {
			h.bars.say("%s; trying again until it answers", oneLine(err))
		}
	}
	err = patience{away: math.MaxInt64, say: say}.try(ctx, func() error {
		f, err := h.folder.Open(file)
		if err != nil {
			return err
		}
		defer f.Close()
		j, err = h.c.upload(ctx, f, meta, t.uploaded)
		return err
	})
	if err == nil && h.away.Swap(false) {
		h.bars.say("The server answers again.")
	}
	return j, err
}

// settle puts a file that has come to its end into its place, and says so.
func (h *hot) settle(ctx context.Context, t *task, file hotfolder.File, r *result) {
	place, note := hotfolder.Done, ""
	state, _, _ := r.verdict()
	if !r.fine() {
		place = hotfolder.Failed
		note = fmt.Sprintf("%s: %s\n", state, r.reason())
		if r.job != nil {
			note += fmt.Sprintf("job %s\n", r.job.GetId())
		}
	}
	var fill func(string) error
	if r.job.GetState() == inkstreamv1.Job_SUCCEEDED || r.job.GetState() == inkstreamv1.Job_PARTIAL {
		fill = func(dir string) error {
			_, err := h.c.fetch(ctx, r.job.GetId(), dir, nil)
			return err
		}
	}
	name, err := h.folder.Settle(file, place, h.results, note, fill)
	switch {
	case ctx.Err() != nil:
	case errors.Is(err, hotfolder.ErrChanged):
		t.drop()
		h.folder.Release(file, time.Time{})
	case err != nil:
		t.drop()
		h.bars.say("%s: %s; it is tried again in %s", t.name, oneLine(err), hotAgain)
		h.folder.Release(file, time.Now().Add(hotAgain))
	default:
		t.end(r)
		detail := plural(int(r.job.GetPageCount()), "page")
		if place == hotfolder.Failed {
			detail = r.reason()
		}
		h.bars.say("%s  %s  %s  %s", state, t.name, detail, printable(filepath.Join(string(place), name)))
	}
}
