// SPDX-License-Identifier: Apache-2.0
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

namespace {

// A part may seem to end before another begins: the clocks of GPUs differ by so much.
constexpr int64_t kClockNs = 5'000;

class CollectiveFinder {
 public:
  explicit CollectiveFinder(const TraceRun& run) : run_(run), moved_(run.launches.size(), nullptr) {
    for (const TraceCollective& collective : run.collectives)
      moved_[static_cast<size_t>(collective.launch)] = &collective;
    for (const TraceRank& rank : run.ranks) world_ = std::max(world_, rank.world);
  }

  std::vector<Collective> Find() {
    const std::vector<int> devices = WorkingGpus(run_);
    if (devices.size() < 2) return {};
    std::vector<char> communication;
    for (const std::string& text : run_.texts) communication.push_back(IsCommunication(text) ? 1 : 0);
    std::map<std::pair<int, int>, ByDevice> alike;  // by name and group
    for (size_t i = 0; i < run_.launches.size(); ++i) {
      const TraceLaunch& launch = run_.launches[i];
      if (launch.name < 0 || communication[static_cast<size_t>(launch.name)] == 0) continue;
      if (!std::ranges::binary_search(devices, launch.device)) continue;
      const int group = moved_[i] == nullptr ? -1 : moved_[i]->group;
      alike[{launch.name, group}][launch.device].push_back(static_cast<int>(i));
    }
    for (auto& [key, parts] : alike) {
      Sort(&parts);
      Match(parts);
    }
    return std::move(found_);
  }

 private:
  using ByDevice = std::map<int, std::vector<int>>;

  const TraceLaunch& Launch(int number) const { return run_.launches[static_cast<size_t>(number)]; }

  void Sort(ByDevice* parts) const {
    for (auto& [device, launches] : *parts)
      std::ranges::stable_sort(launches, {}, [&](int launch) { return Launch(launch).start_ns; });
  }

  static bool AsManyEach(const ByDevice& parts) {
    const size_t count = parts.begin()->second.size();
    return parts.size() > 1 &&
           std::ranges::all_of(parts, [&](const auto& of) { return of.second.size() == count; });
  }

  // The record of the first and the last step may begin or end earlier on one rank than on others.
  void Match(const ByDevice& parts) {
    if (AsManyEach(parts)) return AddNth(parts);
    std::map<int, ByDevice> of_steps;
    for (const auto& [device, launches] : parts) {
      for (const int launch : launches) of_steps[Launch(launch).step][device].push_back(launch);
    }
    ByDevice rest;
    for (const auto& [step, of_step] : of_steps) {
      if (step >= 0 && of_step.size() == parts.size() && AsManyEach(of_step)) {
        AddNth(of_step);
        continue;
      }
      for (const auto& [device, launches] : of_step)
        rest[device].insert(rest[device].end(), launches.begin(), launches.end());
    }
    if (rest.size() != parts.size()) return;
    Sort(&rest);
    AddThoseThatEndTogether(rest);
  }

  // A part that ends before the others' next ends has its other parts outside of the trace.
  void AddThoseThatEndTogether(const ByDevice& parts) {
    struct Queue {
      const std::vector<int>* launches;
      size_t next = 0;
    };
    std::vector<Queue> queues;
    for (const auto& [device, launches] : parts) queues.push_back({&launches});
    const auto done = [](const Queue& queue) { return queue.next == queue.launches->size(); };
    while (queues.size() > 1 && std::ranges::none_of(queues, done)) {
      std::vector<int> heads;
      int64_t last_end = INT64_MIN, shortest = INT64_MAX;
      Queue* first = &queues.front();
      const auto head = [this](const Queue& queue) -> const TraceLaunch& {
        return Launch((*queue.launches)[queue.next]);
      };
      for (Queue& queue : queues) {
        heads.push_back((*queue.launches)[queue.next]);
        last_end = std::max(last_end, head(queue).end_ns);
        shortest = std::min(shortest, head(queue).end_ns - head(queue).start_ns);
        if (head(queue).end_ns < head(*first).end_ns) first = &queue;
      }
      if (last_end - head(*first).end_ns > std::max(kClockNs, shortest / 2)) {
        ++first->next;
        continue;
      }
      Add(std::move(heads));
      for (Queue& queue : queues) ++queue.next;
    }
  }

  void AddNth(const ByDevice& parts) {
    for (size_t n = 0; n < parts.begin()->second.size(); ++n) {
      std::vector<int> nth;
      for (const auto& [device, launches] : parts) nth.push_back(launches[n]);
      Add(std::move(nth));
    }
  }

  void Add(std::vector<int> parts) {
    if (!IsOne(parts)) return;
    const TraceCollective* moved = moved_[static_cast<size_t>(parts.front())];
    const auto here = static_cast<int64_t>(parts.size());
    const int64_t said = moved != nullptr && moved->ranks > 0 ? moved->ranks : world_;
    found_.push_back({std::move(parts), std::max(here, said)});
  }

  bool IsOne(const std::vector<int>& parts) const {
    int64_t all_there = INT64_MIN, first_end = INT64_MAX;
    for (const int part : parts) {
      all_there = std::max(all_there, Launch(part).start_ns);
      first_end = std::min(first_end, Launch(part).end_ns);
      const TraceCollective* moved = moved_[static_cast<size_t>(part)];
      if (moved == nullptr || parts.size() == 2) continue;
      const std::string kind = CollectiveKind(run_.Text(moved->kind));
      if (kind == "Send" || kind == "Recv") return false;
    }
    return all_there <= first_end + kClockNs;
  }

  const TraceRun& run_;
  std::vector<const TraceCollective*> moved_;  // by launch
  int64_t world_ = 0;
  std::vector<Collective> found_;
};

}  // namespace

std::vector<Collective> FindCollectives(const TraceRun& run) { return CollectiveFinder(run).Find(); }

std::string CollectiveKind(std::string_view name) {
  std::string letters;
  for (const char c : name) {
    if (c >= 'A' && c <= 'Z') letters += static_cast<char>(c - 'A' + 'a');
    if (c >= 'a' && c <= 'z') letters += c;
  }
  // Collectives that are parts of others come later.
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
