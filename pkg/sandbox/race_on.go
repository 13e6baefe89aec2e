//go:build race

package sandbox

// memoryScale is what the race detector makes of a program's memory: it keeps two and a half bytes of its own for each.
const memoryScale = 4
