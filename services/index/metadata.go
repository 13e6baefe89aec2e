package index

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"inkstream.dev/pkg/job"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// pageFacts is what metadata.json says of a page.
type pageFacts struct {
	Page       int     `json:"page"`
	Label      string  `json:"label,omitempty"`
	Outcome    string  `json:"outcome"`
	Reason     string  `json:"reason,omitempty"`
	Words      int     `json:"words"`
	Language   string  `json:"language,omitempty"`
	Quality    float64 `json:"quality,omitempty"`
	Confidence float64 `json:"confidence,omitempty"`
	DPI        float64 `json:"dpi,omitempty"`
	recognised bool
	engine     string // that recognised it
}

func newPageFacts(p *inkstreamv1.Page) pageFacts {
	f := pageFacts{
		Page: int(p.GetNumber()), Label: p.GetLabel(), Outcome: p.GetOutcome(), Reason: p.GetReason(),
		Language: p.GetLanguage(),
		Quality:  roundThousandths(p.GetQuality()), Confidence: roundThousandths(p.GetConfidence()),
		DPI:    roundThousandths(p.GetDpi()),
		engine: p.GetEngine(),
	}
	for _, b := range p.GetBlocks() {
		for _, line := range b.GetLines() {
			f.Words += len(line.GetWords())
			f.recognised = f.recognised || slices.ContainsFunc(line.GetWords(),
				func(w *inkstreamv1.Word) bool { return w.Confidence != nil })
		}
	}
	return f
}

// roundThousandths rounds to what is known; JSON has no form for what is no number.
func roundThousandths(v float32) float64 {
	f := math.Round(float64(v)*1000) / 1000
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0
	}
	return f
}

// processingFacts is what metadata.json says of the work itself.
type processingFacts struct {
	Run      int                       `json:"run"`
	Engines  map[string]string         `json:"engines"`
	Stages   map[string]job.StageTimes `json:"stages"`
	Outcomes map[string]int            `json:"outcomes"`
	Options  publicOptions             `json:"options"`
}

// publicOptions are the options that say how results came about.
type publicOptions struct {
	Languages string      `json:"languages,omitempty"`
	OCR       job.OCRMode `json:"ocr,omitempty"`
	Pages     string      `json:"pages,omitempty"`
}

// writeMetadata writes metadata.json.
func (a *assembly) writeMetadata(ctx context.Context, outcome pdfOutcomes) error {
	if !a.job.Options.WantsArtifact(job.ArtifactMetadata) {
		return nil
	}
	r := a.job
	stages := map[string]job.StageTimes{}
	for name, t := range r.Stages {
		stages[name] = t
	}
	for name, t := range a.snap.Progress.Stages {
		stages[name] = t
	}
	out := struct {
		Version   string          `json:"version"`
		Job       job.ID          `json:"job"`
		Filename  string          `json:"filename,omitempty"`
		SHA256    string          `json:"sha256"`
		Size      uint32          `json:"sizeBytes"`
		PageCount int             `json:"pageCount"`
		Language  string          `json:"language,omitempty"`
		Languages map[string]int  `json:"wordsByLanguage,omitempty"`
		Words     int             `json:"words"`
		Document  json.RawMessage `json:"document"`
		Metadata  json.RawMessage `json:"metadata,omitempty"`
		Findings  []job.Finding   `json:"findings,omitempty"`
		Signed    bool            `json:"signed,omitempty"`
		Artifacts pdfOutcomes     `json:"artifacts"`
		Process   processingFacts `json:"processing"`
		Pages     []pageFacts     `json:"pages"`
	}{
		"inkstream.v1", r.ID, r.Filename, r.SHA256, r.Size, r.PageCount, a.plan.Language(), a.plan.Languages, a.plan.Words,
		a.facts.info,
		a.facts.metadata, r.Findings, hasSignatures(r), outcome,
		processingFacts{r.Run, usedEngines(a.pages), stages, a.snap.Progress.CountOutcomes(),
			publicOptions{r.Options.Languages, r.Options.OCR, r.Options.Pages}},
		a.pages,
	}
	data, err := json.MarshalIndent(out, "", " ")
	if err != nil {
		return fmt.Errorf("encode metadata.json: %w", err)
	}
	return a.files.storeArtifact(ctx, "metadata.json", append(data, '\n'))
}

// usedEngines returns the versions of what read the document: of what recognised its pages as those tell, and of the
// rest as of this build.
func usedEngines(pages []pageFacts) map[string]string {
	out := maps.Clone(engineVersions())
	for _, p := range pages {
		name, version, ok := strings.Cut(p.engine, " ")
		switch known := out[name]; {
		case !ok || slices.Contains(strings.Split(known, ", "), version):
		case known == "":
			out[name] = version
		default: // an update came between two pages
			out[name] = known + ", " + version
		}
	}
	return out
}

// engineVersions returns the versions of what reads documents, as far as this build knows them. All callers share the
// map.
var engineVersions = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return out
	}
	i := slices.IndexFunc(info.Deps, func(m *debug.Module) bool { return m.Path == "github.com/klippa-app/go-pdfium" })
	if i >= 0 {
		out["pdfium"] = info.Deps[i].Path + " " + info.Deps[i].Version
	}
	out["inkstream"] = info.Main.Version
	return out
})
