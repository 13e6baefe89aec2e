package job

import (
	"regexp"
	"slices"
	"strings"
)

// Artifact is a kind of output that a job can yield.
type Artifact string

// The kinds of artifacts.
const (
	ArtifactText       Artifact = "text"
	ArtifactJSON       Artifact = "json"
	ArtifactMarkdown   Artifact = "markdown"
	ArtifactTables     Artifact = "tables"
	ArtifactImages     Artifact = "images"
	ArtifactSearchable Artifact = "searchable_pdf"
	ArtifactMetadata   Artifact = "metadata"
	ArtifactChunks     Artifact = "chunks"
	ArtifactLayout     Artifact = "layout_pdf"
	ArtifactHOCR       Artifact = "hocr"
	ArtifactALTO       Artifact = "alto"
)

// artifactType is a row of the one table of artifacts. Lists, checks, completions and documentation follow from it.
type artifactType struct {
	kind Artifact
	// asked says that no job yields the artifact by default.
	asked bool
	// files is a pattern of the names of its files.
	files string
}

var artifactTypes = []artifactType{
	{kind: ArtifactText, files: `text\.txt`},
	{kind: ArtifactJSON, files: `document\.json`},
	{kind: ArtifactMarkdown, files: `document\.md`},
	{kind: ArtifactTables, files: `tables/(merges\.json|[1-9]\d*-[1-9]\d*\.csv)`},
	{kind: ArtifactImages, files: `images/[1-9]\d*-[1-9]\d*\.[a-z0-9]+`},
	{kind: ArtifactSearchable, files: `searchable\.pdf`},
	{kind: ArtifactMetadata, files: `metadata\.json|attachments/[1-9]\d*-.+`},
	{kind: ArtifactChunks, files: `chunks\.jsonl`},
	{kind: ArtifactLayout, asked: true, files: `layout\.pdf`},
	{kind: ArtifactHOCR, asked: true, files: `hocr/[1-9]\d*\.html`},
	{kind: ArtifactALTO, asked: true, files: `alto/[1-9]\d*\.xml`},
}

var artifactFiles = compileArtifactFiles()

func compileArtifactFiles() *regexp.Regexp {
	var patterns []string
	for _, t := range artifactTypes {
		patterns = append(patterns, t.files)
	}
	return regexp.MustCompile(`^(` + strings.Join(patterns, "|") + `)$`)
}

// AllArtifacts lists every kind, those of the default first.
func AllArtifacts() []Artifact {
	var all []Artifact
	for _, t := range artifactTypes {
		all = append(all, t.kind)
	}
	return all
}

// IsArtifactFile reports whether an artifact has files of that name.
func IsArtifactFile(name string) bool { return artifactFiles.MatchString(name) }

// WantsArtifact reports whether the job is to yield an artifact.
func (o *Options) WantsArtifact(a Artifact) bool {
	if len(o.Artifacts) > 0 {
		return slices.Contains(o.Artifacts, a)
	}
	return slices.ContainsFunc(artifactTypes, func(t artifactType) bool { return t.kind == a && !t.asked })
}

// BundledPages is up to how many pages a document's artifacts are one blob (see blob.Store.Bundle): it spares each of
// them a file, and a wait for the disk or a request to the bucket, which cost more than what is in it.
const BundledPages = 8

// BundlesArtifacts reports whether the artifacts of a document of so many pages are one blob. Where blobs are not
// compressed they are not: services of an older version may read them.
func BundlesArtifacts(pages int, compresses bool) bool { return pages <= BundledPages && compresses }
