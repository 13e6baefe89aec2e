package service

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
)

// memoryPercent is how much of the machine's memory, or of the process's cgroup, a process takes before its collector
// works against it: the rest is for the engines' children and for the page cache.
const memoryPercent = 60

// LimitMemory has the garbage collector keep the process below a part of the memory that the machine, or the cgroup,
// has, unless GOMEMLIMIT says what to keep below. It returns the limit in force.
func LimitMemory() int64 {
	if os.Getenv("GOMEMLIMIT") == "" {
		if there := availableMemory("/proc", "/sys/fs/cgroup"); there < math.MaxInt64 {
			debug.SetMemoryLimit(there / 100 * memoryPercent)
		}
	}
	return debug.SetMemoryLimit(-1)
}

// availableMemory returns the machine's memory, or that of the process's cgroup (version 2 or 1) or of one around it,
// where it has less; math.MaxInt64 where neither can be read.
func availableMemory(proc, cgroups string) int64 {
	least := int64(math.MaxInt64)
	if data, err := os.ReadFile(filepath.Join(proc, "meminfo")); err == nil {
		if _, rest, ok := bytes.Cut(data, []byte("MemTotal:")); ok {
			number, _, _ := bytes.Cut(bytes.TrimLeft(rest, " "), []byte(" kB"))
			if kib, err := strconv.ParseInt(string(number), 10, 64); err == nil {
				least = kib << 10
			}
		}
	}
	own, err := os.ReadFile(filepath.Join(proc, "self/cgroup"))
	if err != nil {
		return least
	}
	for line := range strings.Lines(string(own)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3) // e.g. 0::/system.slice/x or 4:memory:/docker/x
		if len(fields) < 3 {
			continue
		}
		root, file := cgroups, "memory.max"
		if fields[1] != "" {
			root, file = filepath.Join(cgroups, "memory"), "memory.limit_in_bytes"
		}
		for dir := filepath.Join("/", fields[2]); ; dir = filepath.Dir(dir) {
			// In a container the path may be that of the host, and only the root be there.
			if data, err := os.ReadFile(filepath.Join(root, dir, file)); err == nil {
				if n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64); err == nil && n > 0 { // "max" is none
					least = min(least, n)
				}
			}
			if dir == "/" {
				break
			}
		}
	}
	return least
}
