package cli

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/timestamppb"

	"inkstream.dev/pkg/config"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

func newKeysCommand(a *app) *cobra.Command {
	return newParentCommand("keys", "Make, list, rotate and revoke API keys",
		newKeyCreateCommand(a), newKeyListCommand(a), newKeyRotateCommand(a),
		a.newEachCommand("revoke ID...", "Revoke keys; they are refused at once", a.completeFrom(offerKeys),
			func(cmd *cobra.Command, c *client, id string) (string, error) {
				_, err := c.RevokeKey(cmd.Context(), &inkstreamv1.RevokeKeyRequest{Id: id})
				return id + " revoked", err
			}))
}

func newKeyCreateCommand(a *app) *cobra.Command {
	req := &inkstreamv1.CreateKeyRequest{}
	var expires, save string
	var bytes string
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Make an API key; its secret is shown this once",
		Example: `  inkstream keys create --name 'nightly import' --scope write
  inkstream keys create --name ann --scope read --expires 90d --save ann.key`,
		Args: usageArgs(cobra.NoArgs),
	}
	f := cmd.Flags()
	f.StringSliceVar(&req.Scopes, "scope", []string{"write"}, "read, write (includes read) or admin (includes both)")
	f.StringVar(&req.Name, "name", "", "what people know it by")
	f.StringVar(&req.Tenant, "tenant", "", "whose documents it gives access to; your own tenant if empty")
	f.StringVar(&expires, "expires", "", "when it ends: in 90d, in 12h, or at 2027-01-31; never if empty")
	f.Int32Var(&req.MaxJobs, "max-jobs", 0, "jobs that may be under way at once; 0 for the server's default")
	f.StringVar(&bytes, "max-bytes-per-day", "", "what may be uploaded a day, e.g. 10GB; the server's default if empty")
	f.StringVar(&save, "save", "", "write the secret to this new `file`, readable by you alone, instead of showing it")
	completeValues(cmd, "scope", "read", "write", "admin")
	how := addOutputFlag(cmd)
	cmd.RunE = a.withClient(func(cmd *cobra.Command, c *client, _ []string) error {
		var err error
		if req.ExpireTime, err = parseExpiry(expires, time.Now()); err != nil {
			return err
		}
		if req.MaxBytesPerDay, err = parseByteCount("--max-bytes-per-day", bytes); err != nil {
			return err
		}
		keep, err := newSecretFile(save)
		if err != nil {
			return err
		}
		key, err := c.CreateKey(cmd.Context(), req)
		if err != nil {
			return keep.removeAfter(explainError(err))
		}
		return a.showSecret(*how, key, keep)
	})
	return cmd
}

// parseExpiry reads when something ends: after so long, or at a time.
func parseExpiry(text string, now time.Time) (*timestamppb.Timestamp, error) {
	if d, err := parseLongDuration(text); err == nil {
		return timestamppb.New(now.Add(d)), nil
	}
	return parseMoment("--expires", text, now)
}

// secretFile is a file for a secret that is about to be made. It is made first: a secret that is shown once must not
// be lost to a wrong path.
type secretFile struct{ file *os.File }

func newSecretFile(path string) (secretFile, error) {
	if path == "" {
		return secretFile{}, nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return secretFile{}, usageError{fmt.Errorf("--save: %w", err)}
	}
	return secretFile{f}, nil
}

// removeAfter removes the file after an error, which it returns.
func (s secretFile) removeAfter(err error) error {
	if s.file != nil {
		s.file.Close()
		os.Remove(s.file.Name())
	}
	return err
}

func (s secretFile) writeSecret(secret string) error {
	if _, err := fmt.Fprintln(s.file, secret); err != nil {
		return err
	}
	return s.file.Close()
}

// showSecret prints a key that was just made: the secret alone on standard output, so that it can be piped, and what
// goes with it beside.
func (s streams) showSecret(how outputFormat, key *inkstreamv1.Key, keep secretFile) error {
	if keep.file != nil {
		if err := keep.writeSecret(key.GetSecret()); err != nil {
			return err
		}
		fmt.Fprintf(s.err, "Key %s (%s): the secret is in %s.\n", key.GetId(), strings.Join(key.GetScopes(), ", "),
			keep.file.Name())
		return nil
	}
	if how.isMachineReadable() {
		return s.printEncoded(how, key)
	}
	fmt.Fprintf(s.err, "Key %s (%s). This is its secret; it is not shown again:\n", key.GetId(),
		strings.Join(key.GetScopes(), ", "))
	fmt.Fprintln(s.out, key.GetSecret())
	fmt.Fprintf(s.err, "Use it as INKSTREAM_API_KEY, or in a file with --api-key-file or a profile.\n")
	return nil
}

func newKeyListCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{Use: "ls", Aliases: []string{"list"}, Short: "List the keys, without their secrets",
		Args: usageArgs(cobra.NoArgs)}
	how := addOutputFlag(cmd)
	cmd.RunE = a.withClient(func(cmd *cobra.Command, c *client, _ []string) error {
		res, err := c.ListKeys(cmd.Context(), &inkstreamv1.ListKeysRequest{})
		if err != nil {
			return explainError(err)
		}
		t := table{
			columns: []string{"ID", "SCOPES", "CREATED", "EXPIRES", "TENANT", "JOBS", "BYTES/DAY", "NAME"}, plainColumns: 4,
			data:      protoMessages(res.GetKeys()),
			emptyText: "There are no keys: 'inkstream keys create' makes one.",
		}
		for _, k := range res.GetKeys() {
			t.rows = append(t.rows, []string{
				k.GetId(), strings.Join(k.GetScopes(), ","), formatTime(k.GetCreateTime()), formatTime(k.GetExpireTime()),
				dashIfEmpty(k.GetTenant()),
				limitOrDefault(int64(k.GetMaxJobs())), limitOrDefault(k.GetMaxBytesPerDay()), dashIfEmpty(k.GetName()),
			})
		}
		return a.printTable(*how, t)
	})
	return cmd
}

func limitOrDefault(n int64) string {
	if n == 0 {
		return "default"
	}
	return fmt.Sprint(n)
}

func newKeyRotateCommand(a *app) *cobra.Command {
	var save string
	cmd := &cobra.Command{
		Use: "rotate ID", Short: "Give a key another secret; the old one is refused at once", Args: requireArgs(1, "ID"),
		ValidArgsFunction: completeFirstArg(a.completeFrom(offerKeys)),
	}
	cmd.Flags().StringVar(&save, "save", "",
		"write the secret to this new `file`, readable by you alone, instead of showing it")
	how := addOutputFlag(cmd)
	cmd.RunE = a.withClient(func(cmd *cobra.Command, c *client, args []string) error {
		keep, err := newSecretFile(save)
		if err != nil {
			return err
		}
		key, err := c.RotateKey(cmd.Context(), &inkstreamv1.RotateKeyRequest{Id: args[0]})
		if err != nil {
			return keep.removeAfter(explainError(err))
		}
		return a.showSecret(*how, key, keep)
	})
	return cmd
}

func newWebhooksCommand(a *app) *cobra.Command {
	return newParentCommand("webhooks", "Have addresses told of the jobs that end",
		newWebhookAddCommand(a), newWebhookListCommand(a),
		a.newEachCommand("rm ID...", "End webhooks", a.completeFrom(offerWebhooks),
			func(cmd *cobra.Command, c *client, id string) (string, error) {
				_, err := c.DeleteWebhook(cmd.Context(), &inkstreamv1.DeleteWebhookRequest{Id: id})
				return id + " removed", err
			}))
}

func newWebhookAddCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "add URL",
		Short: "Have an address told of every job that ends; the secret that signs the calls is shown this once",
		Args:  requireArgs(1, "URL"),
	}
	how := addOutputFlag(cmd)
	cmd.RunE = a.withClient(func(cmd *cobra.Command, c *client, args []string) error {
		hook, err := c.CreateWebhook(cmd.Context(), &inkstreamv1.CreateWebhookRequest{Url: args[0]})
		if err != nil {
			return explainError(err)
		}
		if how.isMachineReadable() {
			return a.printEncoded(*how, hook)
		}
		fmt.Fprintf(a.err, "Webhook %s. Calls are signed with this secret; it is not shown again:\n", hook.GetId())
		fmt.Fprintln(a.out, hook.GetSecret())
		return nil
	})
	return cmd
}

func newWebhookListCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{Use: "ls", Aliases: []string{"list"}, Short: "List the webhooks, without their secrets",
		Args: usageArgs(cobra.NoArgs)}
	how := addOutputFlag(cmd)
	cmd.RunE = a.withClient(func(cmd *cobra.Command, c *client, _ []string) error {
		res, err := c.ListWebhooks(cmd.Context(), &inkstreamv1.ListWebhooksRequest{})
		if err != nil {
			return explainError(err)
		}
		t := table{columns: []string{"ID", "CREATED", "URL"}, data: protoMessages(res.GetWebhooks()),
			emptyText: "There are no webhooks: 'inkstream webhooks add URL' makes one."}
		for _, h := range res.GetWebhooks() {
			t.rows = append(t.rows, []string{h.GetId(), formatTime(h.GetCreateTime()), dashIfEmpty(h.GetUrl())})
		}
		return a.printTable(*how, t)
	})
	return cmd
}

// parseByteCount reads a number of bytes such as 10GB; none is 0.
func parseByteCount(flag, text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := config.ParseBytes(text)
	if err != nil {
		return 0, usageError{fmt.Errorf("%s: %w", flag, err)}
	}
	return int64(n), nil
}
