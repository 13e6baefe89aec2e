// What the parts of the runtime know of an engine.

#ifndef STATE_H_
#define STATE_H_

#include <setjmp.h>

#include "module.h"

#define MAX_FILES 32

struct engine {
  Z_pdfium_instance_t module;  // first: the module's functions have its address for the engine's
  uint64_t limit;              // of the memory, in bytes
  uintptr_t handle;            // for the callbacks
  bool denied, trapped;
  uint8_t *stack;  // of the module's own calls; its lowest STACK_GUARD bytes fault
  void *go_stack;  // the stack pointer of who called the module
  void *landing;   // the stack pointer of who handles a trap
  jmp_buf trap;
  jmp_buf *thrower;  // where a longjmp of the module's lands; NULL where none may
  // The module's files by their number, -1 where there is none. The first are its folders.
  int files[MAX_FILES];
  const char *mounts[MAX_FILES];
  int mounted;
  uint64_t readings[2];  // of the two clocks
  struct kept *kept;     // what engine_restore brings back; NULL where nothing was kept
};

// memory_at returns size bytes of the module's memory. It traps if they are not all there.
static inline void *memory_at(engine *e, uint32_t address, uint64_t size) {
  if (address + size > e->module.w2c_memory.size) wasm_rt_trap(ENGINE_OUT_OF_BOUNDS);
  return e->module.w2c_memory.data + address;
}

void init_files(engine *);
bool has_open_files(const engine *);
// close_files closes the files from a number on.
void close_files(engine *, int from);

#endif
