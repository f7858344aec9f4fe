// SPDX-License-Identifier: Apache-2.0
#include "traces/report/waits.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "core/base/units.h"
#include "core/runs/run_view.h"
#include "core/time/intervals.h"
#include "traces/read/collectives.h"
#include "traces/read/run_sink.h"
#include "traces/read/trace_reader.h"
#include "traces/report/stream_waits.h"
#include "traces/store/saturating.h"

namespace lanescope::traces {
namespace {

using ByDevice = std::map<int, std::vector<WaitingOperation>>;

// Small copies tell of latency.
bool TellsOfBandwidth(const TraceCopy& copy) {
  constexpr int64_t kLargeCopy = int64_t{1} << 20;
  return copy.copy_class == CopyClass::kDeviceToDevice && copy.bytes >= kLargeCopy &&
         copy.end_ns > copy.start_ns;
}

class Operations : public RunSink {
 public:
  bool keeps_calls() const override { return true; }
  void Begin(const TraceRun& run) override { run_ = &run; }
  void Call(const TraceApiCall&) override {}
  void Launch(const TraceLaunch& launch, const TraceCollective* moved) override {
    const bool collective = Communicates(launch.name);
    Add(launch, collective, collective);
    if (!keep_ || !collective) return;
    if (moved != nullptr) {
      collectives_.push_back(*moved);
      collectives_.back().launch = static_cast<int>(launches_.size());
    }
    launches_.push_back(launch);
  }
  void Copy(const TraceCopy& copy) override {
    Add(copy, copy.copy_class != CopyClass::kWithinDevice, false);
    if (keep_ && TellsOfBandwidth(copy)) copies_.push_back(copy);
  }
  void Memset(const TraceMemset& memset) override { Add(memset, false, false); }

  // From now on keeps what others ask of the run, if it keeps none itself.
  void Keep() { keep_ = true; }
  // And a launch of no name for each device, since it works.
  void GiveKept(TraceRun* run) {
    for (const auto& [device, operations] : found_) launches_.emplace_back().device = device;
    run->launches = std::move(launches_);
    run->collectives = std::move(collectives_);
    run->copies = std::move(copies_);
  }
  ByDevice Take() {
    for (auto& [device, operations] : found_) {
      const auto by_start = &WaitingOperation::start_ns;
      if (!std::ranges::is_sorted(operations, {}, by_start))
        std::ranges::stable_sort(operations, {}, by_start);
    }
    return std::move(found_);
  }

 private:
  template <typename Activity>
  void Add(const Activity& activity, bool moves, bool collective) {
    const TraceDevice* device = run_->FindDevice(activity.device);
    if (activity.device < 0 || (device != nullptr && device->is_host)) return;
    found_[activity.device].push_back(
        {activity.start_ns, activity.end_ns, activity.stream, activity.api, moves, collective});
  }
  bool Communicates(int text) {
    if (text < 0) return false;
    for (size_t i = communication_.size(); i < run_->texts.size(); ++i)
      communication_.push_back(IsCommunication(run_->texts[i]) ? 1 : 0);
    return communication_[static_cast<size_t>(text)] != 0;
  }

  const TraceRun* run_ = nullptr;
  bool keep_ = false;
  ByDevice found_;
  std::vector<char> communication_;  // by text
  std::vector<TraceLaunch> launches_;
  std::vector<TraceCollective> collectives_;
  std::vector<TraceCopy> copies_;
};

std::vector<Interval> Windows(const TraceRun& run, const std::vector<WaitingOperation>& operations) {
  std::vector<Interval> windows;
  for (const TraceStep& step : run.steps) {
    if (step.counts && step.end_ns > step.start_ns) windows.push_back({step.start_ns, step.end_ns});
  }
  if (!windows.empty()) {
    std::ranges::sort(windows, {}, &Interval::start);
    return UnionOf(windows, {});
  }
  int64_t last = operations.front().end_ns;
  for (const WaitingOperation& operation : operations) last = std::max(last, operation.end_ns);
  return {{operations.front().start_ns, last}};
}

// When threads are in API calls, by thread.
using CallTimes = std::map<int64_t, IntervalSet>;

// Splits the gaps of a device by what ended them.
class GapSplit {
 public:
  GapSplit(const TraceRun& run, CallTimes* calls) : run_(run), calls_(*calls) {}

  void Split(const std::vector<WaitingOperation>& operations, std::span<const Interval> windows,
             DeviceWaits* waits) const {
    int64_t busy_until = INT64_MIN;
    int last_stream = 0;                 // what ended last was on it
    std::map<int, int64_t> stream_ends;  // the last so far
    std::vector<Interval> in_calls, host, queued, for_streams;
    for (const WaitingOperation& operation : operations) {
      if (busy_until != INT64_MIN && operation.start_ns > busy_until) {
        const Interval gap{busy_until, operation.start_ns};
        const TraceApiCall* call =
            operation.call < 0 ? nullptr : &run_.api_calls[static_cast<size_t>(operation.call)];
        if (call == nullptr || call->start_ns <= gap.start) {
          const auto own = stream_ends.find(operation.stream);
          const bool own_was_idle = own == stream_ends.end() || own->second < gap.start;
          const bool handed_over =
              operation.stream != last_stream && own_was_idle && gap.end - gap.start <= kHandOverNs;
          (handed_over ? for_streams : queued).push_back(gap);
        } else {
          const std::vector<Interval> inside = ClipTo(calls_[call->global_tid].Union(), std::span(&gap, 1));
          in_calls.insert(in_calls.end(), inside.begin(), inside.end());
          int64_t from = gap.start;
          for (const Interval& part : inside) {
            if (part.start > from) host.push_back({from, part.start});
            from = part.end;
          }
          if (gap.end > from) host.push_back({from, gap.end});
        }
      }
      if (operation.end_ns > busy_until) last_stream = operation.stream;
      busy_until = std::max(busy_until, operation.end_ns);
      const auto [end, is_new] = stream_ends.try_emplace(operation.stream, operation.end_ns);
      end->second = std::max(end->second, operation.end_ns);
    }
    const auto within = [&](const std::vector<Interval>& intervals) {
      return TotalLength(ClipTo(intervals, windows));
    };
    waits->in_calls_ns = within(in_calls);
    waits->host_ns = within(host);
    waits->for_streams_ns = within(for_streams);
    waits->queued_ns = within(queued);
    waits->edges_ns =
        waits->idle_ns - waits->in_calls_ns - waits->host_ns - waits->for_streams_ns - waits->queued_ns;
  }

 private:
  const TraceRun& run_;
  CallTimes& calls_;
};

DeviceWaits UsageOf(const TraceRun& run, int device, const std::vector<WaitingOperation>& operations,
                    std::span<const Interval> windows) {
  IntervalSet work, moving;
  for (const WaitingOperation& operation : operations)
    (operation.moves ? moving : work).Add(operation.start_ns, operation.end_ns);
  const auto compute = ClipTo(work.Union(), windows), moves = ClipTo(moving.Union(), windows);
  DeviceWaits waits;
  waits.device = device;
  waits.label = run.DeviceLabel(device);
  if (const TraceDevice* described = run.FindDevice(device)) {
    waits.model = described->model;
    waits.host = described->host;
  }
  waits.window_ns = TotalLength(windows);
  waits.compute_ns = TotalLength(compute);
  waits.hidden_ns = IntersectionLength(compute, moves);
  waits.exposed_ns = TotalLength(moves) - waits.hidden_ns;
  waits.idle_ns = waits.window_ns - waits.compute_ns - waits.exposed_ns;
  return waits;
}

// When a GPU was in a collective that had not begun for lack of others, by position of the device.
using RankWaits = std::map<size_t, IntervalSet>;

// `waits` has a device for each working GPU.
RankWaits FindStragglers(const TraceRun& run, Waits* waits) {
  RankWaits rank_waits;
  struct OfStep {
    struct Last {
      int64_t waited_ns = 0, count = 0;
      auto operator<=>(const Last&) const = default;
    };
    std::map<size_t, Last> last;  // by position of the device, for which others waited
    int64_t all = 0, waited_ns = 0;
  };
  std::map<int, OfStep> steps;
  std::map<int, size_t> positions;
  for (size_t i = 0; i < waits->devices.size(); ++i) positions[waits->devices[i].device] = i;
  for (const Collective& collective : FindCollectives(run)) {
    const auto part = [&](size_t i) -> const TraceLaunch& {
      return run.launches[static_cast<size_t>(collective.parts[i])];
    };
    const auto position = [&](size_t i) { return positions.at(part(i).device); };
    int64_t shortest = INT64_MAX;
    size_t last = 0;
    for (size_t i = 0; i < collective.parts.size(); ++i) {
      shortest = std::min(shortest, part(i).end_ns - part(i).start_ns);
      if (part(i).start_ns > part(last).start_ns) last = i;
    }
    OfStep& step = steps[part(0).step];
    ++step.all;
    OfStep::Last& of_last = step.last[position(last)];
    ++of_last.count;
    ++waits->devices[position(last)].last;
    const auto here = static_cast<int64_t>(collective.parts.size());
    if (collective.ranks > here) ++waits->partial;
    for (size_t i = 0; i < collective.parts.size(); ++i) {
      const int64_t waited = part(i).end_ns - part(i).start_ns - shortest;
      DeviceWaits& device = waits->devices[position(i)];
      ++device.collectives;
      device.transfer_ns = AddSaturating(device.transfer_ns, shortest);
      device.waiting_ns = AddSaturating(device.waiting_ns, waited);
      step.waited_ns = AddSaturating(step.waited_ns, waited);
      of_last.waited_ns = AddSaturating(of_last.waited_ns, waited);
      if (waited > 0) rank_waits[position(i)].Add(part(i).start_ns, part(i).start_ns + waited);
    }
  }
  for (const auto& [number, step] : steps) {
    const auto most = std::ranges::max_element(step.last, {}, [](const auto& entry) { return entry.second; });
    waits->stragglers.push_back(
        {number, waits->devices[most->first].label, most->second.count, step.all, step.waited_ns});
  }
  return rank_waits;
}

// Where the device does nothing else meanwhile.
void FindIdleForRanks(const ByDevice& devices, RankWaits* rank_waits, const TraceRun& run, Waits* waits) {
  size_t position = 0;
  for (const auto& [device, operations] : devices) {
    IntervalSet work;
    for (const WaitingOperation& operation : operations) {
      if (!operation.collective) work.Add(operation.start_ns, operation.end_ns);
    }
    const auto waiting = ClipTo((*rank_waits)[position].Union(), Windows(run, operations));
    waits->devices[position++].for_ranks_ns =
        TotalLength(waiting) - IntersectionLength(work.Union(), waiting);
  }
}

double ShareOf(int64_t part, int64_t whole) {
  return whole <= 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

// The device that comes last most often.
std::string LastOf(const Waits& waits) {
  const auto last = std::ranges::max_element(waits.devices, {}, &DeviceWaits::last);
  return last == waits.devices.end() || last->last == 0 ? "" : ", most often for " + last->label;
}

// The sentence on the device that does nothing longest, idle or in a collective that cannot begin.
std::string VerdictOf(const Waits& waits) {
  const auto lost = [](const DeviceWaits& device) { return device.idle_ns + device.for_ranks_ns; };
  const auto most = std::ranges::max_element(waits.devices, {}, lost);
  if (most == waits.devices.end() || lost(*most) <= 0) return "";
  if (2 * most->for_ranks_ns >= lost(*most)) {
    return fmt::format("rank-bound: {} waits for {} of the time in which it does nothing for other ranks{}",
                       most->label, PercentText(ShareOf(most->for_ranks_ns, lost(*most)), 0), LastOf(waits));
  }
  const int64_t host = most->in_calls_ns + most->host_ns;
  if (2 * host < most->idle_ns) return "";
  return fmt::format("{}: {} waits for {} of its idle time for the host",
                     most->in_calls_ns >= most->host_ns ? "launch-bound" : "host-bound", most->label,
                     PercentText(ShareOf(host, most->idle_ns), 0));
}

double BestPeerCopy(const TraceRun& run) {
  double best = 0;
  for (const TraceCopy& copy : run.copies) {
    if (!TellsOfBandwidth(copy)) continue;
    best = std::max(best,
                    static_cast<double>(copy.bytes) * 1e9 / static_cast<double>(copy.end_ns - copy.start_ns));
  }
  return best;
}

Waits WaitsOf(const ByDevice& devices, const TraceRun& run, const LinkRate& link) {
  CallTimes calls;
  for (const TraceApiCall& call : run.api_calls) calls[call.global_tid].Add(call.start_ns, call.end_ns);
  const GapSplit gaps(run, &calls);
  Waits waits;
  for (const auto& [device, operations] : devices) {
    const std::vector<Interval> windows = Windows(run, operations);
    waits.devices.push_back(UsageOf(run, device, operations, windows));
    gaps.Split(operations, windows, &waits.devices.back());
    FindStreamWaits(run, device, operations, &waits.streams);
  }
  RankWaits rank_waits = FindStragglers(run, &waits);
  FindIdleForRanks(devices, &rank_waits, run, &waits);
  waits.collectives = FindCollectiveRows(run);
  waits.link = link.within > 0 ? link : LinkRateOf(run);
  waits.peer_copy_bandwidth = BestPeerCopy(run);
  waits.verdict = VerdictOf(waits);
  return waits;
}

}  // namespace

Waits FindWaits(const TraceRun& run, const LinkRate& link) {
  Operations operations;
  Replay(run, &operations);
  return WaitsOf(operations.Take(), run, link);
}

Waits FindWaits(TraceReader& reader, int number, const LinkRate& link, TraceRun* run) {
  Operations operations;
  operations.Keep();
  reader.StreamRun(number, &operations, run);
  operations.GiveKept(run);
  return WaitsOf(operations.Take(), *run, link);
}

}  // namespace lanescope::traces
