package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/telemetry"
	"inkstream.dev/services/standalone/chaos"
)

const nodes = 3

// testbed is everything that runs.
type testbed struct {
	root, dir, bin string
	alerts         []string // names of the rules
	prometheus     prometheus
	client         *chaos.Client
	bus            *bus.Bus
	nats           *chaos.NATSCluster
	services       map[string]*chaos.Process
	commands       map[string][]string // of the services
	env            []string            // of the services
	sink           *sink
	closers        []func()
}

// tlsGateway is a second gateway, the one with a certificate.
const tlsGateway = "gateway-tls"

func (tb *testbed) path(name string) string { return filepath.Join(tb.dir, name) }

// close ends all processes, the last started first.
func (tb *testbed) close() {
	for _, f := range slices.Backward(tb.closers) {
		f()
	}
}

// logFile returns where a process says what it has to say.
func (tb *testbed) logFile(name string) io.Writer {
	f, err := os.OpenFile(tb.path(name+".log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return os.Stderr
	}
	tb.closers = append(tb.closers, func() { _ = f.Close() })
	return f
}

// launch starts a program that ends with the testbed.
func (tb *testbed) launch(name, path string, args []string, env ...string) (*chaos.Process, error) {
	p := chaos.NewProcess(path, args, tb.logFile(name))
	if err := p.Start(env...); err != nil {
		return nil, err
	}
	tb.closers = append(tb.closers, func() { p.Kill() })
	return p, nil
}

func (tb *testbed) open(ctx context.Context) error {
	if err := tb.openNATS(ctx); err != nil {
		return fmt.Errorf("nats: %w", err)
	}
	collector, err := tb.openCollector()
	if err != nil {
		return fmt.Errorf("collector: %w", err)
	}
	targets, err := tb.openServices(collector)
	if err != nil {
		return fmt.Errorf("services: %w", err)
	}
	ready, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	if err := tb.client.AwaitReady(ready); err != nil {
		return fmt.Errorf("gateway: %w", err)
	}
	return tb.openPrometheus(ctx, targets)
}

// openNATS starts a cluster that keeps each stream on all of its servers.
func (tb *testbed) openNATS(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	program := tb.path("nats-server")
	if err := chaos.BuildNATSServer(ctx, tb.root, program); err != nil {
		return err
	}
	if tb.nats, err = chaos.NewNATSCluster(program, tb.dir, nodes, tb.logFile); err != nil {
		return err
	}
	tb.closers = append(tb.closers, tb.nats.Kill)
	if err := tb.nats.Start(ctx, "always"); err != nil {
		return err
	}
	if tb.bus, err = bus.Connect(tb.nats.URL, "alerts", slog.New(slog.DiscardHandler),
		telemetry.NewDiscard()); err != nil {
		return err
	}
	tb.closers = append(tb.closers, tb.bus.Close)
	return tb.bus.ProvisionWhenUp(ctx, bus.Topology{Replicas: nodes, AckWait: 3 * time.Second})
}

// openCollector starts the collector with the configuration of deploy/observability, but for its ports. It passes
// traces on to this process.
func (tb *testbed) openCollector() (addr string, err error) {
	if tb.sink, err = openSink(); err != nil {
		return "", err
	}
	tb.closers = append(tb.closers, tb.sink.close)
	if addr, err = chaos.FindFreeAddr(); err != nil {
		return "", err
	}
	_, err = tb.launch("collector", filepath.Join(tb.root, ".bin", "otelcol"), []string{
		"--config", filepath.Join(tb.root, "deploy", "observability", "collector.yaml"),
		"--set=receivers.otlp.protocols.grpc.endpoint=" + addr,
	}, "TRACES_ENDPOINT="+tb.sink.addr)
	return addr, err
}

// openServices starts the services, and returns their pages by name. The gateway's uploads are on a disk of 8 MiB.
func (tb *testbed) openServices(collector string) (targets map[string]string, err error) {
	ports := make([]string, 4+len(chaos.Services)+1)
	for i := range ports {
		if ports[i], err = chaos.FindFreeAddr(); err != nil {
			return nil, err
		}
	}
	uploads := tb.path("uploads")
	err = errors.Join(os.MkdirAll(uploads, 0o700), os.MkdirAll(tb.path("blobs"), 0o700),
		tb.writeCertificate(90*24*time.Hour))
	if err != nil {
		return nil, err
	}
	tb.services, tb.commands, targets = map[string]*chaos.Process{}, map[string][]string{}, map[string]string{}
	tb.client = chaos.NewClient("http://" + ports[0])
	index := "sqlite://" + tb.path("index.db")
	own := map[string][]string{
		"render": {"--render.workers", "2"}, "ocr": {"--ocr.workers", "1"},
		"index": {"--index", index, "--index.workers", "2"},
		"gateway": {
			"--gateway.http", ports[0], "--gateway.grpc", ports[1], "--reconcile.interval", "1s", "--gateway.tus-dir", uploads,
		},
		tlsGateway: {
			"--gateway.http", ports[2], "--gateway.grpc", ports[3], "--tls.cert", tb.path("tls.crt"), "--tls.key",
			tb.path("tls.key"),
		},
	}
	tb.env = []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + collector, "OTEL_BSP_SCHEDULE_DELAY=500"}
	for i, name := range append(slices.Clone(chaos.Services), tlsGateway) {
		targets[name] = ports[4+i]
		program, _, _ := strings.Cut(name, "-")
		tb.commands[name] = append([]string{
			filepath.Join(tb.bin, program), "--nats", tb.nats.URL, "--nats.provision=false", "--blobs", "file://" + tb.path("blobs"),
			"--ops", targets[name],
		}, own[name]...)
		if name == "gateway" {
			tb.commands[name] = append(onSmallDisk(uploads), tb.commands[name]...)
		}
		if err := tb.start(name); err != nil {
			return nil, err
		}
	}
	return targets, nil
}

// start starts a service, by a program that is given the service's command.
func (tb *testbed) start(name string, by ...string) (err error) {
	command := append(by, tb.commands[name]...)
	tb.services[name], err = tb.launch(name, command[0], command[1:], tb.env...)
	return err
}
