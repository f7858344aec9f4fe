#include "traces/export/track_names.h"

#include <fmt/format.h>

#include <algorithm>

namespace lanescope::traces {

TrackNames::TrackNames(const TraceRun& run) : run_(run) {
  for (const TraceThread& thread : run.threads) threads_.emplace(thread.global_tid, thread.name);
  for (const TraceQueue& queue : run.queues) queues_.emplace(queue.id, &queue);
  OrderRanks();
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
  const TraceDevice* device = run_.FindDevice(static_cast<int>(key.process));
  const std::string label = run_.DeviceLabel(static_cast<int>(key.process));
  return device == nullptr || device->model.empty() ? label : fmt::format("{} ({})", label, device->model);
}

std::string TrackNames::TrackName(const TrackKey& key) const {
  if (key.group == TrackKey::Group::kSteps) return "steps";
  if (key.group == TrackKey::Group::kHost) {
    if (key.track < 0) return "ranges of the process";
    const auto name = threads_.find(key.track);
    return ThreadLabel(key.track, name == threads_.end() || name->second < 0 ? "" : run_.Text(name->second));
  }
  if (key.annotations) return fmt::format("stream {} annotations", key.track);
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
