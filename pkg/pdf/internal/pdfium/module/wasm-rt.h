// The runtime that the code of wasm2c includes, in the place of wasm2c's own. It has what this one module needs: one
// memory, one table of functions, no exceptions.

#ifndef WASM_RT_H_
#define WASM_RT_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine.h"

#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define wasm_rt_memcpy __builtin_memcpy
#define wasm_rt_unreachable __builtin_unreachable

// The code has no checks of bounds: what an address can reach is either memory or a page that faults, see runtime.c.
#define WASM_RT_MEMCHECK_SIGNAL_HANDLER 1
#define WASM_RT_USE_STACK_DEPTH_COUNT 0

// The globals of an instance lie right before its memory, so that the code finds both with one pointer.
#define HEAD_BYTES 65536
#define MEMORY(mem) ((uint8_t *)((uintptr_t)(mem) + HEAD_BYTES - offsetof(Z_pdfium_instance_t, w2c_memory)))

typedef enum engine_status wasm_rt_trap_t;
#define WASM_RT_TRAP_OOB ENGINE_OUT_OF_BOUNDS
#define WASM_RT_TRAP_INT_OVERFLOW ENGINE_INTEGER_OVERFLOW
#define WASM_RT_TRAP_DIV_BY_ZERO ENGINE_DIVISION_BY_ZERO
#define WASM_RT_TRAP_INVALID_CONVERSION ENGINE_INVALID_CONVERSION
#define WASM_RT_TRAP_UNREACHABLE ENGINE_UNREACHABLE
#define WASM_RT_TRAP_CALL_INDIRECT ENGINE_INDIRECT_CALL

typedef enum { WASM_RT_I32 = 1, WASM_RT_I64, WASM_RT_F32, WASM_RT_F64 } wasm_rt_type_t;
typedef void (*wasm_rt_function_ptr_t)(void);

typedef struct {
  uint32_t func_type;
  wasm_rt_function_ptr_t func;
  void *module_instance;
} wasm_rt_funcref_t;

typedef struct {
  wasm_rt_funcref_t *data;
  uint32_t max_size, size;
} wasm_rt_funcref_table_t;

// The module has no table of these; wasm2c defines functions for one all the same.
typedef void *wasm_rt_externref_t;
typedef struct {
  wasm_rt_externref_t *data;
  uint32_t size;
} wasm_rt_externref_table_t;
#define wasm_rt_externref_null_value NULL

bool wasm_rt_is_initialized(void);
_Noreturn void wasm_rt_trap(wasm_rt_trap_t);
uint32_t wasm_rt_register_func_type(uint32_t params, uint32_t results, ...);
void wasm_rt_allocate_memory(wasm_rt_memory_t *, uint32_t initial_pages, uint32_t max_pages);
uint32_t wasm_rt_grow_memory(wasm_rt_memory_t *, uint32_t pages);
void wasm_rt_free_memory(wasm_rt_memory_t *);
void wasm_rt_allocate_funcref_table(wasm_rt_funcref_table_t *, uint32_t elements, uint32_t max_elements);
void wasm_rt_free_funcref_table(wasm_rt_funcref_table_t *);

#endif
