// Command compile-pdfium compiles PDFium for this processor into a cache folder, for images to hold: compile-pdfium
// DIR. A service finds it there by --pdf.cache-dir (PDF_CACHE_DIR). Without DIR it is the user's own folder, where
// services and tests look by default.
package main

import (
	"context"
	"fmt"
	"os"

	"inkstream.dev/pkg/pdf"
	"inkstream.dev/pkg/pdf/internal/pdfium"
)

func main() {
	dir := pdf.DefaultConfig().CacheDir
	switch len(os.Args) {
	case 1:
	case 2:
		dir = os.Args[1]
	default:
		fmt.Fprintln(os.Stderr, "usage: compile-pdfium [DIR]")
		os.Exit(2)
	}
	if err := compileModule(context.Background(), dir); err != nil {
		fmt.Fprintln(os.Stderr, "compile-pdfium:", err)
		os.Exit(1)
	}
}

func compileModule(ctx context.Context, dir string) error {
	const memory = 768 << 20 // of the module's address space; nothing runs in it here
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	rt, err := pdfium.NewRuntime(ctx, pdfium.Config{CacheDir: dir, MemoryLimit: memory})
	if err != nil {
		return err
	}
	return rt.Close(ctx)
}
