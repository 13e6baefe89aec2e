package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// BuildNATSServer builds the nats-server program of the version that the workspace requires. Root is the repository.
func BuildNATSServer(ctx context.Context, root, program string) error {
	program, err := filepath.Abs(program)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", program, "github.com/nats-io/nats-server/v2")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build nats-server: %w\n%s", err, out)
	}
	return nil
}

// NATSCluster is a cluster of NATS servers with JetStream, each a process of the nats-server program.
type NATSCluster struct {
	URL      string     // of all servers, for clients
	Servers  []*Process // each of which may be killed and started again
	Monitors []string   // URLs of the servers' monitoring pages, e.g. http://127.0.0.1:8222

	clients, routes []string // addresses
	dir             string
}

// NewNATSCluster returns a cluster of size servers whose data and configuration are in dir. It starts none. Each
// server logs to the file that logFile returns for its name, nats-0 and so on.
func NewNATSCluster(program, dir string, size int, logFile func(name string) io.Writer) (*NATSCluster, error) {
	c := &NATSCluster{dir: dir}
	for i := range size {
		client, err1 := FindFreeAddr()
		route, err2 := FindFreeAddr()
		monitor, err3 := FindFreeAddr()
		if err := errors.Join(err1, err2, err3); err != nil {
			return nil, err
		}
		c.clients, c.routes = append(c.clients, client), append(c.routes, route)
		c.Monitors = append(c.Monitors, "http://"+monitor)
		c.Servers = append(c.Servers, NewProcess(program, []string{"-c", c.configFile(i)}, logFile(c.name(i))))
	}
	c.URL = "nats://" + strings.Join(c.clients, ",nats://")
	return c, nil
}

func (c *NATSCluster) name(i int) string       { return "nats-" + strconv.Itoa(i) }
func (c *NATSCluster) configFile(i int) string { return filepath.Join(c.dir, c.name(i)+".conf") }

// Start starts all servers, none of which may run, and returns when each is healthy. They write to disk as
// syncInterval says, which is "always" or a duration.
func (c *NATSCluster) Start(ctx context.Context, syncInterval string) error {
	for i, p := range c.Servers {
		config := fmt.Sprintf("server_name: %s\nlisten: %q\nhttp: %q\n"+
			"cluster {name: inkstream, listen: %q, routes: [%s]}\n"+
			"jetstream {store_dir: %q, sync_interval: %q, max_file_store: 100GB}\n",
			c.name(i), c.clients[i], strings.TrimPrefix(c.Monitors[i], "http://"),
			c.routes[i], "nats://"+strings.Join(c.routes, ", nats://"), filepath.Join(c.dir, c.name(i)), syncInterval)
		if err := errors.Join(os.WriteFile(c.configFile(i), []byte(config), 0o600), p.Start()); err != nil {
			return err
		}
	}
	for i := range c.Servers {
		if err := c.AwaitHealthy(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// AwaitHealthy waits until a server, numbered from 0, says that it and its streams are in step with the cluster.
func (c *NATSCluster) AwaitHealthy(ctx context.Context, i int) error {
	if err := AwaitOK(ctx, c.Monitors[i]+"/healthz"); err != nil {
		return fmt.Errorf("nats server %d: %w", i, err)
	}
	return nil
}

// Stop ends all servers. Those that do not end within patience are killed.
func (c *NATSCluster) Stop(patience time.Duration) error {
	var errs []error
	for _, p := range c.Servers {
		errs = append(errs, p.Stop(patience))
	}
	return errors.Join(errs...)
}

// Kill ends all servers at once.
func (c *NATSCluster) Kill() {
	for _, p := range c.Servers {
		p.Kill()
	}
}

// AwaitOK waits until a page answers with 200.
func AwaitOK(ctx context.Context, page string) error {
	return RetryUntilDone(ctx, func() error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
		if err != nil {
			return err
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		if res.StatusCode != http.StatusOK {
			body, _ := io.ReadAll(io.LimitReader(res.Body, 300)) // it only adds to the error
			return fmt.Errorf("%s: %s %s", page, res.Status, body)
		}
		return nil
	})
}

// RetryUntilDone tries until there is no error or ctx is done. Its error is then that of the last try.
func RetryUntilDone(ctx context.Context, try func() error) error {
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(retryPause):
		}
	}
}
