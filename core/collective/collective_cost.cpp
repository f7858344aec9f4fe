// SPDX-License-Identifier: Apache-2.0
#include "core/collective/collective_cost.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/graph/work_pieces.h"
#include "core/machine/copy_time.h"

namespace lanescope {
namespace {

// No device holds more, and the tensors of all fit one number.
constexpr int64_t kMostBytes = int64_t{1} << 46;

Ticks TimeOf(int64_t ns) { return TicksOf(std::min(ns, kMaxSimulatedNs)); }

}  // namespace

CollectiveCost::CollectiveCost(const Machine& machine, const MachineTasks& tasks,
                               std::vector<DeviceId> devices, bool mean)
    : machine_(machine), tasks_(tasks), devices_(std::move(devices)), mean_(mean), links_(machine) {}

int64_t CollectiveCost::Ns() const { return NsOf(CollectiveLoop(machine_, links_, steps_).Run()); }

Endpoint CollectiveCost::NewTensor(const Place& place, int64_t bytes) {
  tensors_.push_back({bytes, {place}});
  return {NodeId(tensors_.size() - 1), 0};
}

CollectiveStep CollectiveCost::MessageOf(DeviceId from, DeviceId to, int64_t bytes) {
  auto found = routes_.find({from, to});
  if (found == routes_.end())
    found = routes_.emplace(std::pair{from, to}, machine_.RouteBetween(from, to)).first;
  return {.queue = CopyQueueOf(machine_, tasks_, from, to),
          .alone = TimeOf(CopyNs(machine_, found->second, bytes)),
          .path = links_.Find(machine_, from, to),
          .bytes = bytes};
}

// As the compiler copies it: once to each memory.
CollectiveCost::Place CollectiveCost::Bring(Endpoint tensor, DeviceId to) {
  const std::vector<Place>& places = TensorOf(tensor).places;
  const auto there = std::ranges::find(places, to, &Place::device);
  if (there != places.end()) return *there;
  const Place from = Bring(tensor, StopBefore(machine_, tasks_, places.front().device, to));
  steps_.push_back(MessageOf(from.device, to, TensorOf(tensor).bytes));
  if (from.step) steps_.back().after.push_back(*from.step);
  TensorOf(tensor).places.push_back({to, steps_.size() - 1});
  return TensorOf(tensor).places.back();
}

int64_t CollectiveCost::BytesOf(const std::vector<Endpoint>& tensors) {
  int64_t bytes = 0;
  for (const Endpoint tensor : tensors) bytes += TensorOf(tensor).bytes;
  return bytes;
}

// Launches of collectives are bound by memory.
CollectiveCost::Place CollectiveCost::Launch(size_t device, const std::vector<Endpoint>& inputs,
                                             int64_t written) {
  const DeviceSpec& spec = machine_.device(devices_[device]);
  const double rate = spec.memory_bandwidth > 0 ? spec.memory_bandwidth : kAssumedBandwidth;
  const int64_t bytes = BytesOf(inputs) + written;
  const double ns = static_cast<double>(bytes) * 1e9 / rate;
  CollectiveStep work;
  work.queue = {devices_[device], QueueKind::kCompute};
  work.workers = WorkersFor({.bytes = bytes}, QueueWorkers(spec, QueueKind::kCompute));
  work.alone = TimeOf(spec.launch_ns + std::llround(std::min(ns, static_cast<double>(kMaxSimulatedNs))));
  for (const Endpoint input : inputs) {
    const Place place = Bring(input, devices_[device]);
    if (place.step) work.after.push_back(*place.step);
  }
  steps_.push_back(std::move(work));
  return {devices_[device], steps_.size() - 1};
}

Endpoint CollectiveCost::Begin(size_t device, int64_t bytes) {
  return NewTensor({devices_[device]}, std::min(bytes, kMostBytes));
}

Endpoint CollectiveCost::Combine(size_t device, Endpoint a, Endpoint b) { return CombineAll(device, {a, b}); }

Endpoint CollectiveCost::CombineAll(size_t device, const std::vector<Endpoint>& tensors) {
  const int64_t bytes = TensorOf(tensors[0]).bytes;
  return NewTensor(Launch(device, tensors, bytes), bytes);
}

Endpoint CollectiveCost::Send(size_t device, Endpoint tensor) {
  const Place place = Bring(tensor, devices_[device]);
  return NewTensor(place, TensorOf(tensor).bytes);
}

Endpoint CollectiveCost::Finish(size_t device, Endpoint whole) {
  return mean_ ? CombineAll(device, {whole}) : whole;
}

std::vector<Endpoint> CollectiveCost::Cut(size_t device, Endpoint tensor, const std::vector<int64_t>& bytes) {
  const Place place = Launch(device, {tensor}, TensorOf(tensor).bytes);
  std::vector<Endpoint> parts;
  for (const int64_t of_part : bytes) parts.push_back(NewTensor(place, of_part));
  return parts;
}

std::vector<Endpoint> CollectiveCost::Split(size_t device, Endpoint tensor,
                                            const std::vector<int64_t>& sizes) {
  const int64_t elements = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
  const int64_t element_bytes = TensorOf(tensor).bytes / std::max<int64_t>(1, elements);
  std::vector<int64_t> bytes;
  for (const int64_t size : sizes) bytes.push_back(size * element_bytes);
  return Cut(device, tensor, bytes);
}

Endpoint CollectiveCost::Join(size_t device, const std::vector<Endpoint>& parts) {
  const int64_t bytes = BytesOf(parts);
  return NewTensor(Launch(device, parts, bytes), bytes);
}

std::vector<Endpoint> CollectiveCost::SplitRows(size_t device, Endpoint tensor, size_t parts) {
  const int64_t bytes = TensorOf(tensor).bytes / static_cast<int64_t>(parts);
  return Cut(device, tensor, std::vector<int64_t>(parts, bytes));
}

Endpoint CollectiveCost::JoinRows(size_t device, const std::vector<Endpoint>& parts) {
  return Join(device, parts);
}

}  // namespace lanescope
