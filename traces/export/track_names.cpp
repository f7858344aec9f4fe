// SPDX-License-Identifier: Apache-2.0
#include "traces/export/track_names.h"

#include <fmt/format.h>

#include <algorithm>

namespace lanescope::traces {

TrackNames::TrackNames(const TraceRun& run) : run_(run) {
  for (const TraceThread& thread : run.threads) threads_.emplace(thread.global_tid, thread.name);
  for (const TraceQueue& queue : run.queues) queues_.emplace(queue.id, &queue);
  OrderRanks();
  OrderTasks();
}

void TrackNames::Note(int device, int stream, bool communication) {
  bool& only = only_communication_.try_emplace({device, stream}, true).first->second;
  only = only && communication;
}

void TrackNames::OrderRanks() {
  if (run_.ranks.size() < 2) return;
  std::vector<TraceRank> ranks = run_.ranks;
  std::ranges::stable_sort(ranks, {}, [](const TraceRank& rank) { return std::pair(rank.host, rank.rank); });
  for (const TraceRank& rank : ranks) {
    const auto place = static_cast<int64_t>(place_of_file_.size());
    place_of_file_.emplace(rank.file, place);
    const std::string name = RankName(rank);
    for (const TraceDevice& device : run_.devices) {
      if (device.owner == name) place_of_device_.emplace(device.id, place);
    }
  }
}

void TrackNames::OrderTasks() {
  for (const TraceDevice& device : run_.devices) {
    if (device.task >= 0) place_of_device_.emplace(device.id, device.task);
  }
}

int TrackNames::TaskOf(const TrackKey& key) const {
  if (run_.tasks.empty() || key.group != TrackKey::Group::kDevice) return -1;
  return static_cast<int>(PlaceOf(key));
}

int64_t TrackNames::PlaceOf(const TrackKey& key) const {
  if (key.group == TrackKey::Group::kSteps) return -1;
  const bool device = key.group == TrackKey::Group::kDevice;
  const auto& places = device ? place_of_device_ : place_of_file_;
  const auto found =
      places.find(device ? key.process : static_cast<int64_t>(static_cast<uint64_t>(key.process) >> 48));
  return found == places.end() ? -1 : found->second;
}

std::string TrackNames::ProcessName(const TrackKey& key) const {
  if (key.group == TrackKey::Group::kSteps) return "steps";
  if (key.group == TrackKey::Group::kHost) return run_.ProcessLabel(key.process);
  if (const int task = TaskOf(key); task >= 0) return TaskText(run_.tasks[static_cast<size_t>(task)]);
  const TraceDevice* device = run_.FindDevice(static_cast<int>(key.process));
  const std::string label = run_.DeviceLabel(static_cast<int>(key.process));
  return device == nullptr || device->model.empty() ? label : fmt::format("{} ({})", label, device->model);
}

std::string TrackNames::DevicePrefix(const TrackKey& key) const {
  const int task = TaskOf(key);
  if (task < 0) return "";
  const std::string label = run_.DeviceLabel(static_cast<int>(key.process)) + " ";
  const std::string of_task = run_.tasks[static_cast<size_t>(task)].name + "/";
  return label.starts_with(of_task) ? label.substr(of_task.size()) : label;
}

std::string TrackNames::TrackName(const TrackKey& key) const {
  if (key.group == TrackKey::Group::kSteps) return "steps";
  if (key.group == TrackKey::Group::kHost) {
    if (key.track < 0) return "ranges of the process";
    const auto name = threads_.find(key.track);
    return ThreadLabel(key.track, name == threads_.end() || name->second < 0 ? "" : run_.Text(name->second));
  }
  return DevicePrefix(key) + StreamName(key);
}

std::string TrackNames::StreamName(const TrackKey& key) const {
  if (key.of == TrackKey::Of::kAnnotations) return fmt::format("stream {} annotations", key.track);
  if (key.of == TrackKey::Of::kSent) return "sends";
  if (key.of == TrackKey::Of::kReceived) return "receives";
  const auto queue = queues_.find(static_cast<int>(key.track));
  if (queue != queues_.end()) {
    // The name stands below the device's.
    const std::string device = run_.DeviceLabel(static_cast<int>(key.process)) + " ";
    const std::string& name = queue->second->name;
    if (name.empty()) return fmt::format("queue {}", key.track);
    return name.starts_with(device) ? name.substr(device.size()) : name;
  }
  const auto only = only_communication_.find({key.process, key.track});
  return fmt::format("stream {}{}", key.track,
                     only != only_communication_.end() && only->second ? " (NCCL)" : "");
}

}  // namespace lanescope::traces
