package pdftest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// CorpusVariable names the environment variable that says where the corpus is.
const CorpusVariable = "INKSTREAM_CORPUS"

// committedCorpus is the folder of the small corpus that is committed, in the repository.
var committedCorpus = filepath.Join("pkg", "pdftest", "testdata", "corpus")

// CorpusSet is a corpus of real PDFs: the large one where there is one beside the repository, else the committed one.
type CorpusSet struct {
	// Root is the folder that the corpus is in.
	Root  string
	Files []CorpusFile
	// Committed says that this is the small corpus of the repository.
	Committed bool
	t         testing.TB
}

// CorpusFile is one row of the corpus's manifest.
type CorpusFile struct {
	Path      string   // in the corpus, with slashes: "pdf/debian-gnuplot.pdf"
	Abs       string   // on this machine
	SHA256    string   // of the bytes, hexadecimal
	Bytes     int64    // the file's size
	Source    string   // where it is from
	Licence   string   // of the source
	Tags      []string // what is in it: "born-digital", "scanned", "encrypted", "needs-password", …
	Pages     int      // -1 where the manifest does not know
	Encrypted bool
	HasText   bool
	TruthPath string // in the corpus; empty if there is none. It ends with a slash where it is a folder.
	Notes     string
}

// HasTags reports whether the file has all the tags.
func (f CorpusFile) HasTags(tags ...string) bool {
	for _, tag := range tags {
		if !slices.Contains(f.Tags, tag) {
			return false
		}
	}
	return true
}

// TopFolder returns the first element of the file's path: "pdf", "ocr", "broken", …
func (f CorpusFile) TopFolder() string {
	folder, _, _ := strings.Cut(f.Path, "/")
	return folder
}

// Password returns the password that the manifest gives for the file; empty if there is none.
func (f CorpusFile) Password() string {
	_, rest, found := strings.Cut(f.Notes, "password: ")
	if !found || strings.HasPrefix(f.Notes, "opens without") {
		return ""
	}
	password, _, _ := strings.Cut(rest, " (")
	password, _, _ = strings.Cut(password, ";")
	return strings.TrimSpace(password)
}

// OpenCorpus opens the corpus that FindCorpus finds from the test's folder.
func OpenCorpus(t testing.TB) *CorpusSet {
	t.Helper()
	root, err := FindCorpus()
	if err != nil {
		t.Fatalf("corpus: %v", err)
	}
	files, err := ReadCorpus(root)
	if err != nil {
		t.Fatalf("corpus: %v", err)
	}
	return &CorpusSet{Root: root, Files: files, Committed: IsCommittedCorpus(root), t: t}
}

// FindCorpus returns the folder of the corpus: the one that INKSTREAM_CORPUS names, else shared/corpus in the working
// folder or one above it, else the committed corpus of the repository that the working folder is in.
func FindCorpus() (string, error) {
	if root := os.Getenv(CorpusVariable); root != "" {
		return filepath.Abs(root)
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for _, corpus := range []string{filepath.Join("shared", "corpus"), committedCorpus} {
		if root := findAbove(dir, corpus); root != "" {
			return root, nil
		}
	}
	return "", fmt.Errorf("no folder above %s has shared/corpus or %s: %w", dir, committedCorpus, fs.ErrNotExist)
}

// IsCommittedCorpus reports whether root is the folder of the small corpus that is committed.
func IsCommittedCorpus(root string) bool {
	return strings.HasSuffix(root, string(filepath.Separator)+committedCorpus)
}

// ReadCorpus reads the manifest of the corpus in the folder root, for programs that are no tests. Where root holds no
// corpus, the error wraps fs.ErrNotExist.
func ReadCorpus(root string) ([]CorpusFile, error) {
	data, err := os.ReadFile(filepath.Join(root, "manifest.tsv"))
	if err != nil {
		return nil, err
	}
	files, err := parseManifest(string(data))
	if err != nil {
		return nil, fmt.Errorf("manifest.tsv: %w", err)
	}
	for i := range files {
		files[i].Abs = filepath.Join(root, filepath.FromSlash(files[i].Path))
	}
	return files, nil
}

// findAbove looks for the corpus at a path below dir and below every folder above it.
func findAbove(dir, corpus string) string {
	for {
		root := filepath.Join(dir, corpus)
		if _, err := os.Stat(filepath.Join(root, "manifest.tsv")); err == nil {
			return root
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

// parseManifest reads tab-separated rows under a line of column names.
func parseManifest(data string) ([]CorpusFile, error) {
	lines := strings.Split(strings.TrimRight(data, "\n"), "\n")
	columns := map[string]int{}
	for i, name := range strings.Split(lines[0], "\t") {
		columns[name] = i
	}
	for _, name := range []string{"path", "sha256", "bytes", "source", "licence", "tags", "pages", "encrypted",
		"has_text", "truth", "notes"} {
		if _, ok := columns[name]; !ok {
			return nil, fmt.Errorf("no column %q", name)
		}
	}
	files := make([]CorpusFile, 0, len(lines)-1)
	for n, line := range lines[1:] {
		cells := strings.Split(line, "\t")
		if len(cells) != len(columns) {
			return nil, fmt.Errorf("line %d: %d columns, want %d", n+2, len(cells), len(columns))
		}
		cell := func(name string) string {
			if v := cells[columns[name]]; v != "-" {
				return v
			}
			return ""
		}
		f := CorpusFile{
			Path: cell("path"), SHA256: cell("sha256"), Source: cell("source"), Licence: cell("licence"), Pages: -1,
			Encrypted: cell("encrypted") == "y", HasText: cell("has_text") == "y", TruthPath: cell("truth"),
			Notes: cell("notes"),
		}
		if tags := cell("tags"); tags != "" {
			f.Tags = strings.Split(tags, ",")
		}
		var err error
		if f.Bytes, err = strconv.ParseInt(cell("bytes"), 10, 64); err != nil {
			return nil, fmt.Errorf("line %d: %w", n+2, err)
		}
		if pages := cell("pages"); pages != "" {
			if f.Pages, err = strconv.Atoi(pages); err != nil {
				return nil, fmt.Errorf("line %d: %w", n+2, err)
			}
		}
		files = append(files, f)
	}
	return files, nil
}

// FilesWithTags returns the files that have all the tags.
func (c *CorpusSet) FilesWithTags(tags ...string) []CorpusFile {
	return c.SelectFiles(func(f CorpusFile) bool { return f.HasTags(tags...) })
}

// FilesInFolder returns the files of one of the corpus's folders: "pdf", "ocr", "broken", "hostile", "encrypted",
// "notpdf", "pdfa", "tables".
func (c *CorpusSet) FilesInFolder(name string) []CorpusFile {
	return c.SelectFiles(func(f CorpusFile) bool { return f.TopFolder() == name })
}

// SelectFiles returns the files for which keep holds.
func (c *CorpusSet) SelectFiles(keep func(CorpusFile) bool) []CorpusFile {
	var out []CorpusFile
	for _, f := range c.Files {
		if keep(f) {
			out = append(out, f)
		}
	}
	return out
}

// FileAt returns the file with the given path, and ends the test if the manifest has none: with a skip where only the
// committed corpus is there, which has few of the large one's files.
func (c *CorpusSet) FileAt(path string) CorpusFile {
	c.t.Helper()
	for _, f := range c.Files {
		if f.Path == path {
			return f
		}
	}
	if c.Committed {
		c.t.Skipf("this needs %s of the large corpus, which is looked for in shared/corpus beside the repository and in the folder that %s names",
			path, CorpusVariable)
	}
	c.t.Fatalf("the corpus has no %s", path)
	return CorpusFile{}
}

// HasTruth reports whether the file's truth is a text, with form feeds between pages: what TruthText returns.
func (c *CorpusSet) HasTruth(f CorpusFile) bool { return strings.HasSuffix(f.TruthPath, ".txt") }

// TruthText returns the text that the file is known to show, and ends the test if there is none.
func (c *CorpusSet) TruthText(f CorpusFile) string {
	c.t.Helper()
	if !c.HasTruth(f) {
		c.t.Fatalf("%s has no truth", f.Path)
	}
	data, err := os.ReadFile(filepath.Join(c.Root, filepath.FromSlash(f.TruthPath)))
	if err != nil {
		c.t.Fatalf("truth of %s: %v", f.Path, err)
	}
	return string(data)
}
