#include "core/place/collective_schedule.h"

namespace lanescope {
namespace {

using Tensors = std::vector<Endpoint>;

// Sums of pairs, of pairs of pairs: the whole is on device 0. The number of devices of the topmost pair.
size_t CombineUp(Tensors* sums, CollectiveSteps* steps) {
  const size_t count = sums->size();
  size_t top = 1;
  for (; top < count; top *= 2) {
    for (size_t i = 0; i + top < count; i += 2 * top)
      (*sums)[i] = steps->Combine(i, (*sums)[i], (*sums)[i + top]);
  }
  return top;
}

// From device 0 to all, the farthest first.
void SendDown(size_t top, Tensors* tensors, CollectiveSteps* steps) {
  const size_t count = tensors->size();
  for (size_t step = top / 2; step > 0; step /= 2) {
    for (size_t i = 0; i + step < count; i += 2 * step)
      (*tensors)[i + step] = steps->Send(i + step, (*tensors)[i]);
  }
}

size_t PowerOfTwoFrom(size_t count) {
  size_t top = 1;
  while (top < count) top *= 2;
  return top;
}

Tensors SendToAll(Endpoint tensor, size_t devices, CollectiveSteps* steps) {
  Tensors results;
  for (size_t i = 0; i < devices; ++i) results.push_back(steps->Send(i, tensor));
  return results;
}

// The first chunks are an element longer where the elements do not divide.
std::vector<int64_t> ChunkSizes(int64_t elements, size_t chunks) {
  const auto count = static_cast<int64_t>(chunks);
  std::vector<int64_t> sizes;
  for (int64_t c = 0; c < count; ++c) sizes.push_back(elements / count + (c < elements % count ? 1 : 0));
  return sizes;
}

// Chunk c of all devices, combined on its way from the device behind c around to device c.
Endpoint CombineAround(size_t c, const std::vector<Tensors>& chunks, CollectiveSteps* steps) {
  const size_t count = chunks.size();
  Endpoint sum = chunks[(c + 1) % count][c];
  for (size_t hop = 2; hop <= count; ++hop) {
    const size_t at = (c + hop) % count;
    sum = steps->Combine(at, chunks[at][c], sum);
  }
  return steps->Finish(c, sum);
}

// From device c once around: part c of what every device has.
void SendAround(size_t c, Endpoint part, std::vector<Tensors>* gathered, CollectiveSteps* steps) {
  const size_t count = gathered->size();
  for (size_t hop = 0; hop < count; ++hop) {
    const size_t at = (c + hop) % count;
    if (hop > 0) part = steps->Send(at, part);
    (*gathered)[at][c] = part;
  }
}

Tensors AllReduceAround(const Tensors& tensors, int64_t elements, CollectiveSteps* steps) {
  const size_t count = tensors.size();
  std::vector<Tensors> chunks, gathered(count, Tensors(count));
  for (size_t i = 0; i < count; ++i)
    chunks.push_back(steps->Split(i, tensors[i], ChunkSizes(elements, count)));
  for (size_t c = 0; c < count; ++c)
    SendAround(c, steps->Send(c, CombineAround(c, chunks, steps)), &gathered, steps);
  Tensors results;
  for (size_t i = 0; i < count; ++i) results.push_back(steps->Join(i, gathered[i]));
  return results;
}

}  // namespace

std::string_view CollectiveByName(CollectiveBy by) {
  switch (by) {
    case CollectiveBy::kRing:
      return "ring";
    case CollectiveBy::kTree:
      return "tree";
    case CollectiveBy::kOneDevice:
      return "one-device";
    case CollectiveBy::kNccl:
      break;
  }
  return "nccl";
}

std::optional<CollectiveBy> ParseCollectiveBy(std::string_view name) {
  for (const CollectiveBy by :
       {CollectiveBy::kRing, CollectiveBy::kTree, CollectiveBy::kOneDevice, CollectiveBy::kNccl}) {
    if (CollectiveByName(by) == name) return by;
  }
  return std::nullopt;
}

std::vector<Endpoint> ScheduleAllReduce(CollectiveBy by, const std::vector<Endpoint>& tensors,
                                        int64_t elements, CollectiveSteps* steps) {
  if (tensors.size() == 1) return {steps->Send(0, steps->Finish(0, tensors[0]))};
  if (by == CollectiveBy::kRing) return AllReduceAround(tensors, elements, steps);
  if (by == CollectiveBy::kOneDevice)
    return SendToAll(steps->Finish(0, steps->CombineAll(0, tensors)), tensors.size(), steps);
  Tensors sums = tensors;
  const size_t top = CombineUp(&sums, steps);
  sums[0] = steps->Send(0, steps->Finish(0, sums[0]));
  SendDown(top, &sums, steps);
  return sums;
}

std::vector<Endpoint> ScheduleAllGather(CollectiveBy by, const std::vector<Endpoint>& tensors,
                                        CollectiveSteps* steps) {
  const size_t count = tensors.size();
  if (count == 1) return {steps->Send(0, tensors[0])};
  if (by == CollectiveBy::kOneDevice) return SendToAll(steps->JoinRows(0, tensors), count, steps);
  if (by == CollectiveBy::kRing) {
    std::vector<Tensors> gathered(count, Tensors(count));
    for (size_t c = 0; c < count; ++c) SendAround(c, tensors[c], &gathered, steps);
    Tensors results;
    for (size_t i = 0; i < count; ++i) results.push_back(steps->JoinRows(i, gathered[i]));
    return results;
  }
  // Device i of a pair has the rows of i up to its partner, the partner those behind.
  Tensors rows = tensors;
  size_t top = 1;
  for (; top < count; top *= 2) {
    for (size_t i = 0; i + top < count; i += 2 * top) rows[i] = steps->JoinRows(i, {rows[i], rows[i + top]});
  }
  SendDown(top, &rows, steps);
  return rows;
}

std::vector<Endpoint> ScheduleReduceScatter(CollectiveBy by, const std::vector<Endpoint>& tensors,
                                            CollectiveSteps* steps) {
  const size_t count = tensors.size();
  if (count == 1) return {steps->Send(0, steps->Finish(0, tensors[0]))};
  Tensors results;
  if (by == CollectiveBy::kRing) {
    std::vector<Tensors> chunks;
    for (size_t i = 0; i < count; ++i) chunks.push_back(steps->SplitRows(i, tensors[i], count));
    for (size_t c = 0; c < count; ++c) results.push_back(CombineAround(c, chunks, steps));
    return results;
  }
  Endpoint whole;
  if (by == CollectiveBy::kOneDevice) {
    whole = steps->CombineAll(0, tensors);
  } else {
    Tensors sums = tensors;
    CombineUp(&sums, steps);
    whole = sums[0];
  }
  const Tensors parts = steps->SplitRows(0, steps->Finish(0, whole), count);
  for (size_t i = 0; i < count; ++i) results.push_back(steps->Send(i, parts[i]));
  return results;
}

std::vector<Endpoint> ScheduleBroadcast(CollectiveBy by, Endpoint tensor, size_t devices, int64_t elements,
                                        CollectiveSteps* steps) {
  if (by == CollectiveBy::kNccl) by = CollectiveBy::kTree;
  if (by == CollectiveBy::kOneDevice || devices <= 2) return SendToAll(tensor, devices, steps);
  Tensors results(devices, tensor);
  results[0] = steps->Send(0, tensor);
  if (by == CollectiveBy::kTree) {
    SendDown(PowerOfTwoFrom(devices), &results, steps);
    return results;
  }
  // Chunk behind chunk from each device to the next.
  std::vector<Tensors> parts(devices);
  parts[0] = steps->Split(0, tensor, ChunkSizes(elements, devices));
  for (size_t i = 1; i < devices; ++i) {
    for (const Endpoint part : parts[i - 1]) parts[i].push_back(steps->Send(i, part));
    results[i] = steps->Join(i, parts[i]);
  }
  return results;
}

}  // namespace lanescope
