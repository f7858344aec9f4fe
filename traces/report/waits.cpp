#include "traces/report/waits.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/base/text_table.h"
#include "core/base/units.h"
#include "core/runs/run_view.h"
#include "traces/read/collectives.h"
#include "traces/read/intervals.h"
#include "traces/read/trace_reader.h"
#include "traces/store/saturating.h"

namespace lanescope::traces {
namespace {

constexpr int64_t kKernelGapNs = 30'000;  // as HolisticTraceAnalysis has it: 30 of a trace's microseconds

struct Operation {
  int64_t start_ns = 0, end_ns = 0;
  int stream = 0, step = -1;
  int call = -1;       // index into the run's API calls
  bool moves = false;  // a kernel of NCCL, or a copy from or to elsewhere
};

using ByDevice = std::map<int, std::vector<Operation>>;

ByDevice OperationsOf(const TraceRun& run) {
  std::vector<char> communication;
  for (const std::string& text : run.texts) communication.push_back(IsCommunication(text) ? 1 : 0);
  ByDevice found;
  const auto add = [&](const auto& activity, bool moves) {
    const TraceDevice* device = run.FindDevice(activity.device);
    if (activity.device < 0 || (device != nullptr && device->is_host)) return;
    found[activity.device].push_back(
        {activity.start_ns, activity.end_ns, activity.stream, activity.step, activity.api, moves});
  };
  for (const TraceLaunch& launch : run.launches) {
    add(launch, launch.name >= 0 && communication[static_cast<size_t>(launch.name)] != 0);
  }
  for (const TraceCopy& copy : run.copies) add(copy, copy.copy_class != CopyClass::kWithinDevice);
  for (const TraceMemset& memset : run.memsets) add(memset, false);
  for (auto& [device, operations] : found) {
    std::ranges::stable_sort(operations, {}, &Operation::start_ns);
  }
  return found;
}

std::vector<Interval> Windows(const TraceRun& run, const std::vector<Operation>& operations) {
  std::vector<Interval> windows;
  for (const TraceStep& step : run.steps) {
    if (step.counts && step.end_ns > step.start_ns) windows.push_back({step.start_ns, step.end_ns});
  }
  if (!windows.empty()) {
    std::ranges::sort(windows, {}, &Interval::start);
    return UnionOf(windows, {});
  }
  int64_t last = operations.front().end_ns;
  for (const Operation& operation : operations) last = std::max(last, operation.end_ns);
  return {{operations.front().start_ns, last}};
}

// When threads are in API calls, by thread.
using CallTimes = std::map<int64_t, IntervalSet>;

// Splits the gaps of a device by what ended them.
class GapSplit {
 public:
  GapSplit(const TraceRun& run, CallTimes* calls) : run_(run), calls_(*calls) {}

  void Split(const std::vector<Operation>& operations, std::span<const Interval> windows,
             DeviceWaits* waits) const {
    int64_t busy_until = INT64_MIN;
    std::vector<Interval> in_calls, host, queued;
    for (const Operation& operation : operations) {
      if (busy_until != INT64_MIN && operation.start_ns > busy_until) {
        const Interval gap{busy_until, operation.start_ns};
        const TraceApiCall* call =
            operation.call < 0 ? nullptr : &run_.api_calls[static_cast<size_t>(operation.call)];
        if (call == nullptr || call->start_ns <= gap.start) {
          queued.push_back(gap);
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
      busy_until = std::max(busy_until, operation.end_ns);
    }
    const auto within = [&](const std::vector<Interval>& intervals) {
      return TotalLength(ClipTo(intervals, windows));
    };
    waits->in_calls_ns = within(in_calls);
    waits->host_ns = within(host);
    waits->queued_ns = within(queued);
    waits->edges_ns = waits->idle_ns - waits->in_calls_ns - waits->host_ns - waits->queued_ns;
  }

 private:
  const TraceRun& run_;
  CallTimes& calls_;
};

DeviceWaits UsageOf(const TraceRun& run, int device, const std::vector<Operation>& operations,
                    std::span<const Interval> windows) {
  IntervalSet work, moving;
  for (const Operation& operation : operations)
    (operation.moves ? moving : work).Add(operation.start_ns, operation.end_ns);
  const auto compute = ClipTo(work.Union(), windows), moves = ClipTo(moving.Union(), windows);
  DeviceWaits waits;
  waits.device = device;
  waits.label = run.DeviceLabel(device);
  if (const TraceDevice* described = run.FindDevice(device)) waits.model = described->model;
  waits.window_ns = TotalLength(windows);
  waits.compute_ns = TotalLength(compute);
  waits.hidden_ns = IntersectionLength(compute, moves);
  waits.exposed_ns = TotalLength(moves) - waits.hidden_ns;
  waits.idle_ns = waits.window_ns - waits.compute_ns - waits.exposed_ns;
  return waits;
}

void FindStreams(const TraceRun& run, int device, const std::vector<Operation>& operations,
                 std::vector<StreamWaits>* found) {
  std::map<int, StreamWaits> streams;
  std::map<int, int64_t> busy_until;
  std::map<int, std::vector<std::pair<int64_t, int>>> changes;  // of the queue
  std::map<int, double> delays;
  for (const Operation& operation : operations) {
    StreamWaits& stream = streams[operation.stream];
    const TraceApiCall* call =
        operation.call < 0 ? nullptr : &run.api_calls[static_cast<size_t>(operation.call)];
    const auto [until, first] = busy_until.try_emplace(operation.stream, operation.end_ns);
    const int64_t gap = first ? 0 : operation.start_ns - until->second;
    if (gap > 0) {
      const bool host = call != nullptr && call->start_ns > until->second;
      (host ? stream.host_ns : gap < kKernelGapNs ? stream.kernel_ns : stream.other_ns) += gap;
    }
    until->second = std::max(until->second, operation.end_ns);
    ++stream.operations;
    stream.busy_ns = AddSaturating(stream.busy_ns, operation.end_ns - operation.start_ns);
    if (call == nullptr) continue;
    const int64_t delay = std::max<int64_t>(0, operation.start_ns - call->end_ns);
    ++stream.launched;
    delays[operation.stream] += static_cast<double>(delay);
    stream.max_delay_ns = std::max(stream.max_delay_ns, delay);
    changes[operation.stream].emplace_back(call->start_ns, 1);
    changes[operation.stream].emplace_back(operation.start_ns, -1);
  }
  for (auto& [number, stream] : streams) {
    stream.device = device;
    stream.label = run.DeviceLabel(device);
    stream.stream = number;
    if (stream.launched > 0)
      stream.mean_delay_ns = static_cast<int64_t>(delays[number] / static_cast<double>(stream.launched));
    std::ranges::sort(changes[number]);
    int64_t length = 0;
    for (const auto& [time, change] : changes[number]) {
      length += change;
      stream.max_queue = std::max(stream.max_queue, length);
    }
    found->push_back(std::move(stream));
  }
}

// `waits` has a device for each working GPU.
void FindStragglers(const TraceRun& run, Waits* waits) {
  struct OfStep {
    std::map<size_t, int64_t> last;  // by position of the device
    int64_t all = 0, waited_ns = 0;
  };
  std::map<int, OfStep> steps;
  for (const std::vector<int>& collective : FindCollectives(run)) {
    const auto part = [&](size_t i) -> const TraceLaunch& {
      return run.launches[static_cast<size_t>(collective[i])];
    };
    int64_t shortest = INT64_MAX;
    size_t last = 0;
    for (size_t i = 0; i < collective.size(); ++i) {
      shortest = std::min(shortest, part(i).end_ns - part(i).start_ns);
      if (part(i).start_ns > part(last).start_ns) last = i;
    }
    OfStep& step = steps[part(0).step];
    ++step.all;
    ++step.last[last];
    ++waits->devices[last].last;
    for (size_t i = 0; i < collective.size(); ++i) {
      const int64_t waited = part(i).end_ns - part(i).start_ns - shortest;
      DeviceWaits& device = waits->devices[i];
      ++device.collectives;
      device.transfer_ns = AddSaturating(device.transfer_ns, shortest);
      device.waiting_ns = AddSaturating(device.waiting_ns, waited);
      step.waited_ns = AddSaturating(step.waited_ns, waited);
    }
  }
  for (const auto& [number, step] : steps) {
    const auto most = std::ranges::max_element(step.last, {}, [](const auto& entry) { return entry.second; });
    waits->stragglers.push_back(
        {number, waits->devices[most->first].label, most->second, step.all, step.waited_ns});
  }
}

double ShareOf(int64_t part, int64_t whole) {
  return whole <= 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

// Of the device that idles longest.
std::string VerdictOf(const Waits& waits) {
  const auto most = std::ranges::max_element(waits.devices, {}, &DeviceWaits::idle_ns);
  if (most == waits.devices.end() || most->idle_ns <= 0) return "";
  const int64_t host = most->in_calls_ns + most->host_ns;
  if (2 * host < most->idle_ns) return "";
  return fmt::format("{}: {} waits for {} of its idle time for the host",
                     most->in_calls_ns >= most->host_ns ? "launch-bound" : "host-bound", most->label,
                     PercentText(ShareOf(host, most->idle_ns), 0));
}

}  // namespace

Waits FindWaits(const TraceRun& run) {
  const ByDevice devices = OperationsOf(run);
  CallTimes calls;
  for (const TraceApiCall& call : run.api_calls) calls[call.global_tid].Add(call.start_ns, call.end_ns);
  const GapSplit gaps(run, &calls);
  Waits waits;
  for (const auto& [device, operations] : devices) {
    const std::vector<Interval> windows = Windows(run, operations);
    waits.devices.push_back(UsageOf(run, device, operations, windows));
    gaps.Split(operations, windows, &waits.devices.back());
    FindStreams(run, device, operations, &waits.streams);
  }
  FindStragglers(run, &waits);
  waits.verdict = VerdictOf(waits);
  return waits;
}

std::string WaitsText(const Waits& waits, int width) {
  TextTable devices;
  devices.Text("Device").Number("Window").Number("Compute").Number("Exposed").Number("Hidden").Number("Idle");
  devices.Group("Idle for").Number("calls").Number("host").Number("queued");
  devices.Group("Collectives").Number("count").Number("transfer").Number("waiting").Number("last in");
  devices.Group("").Name("Model");
  for (const DeviceWaits& device : waits.devices) {
    const auto share = [&](int64_t ns) { return PercentText(ShareOf(ns, device.window_ns)); };
    devices.Row({device.label, TimeText(device.window_ns), share(device.compute_ns), share(device.exposed_ns),
                 share(device.hidden_ns), share(device.idle_ns), share(device.in_calls_ns),
                 share(device.host_ns), share(device.queued_ns), std::to_string(device.collectives),
                 TimeText(device.transfer_ns), TimeText(device.waiting_ns), std::to_string(device.last),
                 device.model});
  }
  std::string out = "\n" + devices.Take(width);
  if (!waits.verdict.empty()) out += waits.verdict + "\n";
  TextTable streams;
  streams.Text("Device").Number("Stream").Number("Operations").Number("Busy");
  streams.Group("Gaps for").Number("host").Number("kernel").Number("other");
  streams.Group("Launch delay").Number("mean").Number("longest").Group("").Number("Queue");
  for (const StreamWaits& stream : waits.streams) {
    const bool known = stream.launched > 0;
    streams.Row({stream.label, std::to_string(stream.stream), std::to_string(stream.operations),
                 TimeText(stream.busy_ns), TimeText(stream.host_ns), TimeText(stream.kernel_ns),
                 TimeText(stream.other_ns), known ? TimeText(stream.mean_delay_ns) : "-",
                 known ? TimeText(stream.max_delay_ns) : "-",
                 known ? std::to_string(stream.max_queue) : "-"});
  }
  out += "\n" + streams.Take(width);
  for (const Straggler& straggler : waits.stragglers) {
    out += fmt::format("{}{} came last to {} of {} collectives; the others waited {} in all\n",
                       straggler.step < 0 ? "" : fmt::format("step {}: ", straggler.step), straggler.label,
                       straggler.collectives, straggler.of, TimeText(straggler.others_waited_ns));
  }
  return out;
}

}  // namespace lanescope::traces
