// SPDX-License-Identifier: Apache-2.0
#include "tests/exec/cuda/emulated/emulator.h"

#include <setjmp.h>
#include <ucontext.h>

#include <cstdio>
#include <memory>
#include <vector>

namespace lanescope::exec::emulator {
namespace {

constexpr size_t kStackBytes = size_t{128} << 10;
constexpr size_t kMostThreads = 1024;
constexpr size_t kMostShared = size_t{48} << 10;
constexpr size_t kWarp = 32;
constexpr unsigned kMostRows = 65535;  // of a grid, in y and z

enum class State { kReady, kAtBlock, kAtWarp, kDone };

// A thread of the block with a stack of its own. It is made once and serves one block after the other.
struct Fiber {
  std::unique_ptr<char[]> stack{new char[kStackBytes]};
  ucontext_t first;  // where it starts
  jmp_buf place;     // where it goes on
  bool started = false;
  State state = State::kDone;
  uint3 thread{};
  std::vector<char> sent;  // to other lanes of its warp
};

std::vector<std::unique_ptr<Fiber>> fibers;
ucontext_t caller;  // makes the first switch only
jmp_buf scheduler;
Fiber* current = nullptr;
const std::function<void()>* work = nullptr;
std::vector<char> dynamic_shared;

[[noreturn]] void Fail(const char* what) {
  std::fprintf(stderr, "emulated CUDA: %s\n", what);
  std::abort();
}

void Pause(State state) {
  if (current == nullptr) Fail("a kernel whose threads run one by one synchronizes");
  current->state = state;
  if (_setjmp(current->place) == 0) _longjmp(scheduler, 1);
}

void FiberLoop() {
  for (;;) {
    (*work)();
    Pause(State::kDone);
  }
}

void Resume(Fiber* fiber) {
  current = fiber;
  threadIdx = fiber->thread;
  if (_setjmp(scheduler) == 0) {
    if (fiber->started) _longjmp(fiber->place, 1);
    fiber->started = true;
    getcontext(&fiber->first);
    fiber->first.uc_stack.ss_sp = fiber->stack.get();
    fiber->first.uc_stack.ss_size = kStackBytes;
    fiber->first.uc_link = nullptr;
    makecontext(&fiber->first, FiberLoop, 0);
    swapcontext(&caller, &fiber->first);
  }
  current = nullptr;
}

// Lets the threads of [begin, end) go on that wait in `state`, if all do. False: not all do.
bool Release(size_t begin, size_t end, State state) {
  for (size_t i = begin; i < end; ++i) {
    if (fibers[i]->state != state) return false;
  }
  for (size_t i = begin; i < end; ++i) fibers[i]->state = State::kReady;
  return true;
}

bool ReleaseWarps(size_t threads) {
  bool any = false;
  for (size_t begin = 0; begin < threads; begin += kWarp)
    any |= Release(begin, std::min(begin + kWarp, threads), State::kAtWarp);
  return any;
}

void RunBlockTogether(size_t threads) {
  while (fibers.size() < threads) fibers.push_back(std::make_unique<Fiber>());
  for (size_t i = 0; i < threads; ++i) {
    fibers[i]->state = State::kReady;
    fibers[i]->thread = {static_cast<unsigned>(i % blockDim.x), static_cast<unsigned>(i / blockDim.x), 0};
  }
  for (;;) {
    size_t done = 0;
    for (size_t i = threads; i-- > 0;) {
      if (fibers[i]->state == State::kReady) Resume(fibers[i].get());
      done += fibers[i]->state == State::kDone ? 1 : 0;
    }
    if (done == threads) return;
    if (!ReleaseWarps(threads) && !Release(0, threads, State::kAtBlock))
      Fail("not all threads of a block reach a barrier, or of a warp a shuffle");
  }
}

void RunBlockOneByOne() {
  for (unsigned y = 0; y < blockDim.y; ++y) {
    for (unsigned x = 0; x < blockDim.x; ++x) {
      threadIdx = {x, y, 0};
      (*work)();
    }
  }
}

}  // namespace

void RunGrid(dim3 grid, dim3 block, size_t shared_bytes, bool together, const std::function<void()>& thread) {
  const size_t threads = size_t{block.x} * block.y;
  const bool valid = grid.x > 0 && grid.x <= 0x7FFFFFFF && grid.y > 0 && grid.y <= kMostRows && grid.z == 1 &&
                     block.z == 1 && threads > 0 && threads <= kMostThreads && shared_bytes <= kMostShared;
  if (!valid) Fail("invalid configuration of a launch");
  gridDim = grid;
  blockDim = block;
  work = &thread;
  // Content is undefined.
  dynamic_shared.assign(shared_bytes, static_cast<char>(0xDD));
  for (unsigned y = 0; y < grid.y; ++y) {
    for (unsigned x = grid.x; x-- > 0;) {
      blockIdx = {x, y, 0};
      if (together) {
        RunBlockTogether(threads);
      } else {
        RunBlockOneByOne();
      }
    }
  }
}

void WaitForBlock() { Pause(State::kAtBlock); }

void Exchange(void* bytes, size_t count, int source, unsigned mask) {
  if (mask != 0xFFFFFFFFu) Fail("a shuffle of some lanes");
  const size_t thread = size_t{threadIdx.y} * blockDim.x + threadIdx.x;
  const auto* begin = static_cast<const char*>(bytes);
  fibers[thread]->sent.assign(begin, begin + count);
  Pause(State::kAtWarp);
  std::memcpy(bytes, fibers[thread / kWarp * kWarp + static_cast<size_t>(source)]->sent.data(), count);
  Pause(State::kAtWarp);
}

void* DynamicShared() { return dynamic_shared.data(); }

}  // namespace lanescope::exec::emulator
