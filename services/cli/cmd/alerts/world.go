package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/telemetry"
	"inkstream.dev/services/standalone/chaos"
)

// natsArg makes this program a NATS server.
const natsArg = "nats-server"

func runNATS(file string) error {
	opts, err := server.ProcessConfigFile(file)
	if err != nil {
		return err
	}
	srv, err := server.NewServer(opts)
	if err != nil {
		return err
	}
	srv.ConfigureLogger()
	srv.Start()
	srv.WaitForShutdown()
	return nil
}

const nodes = 3

// world is everything that runs.
type world struct {
	root, dir, bin string
	alerts         []string // names of the rules
	prometheus     string   // URL
	client         *chaos.Client
	bus            *bus.Bus
	nats           [nodes]*chaos.Process
	services       map[string]*chaos.Process
	commands       map[string][]string // of the services
	env            []string            // of the services
	sink           *sink
	closers        []func()
}

// tlsGateway is a second gateway, the one with a certificate.
const tlsGateway = "gateway-tls"

func (w *world) path(name string) string { return filepath.Join(w.dir, name) }

// close ends all processes, the last started first.
func (w *world) close() {
	for _, f := range slices.Backward(w.closers) {
		f()
	}
}

// launch starts a program that ends with the world.
func (w *world) launch(name, path string, args []string, env ...string) (*chaos.Process, error) {
	log, err := os.OpenFile(w.path(name+".log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	p := chaos.NewProcess(path, args, log)
	if err := p.Start(env...); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	w.closers = append(w.closers, func() { p.Kill(); _ = log.Close() })
	return p, nil
}

// addrs returns addresses that nothing listens on.
func addrs(n int) ([]string, error) {
	var all []string
	var errs []error
	for range n {
		a, err := chaos.FindFreeAddr()
		all, errs = append(all, a), append(errs, err)
	}
	return all, errors.Join(errs...)
}

func (w *world) open(ctx context.Context) error {
	urls, err := w.openNATS(ctx)
	if err != nil {
		return fmt.Errorf("nats: %w", err)
	}
	collector, err := w.openCollector()
	if err != nil {
		return fmt.Errorf("collector: %w", err)
	}
	targets, err := w.openServices(urls, collector)
	if err != nil {
		return fmt.Errorf("services: %w", err)
	}
	ready, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	if err := w.client.AwaitReady(ready); err != nil {
		return fmt.Errorf("gateway: %w", err)
	}
	return w.openPrometheus(ctx, targets)
}

// openNATS starts a cluster that keeps each stream on all of its servers.
func (w *world) openNATS(ctx context.Context) (urls string, err error) {
	clients, err1 := addrs(nodes)
	routes, err2 := addrs(nodes)
	self, err3 := os.Executable()
	if err := errors.Join(err1, err2, err3); err != nil {
		return "", err
	}
	for i := range w.nats {
		name := fmt.Sprintf("nats-%d", i)
		text := fmt.Sprintf("server_name: %s\nlisten: %q\njetstream {store_dir: %q, sync_interval: always}\n"+
			"cluster {name: drill, listen: %q, routes: [%s]}\n",
			name, clients[i], w.path(name), routes[i], "nats://"+strings.Join(routes, ", nats://"))
		if err := os.WriteFile(w.path(name+".conf"), []byte(text), 0o600); err != nil {
			return "", err
		}
		if w.nats[i], err = w.launch(name, self, []string{natsArg, w.path(name + ".conf")}); err != nil {
			return "", err
		}
	}
	urls = "nats://" + strings.Join(clients, ",nats://")
	if w.bus, err = bus.Connect(urls, "alerts", slog.New(slog.DiscardHandler), telemetry.NewDiscard()); err != nil {
		return "", err
	}
	w.closers = append(w.closers, w.bus.Close)
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	return urls, w.bus.ProvisionWhenUp(ctx, bus.Topology{Replicas: nodes, AckWait: 3 * time.Second})
}

// openCollector starts the collector with the configuration of deploy/observability, but for its ports. It passes
// traces on to this process.
func (w *world) openCollector() (addr string, err error) {
	if w.sink, err = openSink(); err != nil {
		return "", err
	}
	w.closers = append(w.closers, w.sink.close)
	if addr, err = chaos.FindFreeAddr(); err != nil {
		return "", err
	}
	_, err = w.launch("collector", filepath.Join(w.root, ".bin", "otelcol"), []string{
		"--config", filepath.Join(w.root, "deploy", "observability", "collector.yaml"),
		"--set=receivers.otlp.protocols.grpc.endpoint=" + addr,
	}, "TRACES_ENDPOINT="+w.sink.addr)
	return addr, err
}

// openServices starts the services, and returns their pages by name. The gateway's uploads are on a disk of 8 MiB.
func (w *world) openServices(urls, collector string) (targets map[string]string, err error) {
	ports, err := addrs(4 + len(chaos.Services) + 1)
	if err != nil {
		return nil, err
	}
	uploads := w.path("uploads")
	err = errors.Join(os.MkdirAll(uploads, 0o700), os.MkdirAll(w.path("blobs"), 0o700),
		w.writeCertificate(90*24*time.Hour))
	if err != nil {
		return nil, err
	}
	w.services, w.commands, targets = map[string]*chaos.Process{}, map[string][]string{}, map[string]string{}
	w.client = chaos.NewClient("http://" + ports[0])
	index := "sqlite://" + w.path("index.db")
	own := map[string][]string{
		"render": {"--render.workers", "2"}, "ocr": {"--ocr.workers", "1"},
		"index": {"--index", index, "--index.workers", "2"},
		"gateway": {
			"--gateway.http", ports[0], "--gateway.grpc", ports[1], "--reconcile.interval", "1s", "--gateway.tus-dir", uploads,
		},
		tlsGateway: {
			"--gateway.http", ports[2], "--gateway.grpc", ports[3], "--tls.cert", w.path("tls.crt"), "--tls.key",
			w.path("tls.key"),
		},
	}
	w.env = []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + collector, "OTEL_BSP_SCHEDULE_DELAY=500"}
	for i, name := range append(slices.Clone(chaos.Services), tlsGateway) {
		targets[name] = ports[4+i]
		program, _, _ := strings.Cut(name, "-")
		w.commands[name] = append([]string{
			filepath.Join(w.bin, program), "--nats", urls, "--nats.provision=false", "--blobs", "file://" + w.path("blobs"),
			"--ops", targets[name],
		}, own[name]...)
		if name == "gateway" {
			w.commands[name] = append(onSmallDisk(uploads), w.commands[name]...)
		}
		if err := w.start(name); err != nil {
			return nil, err
		}
	}
	return targets, nil
}

// start starts a service, by a program that is given the service's command.
func (w *world) start(name string, by ...string) (err error) {
	command := append(by, w.commands[name]...)
	w.services[name], err = w.launch(name, command[0], command[1:], w.env...)
	return err
}
