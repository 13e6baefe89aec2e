package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/pdftest/score"
)

// wantsImages takes all files but those that are no PDFs, broken, made to harm or need a password.
func wantsImages(f pdftest.CorpusFile) bool {
	return isPDF(f) && !slices.Contains([]string{"notpdf", "hostile", "broken"}, f.TopFolder()) &&
		!f.HasTags("needs-password")
}

// extracted is an image as pdfimages -all writes it.
type extracted struct {
	SHA256 string
	JPEG   bool
}

// imageComparison is how the images of a file agree with those that pdfimages finds.
type imageComparison struct {
	*sample
	wanted, found int // different images
	jpegs, intact int // JPEGs, and those among them that are there byte for byte
	note          string
	uncompared    bool // because pdfimages failed
}

func scoreImages(ctx context.Context, b *qualityRun, samples []*sample) (section, error) {
	sec := section{method: "The embedded images of each file, masks and duplicates aside, against those that pdfimages lists, and the bytes of its " +
		"JPEGs. Files without images are left out."}
	if !b.peers.areInstalled("pdfimages") {
		sec.method += " Not measured: pdfimages is not installed."
		return sec, nil
	}
	all, err := forEachSample(ctx, b, samples,
		func(ctx context.Context, s *sample) (imageComparison, error) { return b.compareImages(ctx, s) })
	if err != nil {
		return section{}, err
	}
	t := reportTable{title: "Images by file",
		columns: []string{"File", "Inkstream", "pdfimages", "JPEGs", "Byte for byte", "Note"}}
	files, same, jpegs, intact := 0, 0, 0, 0
	for _, p := range all {
		if p.wanted == 0 && p.found == 0 && !p.uncompared {
			continue
		}
		t.addRow(p.Path, fmt.Sprint(p.found), fmt.Sprint(p.wanted), fmt.Sprint(p.jpegs), fmt.Sprint(p.intact), p.note)
		if p.uncompared || !p.shouldHaveArtifacts() {
			continue
		}
		files, jpegs, intact = files+1, jpegs+p.jpegs, intact+p.intact
		if p.wanted == p.found {
			same++
		}
	}
	sec.summary = []summaryFigure{
		{"files with as many images as pdfimages lists", fmt.Sprintf("%d of %d", same, files), absent, "all", same == files},
		{"JPEGs byte for byte", fmt.Sprintf("%d of %d", intact, jpegs), absent, "all", intact == jpegs},
	}
	sec.tables = []reportTable{t}
	return sec, nil
}

// compareImages compares the images of a file with those that pdfimages extracts.
func (b *qualityRun) compareImages(ctx context.Context, s *sample) (imageComparison, error) {
	p := imageComparison{sample: s}
	theirs, err := b.extractImages(ctx, s.CorpusFile)
	if p.note, err = noteForFailure(err); err != nil || p.note != "" {
		p.uncompared = true
		return p, err
	}
	ours, note := s.embeddedImages()
	if p.note = note; !s.endedWithResults() {
		p.note = s.state
	}
	p.found = len(ours)
	distinct := map[string]bool{}
	for _, img := range theirs {
		if distinct[img.SHA256] {
			continue
		}
		distinct[img.SHA256] = true
		p.wanted++
		if img.JPEG {
			p.jpegs++
			if ours[img.SHA256] {
				p.intact++
			}
		}
	}
	return p, nil
}

// embeddedImages returns the digests of the embedded images that the job kept. Digests are of the files, whatever
// document.json says of them.
func (s *sample) embeddedImages() (digests map[string]bool, note string) {
	digests = map[string]bool{}
	doc := s.parsedDocument()
	if doc == nil {
		return digests, "document.json " + absentArtifact
	}
	for _, pg := range doc.Pages {
		for _, img := range pg.Images {
			if img.Name == "" || img.Mask || img.Kind == "drawing" {
				continue
			}
			data, err := os.ReadFile(s.artifactPath(img.Name))
			if err != nil {
				note = img.Name + " " + absentArtifact
				continue
			}
			sum := sha256.Sum256(data)
			digests[hex.EncodeToString(sum[:])] = true
		}
	}
	if len(digests) == 0 && note == "" && len(s.listArtifacts("images/*")) == 0 {
		note = "images/ " + absentArtifact
	}
	return digests, note
}

// extractImages lists the images of a file, masks left out.
func (b *qualityRun) extractImages(ctx context.Context, f pdftest.CorpusFile) ([]extracted, error) {
	dir, err := b.peers.cachedOutput(ctx, f, "pdfimages -all, digests", func(ctx context.Context, dir string) error {
		list, err := runCommand(ctx, "pdfimages", "-list", f.Abs)
		if err != nil {
			return err
		}
		images, err := score.ReadImageList(string(list))
		if err != nil {
			return err
		}
		if _, err := runCommand(ctx, "pdfimages", "-all", f.Abs, filepath.Join(dir, "img")); err != nil {
			return err
		}
		var out []extracted
		for _, img := range images {
			names, err := filepath.Glob(filepath.Join(dir, fmt.Sprintf("img-%03d.*", img.Number)))
			if err != nil {
				return err
			}
			if img.Type != "image" || len(names) == 0 {
				continue
			}
			data, err := os.ReadFile(names[0])
			if err != nil {
				return err
			}
			sum := sha256.Sum256(data)
			out = append(out, extracted{SHA256: hex.EncodeToString(sum[:]), JPEG: bytes.HasPrefix(data, []byte{0xff, 0xd8})})
		}
		if err := removeMatching(dir, "img-*"); err != nil {
			return err
		}
		data, err := json.Marshal(out)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, "digests.json"), data, 0o600)
	})
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(filepath.Join(dir, "digests.json"))
	if err != nil {
		return nil, err
	}
	var out []extracted
	return out, json.Unmarshal(data, &out)
}

func removeMatching(dir, pattern string) error {
	names, err := filepath.Glob(filepath.Join(dir, pattern))
	for _, name := range names {
		err = errors.Join(err, os.Remove(name))
	}
	return err
}
