// Tesseract hands the image of every text line to its network through memory: compressed as a PNG by one function and decompressed by the
// next, which takes 7 % of the CPU of a page. It does both through Leptonica's pixWriteMem and pixReadMem, which know the format by its
// first bytes. So the writing half is replaced (an executable's symbols go before those of shared libraries) by one that answers a wish
// for PNG with Leptonica's own uncompressed lossless format. Nothing in this program writes an image file with Leptonica.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <leptonica/allheaders.h>

typedef l_ok (*write_mem)(l_uint8 **, size_t *, PIX *, l_int32);

l_ok pixWriteMem(l_uint8 **data, size_t *size, PIX *pix, l_int32 format) {
	static write_mem original;
	if (format == IFF_PNG) {
		return pixWriteMemSpix(data, size, pix);
	}
	if (original == NULL) { // several threads would write the same value
		original = (write_mem)dlsym(RTLD_NEXT, "pixWriteMem");
	}
	return original == NULL ? 1 : original(data, size, pix, format);
}
