package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"inkstream.dev/pkg/pdftest"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/standalone"
)

// sample is a file of the corpus with what the pipeline made of it.
type sample struct {
	pdftest.CorpusFile
	state string // the job's last state, or why there was no job
	dir   string // the job's artifacts, under their names
	// allArtifacts asks for those too that a job makes on request only.
	allArtifacts bool

	once     sync.Once // reads document
	document *document
}

// tesseractLanguages returns the Tesseract codes of the languages that the manifest says the file is in.
func (s *sample) tesseractLanguages() string {
	for _, tag := range s.Tags {
		if l, ok := strings.CutPrefix(tag, "lang-"); ok {
			return l
		}
	}
	return "eng"
}

// readArtifact returns an artifact; false if it is not there.
func (s *sample) readArtifact(name string) (string, bool) {
	data, err := os.ReadFile(s.artifactPath(name))
	return string(data), err == nil
}

func (s *sample) artifactPath(name string) string {
	return filepath.Join(s.dir, filepath.FromSlash(name))
}

// listArtifacts returns the names of the artifacts that match a pattern, sorted.
func (s *sample) listArtifacts(pattern string) []string {
	found, _ := filepath.Glob(s.artifactPath(pattern)) // the patterns are constants
	for i, path := range found {
		found[i], _ = filepath.Rel(s.dir, path) // it is below
	}
	slices.Sort(found)
	return found
}

// parsedDocument returns document.json, which is read once; nil if it is not there or cannot be read, which the
// measure of JSON is there to tell.
func (s *sample) parsedDocument() *document {
	s.once.Do(func() {
		data, err := os.ReadFile(s.artifactPath("document.json"))
		doc := new(document)
		if err == nil && json.Unmarshal(data, doc) == nil {
			s.document = doc
		}
	})
	return s.document
}

// inFlight is how many documents are in the pipeline at once: enough to keep every stage busy.
const inFlight = 16

// processSamples takes the samples through a pipeline of its own.
func processSamples(ctx context.Context, samples []*sample, workers int) error {
	dir, err := os.MkdirTemp("", "inkstream-quality-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	return standalone.RunWith(ctx, standalone.EphemeralConfig(dir, workers), os.Stderr,
		func(ctx context.Context, addr string) error {
			conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
			if err != nil {
				return err
			}
			defer conn.Close()
			client := inkstreamv1.NewInkstreamServiceClient(conn)
			g, ctx := errgroup.WithContext(ctx)
			g.SetLimit(inFlight)
			for _, s := range samples {
				g.Go(func() error {
					if err := processSample(ctx, client, s); err != nil {
						return fmt.Errorf("%s: %w", s.Path, err)
					}
					return os.WriteFile(filepath.Join(s.dir, stateFile), []byte(s.state), 0o600)
				})
			}
			return g.Wait()
		})
}

// stateFile keeps a job's state beside its artifacts.
const stateFile = "state"

// processSample runs one job. What is wrong with the file is its state; an error is one of the pipeline.
func processSample(ctx context.Context, client inkstreamv1.InkstreamServiceClient, s *sample) error {
	if err := os.RemoveAll(s.dir); err != nil {
		return err
	}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return err
	}
	j, err := uploadSample(ctx, client, s)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s.state = fmt.Sprintf("not taken: %v", err)
		return nil
	}
	watch, err := client.WatchJob(ctx, &inkstreamv1.WatchJobRequest{Id: j.GetId()})
	if err != nil {
		return err
	}
	for {
		next, err := watch.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		j = next
	}
	s.state = strings.TrimSpace(j.GetState().String() + " " + j.GetError().GetCode())
	list, err := client.ListArtifacts(ctx, &inkstreamv1.ListArtifactsRequest{Id: j.GetId()})
	if err != nil {
		return err
	}
	for _, a := range list.GetArtifacts() {
		if err := downloadArtifact(ctx, client, j.GetId(), a.GetName(), s.artifactPath(a.GetName())); err != nil {
			return fmt.Errorf("%s: %w", a.GetName(), err)
		}
	}
	return nil
}

func uploadSample(ctx context.Context, client inkstreamv1.InkstreamServiceClient, s *sample) (*inkstreamv1.Job, error) {
	data, err := os.ReadFile(s.Abs)
	if err != nil {
		return nil, err
	}
	stream, err := client.UploadDocument(ctx)
	if err != nil {
		return nil, err
	}
	// The artifacts that are measured are all among those that a job makes unless it is told otherwise.
	opts := &inkstreamv1.JobOptions{Lane: "batch", Languages: s.tesseractLanguages()}
	if s.allArtifacts {
		opts.Artifacts = []string{"all"}
	}
	meta := &inkstreamv1.UploadMetadata{Filename: filepath.Base(s.Path), Options: opts}
	err = stream.Send(&inkstreamv1.UploadDocumentRequest{Part: &inkstreamv1.UploadDocumentRequest_Metadata{Metadata: meta}})
	for chunk := range slices.Chunk(data, 256<<10) {
		if err != nil {
			break // the answer says why
		}
		err = stream.Send(&inkstreamv1.UploadDocumentRequest{Part: &inkstreamv1.UploadDocumentRequest_Data{Data: chunk}})
	}
	return stream.CloseAndRecv()
}

func downloadArtifact(ctx context.Context, client inkstreamv1.InkstreamServiceClient, id, name, path string) error {
	stream, err := client.DownloadArtifact(ctx, &inkstreamv1.DownloadArtifactRequest{Id: id, Name: name})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		body, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return f.Close()
		}
		if err != nil {
			return err
		}
		if _, err := f.Write(body.GetData()); err != nil {
			return err
		}
	}
}

// endedWithResults reports whether the job ended with results. One that was rejected, with its reason, yields no
// artifacts and lacks none.
func (s *sample) endedWithResults() bool {
	return strings.HasPrefix(s.state, inkstreamv1.Job_SUCCEEDED.String()) ||
		strings.HasPrefix(s.state, inkstreamv1.Job_PARTIAL.String())
}

// shouldHaveArtifacts reports whether the job should have artifacts: of a sound document, one that failed should too.
func (s *sample) shouldHaveArtifacts() bool {
	return s.endedWithResults() || strings.HasPrefix(s.state, inkstreamv1.Job_FAILED.String())
}
