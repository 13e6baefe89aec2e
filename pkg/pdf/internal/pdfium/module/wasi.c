// The system calls of the module (WASI, snapshot 1): reading below the folders that are mounted, and a clock that goes
// by calls, so that the same document reads the same. What is not here has a stub that answers "not supported".

#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "state.h"

#define WASI(result, name) result Z_wasi_snapshot_preview1Z_##name
#define CONTEXT struct Z_wasi_snapshot_preview1_instance_t *env
#define ENGINE ((engine *)env)

// WASI's numbers.
enum { SUCCESS = 0, BAD_FILE = 8, INVALID = 28, IO = 29, TOO_MANY_FILES = 33, NOT_FOUND = 44, NOT_PERMITTED = 63,
  READ_ONLY = 69 };
enum { TYPE_CHARACTERS = 2, TYPE_FOLDER = 3, TYPE_FILE = 4, TYPE_LINK = 7 };
enum { FIRST_FILE = 3 };  // after the standard ones

static u32 error_number(void) {
  switch (errno) {
  case EACCES: return 2;
  case EISDIR: return 31;
  case ELOOP: return 32;
  case EMFILE: return TOO_MANY_FILES;
  case ENAMETOOLONG: return 37;
  case ENOENT: return NOT_FOUND;
  case ENOTDIR: return 54;
  case EPERM: return NOT_PERMITTED;
  default: return IO;
  }
}

static void put(engine *e, u32 at, const void *value, u32 size) { memcpy(memory_at(e, at, size), value, size); }
static void put_u32(engine *e, u32 at, u32 value) { put(e, at, &value, sizeof value); }
static void put_u64(engine *e, u32 at, u64 value) { put(e, at, &value, sizeof value); }
static u32 get_u32(engine *e, u32 at) {
  u32 value;
  memcpy(&value, memory_at(e, at, sizeof value), sizeof value);
  return value;
}

// Files.

void init_files(engine *e) {
  for (int i = 0; i < MAX_FILES; i++) e->files[i] = -1;
  e->mounted = FIRST_FILE;
}

int engine_mount(engine *e, const char *path) {
  if (e->mounted == MAX_FILES) return -1;
  int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return -1;
  e->files[e->mounted] = fd;
  e->mounts[e->mounted] = strdup(path);
  if (e->mounts[e->mounted] == NULL) abort();
  e->mounted++;
  return 0;
}

void close_files(engine *e, int from) {
  for (int i = from; i < MAX_FILES; i++) {
    if (e->files[i] >= 0) close(e->files[i]);
    e->files[i] = -1;
    if (from == 0) free((char *)e->mounts[i]);
  }
}

bool has_open_files(const engine *e) {
  for (int i = e->mounted; i < MAX_FILES; i++) {
    if (e->files[i] >= 0) return true;
  }
  return false;
}

static int file_of(engine *e, u32 file) { return file < MAX_FILES ? e->files[file] : -1; }

static bool is_mount(engine *e, u32 file) { return file >= FIRST_FILE && file < (u32)e->mounted; }

// copy_path copies a path of the module's, and reports whether it leads below the folder that it begins at. Links may
// lead elsewhere: what the module may read in the end is up to the walls around the process.
static bool copy_path(engine *e, u32 path, u32 length, char to[PATH_MAX]) {
  if (length == 0 || length >= PATH_MAX) return false;
  memcpy(to, memory_at(e, path, length), length);
  to[length] = 0;
  if (to[0] == '/' || strlen(to) != length) return false;
  for (const char *part = to; part != NULL; part = strchr(part, '/')) {
    part += *part == '/';
    if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == 0)) return false;
  }
  return true;
}

WASI(u32, path_open)(CONTEXT, u32 folder, u32, u32 path, u32 length, u32 how, u64, u64, u32, u32 opened) {
  enum { CREATE = 1, FOLDER = 2, EXCLUSIVE = 4, TRUNCATE = 8 };
  engine *e = ENGINE;
  int at = file_of(e, folder);
  char name[PATH_MAX];
  if (at < 0) return BAD_FILE;
  if (!copy_path(e, path, length, name)) return NOT_PERMITTED;
  if (how & (CREATE | EXCLUSIVE | TRUNCATE)) return READ_ONLY;
  u32 file = (u32)e->mounted;
  while (file < MAX_FILES && e->files[file] >= 0) file++;
  if (file == MAX_FILES) return TOO_MANY_FILES;
  memory_at(e, opened, 4);  // or a trap would leave the file open
  int fd = openat(at, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | (how & FOLDER ? O_DIRECTORY : 0));
  if (fd < 0) return error_number();
  e->files[file] = fd;
  put_u32(e, opened, file);
  return SUCCESS;
}

WASI(u32, fd_close)(CONTEXT, u32 file) {
  engine *e = ENGINE;
  if (file_of(e, file) < 0 || is_mount(e, file)) return BAD_FILE;
  close(e->files[file]);
  e->files[file] = -1;
  return SUCCESS;
}

WASI(u32, fd_read)(CONTEXT, u32 file, u32 blocks, u32 count, u32 total) {
  engine *e = ENGINE;
  int fd = file_of(e, file);
  if (fd < 0) return BAD_FILE;
  u32 done = 0;
  for (u32 i = 0; i < count; i++) {
    u32 size = get_u32(e, blocks + 8 * i + 4);
    ssize_t n = read(fd, memory_at(e, get_u32(e, blocks + 8 * i), size), size);
    if (n < 0) return error_number();
    done += (u32)n;
    if ((u32)n < size) break;
  }
  put_u32(e, total, done);
  return SUCCESS;
}

// fd_write has what the module prints go nowhere.
WASI(u32, fd_write)(CONTEXT, u32 file, u32 blocks, u32 count, u32 total) {
  engine *e = ENGINE;
  if (file == 0 || file >= FIRST_FILE) return BAD_FILE;
  u32 done = 0;
  for (u32 i = 0; i < count; i++) done += get_u32(e, blocks + 8 * i + 4);
  put_u32(e, total, done);
  return SUCCESS;
}

WASI(u32, fd_seek)(CONTEXT, u32 file, u64 offset, u32 from, u32 result) {
  engine *e = ENGINE;
  int fd = file_of(e, file);
  if (fd < 0) return BAD_FILE;
  if (from > 2) return INVALID;
  off_t at = lseek(fd, (off_t)offset, (int)from);  // from is numbered as in C
  if (at < 0) return errno == EINVAL ? INVALID : error_number();
  put_u64(e, result, (u64)at);
  return SUCCESS;
}

static u8 type_of(mode_t mode) {
  if (S_ISDIR(mode)) return TYPE_FOLDER;
  if (S_ISREG(mode)) return TYPE_FILE;
  return S_ISLNK(mode) ? TYPE_LINK : 0;
}

// stat_file calls fstat by its number: the C library uses another call for it, which the walls forbid.
static int stat_file(int fd, struct stat *to) { return (int)syscall(SYS_fstat, fd, to); }

WASI(u32, fd_fdstat_get)(CONTEXT, u32 file, u32 to) {
  engine *e = ENGINE;
  struct { u8 type, padding; u16 flags; u32 padding2; u64 rights, inherited; } out = {.type = TYPE_CHARACTERS, .rights = ~0ull, .inherited = ~0ull};
  if (file >= FIRST_FILE) {
    struct stat s;
    if (file_of(e, file) < 0) return BAD_FILE;
    if (stat_file(e->files[file], &s) != 0) return error_number();
    out.type = type_of(s.st_mode);
  }
  put(e, to, &out, sizeof out);
  return SUCCESS;
}

static u32 put_stat(engine *e, u32 to, const struct stat *s) {
  struct { u64 device, inode; u8 type, padding[7]; u64 links, size, accessed, modified, changed; } out = {
    .device = s->st_dev, .inode = s->st_ino, .type = type_of(s->st_mode), .links = s->st_nlink, .size = (u64)s->st_size,
  };
  put(e, to, &out, sizeof out);
  return SUCCESS;
}

WASI(u32, fd_filestat_get)(CONTEXT, u32 file, u32 to) {
  engine *e = ENGINE;
  struct stat s;
  if (file_of(e, file) < 0) return BAD_FILE;
  return stat_file(e->files[file], &s) == 0 ? put_stat(e, to, &s) : error_number();
}

WASI(u32, path_filestat_get)(CONTEXT, u32 folder, u32 follow, u32 path, u32 length, u32 to) {
  engine *e = ENGINE;
  struct stat s;
  char name[PATH_MAX];
  if (file_of(e, folder) < 0) return BAD_FILE;
  if (!copy_path(e, path, length, name)) return NOT_PERMITTED;
  if (fstatat(e->files[folder], name, &s, follow & 1 ? 0 : AT_SYMLINK_NOFOLLOW) != 0) return error_number();
  return put_stat(e, to, &s);
}

WASI(u32, fd_readdir)(CONTEXT, u32 file, u32 to, u32 room, u64 cookie, u32 total) {
  engine *e = ENGINE;
  int fd = file_of(e, file);
  if (fd < 0) return BAD_FILE;
  // The cookie is the file system's own, from where its reading goes on.
  _Alignas(8) char entries[4096];
  if (lseek(fd, (off_t)cookie, SEEK_SET) < 0) return error_number();
  long n = syscall(SYS_getdents64, fd, entries, sizeof entries);
  if (n < 0) return error_number();
  u32 used = 0;
  for (long at = 0; at < n && used < room;) {
    const struct dirent64 *d = (const void *)(entries + at);
    at += d->d_reclen;
    u32 length = (u32)strlen(d->d_name);
    struct { u64 next, inode; u32 length; u8 type, padding[3]; } head = {.next = (u64)d->d_off, .inode = d->d_ino,
      .length = length, .type = d->d_type == DT_DIR ? TYPE_FOLDER : d->d_type == DT_REG ? TYPE_FILE : 0};
    // What does not fit is cut, which tells the module to ask again from there.
    char entry[sizeof head + sizeof d->d_name];
    memcpy(entry, &head, sizeof head);
    memcpy(entry + sizeof head, d->d_name, length);
    u32 size = sizeof head + length;
    if (size > room - used) size = room - used;
    put(e, to + used, entry, size);
    used += size;
  }
  put_u32(e, total, used);
  return SUCCESS;
}

WASI(u32, fd_prestat_get)(CONTEXT, u32 file, u32 to) {
  engine *e = ENGINE;
  if (!is_mount(e, file)) return BAD_FILE;
  put_u32(e, to, 0);
  put_u32(e, to + 4, (u32)strlen(e->mounts[file]));
  return SUCCESS;
}

WASI(u32, fd_prestat_dir_name)(CONTEXT, u32 file, u32 to, u32 room) {
  engine *e = ENGINE;
  if (!is_mount(e, file)) return BAD_FILE;
  u32 length = (u32)strlen(e->mounts[file]);
  if (length > room) return INVALID;
  put(e, to, e->mounts[file], length);
  return SUCCESS;
}

// The rest.

WASI(u32, environ_sizes_get)(CONTEXT, u32 count, u32 bytes) {
  put_u32(ENGINE, count, 0);
  put_u32(ENGINE, bytes, 0);
  return SUCCESS;
}

WASI(u32, environ_get)(CONTEXT, u32, u32) { return env == NULL; }

WASI(u32, clock_time_get)(CONTEXT, u32 clock, u64, u32 to) {
  const u64 step = 1000000, begin = 1640995200000 * step;  // the beginning of 2022
  engine *e = ENGINE;
  if (clock > 1) return INVALID;
  u64 reading = e->readings[clock]++;
  put_u64(e, to, (clock == 0 ? begin : 0) + reading * step);
  return SUCCESS;
}

WASI(void, proc_exit)(CONTEXT, u32) {
  (void)env;
  wasm_rt_trap(ENGINE_UNREACHABLE);
}
