package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"inkstream.dev/pkg/pdftest/score"
)

// Where make quality installs the peers that npm carries, from the repository's folder.
const (
	openDataLoaderJar = ".bin/peers/node_modules/@opendataloader/pdf/lib/opendataloader-pdf-cli.jar"
	liteParseProgram  = ".bin/peers/node_modules/.bin/liteparse"
)

// missingPeers says which of the peers that read generated documents cannot be run, and why.
func (p *peerPrograms) missingPeers() []string {
	out := p.listMissing()
	for _, peer := range []struct{ name, program, file string }{{"OpenDataLoader PDF", "java", openDataLoaderJar}, {"LiteParse", "node", liteParseProgram}} {
		if _, err := exec.LookPath(peer.program); err != nil {
			out = append(out, fmt.Sprintf("%s: %s is not installed (pkg/tools/deps.sh quality installs it)", peer.name, peer.program))
		} else if _, err := os.Stat(peer.file); err != nil {
			out = append(out, fmt.Sprintf("%s: %s is not there (make quality installs it with npm)", peer.name, peer.file))
		}
	}
	return out
}

// readWithPeers lets the peers read the documents.
func (b *qualityRun) readWithPeers(ctx context.Context, set *generatedSet, digital, scans []*generatedDocument) error {
	for _, peer := range []struct {
		name      string
		documents []*generatedDocument
		programs  []string
		read      func(ctx context.Context, d *generatedDocument) (string, error)
	}{
		{"pdftotext", digital, []string{"pdftotext"}, func(ctx context.Context, d *generatedDocument) (string, error) {
			out, err := runCommand(ctx, "pdftotext", "-enc", "UTF-8", d.Abs, "-")
			return string(out), err
		}},
		{"mutool", digital, []string{"mutool"}, func(ctx context.Context, d *generatedDocument) (string, error) {
			out, err := runCommand(ctx, "mutool", "draw", "-q", "-F", "txt", d.Abs)
			return string(out), err
		}},
		{"tesseract", scans, []string{"tesseract", "pdftoppm"}, func(ctx context.Context, d *generatedDocument) (string, error) {
			return b.peers.runTesseract(ctx, d.CorpusFile, d.truth.Language)
		}},
		{"OCRmyPDF", scans, []string{"ocrmypdf", "pdftotext"}, func(ctx context.Context, d *generatedDocument) (string, error) {
			return b.peers.readOCRmyPDFText(ctx, d.CorpusFile, d.truth.Language)
		}},
	} {
		if len(peer.documents) == 0 || !b.peers.areInstalled(peer.programs...) {
			continue
		}
		begin := time.Now()
		samples := make([]*sample, len(peer.documents))
		of := map[*sample]*generatedDocument{}
		for i, d := range peer.documents {
			samples[i], of[d.sample] = d.sample, d
		}
		texts, err := forEachSample(ctx, b, samples, func(ctx context.Context, s *sample) (string, error) {
			text, err := peer.read(ctx, of[s])
			if err != nil && ctx.Err() == nil {
				return "", nil // a peer that fails has read nothing
			}
			return text, err
		})
		if err != nil {
			return err
		}
		for i, d := range peer.documents {
			d.readings[peer.name] = reading{text: texts[i]}
		}
		set.seconds[peer.name] = time.Since(begin).Seconds() / float64(countPages(peer.documents, peer.documents[0].scan))
	}
	return b.readWithBatchPeers(ctx, set, digital)
}

// readWithBatchPeers lets those peers read that take a folder of documents at once.
func (b *qualityRun) readWithBatchPeers(ctx context.Context, set *generatedSet, digital []*generatedDocument) error {
	if len(digital) == 0 {
		return nil
	}
	input, err := os.MkdirTemp(b.tempDir, "peers-*")
	if err != nil {
		return err
	}
	for _, d := range digital {
		if err := os.Symlink(d.Abs, filepath.Join(input, filepath.Base(d.Abs))); err != nil {
			return err
		}
	}
	for _, peer := range []struct {
		name, file, text string
		command          func(output string) []string
	}{
		{"OpenDataLoader", openDataLoaderJar, ".txt", func(output string) []string {
			return []string{"java", "-jar", openDataLoaderJar, "-q", "-f", "text,markdown", "--image-output", "off", "-o", output, input}
		}},
		{"LiteParse", liteParseProgram, ".txt", func(output string) []string {
			return []string{liteParseProgram, "batch-parse", input, output, "--no-ocr", "-q"}
		}},
	} {
		if _, err := os.Stat(peer.file); err != nil {
			continue // missingPeers says so
		}
		output := input + "-" + peer.name
		command, begin := peer.command(output), time.Now()
		if _, err := runCommand(ctx, command[0], command[1:]...); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", peer.name, err)
		}
		set.seconds[peer.name] = time.Since(begin).Seconds() / float64(countPages(digital, false))
		for _, d := range digital {
			if d.readings[peer.name], err = readPeerFiles(filepath.Join(output, strings.TrimSuffix(filepath.Base(d.Abs), ".pdf")), peer.text); err != nil {
				return err
			}
		}
	}
	return nil
}

// readPeerFiles reads the text that a peer wrote, and the Markdown if it did; what is not there was not read.
func readPeerFiles(path, ending string) (reading, error) {
	text, err := os.ReadFile(path + ending)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return reading{}, err
	}
	r := reading{text: string(text)}
	markdown, err := os.ReadFile(path + ".md")
	if err != nil {
		return r, nil //nolint:nilerr // the peer writes none
	}
	parsed := score.ParseMarkdown(string(markdown))
	r.structured, r.headings, r.blocks = true, parsed.Headings, parsed.Blocks
	for _, grid := range parsed.Tables {
		r.tables = append(r.tables, score.PlacedTable{Grid: grid})
	}
	return r, nil
}
