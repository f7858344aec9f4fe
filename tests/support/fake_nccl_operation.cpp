// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fake_nccl_operation.h"

#include <cstdint>
#include <cstring>

namespace lanescope::test::fake_nccl {
namespace {

constexpr int kInt8 = 0, kInt64 = 4, kFloat = 7, kDouble = 8, kAvg = 4;

template <typename T>
T Combine(int operation, T a, T b) {
  switch (operation) {
    case 0:
      return a + b;
    case 1:
      return a * b;
    case 2:
      return a > b ? a : b;
    case 4:
      return a + b;  // of which the average is made
    default:
      return a < b ? a : b;
  }
}

std::vector<Call> ByRank(const Operation& operation) {
  std::vector<Call> by_rank = operation.calls;
  std::ranges::sort(by_rank, {}, [](const Call& call) { return call.rank->rank; });
  return by_rank;
}

// In the order of the ranks.
template <typename T>
void Reduce(Operation* reduction) {
  const std::vector<Call> by_rank = ByRank(*reduction);
  const Call& first = by_rank[0];
  const size_t count = reduction->result.size() / sizeof(T);
  std::vector<T> sum(count), other(count);
  std::memcpy(sum.data(), first.from, count * sizeof(T));
  for (size_t rank = 1; rank < by_rank.size(); ++rank) {
    std::memcpy(other.data(), by_rank[rank].from, count * sizeof(T));
    for (size_t i = 0; i < sum.size(); ++i) sum[i] = Combine(first.operation, sum[i], other[i]);
  }
  if (first.operation == kAvg) {
    for (T& value : sum) value /= static_cast<T>(by_rank.size());
  }
  std::memcpy(reduction->result.data(), sum.data(), reduction->result.size());
}

}  // namespace

size_t SizeOf(int type) {
  return type == kInt8 ? 1 : type == kFloat ? 4 : type == kInt64 || type == kDouble ? 8 : 0;
}

void WorkForAll(Operation* operation) {
  const Call& first = operation->calls[0];
  operation->done = true;
  const size_t part = first.count * SizeOf(first.type);
  const bool of_all = operation->kind == Kind::kAllGather || operation->kind == Kind::kReduceScatter;
  operation->result.resize(of_all ? part * operation->parts : part);
  if (operation->kind == Kind::kAllGather) {
    char* to = operation->result.data();
    for (const Call& call : ByRank(*operation))
      to = std::copy_n(static_cast<const char*>(call.from), part, to);
  } else if (operation->kind == Kind::kTransfer) {
    const Call& sender = *std::ranges::find(operation->calls, true, &Call::sends);
    std::memcpy(operation->result.data(), sender.from, operation->result.size());
  } else if (first.type == kFloat) {
    Reduce<float>(operation);
  } else if (first.type == kDouble) {
    Reduce<double>(operation);
  } else {
    Reduce<int64_t>(operation);
  }
}

void TakeResult(const Operation& operation, const Call& call) {
  if (call.to == nullptr) return;
  const size_t own = call.count * SizeOf(call.type);
  if (operation.kind == Kind::kReduceScatter)
    std::memcpy(call.to, operation.result.data() + own * static_cast<size_t>(call.rank->rank), own);
  else
    std::memcpy(call.to, operation.result.data(), operation.result.size());
}

}  // namespace lanescope::test::fake_nccl
