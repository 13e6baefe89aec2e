package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestCompareFolders(t *testing.T) {
	t.Parallel()
	const id, other = "01m85vbjtqghvaezkmdq49153q", "01m85vccwa116sg4d91gfs8a5j"
	old, now := t.TempDir(), t.TempDir()
	for name, contents := range map[string][2]string{
		"pdf/a/text.txt":      {"the same", "the same"},
		"pdf/a/metadata.json": {`{"job": "` + id + `", "busy": 0.5}`, `{"job": "` + other + `", "busy": 1e-3}`},
		"pdf.json":            {`{"endTime":"2026-11-24T10:44:01.45Z"}`, `{"endTime":"2027-01-24T10:44:02Z"}`},
		"pdf/b/text.txt":      {"one " + id, "one " + other},
		"pdf/b/document.json": {`{"words": 3}`, `{"words": 4}`},
		"pdf/c/text.txt":      {"gone", ""},
		"pdf/d/text.txt":      {"", "new"},
		"pdf.err":             {"slow", "quick"},
	} {
		for i, root := range []string{old, now} {
			path := filepath.Join(root, name)
			if contents[i] == "" {
				continue
			}
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(contents[i]), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	files, got, err := compareFolders(old, now)
	want := []string{"pdf/b/document.json: differs from byte 10 on", "pdf/b/text.txt: differs from byte 10 on",
		"pdf/c/text.txt: is gone", "pdf/d/text.txt: is new"}
	if err != nil || files != 7 || !slices.Equal(got, want) {
		t.Errorf("got %d files, %q, error %v, want 7 and %q", files, got, err, want)
	}
}

func TestUnstableFilesAreNoDifference(t *testing.T) {
	t.Parallel()
	repeats := 0
	differing, err := dropUnstable([]string{"pdf/a/layout.pdf: differs from byte 10 on", "pdf/a/text.txt: differs from byte 1 on",
		"pdf.json: differs from byte 3 on"}, func(string) ([]string, error) {
		repeats++
		return []string{"a/layout.pdf: differs from byte 12 on"}, nil
	})
	if err != nil || differing != 2 || repeats != 1 {
		t.Errorf("got %d differences, %d repeats, error %v, want 2 and 1", differing, repeats, err)
	}
}
