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
	// pollInterval is how often a hot folder is looked at.
	pollInterval = 500 * time.Millisecond
	// retryInterval is when a file is tried again after an error that was not the file's.
	retryInterval = 10 * time.Second
	// maxReplays bounds the search for a key whose job has not been deleted.
	maxReplays = 8
)

// folderWatcher takes the files of a folder.
type folderWatcher struct {
	client            *client
	progress          *progress
	folder            *hotfolder.Folder
	results           string // where results go; beside the files if empty
	meta              *inkstreamv1.UploadMetadata
	serverUnreachable atomic.Bool // the server does not answer, and that has been said
}

// watchFolder takes the files that are put into a folder until ctx is done. Only what would be the same for every
// file is an error.
func (a *app) watchFolder(ctx context.Context, c *client, dir, results string, meta *inkstreamv1.UploadMetadata) error {
	folder, err := hotfolder.OpenFolder(dir)
	if errors.Is(err, hotfolder.ErrInUse) {
		return fmt.Errorf("%w\nEnd the other 'inkstream --watch' first, or watch another folder", err)
	}
	if err != nil {
		return usageError{fmt.Errorf("--watch: %w", err)}
	}
	defer folder.Close()
	h := &folderWatcher{client: c, progress: newProgress(a.streams, unknownFileCount), folder: folder, results: results,
		meta: meta}
	defer h.progress.finishBars()
	h.progress.printLine("Watching %s for PDFs; Ctrl-C ends.", printableText(dir))

	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	slots := make(chan struct{}, maxInFlight)
	var wg sync.WaitGroup
	defer wg.Wait()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		files, err := folder.TakeStableFiles(time.Now())
		if err != nil {
			stop(nil)
			return err
		}
		for _, file := range files {
			wg.Go(func() {
				select {
				case slots <- struct{}{}:
					defer func() { <-slots }()
					if err := h.processFile(ctx, file); err != nil {
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
				return explainError(cause)
			}
			return nil // that is how it is ended
		}
	}
}

// processFile takes a file all the way into its place. An error is the same for every file.
func (h *folderWatcher) processFile(ctx context.Context, file hotfolder.File) error {
	t := h.progress.startFile(file.Name, file.Size())
	r := &uploadResult{path: file.Name}
	err := h.submitAndFollow(ctx, t, file, r)
	switch {
	case ctx.Err() != nil:
		return nil //nolint:nilerr // the next start takes it up again
	case errors.Is(err, hotfolder.ErrChanged):
		t.removeUnfinished()
		h.folder.ReleaseFile(file, time.Time{})
		return nil
	case err != nil:
		t.removeUnfinished()
		if code := status.Code(err); code == codes.Unauthenticated || code == codes.PermissionDenied {
			return err
		}
		h.progress.printLine("%s: %s; it is tried again in %s", t.name, errorOnOneLine(err), retryInterval)
		h.folder.ReleaseFile(file, time.Now().Add(retryInterval))
		return nil
	}
	h.moveToPlace(ctx, t, file, r)
	return nil
}

func errorOnOneLine(err error) string {
	line, _, _ := strings.Cut(explainError(err).Error(), "\n")
	return line
}

// submitAndFollow uploads a file and follows its job to the end. What is wrong with the file is its result.
func (h *folderWatcher) submitAndFollow(ctx context.Context, t *fileProgress, file hotfolder.File,
	r *uploadResult) error {
	content, key, err := h.idempotencyKey(file)
	if err != nil {
		return err
	}
	for n := 1; ; n++ {
		meta, _ := proto.Clone(h.meta).(*inkstreamv1.UploadMetadata)
		meta.Filename, meta.IdempotencyKey = file.Name, fmt.Sprintf("%s-%d", key, n)
		j, err := h.uploadWithRetry(ctx, t, file, meta)
		if err == nil && hasEnded(j) {
			j, err = h.retryReplayedJob(ctx, j)
		}
		gone := hasReason(err, "JOB_DELETED", "JOB_EXPIRED") || j.GetState() == inkstreamv1.Job_DELETED ||
			j.GetState() == inkstreamv1.Job_EXPIRED
		switch {
		case gone && n < maxReplays:
			continue // the job of an earlier time is gone with its results: this is another
		case err != nil && !isRejection(err):
			return err
		case err != nil:
			r.err = err
			return nil //nolint:nilerr // it is the file's, not the server's
		case j.GetSha256() != content:
			return hotfolder.ErrChanged
		}
		if r.job, err = h.client.followJob(ctx, j.GetId(), t.updateFromJob); err != nil {
			return err
		}
		return nil
	}
}

// isRejection reports whether an upload's error is one of the document.
func isRejection(err error) bool {
	switch status.Code(err) {
	case codes.InvalidArgument, codes.AlreadyExists, codes.FailedPrecondition, codes.OutOfRange:
		return true
	case codes.ResourceExhausted:
		return retryDelay(err) < 0 // too large; not: too many
	default:
		return false
	}
}

// retryReplayedJob returns the job that the same bytes became an earlier time, run again if it did not succeed:
// the file has been put back.
func (h *folderWatcher) retryReplayedJob(ctx context.Context, j *inkstreamv1.Job) (*inkstreamv1.Job, error) {
	switch j.GetState() {
	case inkstreamv1.Job_FAILED, inkstreamv1.Job_PARTIAL, inkstreamv1.Job_CANCELLED:
		again, err := h.client.RetryJob(ctx, &inkstreamv1.RetryJobRequest{Id: j.GetId()})
		if hasReason(err, "JOB_RUNNING", "JOB_NOT_RETRYABLE") {
			return j, nil
		}
		return again, err
	default:
		return j, nil
	}
}

// idempotencyKey returns the hash of a file's bytes, and the idempotency key: the same bytes with the same options
// are the same job, whatever process asks.
func (h *folderWatcher) idempotencyKey(file hotfolder.File) (content, key string, err error) {
	f, err := h.folder.OpenFile(file)
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

// uploadWithRetry sends a file, and waits for as long as the server is away or too busy.
func (h *folderWatcher) uploadWithRetry(ctx context.Context, t *fileProgress, file hotfolder.File,
	meta *inkstreamv1.UploadMetadata) (j *inkstreamv1.Job, err error) {
	say := func(err error, wait time.Duration) {
		t.restartUpload(fmt.Sprintf("the server is away or busy; again in %s", wait))
		if !h.serverUnreachable.Swap(true) {
			h.progress.printLine("%s; trying again until it answers", errorOnOneLine(err))
		}
	}
	err = retryPolicy{unreachableLimit: math.MaxInt64, onWait: say}.runWithRetry(ctx, func() error {
		f, err := h.folder.OpenFile(file)
		if err != nil {
			return err
		}
		defer f.Close()
		j, err = h.client.uploadDocument(ctx, f, meta, t.addUploaded)
		return err
	})
	if err == nil && h.serverUnreachable.Swap(false) {
		h.progress.printLine("The server answers again.")
	}
	return j, err
}

// moveToPlace puts a file that has come to its end into its place, and says so.
func (h *folderWatcher) moveToPlace(ctx context.Context, t *fileProgress, file hotfolder.File, r *uploadResult) {
	place, note := hotfolder.Done, ""
	state, _, _ := r.resultState()
	if !r.succeededSoFar() {
		place = hotfolder.Failed
		note = fmt.Sprintf("%s: %s\n", state, r.failureReason())
		if r.job != nil {
			note += fmt.Sprintf("job %s\n", r.job.GetId())
		}
	}
	var fill func(string) error
	if r.job.GetState() == inkstreamv1.Job_SUCCEEDED || r.job.GetState() == inkstreamv1.Job_PARTIAL {
		fill = func(dir string) error {
			_, err := h.client.downloadArtifacts(ctx, r.job.GetId(), dir, nil)
			return err
		}
	}
	name, err := h.folder.MoveToPlace(file, place, h.results, note, fill)
	switch {
	case ctx.Err() != nil:
	case errors.Is(err, hotfolder.ErrChanged):
		t.removeUnfinished()
		h.folder.ReleaseFile(file, time.Time{})
	case err != nil:
		t.removeUnfinished()
		h.progress.printLine("%s: %s; it is tried again in %s", t.name, errorOnOneLine(err), retryInterval)
		h.folder.ReleaseFile(file, time.Now().Add(retryInterval))
	default:
		t.finishFile(r)
		detail := pluralize(int(r.job.GetPageCount()), "page")
		if place == hotfolder.Failed {
			detail = r.failureReason()
		}
		h.progress.printLine("%s  %s  %s  %s", state, t.name, detail, printableText(filepath.Join(string(place), name)))
	}
}
