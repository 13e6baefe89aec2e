// What Go calls of the module: PDFium's WebAssembly, translated to C by wasm2c.

#ifndef ENGINE_H_
#define ENGINE_H_

#include <stdint.h>

// wasm_rt_memory_t is the module's linear memory, as wasm2c's code knows it. Sizes are in pages of 64 KiB and in bytes.
typedef struct {
  uint8_t *data;
  uint32_t pages, max_pages;
  uint32_t size;
} wasm_rt_memory_t;

// engine is one running copy of the module.
typedef struct engine engine;

// The ways in which a call ends. All but ENGINE_OK are traps.
enum engine_status {
  ENGINE_OK,
  ENGINE_OUT_OF_BOUNDS,
  ENGINE_INTEGER_OVERFLOW,
  ENGINE_DIVISION_BY_ZERO,
  ENGINE_INVALID_CONVERSION,
  ENGINE_UNREACHABLE,
  ENGINE_INDIRECT_CALL,
  ENGINE_UNCAUGHT_EXCEPTION,
  ENGINE_STACK_EXHAUSTED,
};

// engine_new makes a copy of the module whose memory may grow to limit bytes. handle is passed to the callbacks. It
// returns NULL where the system has no room for it.
engine *engine_new(uint64_t limit, uintptr_t handle);
// engine_mount lets the module read what lies below a folder, under the folder's own path. It returns 0, or -1 where
// the folder cannot be opened.
int engine_mount(engine *, const char *path);
// engine_start has the module initialise itself, once, before any other call.
enum engine_status engine_start(engine *);
void engine_free(engine *);

wasm_rt_memory_t *engine_memory(engine *);
// engine_denied tells whether the module has asked for more memory than its limit.
int engine_denied(engine *);

// engine_find returns the number of an exported function, -1 if there is none of that name.
int engine_find(const char *name);
// engine_call calls an exported function with the arguments in values, each in 8 bytes, and puts the result in the
// first. After a trap the engine must not be called again.
enum engine_status engine_call(engine *, int function, uint64_t *values);

// engine_save keeps the state of the engine as it is now, and engine_restore brings it back. They return 0, or -1
// where that cannot be done.
int engine_save(engine *);
int engine_restore(engine *);

#endif
