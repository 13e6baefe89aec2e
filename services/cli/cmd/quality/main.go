// Command quality measures how good the pipeline's artifacts are on a corpus of real documents with known contents,
// and how good those of well-known programs are on the same files. It prints tables, and keeps those of the large
// corpus in RESULTS.md beside this file, the record of what each change of the pipeline did.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"inkstream.dev/pkg/lifecycle"
	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/sandbox"
	"inkstream.dev/services/standalone"
)

// measure measures one kind of artifact.
type measure struct {
	name, title string
	// wants reports whether a file has to do with it.
	wants func(f pdftest.CorpusFile) bool
	// score measures the files that it wants.
	score func(ctx context.Context, b *qualityRun, samples []*sample) (section, error)
	// own measures documents that the measure makes itself; no file of the corpus has to do with it.
	own func(ctx context.Context, b *qualityRun) (section, error)
	// alone says that the measure reads its files itself, and takes nothing from the pipeline.
	alone bool
}

var measures = []measure{
	{name: "recognition", title: "Recognition", wants: wantsRecognition, score: scoreRecognition},
	{name: "verification", title: "Verification", wants: wantsRecognition, score: scoreVerification, alone: true},
	{name: "native", title: "Native text", wants: wantsNative, score: scoreNative},
	{name: "markdown", title: "Markdown", wants: wantsMarkdown, score: scoreMarkdown},
	{name: "tables", title: "Tables", wants: wantsTables, score: scoreTables},
	{name: "searchable", title: "Searchable PDF", wants: wantsSearchable, score: scoreSearchable},
	{name: "images", title: "Images", wants: wantsImages, score: scoreImages},
	{name: "json", title: "JSON", wants: wantsJSON, score: scoreJSON},
	{name: "generated", title: "Generated pages", own: scoreGenerated},
	{name: "layers", title: "Text layers", own: scoreTextLayers},
}

// qualityRun is what the measures share.
type qualityRun struct {
	*settings
	peers   *peerPrograms
	tempDir string // for what is looked at once
}

type settings struct {
	corpus, only, files, cache, out, artifacts, schema, families string
	ignoreCache                                                  bool
	scans                                                        bool
	jobs, generated, scanEvery                                   int
	seed                                                         uint64
}

func main() {
	sandbox.Main(standalone.ChildPrograms()...)
	ctx, stop := lifecycle.SignalContext(context.Background())
	err := runMeasures(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "quality:", err)
		os.Exit(1)
	}
}

func parseSettings(args []string) (*settings, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	s := &settings{}
	fs := flag.NewFlagSet("quality", flag.ContinueOnError)
	fs.StringVar(&s.corpus, "corpus", "",
		"`folder` of the corpus (default $INKSTREAM_CORPUS, else shared/corpus above this folder, else the committed one)")
	fs.StringVar(&s.only, "only", "", "measure only `these`, with commas: "+strings.Join(measureNames(), ", "))
	fs.StringVar(&s.files, "files", "",
		"take only files whose path in the corpus matches this `glob`, e.g. 'ocr/unlv/*'; no record is written unless -out is given")
	fs.IntVar(&s.generated, "n", defaultGenerated, "how many documents to generate of each set of seeds")
	fs.StringVar(&s.families, "families", "", "generate only documents of `these` families, with commas")
	fs.BoolVar(&s.scans, "scans", true, "measure generated documents as scans too")
	fs.IntVar(&s.scanEvery, "scan-every", 3, "of how many generated documents one is measured as a scan too")
	fs.Uint64Var(&s.seed, "seed", 0, "generate documents from this `seed` only, and write no record; 0 means the record's seed and a fresh one")
	fs.IntVar(&s.jobs, "jobs", runtime.NumCPU(), "how much is worked on at once")
	fs.StringVar(&s.cache, "cache", filepath.Join(cache, "inkstream-quality"),
		"`folder` that keeps what the other programs made")
	fs.StringVar(&s.out, "out", "",
		"`file` for the record; sections that were not measured stay as they are in it (default, for the large corpus, "+
			recordPath+")")
	fs.StringVar(&s.schema, "schema", "proto/inkstream/v1/document.schema.json", "JSON Schema of document.json")
	fs.StringVar(&s.artifacts, "artifacts", "", "keep the pipeline's artifacts in this `folder`")
	fs.BoolVar(&s.ignoreCache, "again", false,
		"measure what -artifacts holds from an earlier run, and run the pipeline only for what it lacks")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	for name := range strings.SplitSeq(s.only, ",") {
		if name != "" && !slices.Contains(measureNames(), name) {
			return nil, fmt.Errorf("-only %s: want one of %s", name, strings.Join(measureNames(), ", "))
		}
	}
	if _, err := path.Match(s.files, ""); err != nil {
		return nil, fmt.Errorf("-files %s: %w", s.files, err)
	}
	if s.jobs < 1 {
		return nil, fmt.Errorf("-jobs %d: want at least 1", s.jobs)
	}
	if s.ignoreCache && s.artifacts == "" {
		return nil, errors.New("-again: -artifacts is missing")
	}
	if s.corpus == "" {
		if s.corpus, err = pdftest.FindCorpus(); err != nil {
			return nil, fmt.Errorf("-corpus: %w", err)
		}
	}
	if s.scanEvery < 1 {
		return nil, fmt.Errorf("-scan-every %d: want at least 1", s.scanEvery)
	}
	if s.generated < 1 {
		return nil, fmt.Errorf("-n %d: want at least 1", s.generated)
	}
	if s.out == "" && s.files == "" && s.families == "" && s.seed == 0 && s.generated == defaultGenerated && !pdftest.IsCommittedCorpus(s.corpus) {
		s.out = recordPath
	}
	return s, nil
}

// recordPath is where the record is, from the repository's folder.
const recordPath = "services/cli/cmd/quality/RESULTS.md"

func measureNames() []string {
	var out []string
	for _, m := range measures {
		out = append(out, m.name)
	}
	return out
}

func runMeasures(ctx context.Context, args []string) error {
	set, err := parseSettings(args)
	if err != nil {
		return err
	}
	files, err := pdftest.ReadCorpus(set.corpus)
	if err != nil {
		return fmt.Errorf("corpus: %w", err)
	}
	b := &qualityRun{settings: set}
	if b.tempDir, err = os.MkdirTemp("", "inkstream-quality-*"); err != nil {
		return err
	}
	defer os.RemoveAll(b.tempDir)
	if b.artifacts == "" {
		b.artifacts = filepath.Join(b.tempDir, "artifacts")
	}
	if b.peers, err = detectPeers(ctx, set.cache); err != nil {
		return err
	}
	for _, why := range b.peers.listMissing() {
		fmt.Fprintln(os.Stderr, "left out:", why)
	}
	return b.runAndRecord(ctx, b.selectSamples(files))
}

// chosenMeasures returns the measures to take.
func (s *settings) chosenMeasures() []measure {
	return slices.DeleteFunc(slices.Clone(measures), func(m measure) bool {
		return s.only != "" && !slices.Contains(strings.Split(s.only, ","), m.name)
	})
}

// selectSamples returns the files that the chosen measures want, by path.
func (b *qualityRun) selectSamples(files []pdftest.CorpusFile) []*sample {
	var out []*sample
	for _, f := range files {
		if match, _ := path.Match(b.files, f.Path); b.files != "" && !match { // the pattern was checked
			continue
		}
		if slices.ContainsFunc(b.chosenMeasures(), func(m measure) bool { return m.own == nil && m.wants(f) }) {
			out = append(out, &sample{CorpusFile: f, dir: filepath.Join(b.artifacts, filepath.FromSlash(f.Path))})
		}
	}
	slices.SortFunc(out, func(x, y *sample) int { return strings.Compare(x.Path, y.Path) })
	return out
}

// runAndRecord runs the pipeline, then the measures, and writes the record.
func (b *qualityRun) runAndRecord(ctx context.Context, samples []*sample) error {
	var todo []*sample
	for _, s := range samples {
		if state, err := os.ReadFile(s.artifactPath(stateFile)); b.ignoreCache && err == nil {
			s.state = string(state)
		} else if b.isProcessed(s.CorpusFile) {
			todo = append(todo, s)
		}
	}
	if len(todo) > 0 {
		fmt.Fprintf(os.Stderr, "running %d files through the pipeline\n", len(todo))
		if err := processSamples(ctx, todo, b.jobs); err != nil {
			return err
		}
	}
	var sections []section
	for _, m := range b.chosenMeasures() {
		sec, measured, err := b.takeMeasure(ctx, m, samples)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		if measured {
			sec.title = m.title
			sections = append(sections, sec)
		}
	}
	printSections(os.Stdout, sections)
	if b.out == "" {
		return nil
	}
	return writeRecord(b.out, sections, b.peers.describeVersions())
}

// isProcessed reports whether a measure takes what the pipeline makes of a file.
func (b *qualityRun) isProcessed(f pdftest.CorpusFile) bool {
	return slices.ContainsFunc(b.chosenMeasures(), func(m measure) bool { return m.own == nil && !m.alone && m.wants(f) })
}

// takeMeasure takes a measure; false if there is nothing to measure.
func (b *qualityRun) takeMeasure(ctx context.Context, m measure, samples []*sample) (section, bool, error) {
	if m.own != nil {
		sec, err := m.own(ctx, b)
		return sec, true, err
	}
	var its []*sample
	for _, s := range samples {
		if m.wants(s.CorpusFile) {
			its = append(its, s)
		}
	}
	if len(its) == 0 {
		return section{}, false, nil
	}
	fmt.Fprintf(os.Stderr, "measuring %s of %d files\n", m.name, len(its))
	sec, err := m.score(ctx, b, its)
	return sec, true, err
}

// forEachSample calls f for every sample, as many at once as there are to be jobs, and returns what it returned, in
// the samples' order.
func forEachSample[T any](ctx context.Context, b *qualityRun, samples []*sample,
	f func(ctx context.Context, s *sample) (T, error)) ([]T, error) {
	out := make([]T, len(samples))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(b.jobs)
	for i, s := range samples {
		g.Go(func() error {
			var err error
			if out[i], err = f(ctx, s); err != nil {
				return fmt.Errorf("%s: %w", s.Path, err)
			}
			return nil
		})
	}
	return out, g.Wait()
}
