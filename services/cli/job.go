package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/encoding/protojson"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

func newGet(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "get ID",
		Short: "Show a job",
		Args:  usageArgs(cobra.ExactArgs(1)),
	}
	server := serverFlag(cmd, s)
	output := cmd.Flags().StringP("output", "o", "text", "text or json")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *output != "text" && *output != "json" {
			return usageError{fmt.Errorf("--output %q: want text or json", *output)}
		}
		c, err := dial(*server)
		if err != nil {
			return err
		}
		defer c.conn.Close()
		j, err := c.GetJob(cmd.Context(), &inkstreamv1.GetJobRequest{Id: args[0]})
		if err != nil {
			return explain(err)
		}
		if *output == "json" {
			return printJSON(s.out, j)
		}
		printJob(s.out, j)
		return nil
	}
	return cmd
}

func newWatch(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "watch ID",
		Short: "Follow a job to its end",
		Args:  usageArgs(cobra.ExactArgs(1)),
	}
	server := serverFlag(cmd, s)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := dial(*server)
		if err != nil {
			return err
		}
		defer c.conn.Close()
		bar := newProgress(s.err)
		j, err := c.follow(cmd.Context(), args[0], func(j *inkstreamv1.Job) { bar.set(j.GetId(), j) })
		bar.finish()
		if err != nil {
			return explain(err)
		}
		printJob(s.out, j)
		if j.GetState() != inkstreamv1.Job_SUCCEEDED {
			return errSome
		}
		return nil
	}
	return cmd
}

func newText(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "text ID",
		Short: "Print the text of a job; pages are set apart by form feeds",
		Args:  usageArgs(cobra.ExactArgs(1)),
	}
	server := serverFlag(cmd, s)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := dial(*server)
		if err != nil {
			return err
		}
		defer c.conn.Close()
		return explain(c.copyArtifact(cmd.Context(), args[0], "text.txt", s.out))
	}
	return cmd
}

func printJSON(w io.Writer, j *inkstreamv1.Job) error {
	b, err := protojson.MarshalOptions{Multiline: true, Indent: "  "}.Marshal(j)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, string(b))
	return err
}

func printJob(w io.Writer, j *inkstreamv1.Job) {
	row := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%-10s %s\n", name, fmt.Sprintf(format, args...))
	}
	row("id", "%s", j.GetId())
	row("state", "%s", j.GetState())
	row("file", "%s (%s)", j.GetFilename(), bytesText(int64(j.GetSizeBytes())))
	row("pages", "%d of %d%s", j.GetPagesDone(), j.GetPageCount(), outcomes(j))
	row("created", "%s", j.GetCreateTime().AsTime().Local().Format(time.DateTime))
	if j.GetEndTime() != nil {
		row("took", "%s", j.GetEndTime().AsTime().Sub(j.GetCreateTime().AsTime()).Round(time.Millisecond))
	}
	for _, st := range j.GetStages() {
		row(st.GetName(), "%d done, %.2f s", st.GetUnitsDone(), st.GetBusySeconds())
	}
	if e := j.GetError(); e != nil {
		row("error", "%s: %s (%s)", e.GetCode(), e.GetMessage(), e.GetStage())
	}
	for i, f := range j.GetFailures() {
		if i == 10 {
			row("", "and %d more failed pages", len(j.GetFailures())-i)
			break
		}
		row("failed", "page %d: %s", f.GetPage(), f.GetReason())
	}
	for _, f := range j.GetFindings() {
		row("finding", "%s × %d (%s) %s", f.GetKind(), f.GetCount(), f.GetPolicy(), f.GetDetail())
	}
}

// outcomes returns ": 3 native_text, 1 ocr", or nothing while no page has ended.
func outcomes(j *inkstreamv1.Job) string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(j.GetOutcomes())) {
		if n := j.GetOutcomes()[kind]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, kind))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return ": " + strings.Join(parts, ", ")
}

func bytesText(n int64) string {
	switch {
	case n >= 1e6:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	case n >= 1000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	default:
		return fmt.Sprintf("%d bytes", n)
	}
}
