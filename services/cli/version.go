package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"inkstream.dev/pkg/service"
)

// buildInfo is what is known of the program.
type buildInfo struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func newVersionCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{Use: "version", Short: "Print the version of this command", Args: usageArgs(cobra.NoArgs)}
	how := addOutputFlag(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		b := buildInfo{Version: service.Version, Commit: service.Revision, Go: runtime.Version(),
			Platform: runtime.GOOS + "/" + runtime.GOARCH}
		if info, ok := debug.ReadBuildInfo(); ok {
			for _, s := range info.Settings {
				switch s.Key {
				case "vcs.revision":
					b.Commit = s.Value
				case "vcs.modified":
					b.Modified = s.Value == "true"
				}
			}
		}
		if how.isMachineReadable() {
			return a.printEncoded(*how, b)
		}
		fmt.Fprintf(a.out, "inkstream %s (%s, %s)\n", b.Version, b.Go, b.Platform)
		if *how == asWide && b.Commit != "" {
			fmt.Fprintf(a.out, "commit %s\n", b.Commit)
		}
		return nil
	}
	return cmd
}

// escapeAsterisks keeps asterisks in texts from being taken for marks, as manual pages are written from Markdown.
func escapeAsterisks(cmd *cobra.Command) {
	cmd.Long = strings.ReplaceAll(cmd.Long, "*", `\*`)
	cmd.Short = strings.ReplaceAll(cmd.Short, "*", `\*`)
	for _, c := range cmd.Commands() {
		escapeAsterisks(c)
	}
}

func newManCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "man FOLDER",
		Short:   "Write the manual pages into a folder",
		Example: "  inkstream man ~/.local/share/man/man1 && man inkstream-submit",
		Args:    requireArgs(1, "FOLDER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			root := cmd.Root()
			escapeAsterisks(root)
			root.InitDefaultCompletionCmd()
			head := &doc.GenManHeader{Section: "1", Source: "Inkstream " + service.Version, Manual: "Inkstream"}
			root.DisableAutoGenTag = true
			if err := doc.GenManTree(root, head, args[0]); err != nil {
				return err
			}
			pages, err := filepath.Glob(filepath.Join(args[0], "inkstream*.1"))
			if err != nil {
				return err
			}
			fmt.Fprintf(a.out, "%d manual pages are in %s; 'man -l %s' shows the first.\n", len(pages), args[0],
				filepath.Join(args[0], "inkstream.1"))
			return nil
		},
	}
}
