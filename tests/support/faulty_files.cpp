// SPDX-License-Identifier: Apache-2.0
#include "tests/support/faulty_files.h"

#include <sqlite3.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <new>

#include "core/base/error.h"

namespace lanescope {
namespace {

constexpr int kSectorBytes = 512;

// Decides what the layer does next; shared by all its files.
struct FaultPlan {
  std::atomic<int64_t> steps{0};
  std::atomic<int64_t> first{INT64_MAX}, last{INT64_MAX};
  std::atomic<FileFault> fault{FileFault::kFail};
  std::atomic<int> code{SQLITE_FULL};
};
FaultPlan fault_plan;
sqlite3_vfs* vfs_below = nullptr;

// Counts a step and does it: `whole` is the step, `half` what a killed process leaves of it.
template <typename Whole, typename Half>
int TakeStep(Whole whole, Half half) {
  const int64_t step = fault_plan.steps.fetch_add(1) + 1;
  if (step < fault_plan.first || step > fault_plan.last) return whole();
  switch (fault_plan.fault.load()) {
    case FileFault::kEndBefore:
      _exit(FaultyFiles::kEnded);
    case FileFault::kEndHalfway:
      half();
      _exit(FaultyFiles::kEnded);
    case FileFault::kFail:
      return fault_plan.code;
  }
  return SQLITE_INTERNAL;
}
template <typename Whole>
int TakeStep(Whole whole) {
  return TakeStep(whole, whole);
}

struct LayeredFile {
  sqlite3_file base;
  // The file below follows in memory; SQLite sets aside room for both.
  sqlite3_file* inner() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};

// A function of sqlite3_io_methods that only passes on.
template <auto Method>
struct Forward;
template <typename... Args, int (*sqlite3_io_methods::*Method)(sqlite3_file*, Args...)>
struct Forward<Method> {
  static int Call(sqlite3_file* file, Args... args) {
    sqlite3_file* inner = reinterpret_cast<LayeredFile*>(file)->inner();
    return (inner->pMethods->*Method)(inner, args...);
  }
};
template <void (*sqlite3_io_methods::*Method)(sqlite3_file*)>
struct Forward<Method> {
  static void Call(sqlite3_file* file) {
    sqlite3_file* inner = reinterpret_cast<LayeredFile*>(file)->inner();
    (inner->pMethods->*Method)(inner);
  }
};

sqlite3_file* InnerOf(sqlite3_file* file) { return reinterpret_cast<LayeredFile*>(file)->inner(); }

int LayeredWrite(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 offset) {
  sqlite3_file* inner = InnerOf(file);
  const auto write = [&](int part) { return inner->pMethods->xWrite(inner, bytes, part, offset); };
  return TakeStep([&] { return write(size); }, [&] { return write(size / 2 / kSectorBytes * kSectorBytes); });
}

int LayeredTruncate(sqlite3_file* file, sqlite3_int64 size) {
  sqlite3_file* inner = InnerOf(file);
  return TakeStep([&] { return inner->pMethods->xTruncate(inner, size); });
}

int LayeredSync(sqlite3_file*, int) {
  return TakeStep([] { return SQLITE_OK; });
}

int LayeredShmMap(sqlite3_file* file, int page, int size, int extend, void volatile** memory) {
  sqlite3_file* inner = InnerOf(file);
  const auto map = [&] { return inner->pMethods->xShmMap(inner, page, size, extend, memory); };
  return extend != 0 ? TakeStep(map) : map();
}

const sqlite3_io_methods kLayeredMethods = {
    3,
    Forward<&sqlite3_io_methods::xClose>::Call,
    Forward<&sqlite3_io_methods::xRead>::Call,
    LayeredWrite,
    LayeredTruncate,
    LayeredSync,
    Forward<&sqlite3_io_methods::xFileSize>::Call,
    Forward<&sqlite3_io_methods::xLock>::Call,
    Forward<&sqlite3_io_methods::xUnlock>::Call,
    Forward<&sqlite3_io_methods::xCheckReservedLock>::Call,
    Forward<&sqlite3_io_methods::xFileControl>::Call,
    Forward<&sqlite3_io_methods::xSectorSize>::Call,
    Forward<&sqlite3_io_methods::xDeviceCharacteristics>::Call,
    LayeredShmMap,
    Forward<&sqlite3_io_methods::xShmLock>::Call,
    Forward<&sqlite3_io_methods::xShmBarrier>::Call,
    Forward<&sqlite3_io_methods::xShmUnmap>::Call,
    Forward<&sqlite3_io_methods::xFetch>::Call,
    Forward<&sqlite3_io_methods::xUnfetch>::Call,
};

int LayeredOpen(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  auto* layered = new (file) LayeredFile{};
  const auto open = [&] { return vfs_below->xOpen(vfs_below, name, layered->inner(), flags, out_flags); };
  const int result = (flags & SQLITE_OPEN_CREATE) != 0 ? TakeStep(open) : open();
  if (result == SQLITE_OK) layered->base.pMethods = &kLayeredMethods;
  return result;
}

int LayeredDelete(sqlite3_vfs*, const char* name, int sync) {
  return TakeStep([&] { return vfs_below->xDelete(vfs_below, name, sync); });
}

sqlite3_vfs vfs_layer;

}  // namespace

FaultyFiles::FaultyFiles() {
  LANESCOPE_CHECK(vfs_below == nullptr);
  vfs_below = sqlite3_vfs_find(nullptr);
  // Calls that need no counting go to the functions below: SQLite's Unix layer keeps no state in its
  // sqlite3_vfs.
  vfs_layer = *vfs_below;
  vfs_layer.pNext = nullptr;
  vfs_layer.zName = "faulty";
  vfs_layer.szOsFile = static_cast<int>(sizeof(LayeredFile)) + vfs_below->szOsFile;
  vfs_layer.xOpen = LayeredOpen;
  vfs_layer.xDelete = LayeredDelete;
  Disarm();
  sqlite3_vfs_register(&vfs_layer, 1);
}

FaultyFiles::~FaultyFiles() {
  sqlite3_vfs_unregister(&vfs_layer);
  sqlite3_vfs_register(vfs_below, 1);
  vfs_below = nullptr;
}

void FaultyFiles::Arm(FileFault fault, int64_t at, bool lasting, int code) {
  fault_plan.steps = 0;
  fault_plan.fault = fault;
  fault_plan.code = code;
  fault_plan.first = at;
  fault_plan.last = lasting ? INT64_MAX : at;
}

void FaultyFiles::Disarm() { Arm(FileFault::kFail, INT64_MAX); }

int64_t FaultyFiles::steps() const { return fault_plan.steps; }

}  // namespace lanescope
