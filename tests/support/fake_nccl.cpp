// NCCL by its public names, made of host memory: reduces on the streams that a test gives it, and refuses
// what would hang. FAKE_NCCL_VERSION is the version that it says it is.
#include "tests/support/fake_nccl.h"

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace {

using lanescope::test::FakeNcclStreams;

constexpr int kSuccess = 0, kInternalError = 3, kInvalidArgument = 4, kInvalidUsage = 5;
constexpr int kInt64 = 4, kFloat = 7, kDouble = 8;

struct Clique {
  std::vector<int> ordinals;
  int alive = 0;
};

struct Comm {
  std::shared_ptr<Clique> clique;
  size_t rank = 0;
};

struct Call {
  Comm* comm;
  const void* from;
  void* to;
  size_t count;
  int type, operation;
  void* stream;
};

// What the parts of one all-reduce do on their streams: the first that runs reads for all.
struct Reduction {
  std::vector<Call> calls;
  std::vector<char> result;
  bool done = false;
};

struct Part {
  std::shared_ptr<Reduction> reduction;
  size_t rank;
};

std::mutex mutex;
FakeNcclStreams streams;
std::map<std::string, int> calls, failures;
int async_error = 0, live = 0;
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

size_t SizeOf(int type) { return type == kFloat ? 4 : type == kInt64 || type == kDouble ? 8 : 0; }

template <typename T>
T Combine(int operation, T a, T b) {
  switch (operation) {
    case 0:
      return a + b;
    case 1:
      return a * b;
    case 2:
      return a > b ? a : b;
    default:
      return a < b ? a : b;
  }
}

template <typename T>
void Reduce(Reduction* reduction) {
  const Call& first = reduction->calls[0];
  std::vector<T> sum(first.count), other(first.count);
  std::memcpy(sum.data(), first.from, first.count * sizeof(T));
  for (size_t rank = 1; rank < reduction->calls.size(); ++rank) {
    std::memcpy(other.data(), reduction->calls[rank].from, first.count * sizeof(T));
    for (size_t i = 0; i < sum.size(); ++i) sum[i] = Combine(first.operation, sum[i], other[i]);
  }
  std::memcpy(reduction->result.data(), sum.data(), reduction->result.size());
}

void RunPart(void* data) {
  const auto* part = static_cast<const Part*>(data);
  Reduction& reduction = *part->reduction;
  if (!reduction.done) {
    reduction.done = true;
    const int type = reduction.calls[0].type;
    if (type == kFloat) Reduce<float>(&reduction);
    if (type == kDouble) Reduce<double>(&reduction);
    if (type == kInt64) Reduce<int64_t>(&reduction);
  }
  std::memcpy(reduction.calls[part->rank].to, reduction.result.data(), reduction.result.size());
}

void DropPart(void* data) { delete static_cast<Part*>(data); }

// All ranks of a group in one go, with the same arguments.
int Launch(const std::vector<Call>& group) {
  const Call& first = group[0];
  const Clique& clique = *first.comm->clique;
  if (group.size() != clique.ordinals.size() || SizeOf(first.type) == 0) return kInvalidUsage;
  auto reduction = std::make_shared<Reduction>();
  reduction->calls.resize(group.size());
  std::vector<void*> by_rank(group.size(), nullptr);
  for (const Call& call : group) {
    if (by_rank[call.comm->rank] != nullptr || call.count != first.count || call.type != first.type ||
        call.operation != first.operation)
      return kInvalidUsage;
    by_rank[call.comm->rank] = call.stream;
    reduction->calls[call.comm->rank] = call;
  }
  reduction->result.resize(first.count * SizeOf(first.type));
  streams.meet(streams.user, clique.ordinals.data(), by_rank.data(), static_cast<int>(by_rank.size()));
  for (size_t rank = 0; rank < by_rank.size(); ++rank)
    streams.enqueue(streams.user, by_rank[rank], RunPart, DropPart, new Part{reduction, rank});
  return kSuccess;
}

}  // namespace

extern "C" {

void FakeNcclUse(const FakeNcclStreams* given) {
  const std::lock_guard<std::mutex> lock(mutex);
  streams = given != nullptr ? *given : FakeNcclStreams{};
  calls.clear();
  failures.clear();
  async_error = 0;
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
  for (int rank = 0; rank < count; ++rank) comms[rank] = new Comm{clique, static_cast<size_t>(rank)};
  live += count;
  return kSuccess;
}
int ncclCommDestroy(Comm* comm) {
  const std::lock_guard<std::mutex> lock(mutex);
  Count("ncclCommDestroy");
  --live;
  delete comm;
  return kSuccess;
}
int ncclCommAbort(Comm* comm) {
  const std::lock_guard<std::mutex> lock(mutex);
  Count("ncclCommAbort");
  async_error = 0;
  --live;
  delete comm;
  return kSuccess;
}
int ncclCommGetAsyncError(Comm*, int* result) {
  const std::lock_guard<std::mutex> lock(mutex);
  *result = async_error;
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
  const std::lock_guard<std::mutex> lock(mutex);
  if (Count("ncclAllReduce")) return kInternalError;
  if (depth == 0) return kInvalidUsage;  // one thread would wait for itself
  pending.push_back({comm, from, to, count, type, operation, stream});
  return kSuccess;
}
int ncclGroupEnd() {
  std::vector<Call> all;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    const bool fails = Count("ncclGroupEnd");
    if (--depth > 0) return kSuccess;
    all.swap(pending);
    if (fails) return kInternalError;
  }
  std::map<const Clique*, std::vector<Call>> groups;
  for (const Call& call : all) groups[call.comm->clique.get()].push_back(call);
  for (const auto& [clique, group] : groups) {
    if (const int result = Launch(group); result != kSuccess) return result;
  }
  return kSuccess;
}
}
