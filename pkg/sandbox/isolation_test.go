package sandbox_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"inkstream.dev/pkg/sandbox"
)

// Why an attempt fails, or that it does not.
const denied, forbidden, allowed = "permission denied", "operation not permitted", ""

type attempt struct{ what, want string }

func TestIsolationHolds(t *testing.T) {
	t.Parallel()
	kernel := sandbox.Isolation()
	if missing := kernel.Warning(); missing != "" {
		t.Skipf("this kernel lacks %s", missing)
	}
	readable, writable, foreign := t.TempDir(), t.TempDir(), t.TempDir()
	lone := filepath.Join(foreign, "lone")
	for _, path := range []string{
		filepath.Join(readable, "file"), filepath.Join(writable, "file"), filepath.Join(foreign, "file"), lone,
	} {
		if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	child := leaseChild(t, newPool(t, sandbox.Config{
		ReadOnly:  []string{readable, lone, filepath.Join(foreign, "missing")},
		ReadWrite: []string{writable},
	}))
	for _, tt := range slices.Concat(fileAttempts(readable, writable, foreign), socketAttempts(t), processAttempts()) {
		_, err := child.Call(t.Context(), long, []byte("try "+tt.what))
		if remote, ok := errors.AsType[*sandbox.RemoteError](err); tt.want == allowed && err != nil ||
			tt.want != allowed && (!ok || !strings.HasSuffix(remote.Message, tt.want)) {
			t.Errorf("%s = %v, want %q", tt.what, err, tt.want)
		}
	}
	if got := child.Isolation(); got != kernel {
		t.Errorf("the child's walls are %+v, want the kernel's %+v", got, kernel)
	}
}

func fileAttempts(readable, writable, foreign string) []attempt {
	return []attempt{
		{"read /etc/passwd", denied},
		{"read /proc/self/environ", denied},
		{"read /proc/" + strconv.Itoa(os.Getpid()) + "/environ", denied},
		{"read " + foreign + "/file", denied},
		{"read " + foreign + "/lone", allowed},
		{"read " + readable + "/file", allowed},
		{"read " + writable + "/file", allowed},
		{"list " + readable, allowed},
		{"list " + foreign, denied},
		{"list /", denied},
		{"list /tmp", denied},
		{"write " + foreign + "/new", denied},
		{"write " + foreign + "/lone", denied},
		{"write " + readable + "/new", denied},
		{"write " + readable + "/file", denied},
		{"write /tmp/inkstream-sandbox-test", denied},
		{"write /dev/shm/inkstream-sandbox-test", denied},
		{"write " + writable + "/new", allowed},
		{"write " + writable + "/file", allowed},
		{"mkdir " + writable + "/folder", allowed},
		{"mkdir " + readable + "/folder", denied},
		{"remove " + readable + "/file", denied},
		{"remove " + writable + "/file", allowed},
		{"chmod " + readable + "/file", forbidden},
		{"stat /etc/passwd", forbidden},
		{"stat " + foreign + "/file", forbidden},
		{"readlink /proc/self/exe", forbidden},
		{"statopen " + readable + "/file", allowed},
		{"files", "too many open files"},
		{"morefiles", forbidden},
	}
}

func socketAttempts(t *testing.T) []attempt {
	t.Helper()
	listen := func(network, address string) string {
		l, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		return l.Addr().String()
	}
	tcp := listen("tcp", "127.0.0.1:0")
	return []attempt{
		{"dial tcp/" + tcp, forbidden},
		{"dial udp/" + tcp, forbidden},
		{"dial unix/" + listen("unix", filepath.Join(t.TempDir(), "socket")), forbidden},
		{"dial unix/" + listen("unix", "@inkstream-sandbox-test"), forbidden},
		{"listen", forbidden},
		{"socketpair", forbidden},
	}
}

func processAttempts() []attempt {
	return []attempt{
		{"execve /bin/true", forbidden},
		{"fork", forbidden},
		{"clone3", "function not implemented"},
		{"signal " + strconv.Itoa(os.Getpid()), forbidden},
		{"signal 1", forbidden},
		{"signal 0", forbidden},
		{"signal -1", forbidden},
		{"tgkill", forbidden},
		{"truncate", forbidden},
		{"renice", forbidden},
		{"pin", forbidden},
		{"own", forbidden},
		{"ownhigh", forbidden},
		{"setsig", forbidden},
		{"ioctlown", forbidden},
		{"flags", allowed},
		{"ptrace", forbidden},
		{"unshare", forbidden},
		{"mount", forbidden},
		{"memfd", forbidden},
		{"sharedmemory", forbidden},
		{"outlive", forbidden},
		{"io_uring", forbidden},
		{"bpf", forbidden},
		{"caps", "0 0 0"},
	}
}

func TestFilesThatTheServiceWasStartedWithStayOut(t *testing.T) {
	t.Parallel()
	// As a supervisor leaves them open: not to be closed by exec.
	fd, err := unix.FcntlInt(os.Stdin.Fd(), unix.F_DUPFD, 40)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	child := leaseChild(t, newPool(t, sandbox.Config{ScratchBytes: 4096}))
	// 3 and 4 are marked by the child itself.
	if got := callChild(t, child, "open"); got != "0 1 2" {
		t.Errorf("files handed to the child = %s, want 0 1 2", got)
	}
}

func TestNoProgramIsRunFromAChild(t *testing.T) {
	t.Parallel()
	child := leaseChild(t, newPool(t, sandbox.Config{ReadOnly: []string{"/bin", "/usr", "/lib", "/lib64", "/dev"}}))
	if _, err := child.Call(t.Context(), long, []byte("try exec /bin/true")); err == nil {
		t.Errorf("running /bin/true = nil, want an error")
	}
}

func TestIsolationHoldsOnEveryThread(t *testing.T) {
	t.Parallel()
	if missing := sandbox.Isolation().Warning(); missing != "" {
		t.Skipf("this kernel lacks %s", missing)
	}
	child := leaseChild(t, newPool(t, sandbox.Config{}))
	for range 3 {
		if _, err := child.Call(t.Context(), long, []byte("threads")); err != nil {
			t.Errorf("behind the walls: %v", err)
		}
	}
}

func TestWarningNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		report sandbox.IsolationReport
		want   []string
	}{
		{sandbox.IsolationReport{Landlock: 7, Seccomp: true}, nil},
		{sandbox.IsolationReport{Seccomp: true}, []string{"Landlock"}},
		{sandbox.IsolationReport{Landlock: 1}, []string{"seccomp"}},
		{sandbox.IsolationReport{}, []string{"Landlock", "seccomp"}},
	} {
		got := tt.report.Warning()
		if (got == "") != (tt.want == nil) {
			t.Errorf("Warning of %+v = %q, want words on %v", tt.report, got, tt.want)
		}
		for _, name := range tt.want {
			if !strings.Contains(got, name) {
				t.Errorf("Warning of %+v = %q, want %s in it", tt.report, got, name)
			}
		}
	}
}
