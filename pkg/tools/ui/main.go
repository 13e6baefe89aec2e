// Command ui bundles the gateway's web pages, from services/gateway/ui/src into services/gateway/ui/dist. With -check
// it writes nothing, and fails where dist is not what the sources make, or where the first page is too large.
package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// maxFirstPage bounds what a browser loads before the first page shows, compressed.
const maxFirstPage = 60 << 10

func main() {
	folder := flag.String("dir", "services/gateway/ui", "the `folder` of src, vendor and dist")
	check := flag.Bool("check", false, "only check that dist is current")
	flag.Parse()
	if err := run(*folder, *check); err != nil {
		fmt.Fprintln(os.Stderr, "ui:", err)
		os.Exit(1)
	}
}

func run(folder string, check bool) error {
	root, err := filepath.Abs(folder)
	if err != nil {
		return err
	}
	files, err := bundle(root)
	if err != nil {
		return err
	}
	size, err := sizeOfFirstPage(files)
	if err != nil {
		return err
	}
	fmt.Printf("first page: %d bytes compressed, of at most %d\n", size, maxFirstPage)
	if size > maxFirstPage {
		return errors.New("the first page is too large")
	}
	dist := filepath.Join(root, "dist")
	if check {
		return checkFiles(dist, files)
	}
	return writeFiles(dist, files)
}

// bundle returns the content of dist by file name. Scripts and styles carry their hash in the name.
func bundle(root string) (map[string][]byte, error) {
	vendor := filepath.Join(root, "vendor")
	result := api.Build(api.BuildOptions{
		AbsWorkingDir: root,
		EntryPoints:   []string{"src/main.tsx", "src/style.css"},
		EntryNames:    "[name]-[hash]",
		ChunkNames:    "[name]-[hash]",
		Outdir:        filepath.Join(root, "dist"),
		Bundle:        true,
		Splitting:     true,
		Format:        api.FormatESModule,
		Target:        api.ES2022,
		JSX:           api.JSXAutomatic, JSXImportSource: "preact",
		MinifyWhitespace: true, MinifyIdentifiers: true, MinifySyntax: true,
		LegalComments: api.LegalCommentsNone,
		Alias: map[string]string{
			"preact": filepath.Join(vendor, "preact.mjs"), "preact/hooks": filepath.Join(vendor, "hooks.mjs"),
			"preact/jsx-runtime":   filepath.Join(vendor, "jsxRuntime.mjs"),
			"@preact/signals":      filepath.Join(vendor, "signals.mjs"),
			"@preact/signals-core": filepath.Join(vendor, "signals-core.mjs"),
		},
		TsconfigRaw: "{}", // the file of that name is for the type check
		LogLevel:    api.LogLevelWarning,
	})
	if len(result.Errors) > 0 {
		return nil, fmt.Errorf("esbuild: %d errors", len(result.Errors))
	}
	files := map[string][]byte{}
	script, style := "", ""
	for _, f := range result.OutputFiles {
		name := filepath.Base(f.Path)
		files[name] = f.Contents
		switch {
		case strings.HasPrefix(name, "main-") && strings.HasSuffix(name, ".js"):
			script = name
		case strings.HasPrefix(name, "style-"):
			style = name
		}
	}
	page, err := os.ReadFile(filepath.Join(root, "src", "index.html"))
	if err != nil {
		return nil, err
	}
	page = bytes.ReplaceAll(page, []byte("main.js"), []byte(script))
	files["index.html"] = bytes.ReplaceAll(page, []byte("style.css"), []byte(style))
	icon, err := os.ReadFile(filepath.Join(root, "src", "icon.svg"))
	if err != nil {
		return nil, err
	}
	files["icon.svg"] = icon
	files["LICENSES.txt"], err = joinLicences(vendor)
	return files, err
}

// joinLicences returns the texts that must go with the libraries.
func joinLicences(vendor string) ([]byte, error) {
	var all bytes.Buffer
	for _, name := range []string{"preact", "signals"} {
		text, err := os.ReadFile(filepath.Join(vendor, "LICENSE."+name))
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&all, "%s\n\n%s\n", name, text)
	}
	return all.Bytes(), nil
}

// sizeOfFirstPage returns the compressed size of what the first page loads: the page, its style, its script, and the
// scripts which that imports at once.
func sizeOfFirstPage(files map[string][]byte) (int, error) {
	total := 0
	for name, data := range files {
		first := name == "index.html" || strings.HasPrefix(name, "style-") || strings.HasPrefix(name, "main-") ||
			strings.HasPrefix(name, "chunk-")
		if !first {
			continue
		}
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		if _, err := w.Write(data); err != nil {
			return 0, err
		}
		if err := w.Close(); err != nil {
			return 0, err
		}
		total += b.Len()
	}
	return total, nil
}

func writeFiles(dist string, files map[string][]byte) error {
	if err := os.RemoveAll(dist); err != nil {
		return err
	}
	if err := os.MkdirAll(dist, 0o755); err != nil {
		return err
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dist, name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// checkFiles reports every file of dist that is not what the sources make.
func checkFiles(dist string, files map[string][]byte) error {
	var wrong []string
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(dist, name))
		if errors.Is(err, fs.ErrNotExist) || err == nil && !bytes.Equal(got, want) {
			wrong = append(wrong, name)
		} else if err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(dist)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if _, ok := files[e.Name()]; !ok {
			wrong = append(wrong, e.Name())
		}
	}
	if len(wrong) > 0 {
		slices.Sort(wrong)
		return fmt.Errorf("dist is not what the sources make (%s): run make ui", strings.Join(wrong, ", "))
	}
	return nil
}
