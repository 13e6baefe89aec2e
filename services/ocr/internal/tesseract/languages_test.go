package tesseract

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/services/ocr/recognise"
)

func TestNormaliseLanguages(t *testing.T) {
	t.Parallel()
	known := []string{"deu", "eng", "fra", "ita", "nld", "script/Latin", "spa"}
	for _, tt := range []struct {
		languages, want string // empty: refused
	}{
		{"eng", "eng"}, {"deu+eng", "deu+eng"}, {"eng+eng", "eng"}, {" eng + deu ", "eng+deu"},
		{"script/Latin", "script/Latin"}, {"+eng+", "eng"},
		{"", ""}, {"+", ""}, {"klingon", ""}, {"ENG", ""}, {"osd", ""}, {"../eng", ""}, {"eng,deu", ""},
		{"eng+deu+fra+ita+nld+spa", ""},
	} {
		got, err := normaliseLanguages(tt.languages, known)
		if got != tt.want || (tt.want == "") != (fault.CodeOf(err) == fault.InvalidOption) {
			t.Errorf("%q: got %q, %v; want %q", tt.languages, got, err, tt.want)
		}
	}
	if _, err := normaliseLanguages("klingon", known); err == nil || !strings.Contains(err.Error(), "deu, eng") {
		t.Errorf("got %v, want the installed languages to be named", err)
	}
}

// modelFolder returns a folder with empty models.
func modelFolder(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "script"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestLanguages(t *testing.T) {
	t.Parallel()
	dir := modelFolder(t, "deu.traineddata", "osd.traineddata", "eng.traineddata", "script/Latin.traineddata", "pdf.ttf")
	cfg := DefaultConfig()
	cfg.DataPath = dir
	engine, err := New(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	t.Cleanup(func() { engine.Close() })
	if got, want := engine.Languages(), []string{"deu", "eng", "script/Latin"}; !slices.Equal(got, want) {
		t.Errorf("languages: got %v, want %v", got, want)
	}
	if err := os.WriteFile(filepath.Join(dir, "fra.traineddata"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := engine.CheckLanguages("fra"); got != "fra" || err != nil {
		t.Errorf("a language that was added: got %q, %v", got, err)
	}
}

func TestNewTakesAutoForItsLanguages(t *testing.T) {
	t.Parallel()
	engine, err := New(Config{DataPath: modelFolder(t, "eng.traineddata"), Languages: recognise.Auto,
		MemoryLimit: 1 << 30}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatalf("New: got %v, want an engine", err)
	}
	engine.Close()
}

func TestOtherScriptsAreReadWithLatinLettersBesides(t *testing.T) {
	t.Parallel()
	with, without := modelFolder(t, "eng.traineddata", "rus.traineddata"),
		modelFolder(t, "deu.traineddata", "rus.traineddata")
	for _, tt := range []struct{ folder, languages, first, again string }{
		{with, "rus", "rus+eng", "rus+eng"},
		{with, "ukr+rus", "ukr+rus+eng", "ukr+rus+eng"},
		{with, "jpn", "jpn", "jpn+eng"},
		{with, "chi_tra+chi_sim", "chi_tra+chi_sim", "chi_tra+chi_sim+eng"},
		{with, "deu", "deu", "deu"},
		{with, "rus+eng", "rus+eng", "rus+eng"},
		{with, "script/Cyrillic", "script/Cyrillic", "script/Cyrillic"},
		{without, "rus", "rus", "rus"},
	} {
		m := &handleCache{datapath: tt.folder}
		if first, again := m.addLatinModel(tt.languages); first != tt.first || again != tt.again {
			t.Errorf("%s: got %s and %s, want %s and %s", tt.languages, first, again, tt.first, tt.again)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		cfg  Config
		want fault.Code
	}{
		{"a folder without languages", Config{DataPath: modelFolder(t, "osd.traineddata"), MemoryLimit: 1 << 30},
			fault.InvalidOption},
		{"a language that is not there", Config{DataPath: modelFolder(t, "eng.traineddata"), Languages: "deu",
			MemoryLimit: 1 << 30}, fault.InvalidOption},
		{"a folder that is not there", Config{DataPath: "/nowhere", MemoryLimit: 1 << 30}, fault.Internal},
		{"too little memory", Config{DataPath: modelFolder(t, "eng.traineddata"), MemoryLimit: 1}, fault.Internal},
	} {
		if e, err := New(tt.cfg, slog.New(slog.DiscardHandler)); err == nil || fault.CodeOf(err) != tt.want {
			t.Errorf("%s: got %v, %v; want %s", tt.name, e, err, tt.want)
		}
	}
}
