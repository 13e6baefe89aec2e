package rawscan

import (
	"context"
	"errors"
	"fmt"
)

const (
	// ordinaryRatio is what any honest stream may inflate to times its stored size without being held against the
	// document: repetitive tables and drawings get to 50.
	ordinaryRatio = 100
	// imageSample is how many bytes of images that their dictionary accounts for are inflated in all, to see whether
	// they lie. After that such an image is trusted if Flate is its only filter: the engine decodes it line by line, and
	// only as many lines as the dictionary says.
	imageSample = 256 << 20
	// ratioFloor is the inflated size from which a stream's ratio is reported: that of a tiny stream says nothing.
	ratioFloor = 1 << 20
	// overlapFactor and overlapSlack say how many bytes of the file may be fed to decoders in all. Streams that share
	// bytes with others pass it.
	overlapFactor = 4
	overlapSlack  = 64 << 20
)

// errBomb ends the decoding of everything; budget.bomb says why.
var errBomb = errors.New("decompression bomb")

// budget bounds the work of a scan.
type budget struct {
	ctx      context.Context //nolint:containedctx // of the one scan that the budget is for
	limits   Limits
	fileSize int64

	work   int64 // bytes that came out of decoders
	fed    int64 // bytes of the file that went into them
	excess int64 // bytes that nothing accounts for
	images int64 // bytes of images that their dictionary accounts for
	ratio  float64
	bomb   string
}

// reportBomb notes a bomb, if it is the first, and returns errBomb.
func (b *budget) reportBomb(format string, args ...any) error {
	if b.bomb == "" {
		b.bomb = fmt.Sprintf(format, args...)
	}
	return errBomb
}

// checkOutput judges a decoder that has yielded out bytes for in bytes of the file; its dictionary accounts for plain.
func (b *budget) checkOutput(out, in, plain int64) error {
	if err := b.ctx.Err(); err != nil {
		return err
	}
	l := b.limits
	switch {
	case b.work > l.MaxWork:
		return b.reportBomb("inflated_total: over %d MiB", b.work>>20)
	case b.fed > overlapFactor*b.fileSize+overlapSlack:
		return b.reportBomb("overlapping_streams: %d MiB of stream data in a file of %d MiB", b.fed>>20, b.fileSize>>20)
	case out <= plain:
		return nil
	case out > l.MaxStream && out/l.MaxRatio > in:
		return b.reportBomb("stream_ratio: %d bytes inflate to over %d MiB", in, out>>20)
	case b.excess+unaccountedBytes(out, in, plain) > l.MaxInflated:
		return b.reportBomb("inflated_total: over %d MiB", l.MaxInflated>>20)
	}
	return nil
}

// addTotals adds up a decoder that has ended.
func (b *budget) addTotals(out, in, plain int64) {
	b.excess += unaccountedBytes(out, in, plain)
	if out > ratioFloor && in > 0 {
		b.ratio = max(b.ratio, float64(out)/float64(in))
	}
}

func unaccountedBytes(out, in, plain int64) int64 { return max(0, out-max(plain, ordinaryRatio*in)) }

// absurdPixelsFactor times Limits.MaxPixels is too large for an image whatever its data.
const absurdPixelsFactor = 10

// maxFlateRatio is the highest ratio that Flate reaches. A compressor for bitonal images gets further, but not on a
// drawing that is worth its size.
const maxFlateRatio = 1032

// checkImageSize looks at the size that an image's dictionary states; extent is asked for its stored size where that
// matters. It returns the bytes that the dictionary accounts for.
func (b *budget) checkImageSize(a *streamAttrs, extent func() int64) (plain int64, err error) {
	// A page in sixteen-bit CMYK at MaxPixels would be twice as large; nothing makes those.
	most := b.limits.MaxPixels * 4
	if a.indirectSize {
		return most, nil
	}
	w, h := clampToInt31(a.width), clampToInt31(a.height)
	pixels := w * h // below 2^62
	bits := max(1, min(a.bits, 16)) * max(1, min(a.components, 32))
	if a.mask {
		bits = 1
	}
	if pixels > absurdPixelsFactor*b.limits.MaxPixels {
		return 0, b.reportBomb("image_pixels: an image of %d x %d", w, h)
	}
	bytes := pixels * bits / 8
	if pixels > b.limits.MaxPixels {
		if stored := extent(); bytes/maxFlateRatio > stored {
			return 0, b.reportBomb("image_pixels: an image of %d x %d in %d bytes", w, h, stored)
		}
		return 0, nil
	}
	// Lines are padded to whole bytes, and a predictor adds one to each.
	return min(bytes+bytes/16+2*h+64<<10, most), nil
}

func clampToInt31(n int64) int64 { return max(0, min(n, 1<<31-1)) }
