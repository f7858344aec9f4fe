// SPDX-License-Identifier: Apache-2.0
// Preloaded into a program (LD_PRELOAD), makes one operation of the program fail, or kills the program there:
// the way in which SQLite tests itself. Counts from main() on; what the program starts in turn is left alone.
// Told by the environment:
//   LANESCOPE_FAULT         KIND:ACTION:WHICH
//     KIND     alloc   malloc and its like, so operator new (ENOMEM)
//              open    open, fopen and their like (EMFILE)
//              write   write, pwrite, writev, ftruncate; not of standard streams (ENOSPC)
//              sync    fsync, fdatasync (EIO)
//              thread  pthread_create (EAGAIN)
//              change  all that changes files: writes, creating opens, rename, link, unlink, mkdir (ENOSPC)
//     ACTION   count   nothing fails
//              once    operation number WHICH fails; alloc: the first one with the call stack WHICH, in
//              hexadecimal from    that one and all after it kill    SIGKILL instead of it; a write is done
//              by half first
//   LANESCOPE_FAULT_REPORT  file to write at the end: the number of operations; alloc: the call stacks
//   instead, one a
//                           line, in order of their first allocation
// A call stack is a hash of the page offsets of its innermost return addresses: the same whatever the kernel
// randomizes, and whatever other threads allocate in between.
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include <unwind.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>

extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
}

namespace {

enum class Kind { kNone, kAlloc, kOpen, kWrite, kSync, kThread, kChange };
enum class Action { kCount, kOnce, kFrom, kKill };

constexpr const char* kKindNames[] = {"", "alloc", "open", "write", "sync", "thread", "change"};
constexpr const char* kActionNames[] = {"count", "once", "from", "kill"};

Kind kind = Kind::kNone;
Action action = Action::kCount;
uint64_t which = 0;
char report[4096];

std::atomic<bool> armed{false};  // main() runs
std::atomic<uint64_t> count{0};
std::atomic<bool> struck{false};
__attribute__((tls_model("initial-exec"))) thread_local bool inside = false;  // of this file

constexpr int kFrames = 10;
constexpr int kOwnFrames = 3;  // WalkStack, IsTheOne and the function that stands in for malloc

struct Stack {
  uint64_t hash = 1469598103934665603u;
  int frames = 0;
  uintptr_t addresses[kFrames] = {};
};

// Call stacks seen, in order of arrival; their hashes are found again by open addressing.
constexpr size_t kMaxStacks = 1 << 15, kSlots = 1 << 17;
std::atomic<uint64_t> slots[kSlots];
Stack stacks[kMaxStacks];
std::atomic<size_t> num_stacks{0};

_Unwind_Reason_Code Visit(_Unwind_Context* context, void* data) {
  auto* stack = static_cast<Stack*>(data);
  const int frame = stack->frames++ - kOwnFrames;
  if (frame < 0) return _URC_NO_REASON;
  const uintptr_t address = _Unwind_GetIP(context);
  stack->addresses[frame] = address;
  stack->hash = (stack->hash ^ (address & 0xfff)) * 1099511628211u;
  return frame == kFrames - 1 ? _URC_END_OF_STACK : _URC_NO_REASON;
}

__attribute__((noinline)) Stack WalkStack() {
  Stack stack;
  _Unwind_Backtrace(Visit, &stack);
  stack.hash |= 1;  // 0 is an empty slot
  return stack;
}

void Remember(const Stack& stack) {
  for (size_t i = stack.hash >> 1;; ++i) {
    uint64_t seen = slots[i % kSlots].load(std::memory_order_relaxed);
    if (seen == 0 && slots[i % kSlots].compare_exchange_strong(seen, stack.hash)) {
      const size_t place = num_stacks.fetch_add(1);
      if (place < kMaxStacks) stacks[place] = stack;
      return;
    }
    if (seen == stack.hash) return;
  }
}

// True when the operation at hand is the one.
__attribute__((noinline)) bool IsTheOne() {
  if (kind != Kind::kAlloc) return count.fetch_add(1) + 1 == which;
  const Stack stack = WalkStack();
  if (action == Action::kCount) Remember(stack);
  return action != Action::kCount && stack.hash == which;
}

// True when an operation of this kind must not be done.
__attribute__((always_inline)) inline bool Strikes(Kind of) {
  if (of != kind || inside || !armed.load(std::memory_order_relaxed)) return false;
  if (struck.load(std::memory_order_relaxed)) return action == Action::kFrom;
  inside = true;
  const bool strikes = IsTheOne() && action != Action::kCount && !struck.exchange(true);
  inside = false;
  return strikes;
}

[[noreturn]] void Kill() {
  syscall(SYS_kill, getpid(), SIGKILL);
  while (true) pause();
}

// Says it for an operation that moves no bytes.
bool Fails(Kind of, int error) {
  if (!Strikes(of)) return false;
  if (action == Action::kKill) Kill();
  errno = error;
  return true;
}

// `half` does half of it.
template <typename Half>
bool WriteFails(int file, Half half) {
  if (file <= STDERR_FILENO) return false;
  if (!Strikes(Kind::kWrite) && !Strikes(Kind::kChange)) return false;
  if (action == Action::kKill) {
    half();
    Kill();
  }
  errno = ENOSPC;
  return true;
}

template <typename Function>
Function Next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

size_t NumberOf(const char* word, size_t length, const char* const* names, size_t size) {
  for (size_t i = 0; i < size; ++i) {
    if (strlen(names[i]) == length && strncmp(names[i], word, length) == 0) return i;
  }
  return size;
}

void ReadPlan() {
  const char* plan = getenv("LANESCOPE_FAULT");
  if (plan == nullptr) return;
  const char* first = strchr(plan, ':');
  const char* second = first == nullptr ? nullptr : strchr(first + 1, ':');
  if (second == nullptr) abort();
  const size_t of = NumberOf(plan, static_cast<size_t>(first - plan), kKindNames, 7);
  const size_t does = NumberOf(first + 1, static_cast<size_t>(second - first - 1), kActionNames, 4);
  if (of == 7 || does == 4) abort();
  kind = static_cast<Kind>(of);
  action = static_cast<Action>(does);
  which = strtoull(second + 1, nullptr, kind == Kind::kAlloc ? 16 : 10);
  if (const char* path = getenv("LANESCOPE_FAULT_REPORT")) strncpy(report, path, sizeof report - 1);
  for (const char* name : {"LD_PRELOAD", "LANESCOPE_FAULT", "LANESCOPE_FAULT_REPORT"}) unsetenv(name);
}

// Where the program itself lies in memory: its first object.
int FindProgram(dl_phdr_info* info, size_t, void* base) {
  *static_cast<uintptr_t*>(base) = info->dlpi_addr;
  return 1;
}

// Fortran's runtime, which OpenBLAS loads, ends its program with an own message where its tables find no
// memory: nobody else has a say in that.
bool EndsItsProgram(const Stack& stack) {
  Dl_info caller;
  return dladdr(reinterpret_cast<void*>(stack.addresses[0]), &caller) != 0 && caller.dli_fname != nullptr &&
         strstr(caller.dli_fname, "/libgfortran.so") != nullptr;
}

void WriteStacks(FILE* file) {
  uintptr_t base = 0;
  dl_iterate_phdr(FindProgram, &base);
  for (size_t i = 0; i < num_stacks.load() && i < kMaxStacks; ++i) {
    if (EndsItsProgram(stacks[i])) continue;
    fprintf(file, "%llx", static_cast<unsigned long long>(stacks[i].hash));
    for (const uintptr_t address : stacks[i].addresses) {
      // Farther addresses are of libraries.
      constexpr uintptr_t kLargestProgram = uintptr_t{1} << 30;
      if (address - base < kLargestProgram)
        fprintf(file, " %llx", static_cast<unsigned long long>(address - base));
    }
    fputc('\n', file);
  }
}

__attribute__((destructor)) void WriteReport() {
  armed.store(false);
  if (report[0] == '\0') return;
  FILE* file = fopen(report, "w");
  if (file == nullptr) return;
  if (kind == Kind::kAlloc) {
    WriteStacks(file);
  } else {
    fprintf(file, "%llu\n", static_cast<unsigned long long>(count.load()));
  }
  fclose(file);
}

using MainFunction = int (*)(int, char**, char**);
MainFunction real_main = nullptr;

int ArmedMain(int argc, char** argv, char** environment) {
  ReadPlan();
  armed.store(true);
  return real_main(argc, argv, environment);
}

}  // namespace

extern "C" {

int __libc_start_main(MainFunction main, int argc, char** argv, void (*init)(), void (*fini)(),
                      void (*loader_fini)(), void* stack_end) {
  real_main = main;
  using Start = int (*)(MainFunction, int, char**, void (*)(), void (*)(), void (*)(), void*);
  return Next<Start>("__libc_start_main")(ArmedMain, argc, argv, init, fini, loader_fini, stack_end);
}

// ---- memory ----

void* malloc(size_t size) { return Fails(Kind::kAlloc, ENOMEM) ? nullptr : __libc_malloc(size); }
void* calloc(size_t number, size_t size) {
  return Fails(Kind::kAlloc, ENOMEM) ? nullptr : __libc_calloc(number, size);
}
void* realloc(void* memory, size_t size) {
  return Fails(Kind::kAlloc, ENOMEM) ? nullptr : __libc_realloc(memory, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  return Fails(Kind::kAlloc, ENOMEM) ? nullptr : __libc_memalign(alignment, size);
}
void* memalign(size_t alignment, size_t size) {
  return Fails(Kind::kAlloc, ENOMEM) ? nullptr : __libc_memalign(alignment, size);
}
int posix_memalign(void** memory, size_t alignment, size_t size) {
  if (Fails(Kind::kAlloc, ENOMEM)) return ENOMEM;
  *memory = __libc_memalign(alignment, size);
  return *memory == nullptr ? ENOMEM : 0;
}

// ---- files ----

static int OpenAt(int folder, const char* path, int flags, mode_t mode) {
  const bool creates = (flags & (O_CREAT | O_TRUNC)) != 0;
  if (Fails(Kind::kOpen, EMFILE) || (creates && Fails(Kind::kChange, ENOSPC))) return -1;
  return static_cast<int>(syscall(SYS_openat, folder, path, flags, mode));
}
#define LANESCOPE_MODE_ARGUMENT(last)                                                       \
  va_list arguments;                                                                        \
  va_start(arguments, last);                                                                \
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0; \
  va_end(arguments)
int open(const char* path, int flags, ...) {
  LANESCOPE_MODE_ARGUMENT(flags);
  return OpenAt(AT_FDCWD, path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  LANESCOPE_MODE_ARGUMENT(flags);
  return OpenAt(AT_FDCWD, path, flags, mode);
}
int openat(int folder, const char* path, int flags, ...) {
  LANESCOPE_MODE_ARGUMENT(flags);
  return OpenAt(folder, path, flags, mode);
}
#undef LANESCOPE_MODE_ARGUMENT

static FILE* OpenStream(const char* name, const char* path, const char* mode) {
  if (Fails(Kind::kOpen, EMFILE) || (mode[0] != 'r' && Fails(Kind::kChange, ENOSPC))) return nullptr;
  return Next<FILE* (*)(const char*, const char*)>(name)(path, mode);
}
FILE* fopen(const char* path, const char* mode) { return OpenStream("fopen", path, mode); }
FILE* fopen64(const char* path, const char* mode) { return OpenStream("fopen64", path, mode); }

ssize_t write(int file, const void* bytes, size_t size) {
  if (WriteFails(file, [&] { syscall(SYS_write, file, bytes, size / 2); })) return -1;
  return syscall(SYS_write, file, bytes, size);
}
ssize_t pwrite64(int file, const void* bytes, size_t size, off64_t at) {
  if (WriteFails(file, [&] { syscall(SYS_pwrite64, file, bytes, size / 2, at); })) return -1;
  return syscall(SYS_pwrite64, file, bytes, size, at);
}
ssize_t pwrite(int file, const void* bytes, size_t size, off_t at) { return pwrite64(file, bytes, size, at); }
ssize_t writev(int file, const struct iovec* parts, int number) {
  if (WriteFails(file, [&] { syscall(SYS_writev, file, parts, number / 2); })) return -1;
  return syscall(SYS_writev, file, parts, number);
}
int ftruncate64(int file, off64_t size) noexcept {
  if (WriteFails(file, [] {})) return -1;
  return static_cast<int>(syscall(SYS_ftruncate, file, size));
}
int ftruncate(int file, off_t size) noexcept { return ftruncate64(file, size); }
int fsync(int file) { return Fails(Kind::kSync, EIO) ? -1 : static_cast<int>(syscall(SYS_fsync, file)); }
int fdatasync(int file) {
  return Fails(Kind::kSync, EIO) ? -1 : static_cast<int>(syscall(SYS_fdatasync, file));
}

int rename(const char* from, const char* to) noexcept {
  if (Fails(Kind::kChange, EIO)) return -1;
  return static_cast<int>(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}
int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) noexcept {
  if (Fails(Kind::kChange, EIO)) return -1;
  return static_cast<int>(syscall(SYS_renameat2, from_folder, from, to_folder, to, flags));
}
int link(const char* from, const char* to) noexcept {
  if (Fails(Kind::kChange, EIO)) return -1;
  return static_cast<int>(syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0));
}
int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) noexcept {
  if (Fails(Kind::kChange, EIO)) return -1;
  return static_cast<int>(syscall(SYS_linkat, from_folder, from, to_folder, to, flags));
}
int unlink(const char* path) noexcept {
  if (Fails(Kind::kChange, EIO)) return -1;
  return static_cast<int>(syscall(SYS_unlinkat, AT_FDCWD, path, 0));
}
int mkdir(const char* path, mode_t mode) noexcept {
  if (Fails(Kind::kChange, EIO)) return -1;
  return static_cast<int>(syscall(SYS_mkdirat, AT_FDCWD, path, mode));
}

// ---- threads ----

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* argument) {
  if (Fails(Kind::kThread, EAGAIN)) return EAGAIN;
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto create = Next<Create>("pthread_create");
  return create(thread, attributes, run, argument);
}

}  // extern "C"
