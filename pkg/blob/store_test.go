package blob_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/blob/blobtest"
	"inkstream.dev/pkg/fault"
)

// writerURL names the store that this binary, run again by TestKilledWriter, is to write to.
const writerURL = "BLOB_TEST_WRITER_URL"

func TestMain(m *testing.M) {
	if url := os.Getenv(writerURL); url != "" {
		fmt.Fprintln(os.Stderr, writeUntilKilled(context.Background(), url))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// writeUntilKilled writes a blob by half, says so on standard output, and waits for the end.
func writeUntilKilled(ctx context.Context, url string) error {
	s, err := blob.Open(ctx, url)
	if err != nil {
		return err
	}
	w, err := s.NewWriter(ctx, "t/j/source.pdf", blob.PutOptions{})
	if err != nil {
		return err
	}
	if _, err := w.Write(make([]byte, 1<<20)); err != nil {
		return err
	}
	fmt.Println("half")
	_, err = io.ReadAll(os.Stdin)
	return err
}

func open(t testing.TB, url string) *blob.Store {
	t.Helper()
	s, err := blob.Open(t.Context(), url)
	if err != nil {
		t.Fatalf("Open: got %v, want no error", err)
	}
	return s
}

// names returns what is in a folder.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatalf("read folder: got %v, want no error", err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// unfinishedUploads returns the names of what lies in the incoming folder of a store.
func unfinishedUploads(t *testing.T, root string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(root, "~incoming"), func(_ string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			out = append(out, e.Name())
		}
		return err
	})
	if err != nil {
		t.Fatalf("incoming folder: got %v, want no error", err)
	}
	return out
}

func TestFolder(t *testing.T) {
	t.Parallel()
	blobtest.Run(t, func(t *testing.T) *blob.Store {
		dir := t.TempDir()
		t.Cleanup(func() { // the suite closes the store before this runs
			if left := unfinishedUploads(t, filepath.Join(dir, "new", "root")); len(left) > 0 {
				t.Errorf("left in the incoming folder: got %q, want nothing", left)
			}
		})
		return open(t, "file://"+dir+"/new/root")
	})
}

func TestFolderWithoutSync(t *testing.T) {
	t.Parallel()
	blobtest.Run(t, func(t *testing.T) *blob.Store { return open(t, "file://"+t.TempDir()+"?fsync=off") })
}

func TestMemory(t *testing.T) {
	t.Parallel()
	blobtest.Run(t, func(t *testing.T) *blob.Store { return open(t, "mem://") })
}

func TestFaultyWithoutFaults(t *testing.T) {
	t.Parallel()
	blobtest.Run(t, func(t *testing.T) *blob.Store {
		return blobtest.NewFaultyStore(open(t, "file://"+t.TempDir()), blobtest.DelayAll(time.Microsecond))
	})
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, url := range []string{
		"", "nope://x", "file://host/dir", "file:relative", "file:///tmp/x?fsync=maybe", "file:///tmp/x?compress=some", "file:///tmp/x?compress=on&compress=off", "file:///tmp/x?other=1",
		"file://" + file, "\x00",
	} {
		if s, err := blob.Open(t.Context(), url); err == nil {
			t.Errorf("Open(%q): got %v, want an error", url, s)
		}
	}
}

func TestCompressionCanBeOff(t *testing.T) {
	t.Parallel()
	dir, text := t.TempDir(), strings.Repeat("text ", 1000)
	for param, want := range map[string]bool{"": true, "&compress=on": true, "&compress=off": false} {
		s := open(t, "file://"+dir+"?fsync=off"+param)
		if err := s.PutAll(t.Context(), []blob.Object{{Key: "a/text.txt", Data: []byte(text), Compress: true}}); err != nil {
			t.Fatal(err)
		}
		stored, err := os.ReadFile(filepath.Join(dir, "a/text.txt"))
		if err != nil || (len(stored) < len(text)) != want {
			t.Errorf("%q: got %d bytes stored of %d, %v, want them compressed: %v", param, len(stored), len(text), err, want)
		}
		got, err := s.ReadBytes(t.Context(), "a/text.txt", 1<<20)
		if err != nil || string(got) != text {
			t.Errorf("%q: read back %d bytes, %v, want %d", param, len(got), err, len(text))
		}
	}
}

// A blob shorter than a block of the disk is stored as it comes: compressed, it would take the same block.
func TestShortBlobsAreNotCompressed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := blob.Open(t.Context(), "file://"+dir)
	if err != nil {
		t.Fatal(err)
	}
	const block = 4096
	for _, size := range []int{block - 1, block} {
		text := strings.Repeat("x", size)
		if err := s.PutAll(t.Context(), []blob.Object{{Key: "a/text.txt", Data: []byte(text), Compress: true}}); err != nil {
			t.Fatal(err)
		}
		stored, err := os.ReadFile(filepath.Join(dir, "a", "text.txt"))
		if err != nil {
			t.Fatal(err)
		}
		if plain := string(stored) == text; plain != (size < block) {
			t.Errorf("%d bytes: stored as they come %t", size, plain)
		}
	}
}

func TestKeyIsThePath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, "file://"+dir)
	key := "acme/01J0/run-1/pages/1.json"
	if err := s.PutBytes(t.Context(), key, []byte("{}"), ""); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, key)); err != nil || string(got) != "{}" {
		t.Errorf("read the path: got %q, %v, want the blob", got, err)
	}
	if got := names(t, filepath.Join(dir, "acme/01J0/run-1/pages")); len(got) != 1 {
		t.Errorf("files beside the blob: got %q, want the blob alone", got)
	}
	f, err := s.OpenFile(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if f.Name() != filepath.Join(dir, key) {
		t.Errorf("OpenFile: got %s, want the stored file itself", f.Name())
	}
}

func TestConflictingKeys(t *testing.T) {
	t.Parallel()
	s := open(t, "file://"+t.TempDir())
	ctx := t.Context()
	if err := s.PutBytes(ctx, "a/b", nil, ""); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"a", "a/b/c", "a/b/c/d"} {
		if err := s.PutBytes(ctx, key, nil, ""); fault.KindOf(err) != fault.Permanent {
			t.Errorf("PutBytes(%s) beside a/b: got %v, want a permanent fault", key, err)
		}
	}
}

// A writer that was killed leaves a file. It is never listed, and is swept once no process writes it.
func TestKilledWriter(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, "file://"+dir)
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), writerURL+"=file://"+dir)
	child.Stderr = os.Stderr
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "half\n" {
		t.Fatalf("child: got %q, %v, want half", line, err)
	}
	wantSwept(t, s, 0, 0) // it is being written
	if err := child.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := child.Wait(); err == nil {
		t.Fatal("child: got a clean exit, want a killed one")
	}
	if got := unfinishedUploads(t, dir); len(got) != 1 {
		t.Fatalf("incoming folder: got %q, want what the child left", got)
	}
	for entry, err := range s.ListBlobs(t.Context(), "") {
		t.Errorf("List: got %v, %v, want nothing", entry, err)
	}
	wantSwept(t, s, time.Hour, 0) // too young
	wantSwept(t, s, 0, 1)
	wantSwept(t, s, 0, 0)
	if got := unfinishedUploads(t, dir); len(got) != 0 {
		t.Errorf("incoming folder after the sweep: got %q, want nothing", got)
	}
}

func wantSwept(t *testing.T, s *blob.Store, olderThan time.Duration, want int) {
	t.Helper()
	if got, err := s.SweepTemp(t.Context(), olderThan); err != nil || got != want {
		t.Errorf("SweepTemp(%v): got %d, %v, want %d", olderThan, got, err, want)
	}
}

// A large blob is neither held when it is written nor when it is read.
func TestFolderHoldsNoBlob(t *testing.T) { // not parallel: it counts what the whole process allocates
	s := open(t, "file://"+t.TempDir())
	const size = 64 << 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if n, err := s.Put(t.Context(), "t/j/source.pdf", io.LimitReader(rand.NewChaCha8([32]byte{}), size),
		blob.PutOptions{}); n != size || err != nil {
		t.Fatalf("Put: got %d, %v, want %d", n, err, size)
	}
	r, err := s.Get(t.Context(), "t/j/source.pdf")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if n, err := io.Copy(io.Discard, r); n != size || err != nil {
		t.Fatalf("Get: got %d, %v, want %d", n, err, size)
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 {
		t.Errorf("allocated over a Put and a Get of %d bytes: got %d, want at most 1 MiB", size, got)
	}
}

// An operator may clear the store away under a running service.
func TestMissingFolderIsRecreated(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, "file://"+dir+"/root")
	if err := os.RemoveAll(dir + "/root"); err != nil {
		t.Fatal(err)
	}
	if err := s.PutBytes(t.Context(), "t/k", []byte("x"), ""); err != nil {
		t.Errorf("PutBytes after the folder was removed: got %v, want it made again", err)
	}
	if err := os.RemoveAll(dir + "/root"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/root", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.PutBytes(t.Context(), "t/k", []byte("x"), ""); fault.KindOf(err) != fault.Busy {
		t.Errorf("PutBytes with a file in the root's place: got %v, want a Busy fault", err)
	}
}

func BenchmarkPut(b *testing.B) {
	page := []byte(strings.Repeat("A page of a manual, its words and boxes. ", 500)) // 20 kB, as a page of JSON has
	s := open(b, "file://"+b.TempDir())
	run := func(name string, perOp int, do func(i int) error) {
		b.Run(name, func(b *testing.B) {
			before := cpuTime()
			for i := range b.N {
				if err := do(i); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64((cpuTime()-before).Microseconds())/float64(b.N*perOp), "cpu-µs/blob")
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*perOp), "wall-µs/blob")
		})
	}
	run("durable", 1, func(i int) error {
		return s.PutBytes(b.Context(), fmt.Sprintf("t/j/run-1/pages/%d.json", i), page, "")
	})
	run("temporary", 1, func(i int) error {
		return s.PutBytes(b.Context(), fmt.Sprintf("t/j/tmp/run-1/%d.pb", i), page, "")
	})
	run("PutAll of 16", 16, func(i int) error {
		objects := make([]blob.Object, 16)
		for j := range objects {
			objects[j] = blob.Object{Key: fmt.Sprintf("t/j/run-2/pages/%d.json", 16*i+j), Data: page}
		}
		return s.PutAll(b.Context(), objects)
	})
}

// cpuTime returns what this process has used of the processors so far.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
