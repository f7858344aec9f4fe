#include "traces/replay/change.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

#include "core/base/error.h"
#include "core/base/printable.h"
#include "core/base/statistics.h"
#include "core/base/units.h"
#include "traces/replay/what_if.h"

namespace lanescope::traces {
namespace {

using Kind = ReplayTask::Kind;
using Why = ReplayHold::Why;

bool IsKernel(const ReplayTask& task) { return task.kind == Kind::kKernel || task.kind == Kind::kCollective; }

class Changer {
 public:
  Changer(std::string_view change, ReplayGraph* graph) : change_(change), graph_(*graph) {}

  int64_t Apply() {
    const size_t equals = change_.rfind('=');
    if (equals == std::string_view::npos) Refuse();
    value_ = change_.substr(equals + 1);
    const std::string_view left = change_.substr(0, equals);
    if (left == "straggler" && value_ == "removed") return RemoveStraggler();
    if (left == "launch.overhead") return SetLaunchOverhead();
    if (left.starts_with("copy:") && (value_ == "removed" || value_ == "overlapped")) {
      glob_ = left.substr(5);
      return value_ == "removed" ? RemoveCopies() : OverlapCopies();
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
    if (what.starts_with("GPU:")) return SpeedGpuUp(what);
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

  // Of NCCL's kernels that one GPU alone has, nobody knows how long they transfer.
  void NeedAllRanks(std::string_view otherwise) const {
    if (graph_.facts.alone == 0) return;
    Throw(
        Code::kFailedPrecondition,
        "--set '{}': of {} of NCCL's kernels the trace does not have the other ranks' parts, so it does not "
        "say how long they transfer and how long they wait; open the traces of all ranks together{}",
        Printable(change_), graph_.facts.alone, otherwise);
  }

  int64_t SpeedLinksUp() {
    NeedAllRanks(", or change them whole with kernel:*nccl*.speed=FACTOR");
    const auto moves = [](const ReplayTask& task) { return task.collective >= 0 || task.crosses; };
    if (std::ranges::none_of(graph_.tasks, moves)) {
      Throw(Code::kNotFound,
            "--set '{}': the trace has no copies between devices or from and to the host, and "
            "no collectives",
            Printable(change_));
    }
    return SpeedUp("copy", moves);
  }

  void NeedCalls() const {
    if (graph_.facts.calls == 0) {
      Throw(Code::kFailedPrecondition,
            "--set '{}': the trace has no API calls, so it does not say what the host did; record them too "
            "(nsys profile --trace=cuda)",
            Printable(change_));
    }
    if (2 * graph_.facts.launched < graph_.facts.operations) {
      Throw(Code::kFailedPrecondition,
            "--set '{}': the trace has the launches of {} of {} operations only, so it does not say what the "
            "host held up",
            Printable(change_), graph_.facts.launched, graph_.facts.operations);
    }
  }

  int64_t SpeedHostUp() {
    NeedCalls();
    return SpeedUp("host work", [](const ReplayTask& task) { return task.kind == Kind::kHostWork; });
  }

  // What passes between call and start includes what the call took.
  int64_t SetLaunchOverhead() {
    NeedCalls();
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

  // A thread no longer waits for the copies that its own calls made.
  void ReleaseCallers(const std::vector<char>& copies) {
    for (size_t i = 0; i < graph_.tasks.size(); ++i) {
      if (graph_.tasks[i].on_device()) continue;
      const auto first = static_cast<size_t>(graph_.holds.first[i]),
                 end = static_cast<size_t>(graph_.holds.first[i + 1]);
      int before = -1;
      for (size_t h = first; h < end; ++h) {
        if (graph_.holds.items[h].why == Why::kThread) before = graph_.holds.items[h].from;
      }
      for (size_t h = first; h < end; ++h) {
        ReplayHold& hold = graph_.holds.items[h];
        if (hold.why != Why::kSync || hold.from < 0 || copies[static_cast<size_t>(hold.from)] == 0) continue;
        if (graph_.tasks[static_cast<size_t>(hold.from)].call == before) hold.from = -1;
      }
    }
  }

  int64_t RemoveCopies() {
    const std::vector<char> copies = ChosenCopies();
    ReleaseCallers(copies);
    for (size_t i = 0; i < copies.size(); ++i) {
      if (copies[i] == 0) continue;
      ReplayTask& task = graph_.tasks[i];
      task.ns = 0;
      if (task.call >= 0) graph_.tasks[static_cast<size_t>(task.call)].ns = 0;
    }
    // The gap before a copy goes with it.
    for (size_t i = 0; i < copies.size(); ++i) {
      for (auto h = static_cast<size_t>(graph_.holds.first[i]);
           copies[i] != 0 && h < static_cast<size_t>(graph_.holds.first[i + 1]); ++h) {
        ReplayHold& hold = graph_.holds.items[h];
        if (hold.why == Why::kStream) hold.lag_ns = std::min<int64_t>(hold.lag_ns, 0);
        if (hold.why == Why::kLaunch) hold.from = -1;
      }
    }
    return std::ranges::count(copies, 1);
  }

  int64_t OverlapCopies() {
    const std::vector<char> copies = ChosenCopies();
    ReleaseCallers(copies);
    // By copy: what was before it on its stream and is not set apart itself; -1: nothing.
    std::map<int, int> before;
    for (size_t i = 0; i < copies.size(); ++i) {
      const auto holds = std::span(graph_.holds.items)
                             .subspan(static_cast<size_t>(graph_.holds.first[i]),
                                      static_cast<size_t>(graph_.holds.first[i + 1] - graph_.holds.first[i]));
      if (copies[i] != 0) {
        graph_.tasks[i].apart = true;
        int& of_copy = before.try_emplace(static_cast<int>(i), -1).first->second;
        for (const ReplayHold& hold : holds) {
          if (hold.why != Why::kStream || hold.from < 0) continue;
          const auto earlier = before.find(hold.from);
          of_copy = earlier == before.end() ? hold.from : earlier->second;
        }
        continue;
      }
      for (ReplayHold& hold : holds) {
        if (hold.from < 0 || copies[static_cast<size_t>(hold.from)] == 0 || !graph_.tasks[i].on_device())
          continue;
        hold.from = hold.why == Why::kStream ? before.at(hold.from) : -1;
      }
    }
    return std::ranges::count(copies, 1);
  }

  int64_t RemoveStraggler() {
    NeedAllRanks("");
    if (graph_.collectives.empty()) {
      Throw(
          Code::kFailedPrecondition,
          "--set '{}': the trace has no collectives that several GPUs have in common, so it does not say who "
          "waits for whom",
          Printable(change_));
    }
    RemoveStragglers(&graph_);
    return static_cast<int64_t>(graph_.collectives.size());
  }

  const std::string_view change_;
  ReplayGraph& graph_;
  std::string_view value_, glob_;
  double factor_ = 1;
  std::map<int, bool> named_;
};

}  // namespace

int64_t ApplyChange(std::string_view change, ReplayGraph* graph) { return Changer(change, graph).Apply(); }

bool MatchesGlob(std::string_view glob, std::string_view text) {
  size_t g = 0, t = 0, star = std::string_view::npos, from = 0;
  while (t < text.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      from = t;
    } else if (g < glob.size() && (glob[g] == '?' || glob[g] == text[t])) {
      ++g;
      ++t;
    } else if (star != std::string_view::npos) {
      g = star + 1;
      t = ++from;
    } else {
      return false;
    }
  }
  while (g < glob.size() && glob[g] == '*') ++g;
  return g == glob.size();
}

std::string WhatIfForms() {
  return "kernel:GLOB.speed=, GPU:N.speed=, link.speed=, host.speed=, launch.overhead=, "
         "copy:GLOB=removed or overlapped, straggler=removed";
}

}  // namespace lanescope::traces
