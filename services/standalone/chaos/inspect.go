package chaos

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/reconcile"
	"inkstream.dev/pkg/search"
	"inkstream.dev/pkg/stage"
	"inkstream.dev/pkg/telemetry"
)

// Inspector looks behind the API, at what is stored.
type Inspector struct {
	Bus   *bus.Bus
	Jobs  *job.Store
	Blobs *blob.Store
	Index search.Store
}

// Evidence is all that is known of a job that has ended, but for what differs between any two: ids and times.
type Evidence struct {
	State string
	// Code is that of the job's error.
	Code     string
	Outcomes map[string]int
	// FailedPages holds page ranges by code.
	FailedPages map[string]string
	// Failures are the failed tries that the record counts.
	Failures map[string]int
	// Blobs are the digests of what is stored for the job, by name in its folder.
	Blobs map[string]string
	// Events counts the events of the audit trail by type; Rows the index's rows of each page.
	Events map[string]int
	Rows   map[int]int
}

// CollectEvidence collects what is known of a job, the file being what was uploaded.
func (i *Inspector) CollectEvidence(ctx context.Context, id string, f pdftest.File) (Evidence, error) {
	rec, err := i.Jobs.LoadRecord(ctx, job.DefaultTenant, job.ID(id))
	if err != nil {
		return Evidence{}, err
	}
	e := Evidence{State: string(rec.State), Outcomes: rec.Outcomes, Failures: rec.Failures,
		FailedPages: make(map[string]string)}
	if rec.Error != nil {
		e.Code = string(rec.Error.Code)
	}
	for code, pages := range rec.FailedPages {
		e.FailedPages[string(code)] = pages
	}
	if e.Blobs, err = i.digestBlobs(ctx, rec); err != nil {
		return e, err
	}
	if e.Events, err = i.countEvents(ctx, id); err != nil {
		return e, err
	}
	e.Rows, err = i.countIndexRows(ctx, id, f)
	return e, err
}

// recordedTimes are the recorded times in metadata.json.
var recordedTimes = regexp.MustCompile(`("(?:start|end|busy)": *)("[^"]*"|[0-9.e+-]+)`)

// digestBlobs digests everything below the job's folder but the manifest, which is all ids and times.
func (i *Inspector) digestBlobs(ctx context.Context, rec *job.Record) (map[string]string, error) {
	digests := make(map[string]string)
	folder := job.Folder(rec.Tenant, rec.ID)
	for entry, err := range i.Blobs.ListBlobs(ctx, folder) {
		if err != nil {
			return nil, err
		}
		name := strings.TrimPrefix(entry.Key, folder)
		if name == "manifest.json" || name == "source.pdf" {
			digests[name] = "there"
			continue
		}
		data, err := i.Blobs.ReadBytes(ctx, entry.Key, 1<<30)
		if errors.Is(err, blob.ErrNotFound) {
			continue // it was deleted since it was listed
		}
		if err != nil {
			return nil, err
		}
		if path.Base(name) == "metadata.json" {
			data = recordedTimes.ReplaceAll(data, []byte("$1<time>"))
		}
		data = bytes.ReplaceAll(data, []byte(rec.ID), []byte("<job>"))
		data = bytes.ReplaceAll(data, []byte(rec.SHA256), []byte("<sha256>"))
		sum := sha256.Sum256(data)
		digests[name] = fmt.Sprintf("%d bytes %s", len(data), hex.EncodeToString(sum[:6]))
	}
	return digests, nil
}

// countEvents counts what the stream holds, repeats included, by type.
func (i *Inspector) countEvents(ctx context.Context, id string) (map[string]int, error) {
	stream, err := i.Bus.JetStream().Stream(ctx, bus.EventStream)
	if err != nil {
		return nil, err
	}
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter("ink.events."+job.DefaultTenant+"."+id+".>"))
	if err != nil {
		return nil, err
	}
	counts := make(map[string]int)
	for subject, n := range info.State.Subjects {
		counts[subject[strings.LastIndexByte(subject, '.')+1:]] = int(n)
	}
	return counts, nil
}

// countIndexRows looks for each page by the word that stands on no other.
func (i *Inspector) countIndexRows(ctx context.Context, id string, f pdftest.File) (map[int]int, error) {
	rows := make(map[int]int)
	for _, page := range f.Pages {
		if page.Marker == "" {
			continue
		}
		res, err := i.Index.Search(ctx, search.Query{Tenant: job.DefaultTenant, Job: id, Text: page.Marker})
		if err != nil {
			return nil, err
		}
		for _, hit := range res.Hits {
			rows[hit.Page]++
		}
	}
	return rows, nil
}

// DiffFrom says in what a job differs from another of the same document.
func (e Evidence) DiffFrom(want Evidence) []string {
	var diffs []string
	if e.State != want.State || e.Code != want.Code {
		diffs = append(diffs, fmt.Sprintf("state %s %s, want %s %s", e.State, e.Code, want.State, want.Code))
	}
	diffs = append(diffs, diffMaps("outcome", e.Outcomes, want.Outcomes)...)
	diffs = append(diffs, diffMaps("failed pages", e.FailedPages, want.FailedPages)...)
	diffs = append(diffs, diffMaps("counted failures of", e.Failures, want.Failures)...)
	diffs = append(diffs, diffMaps("blob", e.Blobs, want.Blobs)...)
	diffs = append(diffs, diffMaps("events", e.Events, want.Events)...)
	return append(diffs, diffMaps("index rows of page", e.Rows, want.Rows)...)
}

func diffMaps[K ~string | ~int, V comparable](what string, got, want map[K]V) []string {
	var diffs []string
	keys := maps.Clone(got)
	if keys == nil {
		keys = make(map[K]V)
	}
	maps.Copy(keys, want)
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		if got[k] != want[k] {
			diffs = append(diffs, fmt.Sprintf("%s %v: %v, want %v", what, k, got[k], want[k]))
		}
	}
	return diffs
}

// FindResidue says what is left that should not be once every job has ended: tasks in the queues, temporary blobs,
// pieces of blobs that were never finished.
func (i *Inspector) FindResidue(ctx context.Context) ([]string, error) {
	var left []string
	for _, s := range bus.AllStages() {
		stream, err := i.Bus.JetStream().Stream(ctx, s.StreamName())
		if err != nil {
			return nil, err
		}
		if n := stream.CachedInfo().State.Msgs; n > 0 {
			left = append(left, fmt.Sprintf("%d tasks in %s", n, s.StreamName()))
		}
	}
	for entry, err := range i.Blobs.ListBlobs(ctx, "") {
		if err != nil {
			return nil, err
		}
		if strings.Contains(entry.Key, "/tmp/") {
			left = append(left, "temporary blob "+entry.Key)
		}
	}
	return left, nil
}

// SweepUploads removes what uploads have left that came to nothing, and makes jobs of those that were complete,
// however young they are: it is the reconciler's first pass with none of its patience, so no upload may be under way.
func (i *Inspector) SweepUploads(ctx context.Context) (reconcile.Report, error) {
	tel := telemetry.NewDiscard()
	env := stage.Deps{Bus: i.Bus, Jobs: i.Jobs, Blobs: i.Blobs, Tel: tel, Log: slog.New(slog.DiscardHandler)}
	r, err := reconcile.New(reconcile.Config{Interval: time.Hour, Patience: time.Hour}, env, i.Index)
	if err != nil {
		return reconcile.Report{}, err
	}
	return r.RunPass(ctx)
}
