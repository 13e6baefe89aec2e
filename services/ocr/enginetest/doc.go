// Package enginetest holds the suite that every recogniser passes, the rasters that it is tried on, a fake that
// passes the suite without recognising anything, and engines that misbehave: in process for tests of the service, and
// as real child processes for tests of the supervisor.
package enginetest
