package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/config"
	"inkstream.dev/pkg/natsconfig"
)

func newNATSConfigCommand(s streams) *cobra.Command {
	opts := natsconfig.DefaultOptions()
	dir, keep := "nats", false
	cmd := &cobra.Command{
		Use:   "nats-config",
		Short: "Write the configuration of NATS servers, with a user for each service",
		Long: `Write the configuration of NATS servers for services that run on their own: JetStream that has on disk what it acknowledges, an account for
the pipeline, an administrator, and one user for each service who may use the subjects that the service needs and no others. The users' keys are
made anew, so nothing is overwritten: move the old folder away to write another.

With --keep-keys it writes the servers' configurations anew around the keys in the folder, for what an update lets the users do: nobody is locked
out, and users who have no key yet get one. Give the same flags as before; a file that changes is kept beside as NAME.old.

Give each service the file with its seed, and keep admin.nk away from all of them.`,
		Example: `  inkstream nats-config -o /etc/inkstream/nats
  nats-server -c /etc/inkstream/nats/nats.conf
  inkstream provision --nats nats://nats:4222 --nats.nkey /etc/inkstream/nats/admin.nk
  ocr --nats nats://nats:4222 --nats.nkey /etc/inkstream/nats/ocr.nk --nats.provision=false --blobs file:///blobs

  inkstream nats-config --cluster nats-1,nats-2,nats-3 --tls-cert /etc/nats/cert.pem --tls-key /etc/nats/key.pem

  inkstream nats-config -o /etc/inkstream/nats --keep-keys && nats-server --signal reload`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			if err := opts.Validate(); err != nil {
				return usageError{err}
			}
			if keep {
				return rewriteNATSConfig(opts, dir, s.out)
			}
			return writeNATSConfig(opts, dir, s.out)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&dir, "out", "o", dir, "folder to write to")
	f.BoolVar(&keep, "keep-keys", false, "write the configurations anew around the keys in the folder")
	f.StringVar(&opts.Listen, "listen", opts.Listen, "address for the services")
	f.StringVar(&opts.Monitor, "monitor", opts.Monitor, "address of the server's monitoring pages; empty for none")
	f.StringVar(&opts.Dir, "store-dir", opts.Dir, "folder that a server keeps its streams in")
	f.StringSliceVar(&opts.Cluster, "cluster", nil,
		"host names of a cluster's servers, three or more; each stream is kept by three of them")
	f.IntVar(&opts.ClusterPort, "cluster-port", opts.ClusterPort, "port that a cluster's servers find each other on")
	f.StringVar(&opts.TLS.Cert, "tls-cert", "", "PEM file of a server's certificate, on its machine; none: no TLS")
	f.StringVar(&opts.TLS.Key, "tls-key", "", "PEM file of the certificate's key")
	f.StringVar(&opts.TLS.CA, "tls-ca", "",
		"PEM file of the authorities that sign certificates of services and servers; then each has to show one")
	return cmd
}

// writeNATSConfig writes the files and says what to do with them.
func writeNATSConfig(opts natsconfig.Options, dir string, out io.Writer) error {
	files, err := natsconfig.GenerateFiles(opts)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	// First of all, so that nothing is written where something is in the way.
	for _, file := range files {
		if _, err := os.Lstat(filepath.Join(dir, file.Name)); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s is there already, and new keys would lock its users out: name another folder, move this one away, or keep its keys with --keep-keys",
				filepath.Join(dir, file.Name))
		}
	}
	for _, file := range files {
		path := filepath.Join(dir, file.Name)
		if err := writeSecret(path, file.Data); err != nil {
			return err
		}
		fmt.Fprintln(out, path)
	}
	fmt.Fprintf(out, `
Next:
  1. start each server with its configuration, such as: nats-server -c %s
  2. make the streams: inkstream provision --nats nats://HOST:4222 --nats.nkey %s --nats.replicas %d
  3. start each service with its own user: --nats.nkey %s --nats.provision=false
`, filepath.Join(dir, files[len(files)-1].Name), filepath.Join(dir, natsconfig.SeedFileName(bus.AdminUser)), opts.StreamReplicas(),
		filepath.Join(dir, natsconfig.SeedFileName("SERVICE")))
	return nil
}

// writeSecret writes a new file that its owner alone can read.
func writeSecret(path string, data []byte) (err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err // names the file
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = f.Write(data)
	return err
}

// natsFlags are the flags of a command that connects to NATS servers.
type natsFlags struct {
	url         string
	credentials bus.Credentials
}

// registerFlags adds the flags of the credentials to a command that is meant for the user. Like a service's they can
// be given by the environment.
func (f *natsFlags) registerFlags(cmd *cobra.Command, s streams, user string) {
	f.credentials.InboxPrefix = bus.InboxPrefix(user)
	flags := flag.NewFlagSet(cmd.Name(), flag.ContinueOnError)
	f.credentials.Register(flags)
	flags.VisitAll(func(one *flag.Flag) {
		if v := s.getenv(config.VariableName(one.Name)); v != "" {
			one.DefValue = v
			_ = one.Value.Set(v) // any text is a file name
		}
	})
	cmd.Flags().AddGoFlagSet(flags)
}

// connectBus connects to the servers.
func (f *natsFlags) connectBus(name string) (*bus.Bus, error) {
	if err := f.credentials.Validate(); err != nil {
		return nil, usageError{err}
	}
	opts, err := f.credentials.Options()
	if err != nil {
		return nil, err
	}
	return bus.Connect(f.url, name, slog.New(slog.DiscardHandler), nil, opts...)
}

// nameKeyFile adds to the refusal of a user which file's key it is.
func (f *natsFlags) nameKeyFile(err error) error {
	file := f.credentials.NKey + f.credentials.Creds // at most one is given
	if file == "" || !errors.Is(err, nats.ErrAuthorization) {
		return err
	}
	return fmt.Errorf("the key in %s: %w", file, err)
}

func newProvisionCommand(s streams) *cobra.Command {
	f := natsFlags{url: "nats://127.0.0.1:4222"}
	if url := s.getenv("NATS"); url != "" {
		f.url = url
	}
	var topology bus.Topology
	replicas := 0
	timeout := time.Minute
	cmd := &cobra.Command{
		Use:   "provision",
		Short: "Make the streams, consumers and buckets on NATS servers, or bring them up to date",
		Long: `Make the streams, consumers and buckets on NATS servers, as the administrator of 'inkstream nats-config', for services that run with
--nats.provision=false. It can be run again at any time, and must be after each update: what is there is brought up to date, and nothing is lost.

As many servers keep each stream as did before; at first 3 do on a cluster. --nats.replicas makes them more, or fewer.`,
		Example: `  inkstream provision --nats nats://nats:4222 --nats.nkey nats/admin.nk
  inkstream provision --nats nats://nats-1:4222,nats://nats-2:4222,nats://nats-3:4222 --nats.nkey nats/admin.nk --nats.replicas 3`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("nats.replicas") {
				if replicas < 1 || replicas > 5 {
					return usageError{fmt.Errorf("--nats.replicas: %d, want 1 to 5", replicas)}
				}
				topology.Replicas = replicas
				topology.OnLowerReplicas = func(stream string, from, to int) {
					fmt.Fprintf(s.out, "%s: replicas lowered from %d to %d\n", stream, from, to)
				}
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			return provisionStreams(ctx, s.out, &f, topology)
		},
	}
	cmd.Flags().StringVar(&f.url, "nats", f.url, "addresses of the NATS servers, comma-separated")
	cmd.Flags().IntVar(&replicas, "nats.replicas", 0,
		"replicas of each stream (default: as many as now; at first 1 on one server, 3 on a cluster)")
	cmd.Flags().DurationVar(&timeout, "timeout", timeout, "how long it may take, the wait for the servers included")
	f.registerFlags(cmd, s, bus.AdminUser)
	return cmd
}

func provisionStreams(ctx context.Context, out io.Writer, f *natsFlags, topology bus.Topology) error {
	b, err := f.connectBus("inkstream provision")
	if err != nil {
		return err
	}
	defer b.Close()
	if err := b.ProvisionWhenUp(ctx, topology); err != nil {
		return f.nameKeyFile(err)
	}
	found, replicas, err := b.InspectTopology(ctx, topology)
	if err != nil {
		return err
	}
	for _, d := range found {
		fmt.Fprintf(out, "%s: %s\n", d.Name, d.Problem)
	}
	if len(found) > 0 {
		return errors.New("not everything is as it should be: see above")
	}
	fmt.Fprintf(out, "all streams, consumers and buckets are there, replicas: %d\n", replicas)
	if topology.Replicas == 0 && replicas < bus.ClusterReplicas && b.ServerInfo().Cluster != "" {
		fmt.Fprintln(out,
			"the server is part of a cluster: --nats.replicas 3 has three of its servers keep each stream, so that one may be away")
	}
	return nil
}
