package service

import (
	"math"
	"os"
	"path/filepath"
	"testing"
)

func TestAvailableMemory(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  int64
	}{
		{"nothing can be read", nil, math.MaxInt64},
		{"the machine's", map[string]string{"meminfo": "MemTotal:       2048 kB\nMemFree: 1 kB\n"}, 2 << 20},
		{"a cgroup around the own", map[string]string{"meminfo": "MemTotal: 2048 kB\n", "self/cgroup": "0::/a/b\n",
			"a/b/memory.max": "max\n", "a/memory.max": "1000000\n"}, 1_000_000},
		{"in a container", map[string]string{"meminfo": "MemTotal: 2048 kB\n", "self/cgroup": "0::/\n",
			"memory.max": "500000\n"}, 500_000},
		{"version 1", map[string]string{"meminfo": "MemTotal: 2048 kB\n", "self/cgroup": "5:cpu:/x\n4:memory:/docker/x\n",
			"memory/memory.limit_in_bytes": "700000\n"}, 700_000},
		{"more than the machine has", map[string]string{"meminfo": "MemTotal: 2048 kB\n", "self/cgroup": "0::/\n",
			"memory.max": "9000000000\n"}, 2 << 20},
	} {
		dir := t.TempDir()
		for name, text := range tt.files {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := availableMemory(dir, dir); got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, got, tt.want)
		}
	}
}
