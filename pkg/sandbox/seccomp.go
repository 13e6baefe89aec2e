package sandbox

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"unsafe"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

var errNoSeccomp = errors.New("the kernel does not filter system calls")

// forbiddenSyscalls lists the system calls that no engine needs once it is set up. They fail with EPERM. recvmsg and
// sendmsg stay: the connection to the parent uses them, and there is no other socket.
var forbiddenSyscalls = []string{
	// Sockets and other ways to talk to processes.
	"socket", "socketpair", "connect", "bind", "listen", "accept", "accept4", "getpeername",
	"msgget", "msgsnd", "msgrcv", "msgctl", "semget", "semop", "semctl", "semtimedop", "shmget", "shmat", "shmctl",
	"mq_open", "mq_unlink", "mq_timedsend", "mq_timedreceive", "mq_notify", "mq_getsetattr",
	// Processes: new ones, others, and this one's place among them. clone is below.
	"fork", "vfork", "execve", "execveat", "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise",
	"process_mrelease",
	"kcmp", "pidfd_open", "pidfd_getfd", "pidfd_send_signal", "tkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "setpgid",
	"setsid",
	"move_pages", "migrate_pages", "personality", "acct",
	// Other processes' share of the machine: a child may not slow the service down, or tie it to one core.
	"setpriority", "ioprio_set", "sched_setaffinity", "sched_setattr", "sched_setparam", "sched_setscheduler",
	// Namespaces and mounts.
	"unshare", "setns", "mount", "umount", "umount2", "pivot_root", "chroot", "mount_setattr", "move_mount", "open_tree",
	"open_tree_attr",
	"fsopen", "fsconfig", "fsmount", "fspick", "swapon", "swapoff", "quotactl", "quotactl_fd",
	// Landlock leaves these alone: what changes files without opening them, and what opens or watches them by other ways.
	"chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat",
	"setxattr", "lsetxattr", "fsetxattr", "setxattrat", "removexattr", "lremovexattr", "fremovexattr", "removexattrat",
	"file_setattr", "utime", "utimes", "futimesat", "utimensat", "mknod", "mknodat", "open_by_handle_at",
	"name_to_handle_at",
	// Landlock lets them look at files and folders that it does not let open, and truncate before Linux 6.2. What is open
	// may be looked at by fstat; C libraries that use newfstatat for that go on without.
	"stat", "lstat", "newfstatat", "fstatat64", "statx", "access", "faccessat", "faccessat2", "readlink", "readlinkat",
	"statfs", "getxattr", "lgetxattr", "getxattrat", "listxattr", "llistxattr", "listxattrat",
	"truncate",
	"inotify_init", "inotify_init1", "inotify_add_watch", "fanotify_init", "fanotify_mark", "memfd_create", "memfd_secret",
	// Parts of the kernel with a history of holes, and its levers.
	"bpf", "perf_event_open", "keyctl", "add_key", "request_key", "io_uring_setup", "io_uring_enter", "io_uring_register",
	"userfaultfd",
	"io_setup", "io_submit", "vmsplice", "modify_ldt", "iopl", "ioperm", "lookup_dcookie", "uselib", "vhangup", "syslog",
	"_sysctl",
	"kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "create_module", "reboot",
	"nfsservctl",
	"settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "stime", "sethostname", "setdomainname",
}

// fileCommands and deviceCommands are all that engines ask of fcntl and ioctl. The others would do what is forbidden
// above by another way: F_SETOWN with F_SETSIG, or FIOSETOWN, have the kernel send any signal to any process of the
// same user. They are lists of what is allowed because the kernel takes the command's lower half only, which a list
// of what is not could be led around with.
var (
	fileCommands = []uint64{
		unix.F_DUPFD, unix.F_DUPFD_CLOEXEC, unix.F_GETFD, unix.F_SETFD, unix.F_GETFL, unix.F_SETFL,
	}
	deviceCommands = []uint64{unix.TCGETS, unix.TIOCGWINSZ, unix.TIOCINQ}
)

func seccompSupported() bool {
	action := uint32(unix.SECCOMP_RET_ERRNO)
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	return errno == 0
}

// filterSyscalls puts the filter on all threads.
func filterSyscalls() error {
	if !seccompSupported() {
		return errNoSeccomp
	}
	program, err := syscallFilter(os.Getpid())
	if err != nil {
		return err
	}
	raw, err := bpf.Assemble(program)
	if err != nil {
		return fmt.Errorf("assemble the filter: %w", err)
	}
	filters := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		filters[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	prog := &unix.SockFprog{Len: uint16(len(filters)), Filter: &filters[0]}

	// The library's own loader takes the number of a thread that could not follow for success.
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(prog)))
	runtime.KeepAlive(filters)
	if errno != 0 {
		return fmt.Errorf("load the filter: %w", errno)
	}
	if thread != 0 {
		return fmt.Errorf("load the filter: thread %d has another one", thread)
	}
	return nil
}

// syscallFilter returns the filter of a process with that number.
func syscallFilter(pid int) ([]bpf.Instruction, error) {
	machine, err := arch.GetInfo("")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoSeccomp, err)
	}
	known := func(names ...string) []string {
		// A name may belong to another machine, or be newer than the library's table.
		return slices.DeleteFunc(names, func(name string) bool { _, ok := machine.SyscallNames[name]; return !ok })
	}
	when := func(name string, op seccomp.Operation, value uint64) seccomp.NameWithConditions {
		return seccomp.NameWithConditions{Name: name,
			Conditions: seccomp.ArgumentConditions{{Argument: 0, Operation: op, Value: value}}}
	}
	unless := func(name string, commands []uint64) seccomp.NameWithConditions {
		c := seccomp.NameWithConditions{Name: name}
		for _, command := range commands {
			c.Conditions = append(c.Conditions, seccomp.Condition{Argument: 1, Operation: seccomp.NotEqual, Value: command})
		}
		return c
	}
	policy := seccomp.Policy{
		DefaultAction: seccomp.ActionAllow,
		Syscalls: []seccomp.SyscallGroup{{
			Action: seccomp.ActionErrno, // EPERM
			Names:  known(slices.Clone(forbiddenSyscalls)...),
			NamesWithCondtions: []seccomp.NameWithConditions{
				when("clone", seccomp.BitsNotSet, unix.CLONE_THREAD), // threads only
				// The Go runtime and abort signal their own process, and that they may; prlimit64 asks about it as 0.
				when("kill", seccomp.NotEqual, uint64(pid)),
				when("tgkill", seccomp.NotEqual, uint64(pid)),
				when("prlimit64", seccomp.NotEqual, 0),
				// A child that took this back would outlive its parent.
				when("prctl", seccomp.Equal, unix.PR_SET_PDEATHSIG),
				// Shared memory without a file is not among what a process's status shows once it is out of its page tables.
				{Name: "mmap", Conditions: seccomp.ArgumentConditions{
					{Argument: 3, Operation: seccomp.BitsSet, Value: unix.MAP_SHARED},
					{Argument: 3, Operation: seccomp.BitsSet, Value: unix.MAP_ANONYMOUS},
				}},
				unless("fcntl", fileCommands),
				unless("ioctl", deviceCommands),
			},
		}, {
			// Its flags are in memory, where a filter cannot look. C libraries take this answer to mean an old kernel, and use
			// clone.
			Action: seccomp.ActionErrno | seccomp.Action(unix.ENOSYS),
			Names:  known("clone3"),
		}},
	}
	body, err := policy.Assemble()
	if err != nil {
		return nil, fmt.Errorf("build the filter: %w", err)
	}
	// The library lets calls of another machine's convention through (32-bit ones on amd64), which would lead around the
	// filter.
	const archOffset = 4
	guard := []bpf.Instruction{
		bpf.LoadAbsolute{Off: archOffset, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(machine.ID), SkipTrue: 1},
		bpf.RetConstant{Val: uint32(seccomp.ActionKillProcess)},
	}
	return append(guard, body...), nil
}
