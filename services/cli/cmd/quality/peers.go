package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"inkstream.dev/pkg/pdftest"
)

// peerPrograms runs the programs that the pipeline is measured against. What they make of a file does not change, so
// it is kept in a folder, by the file's digest and the program's version.
type peerPrograms struct {
	cache string
	// missingPrograms says which of the programs are not installed, with what to do about it.
	missingPrograms map[string]string
	versions        map[string]string
	timeout         time.Duration // bounds what a program takes for one file
}

// peerTimeout bounds what a program takes for one file; those that take longer count as having made nothing of it, in
// that run: the machine may have had no time for them.
const peerTimeout = 5 * time.Minute

// programs are the peers, each with the argument that makes it say its version and the Debian package that it is in.
var programs = []struct{ name, version, pkg string }{
	{"tesseract", "--version", "tesseract-ocr"},
	{"ocrmypdf", "--version", "ocrmypdf"},
	{"pdftotext", "-v", "poppler-utils"},
	{"pdftoppm", "-v", "poppler-utils"},
	{"pdfimages", "-v", "poppler-utils"},
	{"mutool", "-v", "mupdf-tools"},
	{"qpdf", "--version", "qpdf"},
}

// detectPeers asks every program for its version.
func detectPeers(ctx context.Context, cache string) (*peerPrograms, error) {
	p := &peerPrograms{cache: cache, missingPrograms: map[string]string{}, versions: map[string]string{},
		timeout: peerTimeout}
	for _, prog := range programs {
		if _, err := exec.LookPath(prog.name); err != nil {
			p.missingPrograms[prog.name] = fmt.Sprintf("%s is not installed (Debian package %s; pkg/tools/deps.sh quality installs it)", prog.name, prog.pkg)
			continue
		}
		out, err := exec.CommandContext(ctx, prog.name, prog.version).CombinedOutput()
		if err != nil && len(out) == 0 {
			return nil, fmt.Errorf("%s %s: %w", prog.name, prog.version, err)
		}
		line, _, _ := strings.Cut(string(out), "\n")
		fields := strings.Fields(line)
		if len(fields) == 0 {
			return nil, fmt.Errorf("%s %s says nothing", prog.name, prog.version)
		}
		p.versions[prog.name] = fields[len(fields)-1]
	}
	return p, nil
}

// areInstalled reports whether the programs are installed.
func (p *peerPrograms) areInstalled(names ...string) bool {
	for _, name := range names {
		if p.missingPrograms[name] != "" {
			return false
		}
	}
	return true
}

// listMissing says which programs are not installed.
func (p *peerPrograms) listMissing() []string {
	var out []string
	for _, prog := range programs {
		if why := p.missingPrograms[prog.name]; why != "" {
			out = append(out, why)
		}
	}
	return out
}

// describeVersions names the programs with their versions.
func (p *peerPrograms) describeVersions() string {
	var out []string
	for _, prog := range programs {
		if v := p.versions[prog.name]; v != "" {
			out = append(out, prog.name+" "+v)
		}
	}
	return strings.Join(out, ", ")
}

// errPeer says that a program made nothing of a file.
var errPeer = errors.New("the peer failed")

// noteForFailure makes a note of the failure of a peer; any other error stays one.
func noteForFailure(err error) (note string, other error) {
	if errors.Is(err, errPeer) {
		return err.Error(), nil
	}
	return "", err
}

// cachedOutput returns the folder with what a program made of a file, which produce fills if it has not been made
// before. recipe names the program first and then everything else that what it makes depends on. A failure is kept
// too, unless it is one for want of time; its error wraps errPeer.
func (p *peerPrograms) cachedOutput(ctx context.Context, f pdftest.CorpusFile, recipe string,
	produce func(ctx context.Context, dir string) error) (string, error) {
	name, _, _ := strings.Cut(recipe, " ")
	if why := p.missingPrograms[name]; why != "" {
		return "", fmt.Errorf("%w: %s", errPeer, why)
	}
	key := sha256.Sum256([]byte(p.versions[name] + "\n" + recipe))
	dir := filepath.Join(p.cache, f.SHA256[:2], f.SHA256, fmt.Sprintf("%s-%x", name, key[:6]))
	failure := filepath.Join(dir, "failure.txt")
	if _, err := os.Stat(dir); err != nil {
		if err := p.fillCacheFolder(ctx, f, dir, produce); err != nil {
			return "", err
		}
	}
	if why, err := os.ReadFile(failure); err == nil {
		return "", fmt.Errorf("%w: %s", errPeer, why)
	}
	return dir, nil
}

// fillCacheFolder makes the folder dir, which appears only when it is whole.
func (p *peerPrograms) fillCacheFolder(ctx context.Context, f pdftest.CorpusFile, dir string,
	produce func(ctx context.Context, dir string) error) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), ".making-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	bounded, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	if err := produce(bounded, tmp); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if bounded.Err() != nil {
			return fmt.Errorf("%w: not done in %s", errPeer, p.timeout)
		}
		why := strings.ReplaceAll(err.Error(), f.Abs, inputFile)
		if err := os.WriteFile(filepath.Join(tmp, "failure.txt"), []byte(why), 0o600); err != nil {
			return err
		}
	}
	if err := os.Rename(tmp, dir); err != nil && !errors.Is(err, os.ErrExist) { // two measures may have asked at once
		return err
	}
	return nil
}

// cachedText is keep for a program that writes one text to its standard output.
func (p *peerPrograms) cachedText(ctx context.Context, f pdftest.CorpusFile, name string,
	args ...string) (string, error) {
	dir, err := p.cachedOutput(ctx, f, name+" "+strings.Join(args, " "), func(ctx context.Context, dir string) error {
		full := make([]string, len(args))
		for i, arg := range args {
			full[i] = strings.ReplaceAll(arg, inputFile, f.Abs)
		}
		out, err := runCommand(ctx, name, full...)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, "out.txt"), out, 0o600)
	})
	if err != nil {
		return "", err
	}
	data, err := os.ReadFile(filepath.Join(dir, "out.txt"))
	return string(data), err
}

// inputFile stands for the file's path in a program's arguments, so that they are the same wherever the corpus lies.
const inputFile = "FILE"

// runCommand runs a program on one core and returns its standard output. Its error ends with the last line of what
// the program said.
func runCommand(ctx context.Context, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "OMP_THREAD_LIMIT=1")
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		lines := strings.Split(strings.TrimSpace(said.String()), "\n")
		return out.Bytes(), fmt.Errorf("%s: %w: %.200s", name, err, lines[len(lines)-1])
	}
	return out.Bytes(), nil
}

// runTesseract recognises every page with the command line program at 300 dpi. Pages are parted by form feeds.
func (p *peerPrograms) runTesseract(ctx context.Context, f pdftest.CorpusFile, languages string) (string, error) {
	if why := p.missingPrograms["pdftoppm"]; why != "" {
		return "", fmt.Errorf("%w: %s", errPeer, why)
	}
	recipe := "tesseract -l " + languages + " --dpi 300, of pdftoppm -r 300 -gray " + p.versions["pdftoppm"]
	dir, err := p.cachedOutput(ctx, f, recipe, func(ctx context.Context, dir string) error {
		if _, err := runCommand(ctx, "pdftoppm", "-r", "300", "-gray", f.Abs, filepath.Join(dir, "page")); err != nil {
			return err
		}
		pages, err := filepath.Glob(filepath.Join(dir, "*.pgm")) // sorted: the numbers have leading zeros
		if err != nil {
			return err
		}
		var text bytes.Buffer
		for _, page := range pages {
			out, err := runCommand(ctx, "tesseract", page, "-", "-l", languages, "--dpi", "300")
			if err != nil {
				return err
			}
			text.Write(out) // ends with a form feed
			if err := os.Remove(page); err != nil {
				return err
			}
		}
		return os.WriteFile(filepath.Join(dir, "out.txt"), text.Bytes(), 0o600)
	})
	if err != nil {
		return "", err
	}
	data, err := os.ReadFile(filepath.Join(dir, "out.txt"))
	return string(data), err
}

// runOCRmyPDF returns the folder with out.pdf, the searchable document that OCRmyPDF makes, and sidecar.txt, what it
// recognised. It straightens and turns pages, which it does not do unless it is told to but which makes it a better
// peer, and leaves pages with text as they are.
func (p *peerPrograms) runOCRmyPDF(ctx context.Context, f pdftest.CorpusFile, languages string) (string, error) {
	args := []string{"--skip-text", "--rotate-pages", "--deskew", "--output-type", "pdf", "--optimize", "0", "--jobs",
		"1", "-l", languages}
	return p.cachedOutput(ctx, f, "ocrmypdf "+strings.Join(args, " "), func(ctx context.Context, dir string) error {
		_, err := runCommand(ctx, "ocrmypdf", append(args, "--sidecar", filepath.Join(dir, "sidecar.txt"), f.Abs,
			filepath.Join(dir, "out.pdf"))...)
		return err
	})
}

// readOCRmyPDFText returns the text that OCRmyPDF leaves in a file: what it recognised, or, where it left pages as
// they were because they had text, that of the whole document, in the order in which it stands there.
func (p *peerPrograms) readOCRmyPDFText(ctx context.Context, f pdftest.CorpusFile, languages string) (string, error) {
	dir, err := p.runOCRmyPDF(ctx, f, languages)
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(filepath.Join(dir, "sidecar.txt"))
	if err != nil {
		return "", err
	}
	if bytes.Contains(text, []byte("[OCR skipped on page")) {
		text, err = runCommand(ctx, "pdftotext", "-enc", "UTF-8", "-raw", filepath.Join(dir, "out.pdf"), "-")
	}
	return string(text), err
}
