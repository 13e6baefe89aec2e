//go:build !race

package processtest

// UsePlainChildren does nothing: children run the program of the test, which is plain.
func UsePlainChildren(func(path string)) {}
