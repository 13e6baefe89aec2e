// A page of text takes some 7,000 calls to PDFium, for a few facts about each character, and the way from Go into the
// module and back costs more than most answers do. So the loop over the characters is here: 1 call for many of them.

#include "state.h"

// The layout of a record and its flags are in chars.go as well.
enum { CHAR_SIZE = 48, SAMPLE_STEP = 4 };
enum { GENERATED = 1, UNMAPPED = 2, BOXED = 4, BEFORE = 8, AFTER = 16 };

#define CALL(name, ...) Z_pdfiumZ_FPDFText_##name(module, page, __VA_ARGS__)

// read_chars takes a text page, the index of its first character, how many there are, and the address of their records.
// An index off the page is no trouble: PDFium answers "no box".
void read_chars(Z_pdfium_instance_t *module, u64 *values) {
  wasm_rt_memory_t *memory = &module->w2c_memory;
  u32 page = (u32)values[0], index = (u32)values[1], left = (u32)values[2], out = (u32)values[3];
  for (; left > 0; left--, index++, out += CHAR_SIZE) {
    u32 flags = 0, code = CALL(GetUnicode, index);
    // Only these can be generated, so only they are asked.
    if ((code == ' ' || code == '\r' || code == '\n') && CALL(IsGenerated, index) == 1) flags = GENERATED;
    if (flags == 0) {
      i32_store(memory, (u64)out + 4, CALL(GetTextObject, index));
      if (index % SAMPLE_STEP == 0 && CALL(HasUnicodeMapError, index) == 1) flags |= UNMAPPED;
      if (CALL(GetCharBox, index, out + 16, out + 24, out + 32, out + 40)) flags |= BOXED;
    } else if (code == ' ') {
      if (CALL(GetLooseCharBox, index - 1, out + 16)) flags |= BEFORE;
      if (CALL(GetLooseCharBox, index + 1, out + 32)) flags |= AFTER;
    }
    i32_store(memory, out, code);
    i32_store(memory, (u64)out + 8, flags);
  }
}
