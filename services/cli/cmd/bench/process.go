package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// bench is what the measurements share.
type bench struct {
	binary, dir, corpus string
	rounds              int
}

// usage is what a command took, its children included.
type usage struct {
	cpu, wall time.Duration
}

func (u usage) add(v usage) usage { return usage{u.cpu + v.cpu, u.wall + v.wall} }

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
	started          time.Duration
}

// serve starts a server in a folder of its own, with more flags, and waits until it is ready.
func (b *bench) serve(ctx context.Context, folder string, more ...string) (*server, error) {
	args := append([]string{
		"serve", "--data-dir", filepath.Join(b.dir, folder), "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--nats", "127.0.0.1:0", "--log.level", "ERROR",
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

func (s *server) stop() error {
	if err := s.cmd.Process.Signal(syscall.SIGINT); err != nil {
		return err
	}
	return s.cmd.Wait()
}

// cpu returns the processor time of the server and of its children, living and gone.
func (s *server) cpu() (time.Duration, error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	own := s.proc("stat")
	total := time.Duration(0)
	for _, path := range stats {
		t, err := readTimes(path)
		switch {
		case path == own && err != nil:
			return 0, err
		case err != nil:
			continue // it has just ended; its time is in its parent's
		case path == own:
			total += t.self + t.gone
		case t.parent == s.cmd.Process.Pid:
			total += t.self
		}
	}
	return total, nil
}

// ownCPU returns the processor time of the server's own process.
func (s *server) ownCPU() (time.Duration, error) {
	t, err := readTimes(s.proc("stat"))
	return t.self, err
}

// proc returns the path of what the kernel says of the server's own process.
func (s *server) proc(name string) string { return fmt.Sprintf("/proc/%d/%s", s.cmd.Process.Pid, name) }

// times are the processor times of a process, and of its children that have ended.
type times struct {
	parent     int
	self, gone time.Duration
}

func readTimes(path string) (times, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return times{}, err
	}
	// pid (name) state ppid …, where the name may hold anything; user and system time are the 14th and 15th, those of the children follow.
	f := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	if len(f) < 15 {
		return times{}, errors.New("no processor times")
	}
	var n [5]int64
	for i, field := range []string{f[1], f[11], f[12], f[13], f[14]} {
		if n[i], err = strconv.ParseInt(field, 10, 64); err != nil {
			return times{}, err
		}
	}
	const tick = time.Second / 100
	return times{parent: int(n[0]), self: time.Duration(n[1]+n[2]) * tick, gone: time.Duration(n[3]+n[4]) * tick}, nil
}

// memory returns one of the kernel's figures of the memory of the server's own process, in bytes: VmHWM is the most that was resident.
func (s *server) memory(figure string) (int64, error) {
	data, err := os.ReadFile(s.proc("status"))
	if err != nil {
		return 0, err
	}
	for line := range strings.SplitSeq(string(data), "\n") {
		if rest, ok := strings.CutPrefix(line, figure+":"); ok {
			kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kb << 10, err
		}
	}
	return 0, fmt.Errorf("no %s", figure)
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

// findCorpus returns the folder of the corpus, or "" where there is none.
func findCorpus() (string, error) {
	if dir := os.Getenv("INKSTREAM_CORPUS"); dir != "" {
		_, err := os.Stat(filepath.Join(dir, "manifest.tsv"))
		return dir, err
	}
	for dir := ".."; len(dir) < 20; dir += "/.." {
		candidate := filepath.Join(dir, "shared", "corpus")
		if _, err := os.Stat(filepath.Join(candidate, "manifest.tsv")); err == nil {
			return candidate, nil
		}
	}
	return "", nil
}

func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	if len(s) == 0 {
		return 0
	}
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}
