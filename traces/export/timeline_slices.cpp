// SPDX-License-Identifier: Apache-2.0
#include "traces/export/timeline_slices.h"

#include <fmt/core.h>

#include "core/base/printable.h"
#include "core/runs/run_view.h"
#include "traces/read/activity_names.h"

namespace lanescope::traces {
namespace {

constexpr int64_t kAfterStreams = INT64_MAX;  // where a device's tracks of messages stand

}  // namespace

void TimelineSlices::Begin(const TraceRun& run) {
  run_ = &run;
  names_ = std::make_unique<TrackNames>(run);
  for (const TraceNode& node : run.nodes) nodes_.emplace(node.id, &node);
}

int TimelineSlices::Text(std::string text) {
  own_texts_.push_back(std::move(text));
  return kOwnTexts + static_cast<int>(own_texts_.size()) - 1;
}

// A text that repeats.
int TimelineSlices::Shared(const std::string& text) {
  const auto [entry, is_new] = shared_.try_emplace(text, 0);
  if (is_new) entry->second = Text(Printable(text));
  return entry->second;
}

int TimelineSlices::RangeText(int range) const {
  return range < 0 ? -1 : run_->ranges[static_cast<size_t>(range)].text;
}

bool TimelineSlices::Communicates(int text) {
  if (text < 0) return false;
  if (static_cast<size_t>(text) >= communicates_.size()) communicates_.resize(run_->texts.size(), -1);
  signed char& answer = communicates_[static_cast<size_t>(text)];
  if (answer < 0) answer = IsCommunication(run_->Text(text)) ? 1 : 0;
  return answer != 0;
}

void TimelineSlices::AddSteps() {
  for (const TraceStep& step : run_->steps) {
    Timeline::Slice slice{SliceKind::kStep, step.start_ns, step.end_ns};
    slice.name = Text(fmt::format("step {}{}", step.step, step.counts ? "" : " (disturbed)"));
    slice.step = step.step;
    Keep({TrackKey::Group::kSteps, 0, 0}, slice);
  }
}

void TimelineSlices::AddRanges() {
  for (const TraceRange& range : run_->ranges) {
    Timeline::Slice slice{SliceKind::kRange, range.start_ns, range.end_ns};
    slice.name = NameOr(range.text, "no text");
    if (range.details >= 0) slice.signature = run_->operators[static_cast<size_t>(range.details)].shapes;
    Keep({TrackKey::Group::kHost, GlobalPidOf(range.global_tid), range.process_wide ? -1 : range.global_tid},
         slice);
  }
}

void TimelineSlices::AddAnnotations() {
  for (const TraceDeviceRange& range : run_->device_ranges) {
    Timeline::Slice slice{SliceKind::kRange, range.start_ns, range.end_ns};
    slice.name = NameOr(range.text, "no text");
    slice.counted = range.counted;
    Keep({TrackKey::Group::kDevice, range.device, range.stream, TrackKey::Of::kAnnotations}, slice);
  }
}

void TimelineSlices::Call(const TraceApiCall& call) {
  Timeline::Slice slice{SliceKind::kApiCall, call.start_ns, call.end_ns};
  slice.name = NameOr(call.name, "no name");
  slice.step = call.step;
  slice.range = RangeText(call.range);
  KeepCall(Keep({TrackKey::Group::kHost, GlobalPidOf(call.global_tid), call.global_tid}, slice));
}

// The number of its slice.
template <typename Activity>
int TimelineSlices::AddActivity(const Activity& activity, Timeline::Slice* slice) {
  slice->start_ns = activity.start_ns;
  slice->end_ns = activity.end_ns;
  slice->step = activity.step;
  slice->signature = activity.signature;
  slice->range = RangeText(activity.range);
  const int number = Keep({TrackKey::Group::kDevice, activity.device, activity.stream}, *slice);
  KeepCause(number, {activity.api, activity.step, activity.schedule, activity.command});
  return number;
}

void TimelineSlices::Launch(const TraceLaunch& launch, const TraceCollective* moved) {
  Timeline::Slice slice;
  if (moved != nullptr) {
    if (moved->bytes > 0) slice.bytes = moved->bytes;
    slice.collective = moved->kind;
    slice.group = moved->group;
    slice.src_rank = moved->src_rank;
    slice.dst_rank = moved->dst_rank;
  }
  slice.name = NameOr(launch.name, "no name");
  const bool communication = Communicates(launch.name) || Communicates(launch.op);
  if (communication) slice.kind = SliceKind::kCommunication;
  if (launch.op != launch.name) slice.op = launch.op;
  names_->Note(launch.device, launch.stream, communication);
  AddActivity(launch, &slice);
}

int TimelineSlices::CopyName(const TraceCopy& copy) {
  const auto node = nodes_.find(copy.node);
  const bool of_node = node != nodes_.end();
  const auto [entry, is_new] = copy_names_.try_emplace(
      std::tuple(of_node ? copy.node : -1, of_node ? 0 : copy.kind, copy.src, copy.dst), 0);
  if (is_new) {
    entry->second =
        Shared(fmt::format("{} {} -> {}", of_node ? node->second->name : NvprofCopyName(copy.kind),
                           run_->DeviceLabel(copy.src), run_->DeviceLabel(copy.dst)));
  }
  return entry->second;
}

void TimelineSlices::Copy(const TraceCopy& copy) {
  names_->Note(copy.device, copy.stream, false);
  Timeline::Slice slice{SliceKind::kCopy};
  slice.name = CopyName(copy);
  if (copy.bytes > 0 || !run_->commands.empty()) slice.bytes = copy.bytes;
  slice.copy_class = copy.copy_class;
  const int number = AddActivity(copy, &slice);
  AddOtherEnd(copy, slice, number);
}

// Adds a copy between tasks to that task of the two whose device does not carry it out.
void TimelineSlices::AddOtherEnd(const TraceCopy& copy, Timeline::Slice slice, int number) {
  const int from = TaskOf(copy.src), to = TaskOf(copy.dst);
  if (from == to || from < 0 || to < 0) return;
  const bool sent = TaskOf(copy.device) == to;
  slice.kind = SliceKind::kMessage;
  const int other = Keep({TrackKey::Group::kDevice, sent ? copy.src : copy.dst, kAfterStreams,
                          sent ? TrackKey::Of::kSent : TrackKey::Of::kReceived},
                         slice);
  sent ? KeepMessage(other, number) : KeepMessage(number, other);
}

void TimelineSlices::Memset(const TraceMemset& memset) {
  names_->Note(memset.device, memset.stream, false);
  Timeline::Slice slice{SliceKind::kMemset};
  slice.name = Shared(std::string(kMemsetName));
  slice.bytes = memset.bytes;
  AddActivity(memset, &slice);
}

}  // namespace lanescope::traces
