#include "traces/read/collectives.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/runs/run_view.h"

namespace lanescope::traces {

std::vector<int> WorkingGpus(const TraceRun& run) {
  std::set<int> devices;
  const auto add = [&devices](const auto& activities) {
    for (const auto& activity : activities) {
      if (activity.device >= 0) devices.insert(activity.device);
    }
  };
  add(run.launches);
  add(run.copies);
  add(run.memsets);
  std::erase_if(devices, [&](int id) {
    const TraceDevice* device = run.FindDevice(id);
    return device != nullptr && device->is_host;
  });
  return {devices.begin(), devices.end()};
}

std::vector<std::vector<int>> FindCollectives(const TraceRun& run) {
  const std::vector<int> devices = WorkingGpus(run);
  std::vector<std::vector<int>> found;
  if (devices.size() < 2) return found;
  std::vector<char> communication;
  for (const std::string& text : run.texts) communication.push_back(IsCommunication(text) ? 1 : 0);
  std::map<int, std::map<int, std::vector<int>>> by_name;  // name, device
  for (size_t i = 0; i < run.launches.size(); ++i) {
    const TraceLaunch& launch = run.launches[i];
    if (launch.name < 0 || communication[static_cast<size_t>(launch.name)] == 0) continue;
    if (std::ranges::binary_search(devices, launch.device))
      by_name[launch.name][launch.device].push_back(static_cast<int>(i));
  }
  for (auto& [name, parts] : by_name) {
    const size_t count = parts.begin()->second.size();
    const bool everywhere = parts.size() == devices.size() && std::ranges::all_of(parts, [&](const auto& of) {
                              return of.second.size() == count;
                            });
    if (!everywhere) continue;
    for (auto& [device, launches] : parts) {
      std::ranges::stable_sort(
          launches, {}, [&](int launch) { return run.launches[static_cast<size_t>(launch)].start_ns; });
    }
    for (size_t n = 0; n < count; ++n) {
      found.emplace_back();
      for (const auto& [device, launches] : parts) found.back().push_back(launches[n]);
    }
  }
  return found;
}

std::string CollectiveKind(std::string_view name) {
  std::string letters;
  for (const char c : name) {
    if (c >= 'A' && c <= 'Z') letters += static_cast<char>(c - 'A' + 'a');
    if (c >= 'a' && c <= 'z') letters += c;
  }
  // Those that are parts of others come later.
  constexpr std::pair<std::string_view, std::string_view> kKinds[] = {
      {"allreduce", "AllReduce"}, {"reducescatter", "ReduceScatter"},
      {"allgather", "AllGather"}, {"alltoall", "AllToAll"},
      {"broadcast", "Broadcast"}, {"reduce", "Reduce"},
      {"gather", "Gather"},       {"scatter", "Scatter"},
      {"barrier", "Barrier"},     {"sendrecv", "SendRecv"},
      {"send", "Send"},           {"recv", "Recv"}};
  for (const auto& [part, kind] : kKinds) {
    if (letters.find(part) != std::string::npos) return std::string(kind);
  }
  return std::string(name);
}

std::optional<double> BusFactor(std::string_view kind, int64_t ranks) {
  if (kind == "Broadcast" || kind == "Reduce" || kind == "SendRecv" || kind == "Send" || kind == "Recv")
    return 1;
  if (ranks < 1) return std::nullopt;
  const double others = static_cast<double>(ranks - 1) / static_cast<double>(ranks);
  if (kind == "AllReduce") return 2 * others;
  for (const std::string_view known : {"AllGather", "ReduceScatter", "AllToAll", "Gather", "Scatter"}) {
    if (kind == known) return others;
  }
  return std::nullopt;
}

}  // namespace lanescope::traces
