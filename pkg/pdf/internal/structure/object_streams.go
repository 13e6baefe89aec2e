package structure

import (
	"slices"
	"strconv"
)

// objectStream is an object stream, inflated.
type objectStream struct {
	number  int64
	data    []byte
	offsets map[int64]int // of its objects in data
}

// readPackedOffsets reads where the n objects of an object stream are in it, which stands before its first.
func readPackedOffsets(data []byte, n, first int64) map[int64]int {
	offsets := map[int64]int{}
	p := parser{b: data[:first]}
	for range min(n, first) {
		num, errA := p.readInteger()
		off, errB := p.readInteger()
		if errA != nil || errB != nil {
			break
		}
		if at := first + off; off >= 0 && at < int64(len(data)) {
			offsets[num] = int(at)
		}
	}
	return offsets
}

// readInteger reads a plain integer, which no reference begins with.
func (p *parser) readInteger() (int64, error) {
	p.skipSpace()
	text := p.readRegular()
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		return 0, errSyntax
	}
	return n, nil
}

const (
	// Of object streams a few stay inflated, however large they are, and many while they are small.
	minKeptStreams, maxKeptStreams = 8, 128
	// maxKeptBytes is how much of object streams stays inflated from page to page.
	maxKeptBytes = 4 << 20
)

// objectStreamCache holds the object streams that were used lately.
type objectStreamCache struct {
	streams []objectStream // the one used last is the last
}

func (c *objectStreamCache) find(num int64) (objectStream, bool) {
	for i, s := range slices.Backward(c.streams) {
		if s.number == num {
			copy(c.streams[i:], c.streams[i+1:])
			c.streams[len(c.streams)-1] = s
			return s, true
		}
	}
	return objectStream{}, false
}

func (c *objectStreamCache) add(s objectStream) {
	c.streams = append(c.streams, s)
	for len(c.streams) > minKeptStreams && (len(c.streams) > maxKeptStreams || c.inflatedBytes() > maxKeptBytes) {
		c.streams = slices.Delete(c.streams, 0, 1)
	}
}

// trim forgets the streams where they take too much.
func (c *objectStreamCache) trim() {
	if c.inflatedBytes() > maxKeptBytes {
		c.streams = nil
	}
}

// inflatedBytes is how many bytes the streams take.
func (c *objectStreamCache) inflatedBytes() (sum int) {
	for _, s := range c.streams {
		sum += len(s.data)
	}
	return sum
}
