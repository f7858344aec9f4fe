// SPDX-License-Identifier: Apache-2.0
#include "traces/import/graph_capture.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/error.h"
#include "traces/import/import_workers.h"
#include "traces/store/capture_times.h"

namespace lanescope::traces {
namespace {

using Kind = ImportEvent::Kind;

// The calls that make nodes of a trace's graphs, and when they began.
class CaptureCalls {
 public:
  explicit CaptureCalls(const ImportTrace& trace) : trace_(trace) {
    trace.events.ForEach([&](const ImportEvent& event) {
      if (event.kind == Kind::kApiCall)
        times_[event.pid].AddCall(NameOf(event), event.start_ns, event.end_ns);
    });
    trace.events.ForEach([&](const ImportEvent& event) {
      if (MakesNode(event)) starts_[{event.pid, event.tid}].push_back(event.start_ns);
    });
    for (auto& [thread, starts] : starts_) std::ranges::sort(starts);
  }

  bool empty() const { return starts_.empty(); }
  bool Keeps(const ImportEvent& event) {
    if (event.kind == Kind::kApiCall) return CapturesStream(NameOf(event)) || MakesNode(event);
    if (event.kind != Kind::kRange) return false;
    const auto of_thread = starts_.find({event.pid, event.tid});
    if (of_thread == starts_.end()) return false;
    const auto first = std::ranges::lower_bound(of_thread->second, event.start_ns);
    return first != of_thread->second.end() && *first <= event.end_ns;
  }

 private:
  const std::string& NameOf(const ImportEvent& event) const {
    return trace_.names[static_cast<size_t>(event.name)];
  }
  bool MakesNode(const ImportEvent& event) {
    return event.kind == Kind::kApiCall && MakesGraphNode(NameOf(event)) &&
           times_[event.pid].Hold(event.start_ns);
  }

  const ImportTrace& trace_;
  std::map<int64_t, CaptureTimes> times_;                               // by process
  std::map<std::pair<int64_t, int64_t>, std::vector<int64_t>> starts_;  // by process and thread
};

}  // namespace

void KeepCapture(const std::string& file, const ImportTrace& of, ImportTrace* capture) {
  CaptureCalls calls(*capture);
  if (calls.empty()) {
    Throw(Code::kInvalidArgument,
          "{} records no CUDA graph: no call is made while a stream is captured; name the trace of the "
          "capture",
          file);
  }
  Spool<ImportEvent> kept;
  int64_t end_ns = INT64_MIN;
  capture->events.ForEach([&](const ImportEvent& event) {
    if (!calls.Keeps(event)) return;
    ImportEvent mine = event;
    if (of.process >= 0) mine.pid = of.process;
    kept.push_back(mine);
    end_ns = std::max(end_ns, event.end_ns);
  });
  ImportTrace whole = std::exchange(*capture, ImportTrace());
  capture->events = std::move(kept);
  capture->names = std::move(whole.names);
  capture->operators = std::move(whole.operators);
  capture->format = whole.format;
  capture->rank = of.rank;
  capture->host = of.host;
  capture->process = of.process;
  capture->clock_ahead_ns = of.clock_ahead_ns;
  capture->base_ns = SpanOf(of).start_ns + of.clock_ahead_ns - end_ns;
}

}  // namespace lanescope::traces
