package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"inkstream.dev/pkg/processtest"
)

// benchmark is what the measurements share.
type benchmark struct {
	binary, dir, corpus string
	rounds              int
	growthJobs          int
	endpointPages       int
	growthSVG           string // a file, or empty
}

// usage is what a command took, its children included.
type usage struct {
	cpu, wall time.Duration
}

func (u usage) plus(v usage) usage { return usage{u.cpu + v.cpu, u.wall + v.wall} }

// runCommand runs a command and returns what it took. Its output is dropped unless it fails.
func runCommand(ctx context.Context, env []string, name string, args ...string) (usage, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), env...)
	start := time.Now()
	out, err := cmd.CombinedOutput()
	u := usage{wall: time.Since(start)}
	if cmd.ProcessState != nil {
		u.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() != 3 {
		return u, fmt.Errorf("%s: %w\n%.2000s", name, err, out)
	}
	if _, ok := errors.AsType[*exec.ExitError](err); !ok && err != nil {
		return u, err
	}
	return u, nil
}

// server is a running 'inkstream serve'.
type server struct {
	cmd              *exec.Cmd
	http, grpc, nats string
	key              string // of whom the calls are, empty where the server asks for none
	started          time.Duration
	options          string // of measured uploads, as more of the query
}

// startServer starts a server in a folder of its own, with more flags, and waits until it is ready.
func (b *benchmark) startServer(ctx context.Context, folder string, more ...string) (*server, error) {
	args := append([]string{
		"serve", "--data-dir", filepath.Join(b.dir, folder), "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--nats",
		"127.0.0.1:0", "--log.level", "ERROR",
	}, more...)
	cmd := exec.CommandContext(ctx, b.binary, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &server{cmd: cmd}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) > 1 && f[0] == "REST" {
			s.http = strings.TrimPrefix(f[1], "http://")
		}
		if len(f) > 1 && f[0] == "gRPC" {
			s.grpc, s.started = f[1], time.Since(start)
		}
		if len(f) > 1 && f[0] == "NATS" {
			s.nats = f[1]
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return s, nil
		}
	}
	return nil, fmt.Errorf("server did not get ready: %w", cmd.Wait())
}

func (s *server) stopServer() error {
	if err := s.cmd.Process.Signal(syscall.SIGINT); err != nil {
		return err
	}
	return s.cmd.Wait()
}

// totalCPUTime returns the processor time of the server and of its children, living and gone.
func (s *server) totalCPUTime() (time.Duration, error) { return processtest.CPU(s.cmd.Process.Pid) }

// processCPUTime returns the processor time of the server's own process.
func (s *server) processCPUTime() (time.Duration, error) {
	t, err := processtest.ReadTimes(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	return t.Self, err
}

// memoryFigure returns one of the kernel's figures of the memory of the server's own process, in bytes.
func (s *server) memoryFigure(figure string) (int64, error) {
	return processtest.Memory(s.cmd.Process.Pid, figure)
}

func cpuModel() string {
	data, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown processor"
	}
	for line := range strings.SplitSeq(string(data), "\n") {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor"
}

func medianOf(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	if len(s) == 0 {
		return 0
	}
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}
