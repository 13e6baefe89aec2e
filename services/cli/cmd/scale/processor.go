package main

import (
	"context"
	"crypto/sha256"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// measureProcessor returns how much processor time the same computation takes, SHA-256 of 64 MB, every two seconds until
// ctx ends: processors of virtual machines are slower at one time than at another, and so is all that runs on them.
func measureProcessor(ctx context.Context) (all []time.Duration, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	block := make([]byte, 8<<20) // more than caches near a core hold
	tick := time.NewTicker(2 * time.Second)
	defer tick.Stop()
	for {
		before, err := threadTime()
		if err != nil {
			return nil, err
		}
		for range 8 {
			sha256.Sum256(block)
		}
		after, err := threadTime()
		if err != nil {
			return nil, err
		}
		all = append(all, after-before)
		select {
		case <-ctx.Done():
			return all, nil
		case <-tick.C:
		}
	}
}

// threadTime returns the processor time that this thread has taken.
func threadTime() (time.Duration, error) {
	var u unix.Rusage
	err := unix.Getrusage(unix.RUSAGE_THREAD, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), err
}
