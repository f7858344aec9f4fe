// SPDX-License-Identifier: Apache-2.0
#include "traces/read/captured_calls.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "traces/read/launch_links.h"
#include "traces/store/api_call_name.h"
#include "traces/store/capture_times.h"
#include "traces/store/import_tables.h"
#include "traces/store/nsys_tables.h"
#include "traces/store/table_reader.h"

namespace lanescope::traces {
namespace {

// kOther: a node that no sequence tells, as a graph within the graph.
enum class Work : uint8_t { kKernel, kCopy, kMemset, kOther };

bool Has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

std::optional<Work> WorkOf(std::string_view call) {
  if (!MakesGraphNode(call)) return std::nullopt;
  if (IsGraphLaunch(call)) return Work::kOther;
  if (Has(call, "Memcpy")) return Work::kCopy;
  return Has(call, "Memset") ? Work::kMemset : Work::kKernel;
}

constexpr int64_t kNoName = -1;

struct Recorded {
  Work work = Work::kOther;
  int64_t kernel = kNoName;  // StringIds.id
  int call = -1;
};

struct Capture {
  int64_t process = 0;
  std::vector<Recorded> recorded;  // by time
};

struct Ran {
  int launch = -1;
  int64_t node = -1, start_ns = 0, stream = 0, kernel = kNoName;
  Work work = Work::kOther;
  int64_t Executable() const { return node < 0 ? -1 : node >> 32; }
};

// Reads the calls of each process while it captures streams. Captures at the same time are one.
class CaptureReader {
 public:
  CaptureReader(Database& database, const TraceRun& run) : run_(run) {
    constexpr const auto& from = tables::kCapturedKernel;
    ReadRows(database, from, {from.global_pid, from.correlation, from.name}, [&](const auto& row) {
      names_[{row[from.global_pid].value_or(0), row[from.correlation].value_or(-1)}] =
          row[from.name].value_or(kNoName);
    });
  }

  std::vector<Capture> Read() {
    std::vector<int> calls(run_.api_calls.size());
    std::iota(calls.begin(), calls.end(), 0);
    std::ranges::stable_sort(calls, {}, [&](int call) { return Call(call).start_ns; });
    for (const int call : calls) Add(call, run_.Text(Call(call).name));
    return std::move(captures_);
  }

 private:
  struct Open {
    int depth = 0;
    std::map<int64_t, int64_t> busy_until;  // by thread: calls within a call are parts of it
  };

  const TraceApiCall& Call(int call) const { return run_.api_calls[static_cast<size_t>(call)]; }

  void Add(int number, std::string_view name) {
    const TraceApiCall& call = Call(number);
    const int64_t process = GlobalPidOf(call.global_tid);
    if (Has(name, "StreamBeginCapture")) {
      if (open_[process].depth++ == 0) {
        of_process_[process] = captures_.size();
        captures_.push_back({process, {}});
      }
      return;
    }
    const auto open = open_.find(process);
    if (open == open_.end() || open->second.depth == 0) return;
    if (Has(name, "StreamEndCapture")) return void(--open->second.depth);
    const std::optional<Work> work = WorkOf(name);
    if (!work) return;
    std::vector<Recorded>& recorded = captures_[of_process_[process]].recorded;
    const auto named = names_.find({process, call.correlation});
    const int64_t kernel = named == names_.end() ? kNoName : named->second;
    int64_t& busy_until = open->second.busy_until.try_emplace(call.global_tid, INT64_MIN).first->second;
    if (call.start_ns < busy_until && !recorded.empty()) {
      if (recorded.back().kernel == kNoName) recorded.back().kernel = kernel;
      return;
    }
    busy_until = call.end_ns;
    recorded.push_back({*work, kernel, number});
  }

  const TraceRun& run_;
  std::map<std::pair<int64_t, int64_t>, int64_t> names_;  // of kernels by process and correlation
  std::map<int64_t, Open> open_;                          // by process
  std::map<int64_t, size_t> of_process_;                  // the capture that is open
  std::vector<Capture> captures_;
};

class Matcher {
 public:
  Matcher(const TraceRun& run, std::vector<Capture> captures)
      : run_(run), captures_(std::move(captures)), index_(run.api_calls), ran_(run.api_calls.size(), false) {
    for (const TraceApiCall& call : run.api_calls)
      launches_graph_.push_back(IsGraphLaunch(run.Text(call.name)));
  }

  void ReadWork(Database& database) {
    ReadNodes(database, tables::kKernel, Work::kKernel);
    ReadNodes(database, tables::kMemcpy, Work::kCopy);
    ReadNodes(database, tables::kMemset, Work::kMemset);
    // A call that ran something recorded nothing, as of a stream that is not captured.
    for (Capture& capture : captures_) {
      std::erase_if(capture.recorded,
                    [&](const Recorded& each) { return ran_[static_cast<size_t>(each.call)]; });
    }
    std::ranges::sort(nodes_, {}, [](const Ran& node) {
      return std::tuple(node.launch, node.node, node.start_ns, node.stream);
    });
  }

  // Calls `join` with every node and its call. What it gives: launches joined, and not.
  template <typename Join>
  std::pair<int64_t, int64_t> ForEach(const Join& join) {
    std::vector<Launch> launches;
    for (size_t first = 0; first < nodes_.size();) {
      Launch launch{first, first, {}};
      while (launch.last < nodes_.size() && nodes_[launch.last].launch == nodes_[first].launch) ++launch.last;
      for (size_t i = 0; i < captures_.size(); ++i) {
        if (Fits(launch, captures_[i])) launch.fitting.push_back(i);
      }
      if (!launch.fitting.empty()) executables_[launch.fitting].push_back(nodes_[first].Executable());
      first = launch.last;
      launches.push_back(std::move(launch));
    }
    for (auto& [fitting, executables] : executables_) {
      std::ranges::sort(executables);
      executables.erase(std::unique(executables.begin(), executables.end()), executables.end());
    }
    std::pair<int64_t, int64_t> counts;
    for (const Launch& launch : launches) {
      const Capture* capture = Choose(launch);
      ++(capture == nullptr ? counts.second : counts.first);
      for (size_t i = launch.first; capture != nullptr && i < launch.last; ++i)
        join(nodes_[i], capture->recorded[i - launch.first].call);
    }
    return counts;
  }

 private:
  struct Launch {
    size_t first = 0, last = 0;   // its nodes
    std::vector<size_t> fitting;  // captures
  };

  template <typename T>
  void ReadNodes(Database& database, const T& from, Work work) {
    const auto add = [&](const auto& row, int64_t kernel) {
      const std::optional<int64_t> start = row[from.start];
      if (!start) return;
      const int call =
          index_.Find(row[from.global_pid].value_or(0), row[from.correlation].value_or(-1), *start);
      if (call < 0) return;
      ran_[static_cast<size_t>(call)] = true;
      if (!launches_graph_[static_cast<size_t>(call)]) return;
      nodes_.push_back({call, row[from.graph_node].value_or(-1), *start, row[from.stream], kernel, work});
    };
    if constexpr (requires { from.full_name; }) {
      ReadRows(database, from,
               {from.start, from.stream, from.correlation, from.global_pid, from.graph_node, from.full_name},
               [&](const auto& row) { add(row, row[from.full_name].value_or(kNoName)); });
    } else {
      ReadRows(database, from, {from.start, from.stream, from.correlation, from.global_pid, from.graph_node},
               [&](const auto& row) { add(row, kNoName); });
    }
  }

  bool Fits(const Launch& launch, const Capture& capture) const {
    const int64_t thread = run_.api_calls[static_cast<size_t>(nodes_[launch.first].launch)].global_tid;
    if (capture.process != GlobalPidOf(thread) || capture.recorded.size() != launch.last - launch.first)
      return false;
    bool ordered = true;  // by ids, by names or by one stream
    for (size_t i = launch.first; i < launch.last; ++i) {
      const Ran& node = nodes_[i];
      const Recorded& recorded = capture.recorded[i - launch.first];
      if (node.work != recorded.work) return false;
      const bool named = recorded.kernel != kNoName;
      if (named && recorded.kernel != node.kernel) return false;
      ordered = ordered && (named || node.node >= 0 || node.stream == nodes_[launch.first].stream);
    }
    return ordered;
  }

  // Null: none fits, or several that differ.
  const Capture* Choose(const Launch& launch) const {
    if (launch.fitting.empty()) return nullptr;
    const std::vector<int64_t>& executables = executables_.at(launch.fitting);
    if (executables.front() >= 0 && executables.size() == launch.fitting.size()) {
      const auto place = std::ranges::lower_bound(executables, nodes_[launch.first].Executable());
      return &captures_[launch.fitting[static_cast<size_t>(place - executables.begin())]];
    }
    const Capture& first = captures_[launch.fitting.front()];
    const bool same = std::ranges::all_of(
        launch.fitting, [&](size_t i) { return RangesOf(captures_[i]) == RangesOf(first); });
    return same ? &first : nullptr;
  }

  // Texts of the innermost ranges.
  std::vector<int> RangesOf(const Capture& capture) const {
    std::vector<int> texts;
    for (const Recorded& recorded : capture.recorded) {
      const int range = run_.api_calls[static_cast<size_t>(recorded.call)].range;
      texts.push_back(range < 0 ? -1 : run_.ranges[static_cast<size_t>(range)].text);
    }
    return texts;
  }

  const TraceRun& run_;
  std::vector<Capture> captures_;
  const ApiCallIndex index_;
  std::vector<bool> ran_, launches_graph_;  // by call
  std::vector<Ran> nodes_;
  std::map<std::vector<size_t>, std::vector<int64_t>> executables_;  // by the captures that they fit
};

}  // namespace

CapturedCalls::CapturedCalls(Database& database, const TraceRun& run) {
  if (run.ranges.empty()) return;
  const bool captures = std::ranges::any_of(
      run.api_calls, [&](const auto& call) { return Has(run.Text(call.name), "StreamBeginCapture"); });
  if (!captures) return;
  Matcher matcher(run, CaptureReader(database, run).Read());
  matcher.ReadWork(database);
  std::tie(joined_, unjoined_) = matcher.ForEach([&](const Ran& node, int call) {
    nodes_.push_back({node.launch, node.start_ns, node.stream, call});
  });
  std::ranges::sort(nodes_, {},
                    [](const Node& node) { return std::tuple(node.launch, node.start_ns, node.stream); });
}

int CapturedCalls::Find(int launch, int64_t start_ns, int64_t stream) const {
  const auto found = std::ranges::lower_bound(
      nodes_, std::tuple(launch, start_ns, stream), {},
      [](const Node& node) { return std::tuple(node.launch, node.start_ns, node.stream); });
  const bool known = found != nodes_.end() && found->launch == launch && found->start_ns == start_ns &&
                     (stream == kAnyStream || found->stream == stream);
  return known ? found->call : -1;
}

}  // namespace lanescope::traces
