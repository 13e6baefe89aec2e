// Package sandbox runs engines that read hostile input in child processes: supervised, walled in, and killed when
// they overrun.
//
// A child is this same binary, executed again with a hidden first argument; Main, called first thing in main, turns
// such a process into the child and never returns. Parent and child speak over a socket pair: one request, one
// answer, each a frame with a length in front; open files travel beside a request, and large results in a memory file
// that both sides share (Child.ScratchFile).
//
//	parent                                        child
//	Pool.LeaseChild ── fork, exec ───────────────────> Main: rlimits, nice, Program.Setup, then the walls
//	           <──────────────────────── ready ──
//	Child.Call ── request, files ───────────────> Handler.Handle
//	           <──────────────── reply or error ─
//	Child.Release: kept warm for the next lease, or replaced when it is worn
//
// # What a child cannot do
//
// From its first instruction it has no capabilities and gets no new privileges: a root service's child is root in
// name only. Beyond that, Setup may do what the service may, to open fonts and map models; nothing of a
// document is known then. After it the walls go up, on every thread, for good:
//
//   - Landlock: no file beyond Config.ReadOnly and Config.ReadWrite, no TCP, no abstract sockets, no signals to others;
//   - seccomp: no sockets, no new processes, no exec, no tracing, no mounts, no namespaces, no change of modes or owners,
//     no look at a file that is not open. Whether a path exists, the error of an attempt to open it still tells;
//   - limits on data memory, open files, file size; no core dumps.
//
// Memory is bounded by the kernel's limit on data memory and by looks at what the child has of its own, shared mappings
// included. A cgroup of each child's own would count pages of the page cache too, but a process may make one only where
// one was handed to it: not in a pod of the "restricted" standard, nor on a laptop. The pod's own cgroup bounds all.
//
// Isolation says which of these the running kernel gives, and each child which it has found around itself. Where one is
// missing no child starts, if Config.RequireWalls says so.
//
// # How a child ends
//
// A deadline, too much memory or CPU time, or a cancelled context kills the whole process group; the call returns an
// *ExitError that says which it was. A child that the parent's own death leaves behind is killed by the kernel, and
// one that waits for a request sees the connection end. An error from the handler is no death: the call returns a
// *RemoteError, and the child lives on. A panic in the handler is a crash.
package sandbox
