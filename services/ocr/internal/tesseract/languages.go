package tesseract

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"inkstream.dev/pkg/fault"
)

const modelExt = ".traineddata"

// maxLanguages bounds the models of one page: each costs memory, and on a page that reads badly the time of a
// recognition.
const maxLanguages = 5

// notLanguages are models that cannot read: orientation and scripts, and equations.
var notLanguages = []string{"osd", "equ"}

// columnSuffix ends the names of the models that read columns which run from top to bottom.
const columnSuffix = "_vert"

// columnModel returns the model that reads columns in the first of the languages that has one; "" if none is installed.
func columnModel(datapath, languages string) string {
	for language := range strings.SplitSeq(languages, "+") {
		model := strings.TrimSuffix(language, columnSuffix) + columnSuffix
		if hasModel(datapath, model) {
			return model
		}
	}
	return ""
}

// hasModel reports whether a model is installed. Within its walls a child may open files, and not ask for their status.
func hasModel(datapath, name string) bool {
	f, err := os.Open(filepath.Join(datapath, name+modelExt))
	if err != nil {
		return false
	}
	_ = f.Close() // nothing was written
	return true
}

// DefaultDataPath returns the folder with Tesseract's models: TESSDATA_PREFIX, which is Tesseract's own name for it,
// or where distributions put it; "" if there is none.
func DefaultDataPath() string {
	for _, path := range []string{
		os.Getenv("TESSDATA_PREFIX"),
		"/usr/share/tesseract-ocr/5/tessdata", // Debian, Ubuntu
		"/usr/share/tesseract/tessdata",       // Fedora
		"/usr/share/tessdata",                 // Arch, Alpine
		"/usr/local/share/tessdata",
	} {
		if info, err := os.Stat(path); path != "" && err == nil && info.IsDir() {
			return path
		}
	}
	return ""
}

// listLanguages lists the languages in the folder, sorted; scripts are script/Latin.
func listLanguages(datapath string) ([]string, error) {
	var out []string
	for _, pattern := range []string{"*" + modelExt, "script/*" + modelExt} {
		names, err := fs.Glob(os.DirFS(datapath), pattern)
		if err != nil {
			return nil, fmt.Errorf("list languages: %w", err)
		}
		for _, name := range names {
			if language := strings.TrimSuffix(filepath.ToSlash(name), modelExt); !slices.Contains(notLanguages, language) {
				out = append(out, language)
			}
		}
	}
	slices.Sort(out)
	return out, nil
}

// normaliseLanguages returns the languages, joined by plus signs, without repeats and blanks. One that is not among
// the known ones is the fault INVALID_OPTION, which names those.
func normaliseLanguages(languages string, known []string) (string, error) {
	var out []string
	for language := range strings.SplitSeq(languages, "+") {
		language = strings.TrimSpace(language)
		switch {
		case language == "" || slices.Contains(out, language):
		case !slices.Contains(known, language):
			return "", fault.New(fault.InvalidOption, "language %.40q is not installed; these are: %s", language,
				strings.Join(known, ", "))
		default:
			out = append(out, language)
		}
	}
	switch {
	case len(out) == 0:
		return "", fault.New(fault.InvalidOption, "no language is named; installed are: %s", strings.Join(known, ", "))
	case len(out) > maxLanguages:
		return "", fault.New(fault.InvalidOption, "%d languages are named, want at most %d", len(out), maxLanguages)
	}
	return strings.Join(out, "+"), nil
}
