//go:build !race

package sandbox

// memoryScale multiplies a pool's memory limits; see race_on.go.
const memoryScale = 1
