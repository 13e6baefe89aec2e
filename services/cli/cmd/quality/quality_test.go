package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/pdftest/score"
)

func someSection(title, value string) section {
	return section{
		title: title, method: "How it was done.",
		summary: []summaryFigure{{"figure", value, "0.5 peer", "≥ 0.9", value >= "0.9"}, {"other", "1", absent, "", false}},
		tables:  []reportTable{{title: "By file", columns: []string{"File", "F1"}, rows: [][]string{{"a|b.pdf", value}}}},
	}
}

// A record holds what was measured last of each section, whatever was measured together.
func TestRecordKeepsLastOfEachSection(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "folder", "RESULTS.md")
	write := func(sections ...section) string {
		t.Helper()
		if err := writeRecord(path, sections, "peer 1.0"); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	write(someSection("Native text", "0.8"))
	write(someSection("Tables", "0.7"), someSection("Recognition", "0.95"))
	got := write(someSection("Tables", "0.9"))
	for _, want := range []string{
		"| Recognition | figure | 0.95 | 0.5 peer | ≥ 0.9 | **met** |\n| Recognition | other | 1 | – |  |  |\n| Native text | figure | 0.8 | 0.5 peer | ≥ 0.9 | **not met** |",
		"| Tables | figure | 0.9 | 0.5 peer | ≥ 0.9 | **met** |",
		"## Native text\n\nHow it was done.\n\n### By file\n\n| File | F1 |\n| --- | --- |\n| a\\|b.pdf | 0.8 |\n",
		"Peers: peer 1.0.\n",
		"## Summary\n\n2 of 3 targets are met. Not met:\n\n- Native text, figure: 0.8, target ≥ 0.9\n\n| Measure |",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the record lacks\n%s\nit is\n%s", want, got)
		}
	}
	if strings.Contains(got, "0.7") {
		t.Errorf("the record still holds the figures of the section that was measured again:\n%s", got)
	}
	if n := strings.Count(got, "\n## "); n != 4 {
		t.Errorf("the record has %d sections, want 4:\n%s", n, got)
	}
	if again := write(someSection("Tables", "0.9")); again != got {
		t.Errorf("the same figures give another record:\n%s\nwant\n%s", again, got)
	}
}

// What a peer made of a file is made once for its version, failures too; one that had no time is tried again.
func TestPeersAreKept(t *testing.T) {
	t.Parallel()
	p := &peerPrograms{cache: t.TempDir(), missingPrograms: map[string]string{"gone": "gone is not installed"},
		versions: map[string]string{"tool": "1"}, timeout: time.Minute}
	f := pdftest.CorpusFile{SHA256: "abcdef", Abs: "/somewhere/file.pdf"}
	runs := 0
	run := func(recipe string, fail error) (string, error) {
		dir, err := p.cachedOutput(t.Context(), f, recipe, func(ctx context.Context, dir string) error {
			runs++
			if errors.Is(fail, context.DeadlineExceeded) {
				<-ctx.Done()
			}
			return errors.Join(fail, os.WriteFile(filepath.Join(dir, "out.txt"), []byte("made"), 0o600))
		})
		if err != nil {
			return "", err
		}
		data, err := os.ReadFile(filepath.Join(dir, "out.txt"))
		return string(data), err
	}
	for _, tt := range []struct {
		name, recipe, version string
		fail                  error
		runs                  int
		wrong                 string
	}{
		{name: "the first time", recipe: "tool -a", version: "1", runs: 1},
		{name: "again", recipe: "tool -a", version: "1", runs: 1},
		{name: "other arguments", recipe: "tool -b", version: "1", runs: 2},
		{name: "another version", recipe: "tool -a", version: "2", runs: 3},
		{name: "a failure", recipe: "tool -c", version: "2",
			fail: errors.New("cannot read /somewhere/file.pdf"), runs: 4, wrong: "cannot read FILE"},
		{name: "a failure again", recipe: "tool -c", version: "2", runs: 4, wrong: "cannot read FILE"},
		{name: "not installed", recipe: "gone -a", runs: 4, wrong: "gone is not installed"},
		{name: "too slow", recipe: "tool -d", version: "2", fail: context.DeadlineExceeded, runs: 5, wrong: "not done in 10ms"},
		{name: "too slow again", recipe: "tool -d", version: "2", fail: context.DeadlineExceeded, runs: 6, wrong: "not done in 10ms"},
	} {
		if p.timeout = time.Minute; errors.Is(tt.fail, context.DeadlineExceeded) {
			p.timeout = 10 * time.Millisecond
		}
		p.versions["tool"] = tt.version
		text, err := run(tt.recipe, tt.fail)
		if runs != tt.runs {
			t.Errorf("%s: %d runs, want %d", tt.name, runs, tt.runs)
		}
		if tt.wrong == "" && (err != nil || text != "made") || tt.wrong != "" &&
			(!errors.Is(err, errPeer) || !strings.Contains(err.Error(), tt.wrong)) {
			t.Errorf("%s: %q, %v, want error %q", tt.name, text, err, tt.wrong)
		}
	}
}

func TestDigests(t *testing.T) {
	t.Parallel()
	// The pixels of the second begin like white space, which belongs to them.
	stream := "P6\n2 1\n255\nabcdef" + "P6\n1 1\n255\n\n \t" + "P6\n2 1\n255\nabcdef"
	got, err := readPageDigests(bufio.NewReader(strings.NewReader(stream)))
	if err != nil || len(got) != 3 {
		t.Fatalf("digests = %d, %v, want 3", len(got), err)
	}
	if !bytes.Equal(got[0], got[2]) || bytes.Equal(got[0], got[1]) {
		t.Errorf("digests = %x, want the first and the last alike", got)
	}
	for _, broken := range []string{"P6\n2 1\n255\nabc", "P5\n1 1\n255\na", "P6\n2"} {
		if _, err := readPageDigests(bufio.NewReader(strings.NewReader(broken))); err == nil {
			t.Errorf("digests took %q", broken)
		}
	}
}

func TestTotalSumsEditsAndPicksTheBetterPeer(t *testing.T) {
	t.Parallel()
	file := func(ours, theirs int) recognitionResult {
		return recognitionResult{sample: &sample{}, byReader: [readers]*score.Result{
			inkstream: {CharEdits: ours, TruthChars: 100}, ocrmypdf: {CharEdits: theirs, TruthChars: 100}}}
	}
	sum := sumByReader([]recognitionResult{file(10, 20), file(30, 10)})
	if got, want := formatRates(sum)[:3], []string{"0.2000", absent, "0.1500"}; !slices.Equal(got, want) {
		t.Errorf("rates = %v, want %v", got, want)
	}
	if !isWorseThanPeer(sum, charErrorRate) || formatBestPeer(sum, charErrorRate) != "0.1500 OCRmyPDF" {
		t.Errorf("worse = %v, best peer %q; want true, 0.1500 OCRmyPDF", isWorseThanPeer(sum, charErrorRate),
			formatBestPeer(sum, charErrorRate))
	}
	if level := file(10, 10).byReader; isAheadOfPeer(sum, charErrorRate) || isAheadOfPeer(level, charErrorRate) ||
		isWorseThanPeer(level, charErrorRate) || !isAheadOfPeer(file(9, 10).byReader, charErrorRate) {
		t.Error("ahead and worse do not tell 0.2000, 0.1000 and 0.0900 from the peer's 0.1500 and 0.1000")
	}
	if got := charsBehindPeer(file(30, 10).byReader); got != 20 {
		t.Errorf("behind = %d, want 20", got)
	}
}

// A text comes back with its words, whatever else the page had before.
func TestRecoveredF1(t *testing.T) {
	t.Parallel()
	sure := 0.9
	native, one, two := word{Text: "native"}, word{Text: "one", Confidence: &sure}, word{Text: "two", Confidence: &sure}
	d := &document{Pages: []page{
		{Number: 1, Blocks: []block{{Lines: []line{{Words: []word{native, one, two}}}}}},
		{Number: 2, Blocks: []block{{Lines: []line{{Words: []word{native}}}}}},
	}}
	for _, tt := range []struct {
		now  string
		want float64
	}{
		{"native one two\fnative", 1}, {"native two\u202b one\fnative", 1}, {"native onetwo\fnative", 0},
		{"native one\ftwo", 2.0 / 3}, {"native one two x x\f", 2.0 / 3},
	} {
		if got := d.recoveredF1(strings.Split(tt.now, "\f"), []string{"native", "native"}); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%q: got %.4f, want %.4f", tt.now, got, tt.want)
		}
	}
}

func TestSubtractWords(t *testing.T) {
	t.Parallel()
	if got, want := subtractWords([]string{"a", "b", "a", "c"}, []string{"a", "c", "d"}),
		[]string{"b", "a"}; !slices.Equal(got, want) {
		t.Errorf("without = %v, want %v", got, want)
	}
}

func TestGroupsOf(t *testing.T) {
	t.Parallel()
	s := &sample{CorpusFile: pdftest.CorpusFile{
		Path: "ocr/synthetic/synth-uk.pdf", Tags: []string{"ocr-truth", "scanned", "lang-ukr"},
		Notes: "SYNTHETIC: a page; recipe lowdpi 150dpi lowdpi"}}
	if got, want := scanGroups(s), []string{"from synthetic", "made lowdpi", "lang-ukr"}; !slices.Equal(got, want) {
		t.Errorf("scanGroups = %v, want %v", got, want)
	}
	if got := s.tesseractLanguages(); got != "ukr" {
		t.Errorf("languages = %q, want ukr", got)
	}
}

// A document that was refused lacks nothing; one that failed does.
func TestShouldHaveArtifacts(t *testing.T) {
	t.Parallel()
	for state, want := range map[string][2]bool{
		"SUCCEEDED": {true, true}, "PARTIAL": {true, true}, "FAILED ALL_PAGES_FAILED": {false, true},
		"REJECTED ENCRYPTED": {}, "not taken: empty": {},
	} {
		s := &sample{state: state}
		if got := [2]bool{s.endedWithResults(), s.shouldHaveArtifacts()}; got != want {
			t.Errorf("%s: ended and owes are %v, want %v", state, got, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-only", "speed"}, {"-jobs", "0"}, {"-files", "["}, {"-again"}} {
		if _, err := parseSettings(args); err == nil {
			t.Errorf("parseSettings(%v) took it", args)
		}
	}
}

func TestSpacedTables(t *testing.T) {
	t.Parallel()
	const text = "A heading\n" +
		"   Item   Count   Price of one\n" +
		"\n" +
		"   Pears     12   0.50\n" +
		"   Figs           2.25\n" +
		"The text goes on, and is no table.\n" +
		"One line  is none either.\n" +
		"\f  a   b\n c    d\n"
	got := parseSpacedTables(text)
	want := []score.PlacedTable{
		{Page: 1, Grid: score.Grid{{"Item", "Count", "Price of one"}, {"Pears", "12", "0.50"}, {"Figs", "", "2.25"}}},
		{Page: 2, Grid: score.Grid{{"a", "b"}, {"c", "d"}}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestReasonsOfStatements(t *testing.T) {
	t.Parallel()
	reasons := findReasons(statementsBeyondReach)
	if len(reasons) < 10 || reasons["building_notes_00"] == "" || reasons["#"] != "" {
		t.Errorf("got %d reasons, want one for each statement of the list", len(reasons))
	}
}
