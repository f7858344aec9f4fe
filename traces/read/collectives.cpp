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

}  // namespace lanescope::traces
