package processtest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Times are the processor times of a process, and of its children that have ended.
type Times struct {
	Parent     int
	Self, Gone time.Duration
}

// ReadTimes reads a file such as /proc/1/stat.
func ReadTimes(path string) (Times, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Times{}, err
	}
	// pid (name) state ppid …, where the name may hold anything; user and system time are the 14th and 15th, those of
	// the children follow.
	f := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	if len(f) < 15 {
		return Times{}, errors.New("no processor times")
	}
	var n [5]int64
	for i, field := range []string{f[1], f[11], f[12], f[13], f[14]} {
		if n[i], err = strconv.ParseInt(field, 10, 64); err != nil {
			return Times{}, err
		}
	}
	const tick = time.Second / 100
	return Times{Parent: int(n[0]), Self: time.Duration(n[1]+n[2]) * tick, Gone: time.Duration(n[3]+n[4]) * tick}, nil
}

// CPU returns the processor time of a process and of its children, living and gone, and of what has ended that these
// had started.
func CPU(pid int) (time.Duration, error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	own := fmt.Sprintf("/proc/%d/stat", pid)
	total := time.Duration(0)
	for _, path := range stats {
		t, err := ReadTimes(path)
		switch {
		case path == own && err != nil:
			return 0, err
		case err != nil:
			continue // it has just ended; its time is in its parent's
		case path == own:
			total += t.Self + t.Gone
		case t.Parent == pid:
			total += t.Self + t.Gone
		}
	}
	return total, nil
}

// Memory returns one of the kernel's figures of a process's memory, in bytes: VmHWM is the most that was resident,
// RssAnon what is not of files.
func Memory(pid int, figure string) (int64, error) {
	return readFigure(fmt.Sprintf("/proc/%d/status", pid), figure)
}

// ProportionalMemory returns the memory of a process, in bytes, where what several processes have mapped counts for each
// by its part (PSS).
func ProportionalMemory(pid int) (int64, error) {
	return readFigure(fmt.Sprintf("/proc/%d/smaps_rollup", pid), "Pss")
}

// TotalMemory returns the ProportionalMemory of a process and of its children together.
func TotalMemory(pid int) (int64, error) {
	total, err := ProportionalMemory(pid)
	if err != nil {
		return 0, err
	}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	for _, path := range stats {
		if t, err := ReadTimes(path); err != nil || t.Parent != pid {
			continue // it is none of them, or has just ended
		}
		if part, err := readFigure(filepath.Join(filepath.Dir(path), "smaps_rollup"), "Pss"); err == nil { // else it has just ended
			total += part
		}
	}
	return total, nil
}

// readFigure returns a figure of a file below /proc that has them in kilobytes, in bytes.
func readFigure(path, figure string) (int64, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	for line := range strings.SplitSeq(string(data), "\n") {
		if rest, ok := strings.CutPrefix(line, figure+":"); ok {
			kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kb << 10, err
		}
	}
	return 0, fmt.Errorf("%s has no %s", path, figure)
}
