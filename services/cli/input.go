package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// inputFile is a file and the folder, below the output folder, that its artifacts go to.
type inputFile struct{ path, folder string }

// inputSet collects files.
type inputSet struct {
	files       []inputFile
	usedFolders map[string]bool // folders
	seenPaths   map[string]bool // paths
}

func (in *inputSet) addFile(path, name string) {
	if in.seenPaths[path] {
		return // named twice, or by overlapping patterns
	}
	in.seenPaths[path] = true
	base := strings.TrimSuffix(name, filepath.Ext(name))
	folder := base
	for n := 2; in.usedFolders[folder]; n++ {
		folder = fmt.Sprintf("%s-%d", base, n)
	}
	in.usedFolders[folder] = true
	in.files = append(in.files, inputFile{path: path, folder: folder})
}

// expandInputs lists the files named by args, the PDFs in the folders named by them, and those that match patterns
// such as 'scans/**/*.pdf', which the shell has left alone.
func expandInputs(args []string) ([]inputFile, error) {
	in := &inputSet{usedFolders: map[string]bool{}, seenPaths: map[string]bool{}}
	for _, arg := range args {
		info, err := os.Stat(arg)
		switch {
		case err == nil && info.IsDir():
			err = in.addFolder(arg)
		case err == nil:
			in.addFile(arg, filepath.Base(arg))
		case strings.ContainsAny(arg, "*?[{"):
			err = in.addPattern(arg)
		case errors.Is(err, fs.ErrNotExist):
			err = fmt.Errorf("%s: there is no such file or folder", printableText(arg))
		}
		if err != nil {
			return nil, err
		}
	}
	if len(in.files) == 0 {
		return nil, errNoFiles
	}
	return in.files, nil
}

// addFolder adds the PDFs in a folder and those below it. Symbolic links are left alone: they may lead anywhere, and
// in circles.
func (in *inputSet) addFolder(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || !isPDFName(path) {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		in.addFile(path, name)
		return nil
	})
}

func (in *inputSet) addPattern(pattern string) error {
	found, err := doublestar.FilepathGlob(pattern, doublestar.WithFilesOnly(), doublestar.WithNoFollow())
	if err != nil {
		return fmt.Errorf("%s: %w", pattern, err)
	}
	if len(found) == 0 {
		return fmt.Errorf("%s: no file is like that", pattern)
	}
	base, _ := doublestar.SplitPattern(filepath.ToSlash(pattern))
	for _, path := range found {
		name, err := filepath.Rel(filepath.FromSlash(base), path)
		if err != nil {
			name = filepath.Base(path)
		}
		in.addFile(path, name)
	}
	return nil
}

func isPDFName(path string) bool { return strings.EqualFold(filepath.Ext(path), ".pdf") }
