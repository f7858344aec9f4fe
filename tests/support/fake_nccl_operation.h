// SPDX-License-Identifier: Apache-2.0
// Operations of the fake NCCL (fake_nccl.cpp), which its ranks do together: the calls and the work.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <memory>
#include <vector>

namespace lanescope::test::fake_nccl {

struct Operation;

// The ranks that find each other; `ordinals` are -1 until they have come.
struct Clique {
  std::vector<int> ordinals;
  bool in_one_process = false;
  std::deque<std::shared_ptr<Operation>> open;  // to which some rank has not given its part yet

  bool IsWhole() const { return std::ranges::count(ordinals, -1) == 0; }
};

// One rank. Outlives the communicator's handle, for what is still on streams.
struct Rank {
  std::shared_ptr<Clique> clique;
  int rank = 0;
  bool blocking = true;
  int looks_in_progress = 0;  // not blocking: so often it will be in progress yet
  bool aborted = false;
};

enum class Kind { kAllReduce, kAllGather, kReduceScatter, kTransfer };

struct Call {
  Kind kind;
  std::shared_ptr<Rank> rank;
  int peer;  // kTransfer
  bool sends;
  const void* from;
  void* to;
  size_t count;
  int type, operation;
  void* stream;

  int ordinal() const { return rank->clique->ordinals[static_cast<size_t>(rank->rank)]; }
};

struct Operation {
  Kind kind;
  std::vector<Call> calls;  // of the ranks that have called so far
  std::vector<bool> at_front;
  size_t parts = 0;
  bool done = false;
  std::vector<char> result;
};

// Bytes of an element of NCCL's data type; 0: this one is not known here.
size_t SizeOf(int type);

// Does what all ranks have called, once all of them have: fills `result`.
void WorkForAll(Operation* operation);

// Copies to where the call asks for it what its rank gets of the result.
void TakeResult(const Operation& operation, const Call& call);

}  // namespace lanescope::test::fake_nccl
