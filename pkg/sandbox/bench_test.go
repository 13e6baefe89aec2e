package sandbox_test

import (
	"context"
	"strconv"
	"testing"

	"inkstream.dev/pkg/sandbox"
)

func BenchmarkCall(b *testing.B) {
	for _, size := range []int{16, 4 << 10, 64 << 10, 1 << 20, 64 << 20} {
		b.Run(strconv.Itoa(size), func(b *testing.B) {
			pool := newPool(b, sandbox.Config{Program: "echo"})
			child := leaseChild(b, pool)
			body := make([]byte, size)
			b.SetBytes(int64(2 * size))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := child.Call(context.Background(), long, body); err != nil {
					b.Fatal(err)
				}
			}
			child.Release()
		})
	}
}

func BenchmarkLease(b *testing.B) {
	pool := newPool(b, sandbox.Config{Program: "echo"})
	for b.Loop() {
		leaseChild(b, pool).Release()
	}
}

func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		pool := newPool(b, sandbox.Config{Program: "echo"})
		leaseChild(b, pool).Release()
		if err := pool.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
