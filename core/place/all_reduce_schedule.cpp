#include "core/place/all_reduce_schedule.h"

namespace lanescope {
namespace {

using Tensors = std::vector<Endpoint>;

Tensors ByTree(Tensors sums, AllReduceSteps* steps) {
  const size_t count = sums.size();
  size_t top = 1;
  for (; top < count; top *= 2) {
    for (size_t i = 0; i + top < count; i += 2 * top) sums[i] = steps->Combine(i, sums[i], sums[i + top]);
  }
  sums[0] = steps->Send(0, steps->Finish(0, sums[0]));
  for (size_t step = top / 2; step > 0; step /= 2) {
    for (size_t i = 0; i + step < count; i += 2 * step) sums[i + step] = steps->Send(i + step, sums[i]);
  }
  return sums;
}

Tensors ByOneDevice(const Tensors& tensors, AllReduceSteps* steps) {
  const Endpoint sum = steps->Finish(0, steps->CombineAll(0, tensors));
  Tensors results;
  for (size_t i = 0; i < tensors.size(); ++i) results.push_back(steps->Send(i, sum));
  return results;
}

// The first chunks are an element longer where the elements do not divide.
std::vector<int64_t> ChunkSizes(int64_t elements, size_t chunks) {
  const auto count = static_cast<int64_t>(chunks);
  std::vector<int64_t> sizes;
  for (int64_t c = 0; c < count; ++c) sizes.push_back(elements / count + (c < elements % count ? 1 : 0));
  return sizes;
}

// Chunk c begins at the device behind c, is whole at device c, and goes around from there once more.
Tensors ByRing(const Tensors& tensors, int64_t elements, AllReduceSteps* steps) {
  const size_t count = tensors.size();
  std::vector<Tensors> chunks, gathered(count, Tensors(count));
  for (size_t i = 0; i < count; ++i)
    chunks.push_back(steps->Split(i, tensors[i], ChunkSizes(elements, count)));
  for (size_t c = 0; c < count; ++c) {
    Endpoint sum = chunks[(c + 1) % count][c];
    for (size_t hop = 2; hop <= count; ++hop) {
      const size_t at = (c + hop) % count;
      sum = steps->Combine(at, chunks[at][c], sum);
    }
    sum = steps->Send(c, steps->Finish(c, sum));
    for (size_t hop = 0; hop < count; ++hop) {
      const size_t at = (c + hop) % count;
      if (hop > 0) sum = steps->Send(at, sum);
      gathered[at][c] = sum;
    }
  }
  Tensors results;
  for (size_t i = 0; i < count; ++i) results.push_back(steps->Join(i, gathered[i]));
  return results;
}

}  // namespace

std::string_view AllReduceByName(AllReduceBy by) {
  switch (by) {
    case AllReduceBy::kRing:
      return "ring";
    case AllReduceBy::kTree:
      return "tree";
    case AllReduceBy::kOneDevice:
      break;
  }
  return "one-device";
}

std::optional<AllReduceBy> ParseAllReduceBy(std::string_view name) {
  for (const AllReduceBy by : {AllReduceBy::kRing, AllReduceBy::kTree, AllReduceBy::kOneDevice}) {
    if (AllReduceByName(by) == name) return by;
  }
  return std::nullopt;
}

std::vector<Endpoint> ScheduleAllReduce(AllReduceBy by, const std::vector<Endpoint>& tensors,
                                        int64_t elements, AllReduceSteps* steps) {
  if (tensors.size() == 1) return {steps->Send(0, steps->Finish(0, tensors[0]))};
  switch (by) {
    case AllReduceBy::kRing:
      return ByRing(tensors, elements, steps);
    case AllReduceBy::kTree:
      return ByTree(tensors, steps);
    case AllReduceBy::kOneDevice:
      break;
  }
  return ByOneDevice(tensors, steps);
}

}  // namespace lanescope
