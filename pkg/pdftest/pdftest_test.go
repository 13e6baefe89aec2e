package pdftest

import (
	"bytes"
	"compress/zlib"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"inkstream.dev/pkg/pdftest/score"
)

// sound returns one file of each kind that every reader must cope with.
var sound = sync.OnceValue(func() []File {
	files := []File{
		BornDigital(24), BornDigitalWith(BornDigitalOptions{Pages: 6, Scatter: true}), RotatedPages(), SidewaysText(),
		CropOffsetPages(), UserUnits(), BlankPages(2), ManyPages(200),
		ScannedFile(ScanOptions{DPI: 100, Design: Columns}), RotatedScannedFile(ScanOptions{DPI: 72}), PageWithImage(),
		GarbledText(PrivateUse), GarbledText(Control), GarbledText(Unmapped), OwnerOnlyFile(RC4), OwnerOnlyFile(AES),
		EncryptedFile(RC4), EncryptedFile(AES),
		ScanWithTextLayer(false),
	}
	for _, h := range AllHazards() {
		files = append(files, WithHazards(h))
	}
	return append(files, WithHazards(AllHazards()...))
})

// tool returns the path of a program, and skips the test where it is not installed.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed", name)
	}
	return path
}

func TestSameBytesEachTime(t *testing.T) {
	t.Parallel()
	for _, build := range []func() File{
		func() File { return BornDigital(7) },
		func() File { return EncryptedFile(AES) },
		func() File { return ScannedFile(ScanOptions{DPI: 72, Noise: 5, Specks: 0.001, Skew: 1, JPEG: 80}) },
		func() File { return GarbledText(Unmapped) },
		func() File { return FlipBits(BornDigital(1), 1, 10) },
		func() File { return WithHazards(AllHazards()...) },
	} {
		a, b := build(), build()
		if !bytes.Equal(a.PDF, b.PDF) || a.Text() != b.Text() {
			t.Errorf("%s: two calls gave different files", a.Name)
		}
	}
	if a, b := BornDigitalWith(BornDigitalOptions{Seed: 1}),
		BornDigitalWith(BornDigitalOptions{Seed: 2}); a.Text() == b.Text() {
		t.Error("two seeds gave the same text")
	}
}

func TestSoundFilesPassQpdf(t *testing.T) {
	t.Parallel()
	qpdf := tool(t, "qpdf")
	for _, f := range sound() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			out, err := exec.CommandContext(t.Context(), qpdf, "--password="+f.Password, "--check",
				f.WriteFile(t)).CombinedOutput()
			if err != nil {
				t.Errorf("qpdf --check: %v\n%s", err, out)
			}
		})
	}
}

func TestPagesShowTheirTruth(t *testing.T) {
	t.Parallel()
	pdftotext := tool(t, "pdftotext")
	for _, f := range sound() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			out, err := exec.CommandContext(t.Context(), pdftotext, "-upw", f.Password, "-opw", OwnerPassword, f.WriteFile(t),
				"-").Output()
			if err != nil {
				t.Fatalf("pdftotext: %v", err)
			}
			pages := strings.Split(strings.TrimSuffix(string(out), "\f"), "\f")
			if len(pages) != len(f.Pages) {
				t.Fatalf("pdftotext found %d pages, want %d", len(pages), len(f.Pages))
			}
			for i, p := range f.Pages {
				if p.Kind != NativePage {
					continue
				}
				if got := score.WordF1(p.Text, pages[i]); got < 1 {
					t.Errorf("page %d: word F1 = %v, want 1", i+1, got)
				}
				if p.Marker == "" || !strings.Contains(pages[i], p.Marker) {
					t.Errorf("page %d: marker %q is not there", i+1, p.Marker)
				}
			}
		})
	}
}

func TestGarbledTextReadsWrong(t *testing.T) {
	t.Parallel()
	pdftotext := tool(t, "pdftotext")
	for _, g := range []Garbling{PrivateUse, Control, Unmapped} {
		f := GarbledText(g)
		out, err := exec.CommandContext(t.Context(), pdftotext, f.WriteFile(t), "-").Output()
		if err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		if got := score.WordF1(f.Text(), string(out)); got > 0.05 {
			t.Errorf("%s: word F1 = %v, want next to nothing", f.Name, got)
		}
	}
}

func TestRecogniserReadsScans(t *testing.T) {
	t.Parallel()
	tesseract := tool(t, "tesseract")
	for _, tt := range []struct {
		name    string
		options ScanOptions
	}{
		{"clean", ScanOptions{DPI: 150, Design: Letter}},
		{"dirty", func() ScanOptions { o := DirtyScanOptions(); o.DPI, o.Design = 200, Letter; return o }()},
		{"fax", ScanOptions{DPI: 200, Design: Letter, Bitonal: true, Specks: 0.0003}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			img, truth := DrawScanPage(tt.options, 1)
			path := filepath.Join(t.TempDir(), "page.pgm")
			if err := os.WriteFile(path, EncodePGM(img), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), tesseract, path, "-", "--dpi", "200")
			cmd.Env = append(os.Environ(), "OMP_THREAD_LIMIT=1")
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("tesseract: %v", err)
			}
			if got := score.CharErrorRate(truth, string(out)); got > 0.02 {
				t.Errorf("CER = %.4f, want at most 0.02", got)
			}
		})
	}
}

func TestTurnedRasters(t *testing.T) {
	t.Parallel()
	upright, _ := DrawScanPage(ScanOptions{DPI: 30}, 1)
	for _, turn := range []int{90, 180, 270} {
		turned, _ := DrawScanPage(ScanOptions{DPI: 30, Turn: turn}, 1)
		if bytes.Equal(turned.Pix, upright.Pix) {
			t.Errorf("turn %d changed nothing", turn)
		}
		if back := turnImage(turned, 360-turn); !bytes.Equal(back.Pix, upright.Pix) || back.Rect != upright.Rect {
			t.Errorf("turn %d, turned back, is not the image that it was", turn)
		}
	}
	f := RotatedScannedFile(ScanOptions{DPI: 30})
	for i, p := range f.Pages {
		if p.UprightTurn != 0 || p.Width != a4Width || p.Rotate != (360-90*i)%360 {
			t.Errorf("page %d of rotated scans: upright %d, width %v, rotate %d", i+1, p.UprightTurn, p.Width, p.Rotate)
		}
	}
}

func TestBombUnpacks(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1, 1000, 1<<20 - 1, 1 << 20, 1<<20 + 1, 2 << 20, 5<<20 + 77} {
		r, err := zlib.NewReader(bytes.NewReader(flateBomb(0xcc, size)))
		if err != nil {
			t.Fatalf("size %d: %v", size, err)
		}
		data, err := io.ReadAll(r) // checks the sum
		if err != nil || len(data) != size || bytes.Count(data, []byte{0xcc}) != size {
			t.Errorf("size %d: unpacked %d bytes, error %v", size, len(data), err)
		}
	}
	if f := ContentBomb(1024, true); len(f.PDF) > 10_000 {
		t.Errorf("a bomb of 1 GiB takes %d bytes, want under 10,000", len(f.PDF))
	}
}

func TestMarkersDiffer(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for n := range 50_000 {
		m := MarkerWord(n)
		if other, ok := seen[m]; ok {
			t.Fatalf("Marker(%d) = Marker(%d) = %q", n, other, m)
		}
		seen[m] = n
	}
}

func TestNamesDiffer(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, f := range append(append(append(DamagedFiles(), NotPDFFiles()...), AbsurdPageBoxes()...), sound()...) {
		if seen[f.Name] || filepath.Base(f.Name) != f.Name || !strings.HasSuffix(f.Name, ".pdf") {
			t.Errorf("name %q is taken or no file name", f.Name)
		}
		seen[f.Name] = true
	}
}

func TestManyPagesIsSmall(t *testing.T) {
	t.Parallel()
	f := ManyPages(3001)
	if len(f.Pages) != 3001 || len(f.PDF) > 700_000 {
		t.Errorf("3,001 pages: %d described, %d bytes; want 3,001 and under 700,000", len(f.Pages), len(f.PDF))
	}
}

func TestCorpus(t *testing.T) {
	t.Parallel()
	checkCorpus(t, OpenCorpus(t), 100)
}

// The small corpus is there for every clone, whole, and small enough to be committed.
func TestCommittedCorpus(t *testing.T) {
	t.Setenv(CorpusVariable, filepath.Join("testdata", "corpus"))
	corpus := OpenCorpus(t)
	if !corpus.Committed {
		t.Errorf("%s is not taken for the committed corpus", corpus.Root)
	}
	checkCorpus(t, corpus, 20)
	var total int64
	for _, f := range corpus.Files {
		total += f.Bytes
		data, err := os.ReadFile(f.Abs)
		if err != nil {
			t.Fatal(err)
		}
		if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != f.SHA256 {
			t.Errorf("%s: SHA-256 %x, want %s", f.Path, sum, f.SHA256)
		}
		if f.Source == "" || f.Licence == "" {
			t.Errorf("%s: source %q, licence %q; want both", f.Path, f.Source, f.Licence)
		}
	}
	if total > 1_000_000 {
		t.Errorf("%d bytes, want at most 1,000,000", total)
	}
}

// checkCorpus holds a corpus against its manifest.
func checkCorpus(t *testing.T, corpus *CorpusSet, minFiles int) {
	t.Helper()
	if corpus.Committed {
		minFiles = min(minFiles, 20)
	}
	if len(corpus.Files) < minFiles {
		t.Errorf("%d files, want at least %d", len(corpus.Files), minFiles)
	}
	for _, f := range corpus.Files {
		info, err := os.Stat(f.Abs)
		if err != nil {
			t.Errorf("%s: %v", f.Path, err)
		} else if info.Size() != f.Bytes {
			t.Errorf("%s: %d bytes, want %d", f.Path, info.Size(), f.Bytes)
		}
		if corpus.HasTruth(f) && corpus.TruthText(f) == "" {
			t.Errorf("%s: its truth is empty", f.Path)
		}
		if f.HasTags("needs-password") && f.Password() == "" {
			t.Errorf("%s: no password in %q", f.Path, f.Notes)
		}
	}
	if len(corpus.FilesWithTags("born-digital", "real-document")) == 0 || len(corpus.FilesInFolder("hostile")) == 0 {
		t.Error("no born-digital real documents, or no hostile files")
	}
}

func TestCorpusManifestErrors(t *testing.T) {
	t.Parallel()
	const head = "path\tsha256\tbytes\tsource\tlicence\ttags\tpages\tencrypted\thas_text\ttruth\tnotes\n"
	for _, tt := range []struct{ name, data, want string }{
		{"no column", "path\tbytes\n", `no column "sha256"`},
		{"short row", head + "a.pdf\tx\n", "line 2: 2 columns, want 11"},
		{"size is no number", head + "a.pdf\tx\tmany\ts\tl\t-\t-\tn\tn\t-\t-\n",
			`line 2: strconv.ParseInt: parsing "many": invalid syntax`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if _, err := parseManifest(tt.data); err == nil || err.Error() != tt.want {
				t.Errorf("error %v, want %s", err, tt.want)
			}
		})
	}
}

func BenchmarkBornDigital3000(b *testing.B) {
	for b.Loop() {
		BornDigital(3000)
	}
}

func BenchmarkDirtyScan(b *testing.B) {
	for b.Loop() {
		ScannedFile(DirtyScanOptions())
	}
}
