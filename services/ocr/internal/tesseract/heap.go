package tesseract

/*
#include <malloc.h>
*/
import "C"

const (
	// maxKeptHeap is how much freed memory the C heap keeps while a page is read, which will want as much again.
	maxKeptHeap = 128 << 20
	// minMappedBlock is the size from which a block is mapped by itself, and goes back to the system when it is freed:
	// page images, which would leave holes in the heap that the next of another size does not fit into.
	minMappedBlock = 4 << 20
)

// oneArena has all threads share one C heap, which is enough for one page at a time: else every thread that Go happens
// to run a page on would grow one of its own, and keep it. It is in the environment of the process because threads have
// heaps by the time that any code of ours could say so (mallopt(3), M_ARENA_MAX).
const oneArena = "MALLOC_ARENA_MAX=1"

// tuneHeap fits the C heap to a process that reads one page after another: half as many page faults.
func tuneHeap() {
	C.mallopt(C.M_TRIM_THRESHOLD, maxKeptHeap)
	C.mallopt(C.M_MMAP_THRESHOLD, minMappedBlock)
}

// trimHeap gives freed memory of the C heap back to the system, holes in it too.
func trimHeap() { C.malloc_trim(0) }
