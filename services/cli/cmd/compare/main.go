// Command compare proves that two builds of inkstream make the same of a corpus: each runs every file through
// 'inkstream process' with all artifacts, and whatever they write is compared byte for byte. Only the ids of jobs, times
// and durations are left out of it. Where files differ, the older build runs once more: what it does not make twice
// the same, as PDFs that are encrypted with random numbers, is listed and no difference.
//
//	compare -old BINARY -new BINARY [-corpus folder] [-out folder]
//
// Folders of the corpus that -out holds from an earlier run are not made again.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"inkstream.dev/pkg/lifecycle"
	"inkstream.dev/pkg/pdftest"
)

// summaryFile and doneFile stand beside the artifacts of a folder of the corpus: what the command said, and that it
// went through.
const summaryFile, doneFile = ".json", ".done"

func main() {
	ctx, stop := lifecycle.SignalContext(context.Background())
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("compare", flag.ContinueOnError)
	before := flags.String("old", "", "`binary` of the version before")
	after := flags.String("new", "", "`binary` of the version after")
	corpus := flags.String("corpus", "", "`folder` of the corpus (default as for the tests)")
	out := flags.String("out", "", "`folder` that keeps what both make (default: none is kept)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *before == "" || *after == "" {
		return errors.New("want -old and -new")
	}
	var err error
	if *corpus == "" {
		if *corpus, err = pdftest.FindCorpus(); err != nil {
			return fmt.Errorf("-corpus: %w", err)
		}
	}
	if *out == "" {
		if *out, err = os.MkdirTemp("", "inkstream-compare-*"); err != nil {
			return err
		}
		defer os.RemoveAll(*out)
	}
	groups, err := listGroups(*corpus)
	if err != nil {
		return err
	}
	sides := [2]string{filepath.Join(*out, "old"), filepath.Join(*out, "new")}
	for i, binary := range []string{*before, *after} {
		for _, name := range slices.Sorted(maps.Keys(groups)) {
			if err := processGroup(ctx, binary, *corpus, filepath.Join(sides[i], name), groups[name]); err != nil {
				return fmt.Errorf("%s: %s: %w", binary, name, err)
			}
		}
	}
	files, differences, err := compareFolders(sides[0], sides[1])
	if err != nil {
		return err
	}
	differing, err := dropUnstable(differences, func(group string) ([]string, error) {
		again := filepath.Join(*out, "again", group)
		if err := processGroup(ctx, *before, *corpus, again, groups[group]); err != nil {
			return nil, err
		}
		_, unstable, err := compareFolders(filepath.Join(sides[0], group), again)
		return unstable, err
	})
	if err != nil {
		return err
	}
	fmt.Printf("%d files compared, %d differences, %d files that differ from run to run\n", files, differing,
		len(differences)-differing)
	if differing > 0 {
		return errors.New("the two versions do not make the same")
	}
	return nil
}

// dropUnstable prints the differences and counts them, but for files that differ from run to run. Those of a folder of
// the corpus repeat returns.
func dropUnstable(differences []string, repeat func(group string) ([]string, error)) (differing int, err error) {
	unstable := map[string][]string{}
	for _, d := range differences {
		name, what, _ := strings.Cut(d, ": ")
		group, file, inGroup := strings.Cut(name, "/")
		if _, known := unstable[group]; !known && inGroup {
			if unstable[group], err = repeat(group); err != nil {
				return 0, err
			}
		}
		if slices.ContainsFunc(unstable[group], func(u string) bool { return strings.HasPrefix(u, file+": ") }) {
			fmt.Printf("%s: differs from run to run\n", name)
			continue
		}
		fmt.Printf("%s: %s\n", name, what)
		differing++
	}
	return differing, nil
}

// listGroups returns the corpus's files by folder, whose name has dashes for slashes.
func listGroups(corpus string) (map[string][]string, error) {
	files, err := pdftest.ReadCorpus(corpus)
	if err != nil {
		return nil, fmt.Errorf("corpus: %w", err)
	}
	groups := map[string][]string{}
	for _, f := range files {
		name := strings.ReplaceAll(filepath.ToSlash(filepath.Dir(f.Path)), "/", "-")
		groups[name] = append(groups[name], f.Path)
	}
	return groups, nil
}

// processGroup runs files of the corpus through the pipeline of a binary, into a folder.
func processGroup(ctx context.Context, binary, corpus, folder string, files []string) error {
	if _, err := os.Stat(folder + doneFile); err == nil {
		return nil
	}
	if err := errors.Join(os.RemoveAll(folder), os.MkdirAll(folder, 0o700)); err != nil {
		return err
	}
	args := append([]string{"process", "-o", folder, "--artifacts", "all", "--format", "json"}, files...)
	cmd := exec.CommandContext(ctx, binary, args...)
	var problems bytes.Buffer
	cmd.Dir, cmd.Stderr = corpus, &problems
	summary, err := cmd.Output()
	const someDidNotSucceed = 3 // which is what broken files are for
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || exit.ExitCode() != someDidNotSucceed) {
		return fmt.Errorf("%w: %s", err, problems.Bytes())
	}
	return errors.Join(os.WriteFile(folder+summaryFile, summary, 0o600), os.WriteFile(folder+doneFile, nil, 0o600))
}

// compareFolders compares every file of two folders, and returns how many there are and how they differ.
func compareFolders(before, after string) (files int, differences []string, err error) {
	names := map[string]bool{}
	for _, root := range []string{before, after} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if name, _ := filepath.Rel(root, path); err == nil && !d.IsDir() && !isIgnored(name) {
				names[name] = true
			}
			return err
		})
		if err != nil {
			return 0, nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		old, oldErr := os.ReadFile(filepath.Join(before, name))
		now, nowErr := os.ReadFile(filepath.Join(after, name))
		switch {
		case errors.Is(oldErr, fs.ErrNotExist):
			differences = append(differences, name+": is new")
		case errors.Is(nowErr, fs.ErrNotExist):
			differences = append(differences, name+": is gone")
		case oldErr != nil || nowErr != nil:
			return 0, nil, errors.Join(oldErr, nowErr)
		default:
			if at := findDifference(maskRunFacts(name, old), maskRunFacts(name, now)); at >= 0 {
				differences = append(differences, fmt.Sprintf("%s: differs from byte %d on", name, at))
			}
		}
	}
	return len(names), differences, nil
}

// isIgnored reports whether a file says nothing of what the pipeline made.
func isIgnored(name string) bool {
	return name == "log" || strings.HasSuffix(name, ".err") || strings.HasSuffix(name, doneFile)
}

// runFacts are what no two runs have in common: ids of jobs, times, durations.
var runFacts = regexp.MustCompile(`\b01[0-9a-hjkmnp-tv-z]{24}\b|"20\d\d-\d\d-\d\dT[0-9:.]+Z"|"(busy|busySeconds)": ?[0-9.e-]+`)

// maskRunFacts takes them out of a file that is JSON.
func maskRunFacts(name string, data []byte) []byte {
	if filepath.Ext(name) != ".json" {
		return data
	}
	return runFacts.ReplaceAll(data, []byte("$1"))
}

// findDifference returns the first byte that differs, -1 if none does.
func findDifference(a, b []byte) int {
	if bytes.Equal(a, b) {
		return -1
	}
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}
