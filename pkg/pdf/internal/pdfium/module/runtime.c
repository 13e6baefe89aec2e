// The runtime of the module: its memory and stack, its traps, and the calls into it.
//
// An engine is one reservation of address space, and a stack:
//
//   | head: globals, engine's state | memory, up to its limit | nothing ...                    |
//     HEAD_BYTES                      8 GiB: all that a 32-bit address and offset can reach
//
// The code of wasm2c checks no bounds. An address of the module's is the memory's beginning and a number of 33 bits at
// most, so it lies in the reservation; what is not open there faults, and the fault becomes a trap. The module's own
// calls use a stack of their own, with a guard below that no frame steps over: recursion without end faults there.
// Return addresses and locals lie on that stack, which no address of the module's reaches.

#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "state.h"

#define REACH_BYTES ((8ull << 30) + 65536)  // an access is at most a few bytes long
#define PAGE_BYTES 65536ull
#define STACK_BYTES (64ull << 20)
#define STACK_GUARD (1ull << 20)  // more than a frame takes
#define LANDING_BYTES 1024        // more than the frame of run_call takes

static _Thread_local engine *running;  // on this thread

// Traps.

void wasm_rt_trap(wasm_rt_trap_t status) { _longjmp(running->trap, (int)status); }

// handle_fault makes traps of faults in a running engine's reservation and stack. Go has its own handler in front, and
// passes on what happens in C code. Any other fault ends the process as without a handler.
static void handle_fault(int number, siginfo_t *info, void *context) {
  engine *e = running;
  uintptr_t at = (uintptr_t)info->si_addr;
  enum engine_status status;
  if (e != NULL && at - (uintptr_t)e < HEAD_BYTES + REACH_BYTES) {
    status = ENGINE_OUT_OF_BOUNDS;
  } else if (e != NULL && at - (uintptr_t)e->stack < STACK_GUARD) {
    status = ENGINE_STACK_EXHAUSTED;
  } else {
    signal(number, SIG_DFL);  // the instruction comes again, and its fault
    return;
  }
  // The trap happens when the signal has been handled, on the module's stack.
  mcontext_t *machine = &((ucontext_t *)context)->uc_mcontext;
#if defined(__x86_64__)
  machine->gregs[REG_RDI] = status;
  machine->gregs[REG_RSP] = (greg_t)e->landing - 8;  // as after a call
  machine->gregs[REG_RIP] = (greg_t)(uintptr_t)wasm_rt_trap;
#elif defined(__aarch64__)
  machine->regs[0] = status;
  machine->sp = (uintptr_t)e->landing;
  machine->pc = (uintptr_t)wasm_rt_trap;
#else
#error "traps are handled on amd64 and arm64 alone"
#endif
}

// Go keeps handlers that were there before it and calls them for faults in C code.
__attribute__((constructor)) static void install_handler(void) {
  struct sigaction action = {.sa_sigaction = handle_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  sigaction(SIGSEGV, &action, NULL);
  sigaction(SIGBUS, &action, NULL);
}

// Calls.

// call_on_stack calls function(argument, caller's stack pointer) on another stack, of which top is the end.
int call_on_stack(void *top, int (*function)(void *, void *), void *argument);
__asm__(
    ".text\n.p2align 4\n.hidden call_on_stack\n.globl call_on_stack\n.type call_on_stack, %function\ncall_on_stack:\n"
#if defined(__x86_64__)
    "push %rbp\n"
    "mov %rsp, %rbp\n"
    "mov %rsi, %rax\n"
    "mov %rdi, %rsp\n"
    "mov %rdx, %rdi\n"
    "mov %rbp, %rsi\n"
    "call *%rax\n"
    "mov %rbp, %rsp\n"
    "pop %rbp\n"
    "ret\n"
#elif defined(__aarch64__)
    "stp x29, x30, [sp, #-16]!\n"
    "mov x29, sp\n"
    "mov x3, x1\n"
    "mov sp, x0\n"
    "mov x0, x2\n"
    "mov x1, x29\n"
    "blr x3\n"
    "mov sp, x29\n"
    "ldp x29, x30, [sp], #16\n"
    "ret\n"
#endif
    ".size call_on_stack, .-call_on_stack\n");

struct call {
  engine *engine;
  void (*function)(Z_pdfium_instance_t *, uint64_t *);
  uint64_t *values;
};

static int run_call(void *argument, void *go_stack) {
  struct call *c = argument;
  engine *e = c->engine;
  e->go_stack = go_stack;
  e->landing = (void *)(((uintptr_t)__builtin_frame_address(0) - LANDING_BYTES) & ~15ull);
  e->thrower = NULL;
  int status = _setjmp(e->trap);
  if (status == ENGINE_OK) c->function(&e->module, c->values);
  return status;
}

static enum engine_status start_call(engine *e, void (*function)(Z_pdfium_instance_t *, uint64_t *), uint64_t *values) {
  struct call c = {e, function, values};
  running = e;
  int status = call_on_stack(e->stack + STACK_BYTES, run_call, &c);
  running = NULL;
  e->trapped |= status != ENGINE_OK;
  return status;
}

struct export {
  const char *name;
  void (*function)(Z_pdfium_instance_t *, uint64_t *);
};

void read_chars(Z_pdfium_instance_t *, uint64_t *);

// exhaust_stack is for tests: no document is known that has PDFium call itself without end.
__attribute__((noinline)) static void exhaust_stack(Z_pdfium_instance_t *module, uint64_t *values) {
  volatile uint64_t frame[32] = {values[0]};
  if (values[0] == 0) exhaust_stack(module, values);
  values[0] += frame[0];
}

static inline float to_f32(uint64_t v) { float f; memcpy(&f, &v, sizeof f); return f; }
static inline double to_f64(uint64_t v) { double d; memcpy(&d, &v, sizeof d); return d; }
static inline uint64_t from_f32(float f) { uint64_t v = 0; memcpy(&v, &f, sizeof f); return v; }
static inline uint64_t from_f64(double d) { uint64_t v; memcpy(&v, &d, sizeof v); return v; }

// The functions that the module exports, and two more, are in exports.
#define OWN_EXPORTS {"read_chars", read_chars}, {"exhaust_stack", exhaust_stack},
#include "exports.h"

int engine_find(const char *name) {
  for (size_t i = 0; i < sizeof exports / sizeof *exports; i++) {
    if (strcmp(exports[i].name, name) == 0) return (int)i;
  }
  return -1;
}

enum engine_status engine_call(engine *e, int function, uint64_t *values) {
  if (e->trapped) return ENGINE_UNREACHABLE;
  return start_call(e, exports[function].function, values);
}

// Functions of Go's, which return 0 for a failure.
extern uint32_t pdfiumReadBlock(uintptr_t handle, uint32_t position, void *to, uint32_t size);
extern uint32_t pdfiumWriteBlock(uintptr_t handle, void *from, uint32_t size);

struct transfer {
  uintptr_t handle;
  uint32_t position, size;
  void *block;
};

static int read_block(void *argument, void *) {
  struct transfer *t = argument;
  return (int)pdfiumReadBlock(t->handle, t->position, t->block, t->size);
}

static int write_block(void *argument, void *) {
  struct transfer *t = argument;
  return (int)pdfiumWriteBlock(t->handle, t->block, t->size);
}

// FPDF_FILEACCESS.m_GetBlock(param, position, buffer, size) fills the buffer wholly.
u32 Z_envZ_FPDF_FILEACCESS_CB(struct Z_env_instance_t *env, u32, u32 position, u32 buffer, u32 size) {
  engine *e = (engine *)env;
  struct transfer t = {e->handle, position, size, memory_at(e, buffer, size)};
  return call_on_stack(e->go_stack, read_block, &t);  // Go runs on a stack that it knows
}

// FPDF_FILEWRITE.WriteBlock(self, data, size).
u32 Z_envZ_FPDF_FILEWRITE_CB(struct Z_env_instance_t *env, u32, u32 data, u32 size) {
  engine *e = (engine *)env;
  struct transfer t = {e->handle, 0, size, memory_at(e, data, size)};
  return call_on_stack(e->go_stack, write_block, &t);
}

// Emscripten's setjmp: a function that may be left by longjmp is called by invoke_..., which notes that it was.

void Z_envZ__emscripten_throw_longjmp(struct Z_env_instance_t *env) {
  engine *e = (engine *)env;
  if (e->thrower == NULL) wasm_rt_trap(ENGINE_UNCAUGHT_EXCEPTION);
  _longjmp(*e->thrower, 1);
}

static wasm_rt_function_ptr_t find_function(engine *e, u32 index, u32 type) {
  wasm_rt_funcref_table_t *table = &e->module.w2c___indirect_function_table;
  if (index >= table->size || table->data[index].func == NULL || table->data[index].func_type != type) {
    wasm_rt_trap(ENGINE_INDIRECT_CALL);
  }
  return table->data[index].func;
}

// INVOKE calls the function of that index and type, and evaluates to false if it was left by longjmp.
#define INVOKE(e, call)                                             \
  ({                                                                \
    jmp_buf here, *outer = (e)->thrower;                            \
    u32 stack = Z_pdfiumZ_emscripten_stack_get_current(&(e)->module); \
    bool returned = _setjmp(here) == 0;                             \
    if (returned) {                                                 \
      (e)->thrower = &here;                                         \
      call;                                                         \
    } else {                                                        \
      Z_pdfiumZ__emscripten_stack_restore(&(e)->module, stack);     \
      Z_pdfiumZ_setThrew(&(e)->module, 1, 0);                       \
    }                                                               \
    (e)->thrower = outer;                                           \
    returned;                                                       \
  })

u32 Z_envZ_invoke_ii(struct Z_env_instance_t *env, u32 f, u32 a) {
  engine *e = (engine *)env;
  u32 (*call)(void *, u32) = (void *)find_function(e, f, wasm_rt_register_func_type(1, 1, WASM_RT_I32, WASM_RT_I32));
  volatile u32 result = 0;
  INVOKE(e, result = call(e, a));
  return result;
}

u32 Z_envZ_invoke_iii(struct Z_env_instance_t *env, u32 f, u32 a, u32 b) {
  engine *e = (engine *)env;
  u32 (*call)(void *, u32, u32) =
      (void *)find_function(e, f, wasm_rt_register_func_type(2, 1, WASM_RT_I32, WASM_RT_I32, WASM_RT_I32));
  volatile u32 result = 0;
  INVOKE(e, result = call(e, a, b));
  return result;
}

u32 Z_envZ_invoke_iiii(struct Z_env_instance_t *env, u32 f, u32 a, u32 b, u32 c) {
  engine *e = (engine *)env;
  u32 (*call)(void *, u32, u32, u32) = (void *)find_function(
      e, f, wasm_rt_register_func_type(3, 1, WASM_RT_I32, WASM_RT_I32, WASM_RT_I32, WASM_RT_I32));
  volatile u32 result = 0;
  INVOKE(e, result = call(e, a, b, c));
  return result;
}

u32 Z_envZ_invoke_iiiii(struct Z_env_instance_t *env, u32 f, u32 a, u32 b, u32 c, u32 d) {
  engine *e = (engine *)env;
  u32 (*call)(void *, u32, u32, u32, u32) = (void *)find_function(
      e, f, wasm_rt_register_func_type(4, 1, WASM_RT_I32, WASM_RT_I32, WASM_RT_I32, WASM_RT_I32, WASM_RT_I32));
  volatile u32 result = 0;
  INVOKE(e, result = call(e, a, b, c, d));
  return result;
}

void Z_envZ_invoke_viii(struct Z_env_instance_t *env, u32 f, u32 a, u32 b, u32 c) {
  engine *e = (engine *)env;
  void (*call)(void *, u32, u32, u32) =
      (void *)find_function(e, f, wasm_rt_register_func_type(3, 0, WASM_RT_I32, WASM_RT_I32, WASM_RT_I32));
  INVOKE(e, call(e, a, b, c));
}

// Types of functions.

static pthread_mutex_t types_lock = PTHREAD_MUTEX_INITIALIZER;
static char types[256][32];  // the values' types, the results' after a bar

uint32_t wasm_rt_register_func_type(uint32_t params, uint32_t results, ...) {
  char type[sizeof *types] = {0};
  if (params + results + 2 > sizeof type) abort();
  va_list values;
  va_start(values, results);
  for (uint32_t i = 0; i < params + results; i++) type[i < params ? i : i + 1] = '0' + va_arg(values, wasm_rt_type_t);
  va_end(values);
  type[params] = '|';
  pthread_mutex_lock(&types_lock);
  uint32_t n = 0;
  while (n < sizeof types / sizeof *types && types[n][0] != 0 && strcmp(types[n], type) != 0) n++;
  if (n == sizeof types / sizeof *types) abort();
  memcpy(types[n], type, sizeof type);
  pthread_mutex_unlock(&types_lock);
  return n + 1;
}

// Memory and tables.

bool wasm_rt_is_initialized(void) { return true; }

static engine *engine_of(wasm_rt_memory_t *m) { return (engine *)((char *)m - offsetof(engine, module.w2c_memory)); }

uint32_t wasm_rt_grow_memory(wasm_rt_memory_t *m, uint32_t pages) {
  engine *e = engine_of(m);
  uint32_t before = m->pages;
  uint64_t size = (before + (uint64_t)pages) * PAGE_BYTES;
  if (size > e->limit || mprotect(m->data + m->size, size - m->size, PROT_READ | PROT_WRITE) != 0) {
    e->denied = true;
    return UINT32_MAX;
  }
  m->pages += pages;
  m->size = (uint32_t)size;
  return before;
}

void wasm_rt_allocate_memory(wasm_rt_memory_t *m, uint32_t initial_pages, uint32_t max_pages) {
  engine *e = engine_of(m);
  *m = (wasm_rt_memory_t){.data = (uint8_t *)e + HEAD_BYTES, .max_pages = max_pages};
  // The size has 32 bits.
  uint64_t most = (max_pages < 65535 ? max_pages : 65535) * PAGE_BYTES;
  e->limit = e->limit < most ? e->limit : most;
  if (wasm_rt_grow_memory(m, initial_pages) == UINT32_MAX) wasm_rt_trap(ENGINE_OUT_OF_BOUNDS);
}

void wasm_rt_free_memory(wasm_rt_memory_t *m) { (void)m; }  // engine_free does

void wasm_rt_allocate_funcref_table(wasm_rt_funcref_table_t *t, uint32_t elements, uint32_t max_elements) {
  *t = (wasm_rt_funcref_table_t){calloc(elements, sizeof *t->data), max_elements, elements};
  if (t->data == NULL) abort();
}

void wasm_rt_free_funcref_table(wasm_rt_funcref_table_t *t) { free(t->data); }

// Engines.

engine *engine_new(uint64_t limit, uintptr_t handle) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  uint8_t *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, flags, -1, 0);
  engine *e = mmap(NULL, HEAD_BYTES + REACH_BYTES, PROT_NONE, flags, -1, 0);
  if (stack == MAP_FAILED || e == MAP_FAILED || mprotect(stack, STACK_GUARD, PROT_NONE) != 0 ||
      mprotect(e, HEAD_BYTES, PROT_READ | PROT_WRITE) != 0) {
    if (stack != MAP_FAILED) munmap(stack, STACK_BYTES);
    if (e != MAP_FAILED) munmap(e, HEAD_BYTES + REACH_BYTES);
    return NULL;
  }
  madvise(stack, STACK_BYTES, MADV_NOHUGEPAGE);  // most calls take a few pages of it
  e->limit = limit;
  e->handle = handle;
  e->stack = stack;
  init_files(e);
  return e;
}

static void start_module(Z_pdfium_instance_t *module, uint64_t *) {
  // The module's imports have the engine for their environment.
  Z_pdfium_instantiate(module, (struct Z_env_instance_t *)module, (struct Z_wasi_snapshot_preview1_instance_t *)module);
  Z_pdfiumZ__initialize(module);
}

enum engine_status engine_start(engine *e) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, Z_pdfium_init_module);
  return start_call(e, start_module, NULL);
}

wasm_rt_memory_t *engine_memory(engine *e) { return &e->module.w2c_memory; }

int engine_denied(engine *e) { return e->denied; }

// A kept state is a copy of head and memory, up to the zeros at their end. What an engine has written is brought back in
// two ways. Pages that documents commonly write to are copied, which leaves them mapped; all others are dropped, and are
// as they were at their next use. To drop and fault in again the pages that a short document writes to took as long as a
// fifth of reading it, and as half of opening it. Which pages those are is learnt from the first document, the second,
// the fourth and so on.

#define SYSTEM_PAGE 4096
#define LEARNING 1024       // documents
#define OFTEN 2             // of the documents that are learnt from
#define MOST_COPIED 512     // pages: they stay in memory, and large documents write to thousands
#define GAP 8               // pages between copied ones that are quicker to copy than to drop
#define STACK_COPIED 65536  // bytes of the stack, from its beginning, that most calls keep within

struct kept {
  const uint8_t *copy;
  uint64_t size;       // of the copy
  uint64_t all;        // of head and memory
  unsigned documents;  // that have been closed
  // For each page how many of the documents that were learnt from have written to it, OFTEN at most: then it is copied.
  uint8_t written[];
};

// engine_save copies head and memory to a file without a name, and lays that file under them, privately: what is
// written from now on goes to copies of its pages. The zeros at the end, which are most of it, need no file.
int engine_save(engine *e) {
  uint64_t all = HEAD_BYTES + e->module.w2c_memory.size, size = all;
  const uint8_t *bytes = (const uint8_t *)e, zeros[PAGE_BYTES] = {0};
  madvise(e, all, MADV_POPULATE_READ);  // else each page of the zeros is a page fault
  while (memcmp(bytes + size - PAGE_BYTES, zeros, PAGE_BYTES) == 0) size -= PAGE_BYTES;
  int fd = memfd_create("pdfium", MFD_CLOEXEC);
  struct kept *kept = calloc(1, sizeof *kept + all / SYSTEM_PAGE);
  if (fd < 0 || kept == NULL || e->trapped || has_open_files(e) || ftruncate(fd, (off_t)size) != 0) {
    free(kept);
    close(fd);
    return -1;
  }
  *kept = (struct kept){.size = size, .all = all};
  e->kept = kept;
  uint64_t done = 0;
  while (done < size) {
    ssize_t n = write(fd, bytes + done, size - done);
    if (n <= 0) break;
    done += (uint64_t)n;
  }
  kept->copy = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
  if (done != size || kept->copy == MAP_FAILED ||
      mmap(e, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd, 0) == MAP_FAILED) {
    if (kept->copy != MAP_FAILED) munmap((void *)kept->copy, size);
    free(kept);
    e->kept = NULL;
  }
  close(fd);
  return e->kept != NULL ? 0 : -1;
}

static void free_kept(struct kept *kept) {
  if (kept == NULL) return;
  munmap((void *)kept->copy, kept->size);
  free(kept);
}

void engine_free(engine *e) {
  close_files(e, 0);
  wasm_rt_free_funcref_table(&e->module.w2c___indirect_function_table);
  munmap(e->stack, STACK_BYTES);
  free_kept(e->kept);
  munmap(e, HEAD_BYTES + REACH_BYTES);
}

// learn_written counts the pages that are not as they were at first, and has those be copied, with the few between them,
// that are so often. Pages that are not in memory are not looked at: hardly one of them was written to, and to fault all
// of them in took as long as to read several pages of text.
static void learn_written(struct kept *kept, const uint8_t *bytes) {
  const uint8_t zeros[SYSTEM_PAGE] = {0};
  unsigned char *resident = malloc(kept->all / SYSTEM_PAGE);
  if (resident == NULL || mincore((void *)bytes, kept->all, resident) != 0) {
    free(resident);
    return;  // without it, all pages are dropped
  }
  uint64_t last = UINT64_MAX, copied = 0;  // the last page that is copied; how many are
  for (uint64_t n = 0; n < kept->all / SYSTEM_PAGE && copied < MOST_COPIED; n++) {
    const uint8_t *first = n * SYSTEM_PAGE < kept->size ? kept->copy + n * SYSTEM_PAGE : zeros;
    bool touched = resident[n] & 1;
    if (kept->written[n] < OFTEN && touched && memcmp(bytes + n * SYSTEM_PAGE, first, SYSTEM_PAGE) != 0) kept->written[n]++;
    if (kept->written[n] < OFTEN) continue;
    uint64_t from = n - last <= GAP ? last + 1 : n;
    memset(kept->written + from, OFTEN, n + 1 - from);
    copied += n + 1 - from;
    last = n;
  }
  free(resident);
}

// restore_pages copies the pages that documents write to and drops the others.
static int restore_pages(const struct kept *kept, uint8_t *bytes) {
  for (uint64_t at = 0; at < kept->all;) {
    uint64_t from = at;
    bool copy = kept->written[from / SYSTEM_PAGE] == OFTEN;
    while (at < kept->all && (kept->written[at / SYSTEM_PAGE] == OFTEN) == copy) at += SYSTEM_PAGE;
    if (!copy) {
      if (madvise(bytes + from, at - from, MADV_DONTNEED) != 0) return -1;
      continue;
    }
    uint64_t copied = from < kept->size ? (at < kept->size ? at : kept->size) - from : 0;
    memcpy(bytes + from, kept->copy + from, copied);
    memset(bytes + from + copied, 0, at - from - copied);
  }
  return 0;
}

int engine_restore(engine *e) {
  struct kept *kept = e->kept;
  if (kept == NULL || e->trapped) return -1;
  close_files(e, e->mounted);
  uint64_t used = HEAD_BYTES + e->module.w2c_memory.size;
  kept->documents++;
  if (kept->documents <= LEARNING && (kept->documents & (kept->documents - 1)) == 0) learn_written(kept, (const uint8_t *)e);
  uint8_t *stack = e->stack;
  memset(stack + STACK_BYTES - STACK_COPIED, 0, STACK_COPIED);
  if (madvise(stack + STACK_GUARD, STACK_BYTES - STACK_GUARD - STACK_COPIED, MADV_DONTNEED) != 0 ||
      restore_pages(kept, (uint8_t *)e) != 0) {
    return -1;
  }
  if (used == kept->all) return 0;
  if (madvise((uint8_t *)e + kept->all, used - kept->all, MADV_DONTNEED) != 0) return -1;
  return mprotect((uint8_t *)e + kept->all, used - kept->all, PROT_NONE);
}
