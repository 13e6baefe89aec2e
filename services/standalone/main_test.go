package standalone_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"inkstream.dev/pkg/processtest"
	"inkstream.dev/pkg/sandbox"
	"inkstream.dev/services/ocr/enginetest"
	"inkstream.dev/services/standalone"
	"inkstream.dev/services/standalone/chaos"
)

func TestMain(m *testing.M) {
	chaos.Main()
	sandbox.Main(append(standalone.ChildPrograms(), enginetest.Programs()...)...)
	processtest.UsePlainChildren(sandbox.SetChildFile)
	code := m.Run()
	if builtServices != "" {
		os.RemoveAll(builtServices)
	}
	engine, err := sharedPDFEngine()
	if err == nil {
		err = engine.Close()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "PDF engine:", err)
		code = 1
	}
	if left := children(); len(left) > 0 {
		fmt.Fprintln(os.Stderr, "left behind:", left)
		code = 1
	}
	os.Exit(code)
}

// children lists the processes that this one has started and that are still there.
func children() []string {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return []string{err.Error()}
	}
	var left []string
	for _, path := range stats {
		data, err := os.ReadFile(path)
		if err != nil {
			continue // it has just ended
		}
		_, rest, _ := strings.Cut(string(data), ") ")
		if f := strings.Fields(rest); len(f) > 1 && f[1] == strconv.Itoa(os.Getpid()) {
			left = append(left, path)
		}
	}
	return left
}
