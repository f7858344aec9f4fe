// SPDX-License-Identifier: Apache-2.0
#include "core/collective/collective_schedule.h"

#include <array>
#include <map>

#include "core/machine/device_name.h"

namespace lanescope {
namespace {

constexpr std::array kAll = {CollectiveBy::kRing, CollectiveBy::kTree, CollectiveBy::kOneDevice,
                             CollectiveBy::kHierarchical, CollectiveBy::kNccl};
// Below this a message costs its latency, and a ring has more of those behind each other than a tree.
constexpr int64_t kSmallBytes = 64 << 10;

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

// From device 0 to all, the farthest first. `top`: as CombineUp has it.
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

// Some of the devices, numbered anew.
class StepsOfSome final : public CollectiveSteps {
 public:
  StepsOfSome(const std::vector<size_t>& devices, CollectiveSteps* steps)
      : devices_(devices), steps_(*steps) {}

  Endpoint Combine(size_t device, Endpoint a, Endpoint b) override {
    return steps_.Combine(devices_[device], a, b);
  }
  Endpoint CombineAll(size_t device, const Tensors& tensors) override {
    return steps_.CombineAll(devices_[device], tensors);
  }
  Endpoint Send(size_t device, Endpoint tensor) override { return steps_.Send(devices_[device], tensor); }
  Endpoint Finish(size_t device, Endpoint whole) override { return steps_.Finish(devices_[device], whole); }
  Tensors Split(size_t device, Endpoint tensor, const std::vector<int64_t>& sizes) override {
    return steps_.Split(devices_[device], tensor, sizes);
  }
  Endpoint Join(size_t device, const Tensors& parts) override { return steps_.Join(devices_[device], parts); }
  Tensors SplitRows(size_t device, Endpoint tensor, size_t parts) override {
    return steps_.SplitRows(devices_[device], tensor, parts);
  }
  Endpoint JoinRows(size_t device, const Tensors& parts) override {
    return steps_.JoinRows(devices_[device], parts);
  }

 private:
  const std::vector<size_t>& devices_;
  CollectiveSteps& steps_;
};

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
    case CollectiveBy::kHierarchical:
      return "hierarchical";
    case CollectiveBy::kNccl:
      break;
  }
  return "nccl";
}

std::optional<CollectiveBy> ParseCollectiveBy(std::string_view name) {
  for (const CollectiveBy by : kAll) {
    if (CollectiveByName(by) == name) return by;
  }
  return std::nullopt;
}

std::vector<std::string> CollectiveByNames() {
  std::vector<std::string> names;
  for (const CollectiveBy by : kAll) names.emplace_back(CollectiveByName(by));
  return names;
}

CollectiveBy SuitedBySize(size_t devices, std::optional<int64_t> bytes) {
  if (!bytes || devices > kMostInRing) return CollectiveBy::kTree;
  return devices > 2 && *bytes < kSmallBytes ? CollectiveBy::kTree : CollectiveBy::kRing;
}

DeviceGroups GroupsByTask(const std::vector<std::string>& devices) {
  DeviceGroups groups;
  std::map<std::string, size_t> by_task;
  for (size_t i = 0; i < devices.size(); ++i) {
    DeviceName task;
    ParseDeviceName(devices[i], &task);
    task.has_type = task.has_id = false;
    task.has_replica = task.replica != 0;
    const auto [found, added] = by_task.try_emplace(task.ToString(), groups.size());
    if (added) groups.emplace_back();
    groups[found->second].push_back(i);
  }
  return groups;
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

std::vector<Endpoint> ScheduleHierarchicalAllReduce(const DeviceGroups& groups, CollectiveBy between,
                                                    const std::vector<Endpoint>& tensors, int64_t elements,
                                                    CollectiveSteps* steps) {
  std::vector<size_t> firsts;
  Tensors sums;  // by group
  for (const std::vector<size_t>& group : groups) {
    StepsOfSome in_group(group, steps);
    Tensors own;
    for (const size_t device : group) own.push_back(tensors[device]);
    CombineUp(&own, &in_group);
    firsts.push_back(group[0]);
    sums.push_back(own[0]);
  }
  StepsOfSome of_firsts(firsts, steps);
  sums = ScheduleAllReduce(between, sums, elements, &of_firsts);
  Tensors results(tensors.size());
  for (size_t g = 0; g < groups.size(); ++g) {
    StepsOfSome in_group(groups[g], steps);
    Tensors own(groups[g].size(), sums[g]);
    SendDown(PowerOfTwoFrom(own.size()), &own, &in_group);
    for (size_t i = 0; i < own.size(); ++i) results[groups[g][i]] = own[i];
  }
  return results;
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
  if (by == CollectiveBy::kOneDevice || devices <= 2) return SendToAll(tensor, devices, steps);
  Tensors results(devices, tensor);
  results[0] = steps->Send(0, tensor);
  if (by != CollectiveBy::kRing) {
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
