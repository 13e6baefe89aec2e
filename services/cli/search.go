package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// searchPageSize is how many hits are asked for at a time, at most.
const searchPageSize = 100

func newSearchCommand(a *app) *cobra.Command {
	req := &inkstreamv1.SearchRequest{}
	var limit int
	var since, until string
	cmd := &cobra.Command{
		Use:   "search QUERY...",
		Short: "Find pages by their text",
		Long: `Find pages by their text: words that a page must have, "a phrase", -without, prefix*. The best pages come first.

A query that begins with a hyphen, or that has quotes of its own, goes behind --: inkstream search -- '"annual report" -draft'`,
		Example: `  inkstream search invoice 2024
  inkstream search --filename contract --since 30d 'terminat*'
  inkstream search -o json invoice | jq -r '.[] | "\(.job) \(.page)"'`,
		Args: requireArgs(-1, "QUERY"),
	}
	f := cmd.Flags()
	f.IntVar(&limit, "limit", 10, "how many pages at most")
	f.StringVar(&req.Filename, "filename", "", "only files with this `part` in their name")
	f.StringArrayVar(&req.Label, "label", nil, "only jobs with this `key=value`, or key for any value; may be repeated")
	f.StringVar(&req.Language, "language", "", "only pages in this language, ISO 639-3, e.g. deu")
	f.StringVar(&since, "since", "", "only jobs created since this `time`: 2h, 7d, 2026-11-30")
	f.StringVar(&until, "until", "", "only jobs created before this `time`")
	f.Int32Var(&req.MinPages, "min-pages", 0, "only documents of at least so many pages")
	f.Int32Var(&req.MaxPages, "max-pages", 0, "only documents of at most so many pages")
	f.StringVar(&req.Job, "job", "", "only in this job")
	registerCompletion(cmd, "job", a.completeFrom(offerJobs()))
	how := addOutputFlag(cmd)
	cmd.RunE = a.withClient(func(cmd *cobra.Command, c *client, args []string) error {
		if limit < 1 {
			return usageError{fmt.Errorf("--limit %d: want 1 or more", limit)}
		}
		req.Q = strings.Join(args, " ")
		err := checkLabels(req.GetLabel())
		if err != nil {
			return err
		}
		if req.CreateAfter, err = parseMoment("--since", since, time.Now()); err != nil {
			return err
		}
		if req.CreateBefore, err = parseMoment("--until", until, time.Now()); err != nil {
			return err
		}
		var hits []*inkstreamv1.SearchHit
		for {
			req.PageSize = int32(min(limit-len(hits), searchPageSize))
			res, err := c.Search(cmd.Context(), req)
			if err != nil {
				return explainError(err)
			}
			hits = append(hits, res.GetHits()...)
			if req.PageToken = res.GetNextPageToken(); req.PageToken == "" || len(hits) >= limit {
				break
			}
		}
		return a.showHits(*how, cmd.Flags().Changed("output"), hits, req.GetPageToken() != "")
	})
	return cmd
}

// showHits prints what was found: for people, unless they ask for a table, each hit with what stands around it.
func (s streams) showHits(how outputFormat, chosen bool, hits []*inkstreamv1.SearchHit, more bool) error {
	if len(hits) == 0 && !how.isMachineReadable() {
		fmt.Fprintln(s.err, "No page has that.")
		return nil
	}
	if chosen {
		t := table{columns: []string{"JOB", "PAGE", "FILE", "CREATED", "SCORE", "SNIPPET"}, plainColumns: 3,
			data: protoMessages(hits)}
		for _, h := range hits {
			t.rows = append(t.rows, []string{
				h.GetJob(), fmt.Sprint(h.GetPage()), dashIfEmpty(h.GetFilename()), formatTime(h.GetCreateTime()),
				fmt.Sprintf("%.3f", h.GetScore()),
				s.formatSnippet(h),
			})
		}
		return s.printTable(how, t)
	}
	for i, h := range hits {
		if i > 0 {
			fmt.Fprintln(s.out)
		}
		fmt.Fprintf(s.out, "%s  page %d  %s\n    %s\n", s.applyStyle(styleBold, dashIfEmpty(h.GetFilename())), h.GetPage(),
			s.applyStyle(styleDim, h.GetJob()), s.formatSnippet(h))
	}
	if more {
		fmt.Fprintf(s.err, "\nThere are more: --limit %d shows more of them.\n", 10*len(hits))
	}
	return nil
}

// formatSnippet returns a hit's piece of text on one line, with what matches set off where the terminal can.
func (s streams) formatSnippet(h *inkstreamv1.SearchHit) string {
	text := []rune(h.GetSnippet())
	var b strings.Builder
	at := 0
	for _, span := range h.GetHighlights() {
		start, end := int(span.GetStart()), int(span.GetEnd())
		if start < at || end < start || end > len(text) {
			continue // not of this text
		}
		b.WriteString(printableText(string(text[at:start])))
		b.WriteString(s.applyStyle(styleBold+styleYellow, printableText(string(text[start:end]))))
		at = end
	}
	b.WriteString(printableText(string(text[at:])))
	return strings.Join(strings.Fields(b.String()), " ")
}
