// Package processtest runs programs of others, such as servers, for tests.
package processtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

const (
	// startTimeout is for machines that are busy with other tests.
	startTimeout = 60 * time.Second
	// startPollInterval is the time between two checks whether a program is ready.
	startPollInterval = 50 * time.Millisecond
)

// Process is a program that runs. It ends with Stop, and with the process that started it.
type Process struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed when it has
}

// StartProcess starts a program and waits until ready reports no error. What the program says is in the error of one
// that ends at once.
func StartProcess(ctx context.Context, cmd *exec.Cmd, ready func(ctx context.Context) error) (*Process, error) {
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := SpawnProcess(cmd); err != nil {
		return nil, err
	}
	p := &Process{cmd: cmd, ended: make(chan struct{})}
	go func() { // ends with the program, which Stop sees to
		defer close(p.ended)
		_ = cmd.Wait() // it was killed, or ended by itself, which is told by ended
	}()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		err := ready(ctx)
		if err == nil {
			return p, nil
		}
		select {
		case <-p.ended:
			return nil, fmt.Errorf("it ended at once: %s", &output)
		case <-ctx.Done():
			p.Stop()
			return nil, errors.Join(ctx.Err(), err)
		case <-time.After(startPollInterval):
		}
	}
}

// spawnThread is the thread that starts programs. The kernel kills them when the thread that started them ends, and
// threads end before their process does: that of a sandbox's pool, for one, which may have started anything before.
var spawnThread = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for do := range work {
			do()
		}
	}()
	return work
})

// SpawnProcess starts a program that is killed when this process dies, however it does. The caller waits for its end.
func SpawnProcess(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	started := make(chan error)
	spawnThread() <- func() { started <- cmd.Start() }
	return <-started
}

// PID returns the process's id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Stop kills the program, as the failure of its machine would, and waits for its end. A nil Process is none.
func (p *Process) Stop() {
	if p != nil {
		_ = p.cmd.Process.Kill() // an error says that it has ended
		<-p.ended
	}
}

// firstPort and numPorts are the ports that FreePort chooses from: below those that Linux gives to connections (from
// 32768, see ip_local_port_range), or one of the many that tests open might take it before the program that it is for.
const firstPort, numPorts = 12_000, 20_000

// FreePort returns a port of the loopback address that was free a moment ago.
func FreePort() (int, error) {
	var last error
	for range 100 {
		port := firstPort + rand.IntN(numPorts)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			return port, l.Close()
		}
		last = err
	}
	return 0, last
}
