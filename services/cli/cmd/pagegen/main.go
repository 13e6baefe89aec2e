// Command pagegen writes generated documents with known contents into a folder: NAME.pdf, NAME.truth.json and, if asked,
// NAME.scan.pdf, a degraded scan of the same pages.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"inkstream.dev/pkg/lifecycle"
	"inkstream.dev/pkg/pdftest/pagegen"
)

func main() {
	ctx, stop := lifecycle.SignalContext(context.Background())
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "pagegen:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("pagegen", flag.ContinueOnError)
	seed := fs.Uint64("seed", uint64(time.Now().Unix()), "the first document's `seed`; the others' follow")
	number := fs.Int("n", 1, "how many documents of each family")
	only := fs.String("families", "", "only `these` families, with commas")
	out := fs.String("o", "out/pages", "`folder` for the documents")
	scans := fs.Bool("scans", false, "write degraded scans too")
	if err := fs.Parse(args); err != nil {
		return err
	}
	families, err := pagegen.SelectFamilies(*only)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(*out, 0o755); err != nil {
		return err
	}
	var generator pagegen.Generator
	defer generator.Close()
	begin, made := time.Now(), 0
	for i := range *number {
		for _, family := range families {
			document, err := generator.Make(ctx, family, *seed+uint64(i))
			if err != nil {
				return err
			}
			if *scans {
				if err := document.AddScan(ctx); err != nil {
					return err
				}
			}
			if err := document.WriteFiles(*out); err != nil {
				return err
			}
			made++
		}
	}
	fmt.Fprintf(os.Stderr, "%d documents with seeds from %d in %.1f s: %s\n", made, *seed, time.Since(begin).Seconds(), *out)
	return nil
}
