// SPDX-License-Identifier: Apache-2.0
#include "traces/replay/change.h"

#include <fmt/core.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

#include "core/base/error.h"
#include "core/base/printable.h"
#include "core/base/statistics.h"
#include "core/base/units.h"
#include "traces/read/collectives.h"
#include "traces/replay/glob.h"
#include "traces/replay/refusals.h"
#include "traces/replay/what_if.h"

namespace lanescope::traces {
namespace {

using Kind = ReplayTask::Kind;
using Why = ReplayHold::Why;

constexpr int64_t kMostRanks = 1'000'000;

bool IsKernel(const ReplayTask& task) { return task.kind == Kind::kKernel || task.kind == Kind::kCollective; }

class Changer {
 public:
  Changer(std::string_view change, RatioQuantile spread, ReplayGraph* graph)
      : change_(change), spread_(spread), graph_(*graph) {}

  int64_t Apply() {
    const size_t equals = change_.rfind('=');
    if (equals == std::string_view::npos) Refuse();
    value_ = change_.substr(equals + 1);
    const std::string_view left = change_.substr(0, equals);
    if (left == "straggler" && value_ == "removed") return RemoveStraggler();
    if (left == "ranks") return ChangeRanks();
    if (left == "overlap") return OverlapCollectives();
    if (left == "gpu") return ChangeGpu();
    if (left == "link.bandwidth" || left == "host_link.bandwidth")
      return ChangeLinks(left.starts_with("host"));
    if (left.starts_with("range:") && left.ends_with(".stream")) {
      glob_ = left.substr(6, left.size() - 13);
      return ChangeStream();
    }
    if (left == "graph" && value_ == "captured") return Capture();
    if (left == "graph" && value_ == "none") return Launch();
    if (left == "launch.overhead") return SetLaunchOverhead();
    if (left.starts_with("copy:") && (value_ == "removed" || value_ == "overlapped")) {
      glob_ = left.substr(5);
      return ChangeCopies();
    }
    if (!left.ends_with(".speed")) Refuse();
    const std::string_view what = left.substr(0, left.size() - 6);
    factor_ = Factor();
    if (what == "link") return SpeedLinksUp();
    if (what == "host") return SpeedHostUp();
    if (what.starts_with("kernel:")) {
      glob_ = what.substr(7);
      return SpeedUp("kernel", [this](const ReplayTask& task) { return IsKernel(task) && Named(task); });
    }
    if (what.find("GPU:") != std::string_view::npos) return SpeedGpuUp(what);
    Refuse();
  }

 private:
  [[noreturn]] void Refuse() const {
    if (change_.starts_with("link.") || change_.starts_with("host_link.")) {
      Throw(
          Code::kFailedPrecondition,
          "--set '{}': the trace does not say what its links can carry; link.speed=FACTOR makes them faster "
          "than they were",
          Printable(change_));
    }
    Throw(Code::kInvalidArgument, "--set '{}' is not understood of a trace; possible are {}",
          Printable(change_), WhatIfForms());
  }

  double Factor() const {
    double factor = 0;
    const auto [end, problem] = std::from_chars(value_.data(), value_.data() + value_.size(), factor);
    if (problem != std::errc() || end != value_.data() + value_.size() || !(factor >= 1e-6 && factor <= 1e6))
      Throw(Code::kInvalidArgument, "--set '{}': a speed is a factor from 1e-6 to 1e6", Printable(change_));
    return factor;
  }

  const std::string& NameOf(const ReplayTask& task) const {
    static const std::string none;
    return task.name < 0 ? none : graph_.names[static_cast<size_t>(task.name)];
  }
  bool Named(const ReplayTask& task) {
    const auto [entry, is_new] = named_.try_emplace(task.name, false);
    if (is_new) entry->second = MatchesGlob(glob_, NameOf(task));
    return entry->second;
  }
  int64_t Faster(int64_t ns) const { return std::llround(static_cast<double>(ns) / factor_); }

  template <typename Chosen>
  int64_t SpeedUp(std::string_view what, const Chosen& chosen) {
    int64_t count = 0;
    for (ReplayTask& task : graph_.tasks) {
      if (!chosen(task)) continue;
      task.ns = Faster(task.ns);
      ++count;
    }
    if (count == 0) MissAll(what);
    return count;
  }

  // Names what the trace has most of.
  [[noreturn]] void MissAll(std::string_view what) const {
    std::map<std::string, int64_t> times;
    for (const ReplayTask& task : graph_.tasks) {
      if (what == "copy" ? task.kind == Kind::kCopy : IsKernel(task)) times[NameOf(task)] += task.ns;
    }
    if (times.empty()) Throw(Code::kNotFound, "--set '{}': the trace has no {}", Printable(change_), what);
    const auto most = std::ranges::max_element(times, {}, [](const auto& entry) { return entry.second; });
    Throw(Code::kNotFound, "--set '{}' meets no {} of the trace; the most time is in '{}'",
          Printable(change_), what, Printable(most->first.substr(0, 120)));
  }

  int64_t SpeedGpuUp(std::string_view gpu) {
    std::set<int> queues;
    for (size_t q = 0; q < graph_.queues.size(); ++q) {
      const int device = graph_.queues[q].device;
      if (device >= 0 && DeviceLabel(graph_.devices, device) == gpu) queues.insert(static_cast<int>(q));
    }
    if (queues.empty())
      Throw(Code::kNotFound, "--set '{}': nothing of the trace ran on '{}'", Printable(change_), gpu);
    return SpeedUp("kernel", [&](const ReplayTask& task) {
      return (task.kind == Kind::kKernel || task.kind == Kind::kMemset) && queues.contains(task.queue);
    });
  }

  // `why`: what the trace does not say; empty: it does.
  void Need(const std::string& why, std::string_view otherwise = "") const {
    if (!why.empty())
      Throw(Code::kFailedPrecondition, "--set '{}': {}{}", Printable(change_), Printable(why), otherwise);
  }

  int64_t SpeedLinksUp() {
    Need(WhyNoTransferTimes(graph_), ", or change them whole with kernel:*nccl*.speed=FACTOR");
    const auto moves = [](const ReplayTask& task) { return task.collective >= 0 || task.crosses; };
    if (std::ranges::none_of(graph_.tasks, moves)) {
      Throw(Code::kNotFound,
            "--set '{}': the trace has no copies between devices or from and to the host, and "
            "no collectives",
            Printable(change_));
    }
    return SpeedUp("copy", moves);
  }

  int64_t SpeedHostUp() {
    Need(WhyNoHostTimes(graph_));
    return SpeedUp("host work", [](const ReplayTask& task) { return task.kind == Kind::kHostWork; });
  }

  // The time between call and start includes what the call took.
  int64_t SetLaunchOverhead() {
    Need(WhyNoHostTimes(graph_));
    const int64_t overhead = ParseDuration(value_);
    std::map<int, std::vector<int64_t>> lengths;  // of launching calls, by name
    std::set<int> launching;
    for (const ReplayTask& task : graph_.tasks) {
      if (task.call >= 0) launching.insert(task.call);
    }
    for (const int call : launching) {
      const ReplayTask& task = graph_.tasks[static_cast<size_t>(call)];
      lengths[task.name].push_back(task.ns);
    }
    std::map<int, int64_t> usual;
    for (const auto& [name, of_name] : lengths) usual[name] = Median(of_name);
    for (ReplayHold& hold : graph_.holds.items) {
      if (hold.why != Why::kLaunch || hold.from < 0) continue;
      const int64_t call = usual[graph_.tasks[static_cast<size_t>(hold.from)].name];
      hold.lag_ns = std::max<int64_t>(0, hold.lag_ns - call) + overhead;
    }
    for (const int call : launching) graph_.tasks[static_cast<size_t>(call)].ns = overhead;
    return static_cast<int64_t>(launching.size());
  }

  std::vector<char> ChosenCopies() {
    std::vector<char> chosen(graph_.tasks.size(), 0);
    for (size_t i = 0; i < chosen.size(); ++i)
      chosen[i] = graph_.tasks[i].kind == Kind::kCopy && Named(graph_.tasks[i]) ? 1 : 0;
    if (std::ranges::count(chosen, 1) == 0) MissAll("copy");
    return chosen;
  }

  int64_t ChangeCopies() {
    const std::vector<char> copies = ChosenCopies();
    (value_ == "removed" ? RemoveCopies : OverlapTasks)(copies, &graph_);
    return std::ranges::count(copies, 1);
  }

  // The thing that is changed: ranks, a stream.
  int64_t WholeNumber(int64_t least, int64_t most, std::string_view of) const {
    int64_t number = 0;
    const auto [end, problem] = std::from_chars(value_.data(), value_.data() + value_.size(), number);
    if (problem != std::errc() || end != value_.data() + value_.size() || number < least || number > most) {
      Throw(Code::kInvalidArgument, "--set '{}': give a number of {} from {} to {}", Printable(change_), of,
            least, most);
    }
    return number;
  }

  int64_t ChangeRanks() {
    const int64_t ranks = WholeNumber(1, kMostRanks, "ranks");
    Need(WhyNotRanks(ranks, graph_));
    SetRanks(ranks, &graph_);
    return static_cast<int64_t>(graph_.collectives.size());
  }

  int64_t OverlapCollectives() {
    glob_ = value_;
    std::vector<char> chosen;
    std::set<std::string> kinds;
    for (const ReplayTask& task : graph_.tasks) {
      const bool collective = task.kind == Kind::kCollective;
      const std::string kind = collective ? CollectiveKind(NameOf(task)) : "";
      if (collective) kinds.insert(kind);
      chosen.push_back(collective && (kind == value_ || Named(task)) ? 1 : 0);
    }
    const int64_t count = std::ranges::count(chosen, 1);
    if (count == 0 && kinds.empty())
      Throw(Code::kNotFound, "--set '{}': the trace has no collectives", Printable(change_));
    if (count == 0) {
      Throw(Code::kNotFound, "--set '{}' meets no collective of the trace; it has {}", Printable(change_),
            Printable(fmt::format("{}", fmt::join(kinds, ", ")).substr(0, 200)));
    }
    OverlapTasks(chosen, &graph_);
    return count;
  }

  int64_t ChangeLinks(bool of_host) {
    const double bandwidth = ParseBandwidth(value_);
    if (!(bandwidth >= 1 && bandwidth <= 1e18))
      Throw(Code::kInvalidArgument, "--set '{}': give a bandwidth of 1 B/s or more", Printable(change_));
    if (!of_host && !graph_.collectives.empty()) Need(WhyNoTransferTimes(graph_));
    const int64_t count = SetLinkBandwidth(bandwidth, of_host, &graph_);
    if (count == 0) Refuse();
    return count;
  }

  int64_t ChangeStream() {
    const int64_t stream = WholeNumber(0, INT32_MAX, "a stream");
    const std::vector<char> chosen = InRange(glob_, graph_);
    const int64_t count = std::ranges::count(chosen, 1);
    if (count == 0) {
      Throw(Code::kNotFound, "--set '{}': nothing of the trace was launched in a range of such a name",
            Printable(change_));
    }
    MoveToStream(chosen, stream, &graph_);
    return count;
  }

  // Links, the host and what GPUs wait for each other stay.
  int64_t ChangeGpu() {
    const MeasuredGpu* to = FindMeasuredGpu(value_);
    if (to == nullptr) {
      Throw(Code::kInvalidArgument, "--set '{}': kernels were measured on {}", Printable(change_),
            MeasuredGpuNames());
    }
    std::map<int, const MeasuredGpu*> from;  // by queue
    for (size_t q = 0; q < graph_.queues.size(); ++q) {
      const auto device = std::ranges::find(graph_.devices, graph_.queues[q].device, &TraceDevice::id);
      if (graph_.queues[q].device < 0) continue;
      const std::string model = device == graph_.devices.end() ? "" : device->model;
      from[static_cast<int>(q)] = FindMeasuredGpu(model);
      if (from[static_cast<int>(q)] != nullptr) continue;
      Throw(Code::kFailedPrecondition, "--set '{}': the trace is of {}, and kernels were measured on {}",
            Printable(change_), model.empty() ? "a GPU whose model it does not say" : Printable(model),
            MeasuredGpuNames());
    }
    int64_t count = 0;
    for (ReplayTask& task : graph_.tasks) {
      if (!task.on_device() || task.kind == Kind::kCollective || task.crosses) continue;
      const double ratio = KernelRatio(*from.at(task.queue), *to, NameOf(task), task.ns, spread_);
      task.ns = std::llround(static_cast<double>(task.ns) * ratio);
      ++count;
    }
    return count;
  }

  int64_t Capture() {
    Need(WhyNoHostTimes(graph_));
    return CaptureSteps(&graph_);
  }
  int64_t Launch() {
    const int64_t graphs = LaunchNodes(&graph_);
    if (graphs == 0) Throw(Code::kNotFound, "--set '{}': the trace launches no graphs", Printable(change_));
    return graphs;
  }

  int64_t RemoveStraggler() {
    Need(WhyNoRankWaits(graph_));
    RemoveStragglers(&graph_);
    return static_cast<int64_t>(graph_.collectives.size());
  }

  const std::string_view change_;
  const RatioQuantile spread_;
  ReplayGraph& graph_;
  std::string_view value_, glob_;
  double factor_ = 1;
  std::map<int, bool> named_;
};

}  // namespace

int64_t ApplyChange(std::string_view change, ReplayGraph* graph, RatioQuantile spread) {
  return Changer(change, spread, graph).Apply();
}

std::string WhatIfForms() {
  return "kernel:GLOB.speed=, GPU:N.speed=, link.speed=, host.speed=, launch.overhead=, "
         "copy:GLOB=removed or overlapped, straggler=removed, ranks=, "
         "graph=captured or none, overlap=COLLECTIVE, range:GLOB.stream=N, gpu=, link.bandwidth=, "
         "host_link.bandwidth=";
}

}  // namespace lanescope::traces
