package hotfolder_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"inkstream.dev/services/cli/hotfolder"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func open(t *testing.T, dir string) *hotfolder.Folder {
	t.Helper()
	f, err := hotfolder.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// names looks at a folder so long after noon, and returns what it takes.
func names(t *testing.T, f *hotfolder.Folder, after time.Duration) (out []string, files []hotfolder.File) {
	t.Helper()
	files, err := f.TakeStableFiles(noon.Add(after))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		out = append(out, file.Name)
	}
	return out, files
}

func wantNames(t *testing.T, f *hotfolder.Folder, after time.Duration, want ...string) []hotfolder.File {
	t.Helper()
	got, files := names(t, f, after)
	if len(got) != len(want) {
		t.Fatalf("after %s: took %q, want %q", after, got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("after %s: took %q, want %q", after, got, want)
		}
	}
	return files
}

func TestTakesWhatIsWholeAndOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := open(t, dir)
	write(t, dir, "a.pdf", "one")
	write(t, dir, "empty.pdf", "")
	write(t, dir, ".hidden.pdf", "x")
	write(t, dir, "b.txt", "x")
	write(t, dir, "B.PDF", "two")
	if err := os.Mkdir(filepath.Join(dir, "folder.pdf"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "b.txt"), filepath.Join(dir, "link.pdf")); err != nil {
		t.Fatal(err)
	}
	wantNames(t, f, 0)
	wantNames(t, f, 1900*time.Millisecond)
	write(t, dir, "a.pdf", "one, and more") // still being written
	wantNames(t, f, 2*time.Second, "B.PDF")
	wantNames(t, f, 3900*time.Millisecond)
	wantNames(t, f, 4*time.Second, "a.pdf")
	wantNames(t, f, time.Hour) // each once
}

func TestTakenAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := open(t, dir)
	write(t, dir, "a.pdf", "one")
	wantNames(t, f, 0)
	file := wantNames(t, f, 2*time.Second, "a.pdf")[0]
	f.ReleaseFile(file, noon.Add(10*time.Second)) // the server was away
	wantNames(t, f, 9*time.Second)
	file = wantNames(t, f, 10*time.Second, "a.pdf")[0]

	write(t, dir, "a.pdf", "changed meanwhile")
	if _, err := f.OpenFile(file); !errors.Is(err, hotfolder.ErrChanged) {
		t.Errorf("open of a changed file: got %v, want ErrChanged", err)
	}
	if _, err := f.MoveToPlace(file, hotfolder.Done, "", "", nil); !errors.Is(err, hotfolder.ErrChanged) {
		t.Errorf("settle of a changed file: got %v, want ErrChanged", err)
	}
	f.ReleaseFile(file, time.Time{})
	wantNames(t, f, 20*time.Second)
	file = wantNames(t, f, 22*time.Second, "a.pdf")[0]
	r, err := f.OpenFile(file)
	if err != nil {
		t.Fatal(err)
	}
	r.Close()

	// A file that was replaced by a link is not read.
	if err := errors.Join(os.Rename(filepath.Join(dir, "a.pdf"), filepath.Join(dir, "elsewhere")),
		os.Symlink("elsewhere", filepath.Join(dir, "a.pdf"))); err != nil {
		t.Fatal(err)
	}
	if _, err := f.OpenFile(file); !errors.Is(err, hotfolder.ErrChanged) {
		t.Errorf("open of a link: got %v, want ErrChanged", err)
	}
}

func TestAnotherProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f, err := hotfolder.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := hotfolder.OpenFolder(dir); !errors.Is(err, hotfolder.ErrInUse) {
		t.Errorf("a second one: got %v, want ErrInUse", err)
	}
	write(t, dir, "a.pdf", "one")
	wantNames(t, f, 0)
	wantNames(t, f, 2*time.Second, "a.pdf")
	f.Close() // it ends while the file is under way
	again := open(t, dir)
	wantNames(t, again, 10*time.Second)
	wantNames(t, again, 12*time.Second, "a.pdf")
}

func TestMoveToPlace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := open(t, dir)
	take := func(name string, after time.Duration) hotfolder.File {
		write(t, dir, name, name)
		wantNames(t, f, after)
		return wantNames(t, f, after+2*time.Second, name)[0]
	}
	fill := func(dir string) error { return os.WriteFile(filepath.Join(dir, "text.txt"), []byte("text"), 0o600) }
	for i, want := range []string{"a", "a-2"} {
		file := take("a.pdf", time.Duration(i)*time.Minute)
		if got, err := f.MoveToPlace(file, hotfolder.Done, "", "", fill); err != nil || got != want {
			t.Fatalf("settle: got %q, %v, want %q", got, err, want)
		}
	}
	file := take("bad.pdf", time.Hour)
	if _, err := f.MoveToPlace(file, hotfolder.Failed, "", "NOT_A_PDF\n", nil); err != nil {
		t.Fatal(err)
	}
	results := t.TempDir()
	file = take("c.pdf", 2*time.Hour)
	if _, err := f.MoveToPlace(file, hotfolder.Done, results, "", fill); err != nil {
		t.Fatal(err)
	}
	file = take("d.pdf", 3*time.Hour)
	broken := errors.New("the server went away")
	if _, err := f.MoveToPlace(file, hotfolder.Done, "", "", func(string) error { return broken }); !errors.Is(err,
		broken) {
		t.Errorf("settle without results: got %v, want %v", err, broken)
	}
	for _, path := range []string{
		"done/a.pdf", "done/a/text.txt", "done/a-2.pdf", "done/a-2/text.txt", "failed/bad.pdf", "failed/bad.error.txt",
		"done/c.pdf", "d.pdf",
	} {
		if _, err := os.Stat(filepath.Join(dir, path)); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(filepath.Join(results, "c", "text.txt")); err != nil {
		t.Error(err)
	}
	for _, place := range []string{"done", "failed"} {
		left, err := filepath.Glob(filepath.Join(dir, place, ".*"))
		if err != nil || len(left) > 0 {
			t.Errorf("left over in %s: %q, %v", place, left, err)
		}
	}
}
