package processtest_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"

	"inkstream.dev/pkg/processtest"
)

// A program goes on when the thread ends that its caller ran on.
func TestSpawnOutlivesThread(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var failed error
	thread := fmt.Sprintf("/proc/self/task/%d", runOnEndingThread(func() { failed = processtest.SpawnProcess(cmd) }))
	if failed != nil {
		t.Fatal(failed)
	}
	for processExists(thread) {
		runtime.Gosched()
	}
	if _, err := io.WriteString(in, "here\n"); err != nil {
		t.Error(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "here\n" {
		t.Errorf("got %q, %v, want what cat was given", line, err)
	}
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// runOnEndingThread calls do on a thread that then ends, and returns the thread's id.
func runOnEndingThread(do func()) int {
	thread := make(chan int)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		if id := syscall.Gettid(); id != os.Getpid() {
			do()
			thread <- id
			return
		}
		defer runtime.UnlockOSThread() // the main thread never ends; held here, it is not the next one
		thread <- runOnEndingThread(do)
	}()
	return <-thread
}

func processExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// The memory of a process and its children is more than its own, by what they have.
func TestTotalMemory(t *testing.T) {
	child, err := processtest.StartProcess(t.Context(), exec.Command("sleep", "600"), func(context.Context) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	defer child.Stop()
	part, err := processtest.ProportionalMemory(child.PID())
	if err != nil || part <= 0 {
		t.Fatalf("ProportionalMemory(child) = %d, %v, want more than 0", part, err)
	}
	alone, err := processtest.TotalMemory(child.PID())
	later, laterErr := processtest.ProportionalMemory(child.PID()) // more, if it was still starting
	if err != nil || laterErr != nil || alone < part/2 || alone > 2*later {
		t.Errorf("TotalMemory(child) = %d, %v, want its own, %d to %d, %v", alone, err, part, later, laterErr)
	}
	cmd := exec.Command("sh", "-c", "cat; :") // a shell that waits for another program
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	shell, err := processtest.StartProcess(t.Context(), cmd, func(context.Context) error {
		own, err := processtest.ProportionalMemory(cmd.Process.Pid)
		if err != nil {
			return err
		}
		if total, err := processtest.TotalMemory(cmd.Process.Pid); err != nil || total < own+part/4 {
			return fmt.Errorf("the child does not count: %d of %d: %w", total, own, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if err := input.Close(); err != nil { // which ends the other program, and so the shell
		t.Error(err)
	}
	shell.Stop()
	if _, err := processtest.TotalMemory(1 << 30); err == nil {
		t.Error("a process that is none has memory")
	}
}
