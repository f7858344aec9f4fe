// SPDX-License-Identifier: Apache-2.0
#include "traces/import/xla_viewer.h"

#include <algorithm>
#include <string>

#include "traces/import/kineto_fields.h"

namespace lanescope::traces {

bool XlaViewerEvents::Add(const ChromeEvent& event) {
  const auto pid = JsonId(event, "pid"), tid = JsonId(event, "tid");
  if (!pid || !tid) return false;
  const XlaLine* line = LineOf(*pid, *tid);
  if (line == nullptr) return false;
  if (line->use == XlaLine::Use::kNone) {
    trace_.LeaveOut(line->unused);
    return true;
  }
  const auto start = JsonNanoseconds(event, "ts"), length = JsonNanoseconds(event, "dur");
  const auto name = JsonText(event, "name");
  if (!start || !length || *length < 0 || !name) {
    ++trace_.skipped;
    return true;
  }
  XlaFacts facts;
  event.args.ForEach([&](std::string_view key, const JsonValue& value) {
    facts.Add(key, IdOfText(value.text).value_or(-1), value.text);
  });
  ImportEvent result;
  result.start_ns = *start;
  result.end_ns = *start + *length;
  if (xla_.Describe(*line, *name, facts, &result)) events_.Add(result);
  ++added_;
  return true;
}

const XlaLine* XlaViewerEvents::LineOf(int64_t pid, int64_t tid) {
  if (!planes_) TakePlanes();
  const auto plane = planes_->find(pid);
  if (plane == planes_->end()) return nullptr;
  const auto known = lines_.find({pid, tid});
  if (known != lines_.end()) return &known->second;
  const auto name = thread_names_.find({pid, tid});
  const std::string text =
      name == thread_names_.end() ? std::string() : trace_.names[static_cast<size_t>(name->second)];
  return &lines_.emplace(std::pair(pid, tid), xla_.Line(plane->second, tid, text)).first->second;
}

// A plane is no process of the trace, and its lines get other numbers.
void XlaViewerEvents::TakePlanes() {
  planes_.emplace();
  std::erase_if(trace_.processes, [&](const ImportProcess& process) {
    const std::string name = trace_.names[static_cast<size_t>(process.name)];
    if (!name.starts_with("/device:") && !name.starts_with("/host:")) return false;
    if (!planes_->contains(process.pid)) planes_->emplace(process.pid, xla_.Plane(name));
    return true;
  });
  std::erase_if(trace_.threads, [&](const ImportThread& thread) {
    if (!planes_->contains(thread.pid)) return false;
    thread_names_.emplace(std::pair(thread.pid, thread.tid), thread.name);
    return true;
  });
}

void XlaViewerEvents::Finish() {
  if (added_ == 0) return;
  trace_.format = "XLA's trace viewer";
  for (const ImportEvent& step : xla_.TakeSteps()) events_.Add(step);
  // XLA drops the shortest beyond that.
  constexpr int64_t kMostWritten = 1'000'000;
  if (added_ >= kMostWritten) {
    trace_.notes.emplace_back(
        "the viewer's file holds a million events at most, the longest; the .xplane.pb beside it has all");
  }
}

}  // namespace lanescope::traces
