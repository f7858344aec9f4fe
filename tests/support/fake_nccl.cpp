// SPDX-License-Identifier: Apache-2.0
// NCCL by its public names, made of host memory. What is issued to a stream is one part of an operation: it
// waits at the front of its stream until the other parts are at the front of theirs, as NCCL's kernels wait
// on their GPUs; then the first that runs does the work of all. FAKE_NCCL_VERSION is the version that it says
// it is.
#include "tests/support/fake_nccl.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tests/support/fake_nccl_operation.h"

namespace {

using lanescope::test::FakeNcclStreams;
using namespace lanescope::test::fake_nccl;

constexpr int kSuccess = 0, kInternalError = 3, kInvalidArgument = 4, kInvalidUsage = 5, kInProgress = 7;

struct Comm {
  std::shared_ptr<Rank> rank;
};

struct Part {
  std::shared_ptr<Operation> operation;
  size_t number;
};

std::mutex mutex;  // never held while streams are called, which call back
FakeNcclStreams streams;
std::map<std::string, int> calls, failures;
std::map<std::string, std::shared_ptr<Clique>> cliques;  // by unique id
std::vector<Part> outstanding;                           // issued and not run
int async_error = 0, live = 0, overlaps = 0, last_id = 0;
thread_local int depth = 0;
thread_local std::vector<Call> pending;

// Whether the call is to fail.
bool Count(const char* name) {
  ++calls[name];
  const auto failure = failures.find(name);
  if (failure == failures.end() || --failure->second > 0) return false;
  failures.erase(failure);
  return true;
}

// Whether the part at the front of its stream goes on.
bool MayRun(void* data) {
  const std::lock_guard<std::mutex> lock(mutex);
  const auto* part = static_cast<const Part*>(data);
  Operation& operation = *part->operation;
  operation.at_front[part->number] = true;
  if (operation.calls[part->number].rank->aborted || operation.done) return true;
  return operation.calls.size() == operation.parts && std::ranges::count(operation.at_front, false) == 0;
}

void RunPart(void* data) {
  const std::lock_guard<std::mutex> lock(mutex);
  const auto* part = static_cast<const Part*>(data);
  Operation& operation = *part->operation;
  std::erase_if(outstanding, [&](const Part& other) {
    return other.operation == part->operation && other.number == part->number;
  });
  const Call& call = operation.calls[part->number];
  if (call.rank->aborted) return;
  if (!operation.done) WorkForAll(&operation);
  TakeResult(operation, call);
}

void DropPart(void* data) { delete static_cast<Part*>(data); }

bool Fits(const Operation& operation, const Call& call) {
  if (operation.kind != call.kind || operation.calls.size() == operation.parts) return false;
  for (const Call& other : operation.calls) {
    if (other.rank == call.rank) return false;
    if (call.kind == Kind::kTransfer && (other.sends == call.sends || other.peer != call.rank->rank))
      return false;
  }
  return true;
}

// Gives the part to its operation, which it may be the first of.
int Issue(const Call& call) {
  Part* part = nullptr;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    Clique& clique = *call.rank->clique;
    if (SizeOf(call.type) == 0 || !clique.IsWhole()) return kInvalidUsage;
    auto found =
        std::ranges::find_if(clique.open, [&](const auto& operation) { return Fits(*operation, call); });
    if (found == clique.open.end()) {
      auto made = std::make_shared<Operation>();
      made->kind = call.kind;
      made->parts = call.kind == Kind::kTransfer ? 2 : clique.ordinals.size();
      found = clique.open.insert(clique.open.end(), std::move(made));
    }
    const std::shared_ptr<Operation> operation = *found;
    for (const Call& other : operation->calls) {
      if (other.count != call.count || other.type != call.type || other.operation != call.operation)
        return kInvalidUsage;
    }
    for (const Part& other : outstanding) {
      const Call& there = other.operation->calls[other.number];
      if (there.ordinal() == call.ordinal() && there.stream != call.stream) ++overlaps;
    }
    operation->calls.push_back(call);
    operation->at_front.push_back(false);
    if (operation->calls.size() == operation->parts) clique.open.erase(found);
    part = new Part{operation, operation->calls.size() - 1};
    outstanding.push_back(*part);
    if (!call.rank->blocking) call.rank->looks_in_progress = 1;
  }
  streams.enqueue(streams.user, call.stream, {MayRun, RunPart, DropPart, part});
  return call.rank->blocking ? kSuccess : kInProgress;
}

int IssueOrQueue(const char* name, const Call& call) {
  {
    const std::lock_guard<std::mutex> lock(mutex);
    if (Count(name)) return kInternalError;
    if (call.kind != Kind::kTransfer && depth == 0) return kInvalidUsage;  // it would wait for itself
    if (depth > 0) {
      pending.push_back(call);
      return kSuccess;
    }
  }
  return Issue(call);
}

int Forget(const char* name, Comm* comm, bool aborted) {
  const std::lock_guard<std::mutex> lock(mutex);
  Count(name);
  if (aborted) async_error = 0;
  comm->rank->aborted = aborted;
  // Operations that it has begun are never whole; they would keep its ranks, and these it.
  std::erase_if(comm->rank->clique->open, [&](const auto& operation) {
    return std::ranges::find(operation->calls, comm->rank, &Call::rank) != operation->calls.end();
  });
  --live;
  delete comm;
  return kSuccess;
}

}  // namespace

extern "C" {

struct UniqueId {
  char bytes[128];
};
struct Config {
  size_t size;
  unsigned magic, version;
  int blocking;
};

void FakeNcclUse(const FakeNcclStreams* given) {
  const std::lock_guard<std::mutex> lock(mutex);
  streams = given != nullptr ? *given : FakeNcclStreams{};
  calls.clear();
  failures.clear();
  cliques.clear();
  outstanding.clear();
  async_error = overlaps = 0;
}
int FakeNcclCalls(const char* function) {
  const std::lock_guard<std::mutex> lock(mutex);
  const auto found = calls.find(function);
  return found == calls.end() ? 0 : found->second;
}
void FakeNcclFail(const char* function, int nth) {
  const std::lock_guard<std::mutex> lock(mutex);
  failures[function] = nth;
}
void FakeNcclAsyncError(int result) {
  const std::lock_guard<std::mutex> lock(mutex);
  async_error = result;
}
int FakeNcclLive() {
  const std::lock_guard<std::mutex> lock(mutex);
  return live;
}
int FakeNcclOverlaps() {
  const std::lock_guard<std::mutex> lock(mutex);
  return overlaps;
}

int ncclGetVersion(int* version) {
  *version = FAKE_NCCL_VERSION;
  return kSuccess;
}
const char* ncclGetErrorString(int result) {
  return result == kInternalError ? "internal error" : result == kInvalidUsage ? "invalid usage" : "an error";
}
const char* ncclGetLastError(void*) { return "the test wants it\nand more"; }

int ncclCommInitAll(Comm** comms, int count, const int* ordinals) {
  const std::lock_guard<std::mutex> lock(mutex);
  if (Count("ncclCommInitAll")) return kInternalError;
  if (count < 1) return kInvalidArgument;
  auto clique = std::make_shared<Clique>();
  clique->ordinals.assign(ordinals, ordinals + count);
  clique->in_one_process = true;
  for (int rank = 0; rank < count; ++rank) {
    comms[rank] = new Comm{std::make_shared<Rank>()};
    comms[rank]->rank->clique = clique;
    comms[rank]->rank->rank = rank;
  }
  live += count;
  return kSuccess;
}
int ncclGetUniqueId(UniqueId* id) {
  const std::lock_guard<std::mutex> lock(mutex);
  if (Count("ncclGetUniqueId")) return kInternalError;
  std::memset(id, 0, sizeof *id);
  const std::string text = "id " + std::to_string(++last_id);
  std::memcpy(id->bytes, text.data(), text.size());
  cliques[text] = std::make_shared<Clique>();
  return kSuccess;
}
int ncclCommInitRankConfig(Comm** comm, int count, UniqueId id, int rank, Config* config) {
  const int ordinal = streams.current(streams.user);
  const std::lock_guard<std::mutex> lock(mutex);
  if (Count("ncclCommInitRankConfig")) return kInternalError;
  const auto found = cliques.find(id.bytes);
  if (found == cliques.end() || config->size < sizeof(Config) || config->magic != 0xcafebeef ||
      config->version < 21400 || rank < 0 || rank >= count)
    return kInvalidArgument;
  Clique& clique = *found->second;
  clique.ordinals.resize(static_cast<size_t>(count), -1);
  int& own = clique.ordinals[static_cast<size_t>(rank)];
  if (own != -1 || std::ranges::count(clique.ordinals, ordinal) > 0) return kInvalidUsage;
  own = ordinal;
  *comm = new Comm{std::make_shared<Rank>()};
  (*comm)->rank->clique = found->second;
  (*comm)->rank->rank = rank;
  (*comm)->rank->blocking = config->blocking != 0;
  (*comm)->rank->looks_in_progress = 2;
  ++live;
  return kInProgress;
}
int ncclCommDestroy(Comm* comm) { return Forget("ncclCommDestroy", comm, false); }
int ncclCommAbort(Comm* comm) { return Forget("ncclCommAbort", comm, true); }
int ncclCommGetAsyncError(Comm* comm, int* result) {
  const std::lock_guard<std::mutex> lock(mutex);
  *result = async_error;
  if (async_error != kSuccess) return kSuccess;
  Rank& rank = *comm->rank;
  if (!rank.clique->IsWhole() || rank.looks_in_progress > 0) *result = kInProgress;
  if (rank.looks_in_progress > 0) --rank.looks_in_progress;
  return kSuccess;
}

int ncclGroupStart() {
  const std::lock_guard<std::mutex> lock(mutex);
  if (Count("ncclGroupStart")) return kInternalError;
  ++depth;
  return kSuccess;
}
int ncclAllReduce(const void* from, void* to, size_t count, int type, int operation, Comm* comm,
                  void* stream) {
  return IssueOrQueue("ncclAllReduce",
                      {Kind::kAllReduce, comm->rank, -1, false, from, to, count, type, operation, stream});
}
int ncclReduceScatter(const void* from, void* to, size_t count, int type, int operation, Comm* comm,
                      void* stream) {
  return IssueOrQueue("ncclReduceScatter", {Kind::kReduceScatter, comm->rank, -1, false, from, to, count,
                                            type, operation, stream});
}
int ncclAllGather(const void* from, void* to, size_t count, int type, Comm* comm, void* stream) {
  return IssueOrQueue("ncclAllGather",
                      {Kind::kAllGather, comm->rank, -1, false, from, to, count, type, 0, stream});
}
int ncclSend(const void* from, size_t count, int type, int peer, Comm* comm, void* stream) {
  return IssueOrQueue("ncclSend",
                      {Kind::kTransfer, comm->rank, peer, true, from, nullptr, count, type, 0, stream});
}
int ncclRecv(void* to, size_t count, int type, int peer, Comm* comm, void* stream) {
  return IssueOrQueue("ncclRecv",
                      {Kind::kTransfer, comm->rank, peer, false, nullptr, to, count, type, 0, stream});
}
int ncclGroupEnd() {
  std::vector<Call> all;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    const bool fails = Count("ncclGroupEnd");
    if (--depth > 0) return kSuccess;
    all.swap(pending);
    if (fails) return kInternalError;
    // All ranks of a clique of one process in one go.
    std::map<const Clique*, size_t> parts;
    for (const Call& call : all) ++parts[call.rank->clique.get()];
    for (const auto& [clique, given] : parts) {
      if (clique->in_one_process && given != clique->ordinals.size()) return kInvalidUsage;
    }
  }
  int result = kSuccess;
  for (const Call& call : all) {
    const int issued = Issue(call);
    if (issued != kSuccess && issued != kInProgress) return issued;
    if (issued == kInProgress) result = kInProgress;
  }
  return result;
}
}
