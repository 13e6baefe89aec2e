package cli

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/spf13/cobra"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

func newArtifactsCommand(a *app) *cobra.Command {
	var dir string
	var stdout bool
	cmd := &cobra.Command{
		Use:   "artifacts ID [NAME...]",
		Short: "List what a job has yielded, or fetch it",
		Long: `List what a job has yielded, or fetch it: with names, or patterns such as 'images/*', those; with -d alone, all of it. Files go to the folder
of -d, or to the one you are in.`,
		Example: `  inkstream artifacts ID
  inkstream artifacts ID -d out
  inkstream artifacts ID document.md 'tables/*' -d out
  inkstream artifacts ID document.json --stdout | jq '.pages | length'`,
		Args:              requireArgs(-1, "ID"),
		ValidArgsFunction: a.completeArtifacts,
	}
	cmd.Flags().StringVarP(&dir, "dir", "d", "", "fetch into this `folder`, which is made where it is missing")
	cmd.Flags().BoolVar(&stdout, "stdout", false, "write the one artifact to standard output")
	how := addOutputFlag(cmd)
	cmd.RunE = a.withClient(func(cmd *cobra.Command, c *client, args []string) error {
		id, names := args[0], args[1:]
		switch {
		case stdout && (len(names) != 1 || dir != ""):
			return usageError{errors.New("--stdout goes with one name, and without -d")}
		case stdout:
			return explainError(c.copyArtifact(cmd.Context(), id, names[0], a.out))
		case dir == "" && len(names) == 0:
			res, err := c.ListArtifacts(cmd.Context(), &inkstreamv1.ListArtifactsRequest{Id: id})
			if err != nil {
				return explainError(err)
			}
			if len(res.GetArtifacts()) == 0 {
				return a.explainNoArtifacts(cmd.Context(), c, id, *how)
			}
			return a.printTable(*how, artifactTable(res.GetArtifacts()))
		}
		return a.fetchNamed(cmd.Context(), c, id, names, firstNonEmpty(dir, "."), *how)
	})
	return cmd
}

// explainNoArtifacts says why there are none.
func (a *app) explainNoArtifacts(ctx context.Context, c *client, id string, how outputFormat) error {
	j, err := c.GetJob(ctx, &inkstreamv1.GetJobRequest{Id: id})
	if err != nil {
		return explainError(err)
	}
	none := "The job has yielded nothing; 'inkstream get " + id + "' says why."
	if !hasEnded(j) {
		none = "The job is " + j.GetState().String() + ": what it yields comes when it has ended. 'inkstream watch " + id +
			"' follows it."
	}
	return a.printTable(how, table{emptyText: none, data: protoMessages([]*inkstreamv1.Artifact{})})
}

// fetchNamed downloads artifacts by names and patterns; a name that none has is an error.
func (a *app) fetchNamed(ctx context.Context, c *client, id string, names []string, dir string,
	how outputFormat) error {
	found := make([]bool, len(names))
	for _, name := range names {
		if _, err := path.Match(name, ""); err != nil {
			return usageError{fmt.Errorf("%q: %w", name, err)}
		}
	}
	only := func(artifact string) bool {
		wanted := len(names) == 0
		for i, name := range names {
			if ok, _ := path.Match(name, artifact); ok || name == artifact { // the pattern was checked above
				found[i], wanted = true, true
			}
		}
		return wanted
	}
	fetched, err := c.downloadArtifacts(ctx, id, dir, only)
	if err != nil {
		return explainError(err)
	}
	if i := slices.Index(found, false); i >= 0 {
		err = fmt.Errorf("%s: the job has no such artifact\n'inkstream artifacts %s' lists those it has", names[i], id)
	} else if len(fetched) == 0 {
		return a.explainNoArtifacts(ctx, c, id, how)
	}
	if how.isMachineReadable() {
		return errors.Join(err, a.printEncoded(how, protoMessages(fetched)))
	}
	total := int64(0)
	for _, f := range fetched {
		total += int64(f.GetSizeBytes())
	}
	if len(fetched) > 0 {
		fmt.Fprintf(a.out, "%s, %s, in %s\n", pluralize(len(fetched), "file"), formatBytes(total), dir)
	}
	return err
}

func artifactTable(artifacts []*inkstreamv1.Artifact) table {
	t := table{columns: []string{"SIZE", "TYPE", "CREATED", "NAME"}, plainColumns: 1, data: protoMessages(artifacts)}
	for _, f := range artifacts {
		t.rows = append(t.rows, []string{formatBytes(int64(f.GetSizeBytes())), f.GetContentType(),
			formatTime(f.GetCreateTime()), printableText(f.GetName())})
	}
	return t
}

// completeArtifacts offers jobs, then what the job has yielded.
func (a *app) completeArtifacts(cmd *cobra.Command, args []string,
	toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return a.completeFrom(offerJobs()).withoutGiven(cmd, args, toComplete)
	}
	offer := func(ctx context.Context, c *client) ([]string, error) {
		res, err := c.ListArtifacts(ctx, &inkstreamv1.ListArtifactsRequest{Id: args[0]})
		var names []string
		for _, f := range res.GetArtifacts() {
			names = append(names, f.GetName()+"\t"+formatBytes(int64(f.GetSizeBytes())))
		}
		return names, err
	}
	return a.completeFrom(offer).withoutGiven(cmd,
		args[1:], toComplete)
}
