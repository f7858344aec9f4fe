// SPDX-License-Identifier: Apache-2.0
#include "gui/model/run_data.h"

#include <algorithm>

namespace lanescope::gui {
namespace {

std::span<const uint32_t> RowOf(const Rows<uint32_t>& rows, int row) {
  return row < 0 || static_cast<size_t>(row) >= rows.size() ? std::span<const uint32_t>() : rows[row];
}

template <typename T>
size_t Bytes(const std::vector<T>& values) {
  return values.capacity() * sizeof(T);
}

}  // namespace

std::string_view RunKindName(RunKind kind) {
  switch (kind) {
    case RunKind::kHardware:
      return "hardware";
    case RunKind::kEmulated:
      return "emulated";
    case RunKind::kLaidOut:
      return "laid out";
    case RunKind::kSimulated:
      return "simulated";
    case RunKind::kWhatIf:
      return "what-if";
  }
  return "";
}

std::string_view LaneRoleName(LaneRole role) {
  switch (role) {
    case LaneRole::kAnnotation:
      return "annotations";
    case LaneRole::kCompute:
      return "compute";
    case LaneRole::kCopyIn:
      return "copy in";
    case LaneRole::kCopyOut:
      return "copy out";
    case LaneRole::kCopyWithin:
      return "copy within";
    case LaneRole::kMemory:
      return "memory";
    case LaneRole::kLink:
      return "link";
    case LaneRole::kQueueFill:
      return "queue";
    case LaneRole::kThread:
      return "thread";
  }
  return "";
}

int Lane::RowOf(uint32_t slice) const {
  const auto after = std::upper_bound(rows.begin(), rows.end(), slice,
                                      [](uint32_t value, const SliceRow& row) { return value < row.begin; });
  return static_cast<int>(after - rows.begin()) - 1;
}

bool RunData::out_of_memory() const {
  return std::any_of(devices.begin(), devices.end(), [](const RunDevice& device) {
    return device.memory_limit > 0 && device.peak_bytes > device.memory_limit;
  });
}

std::span<const uint32_t> RunData::Successors(int command) const { return RowOf(successors, command); }
std::span<const uint32_t> RunData::Predecessors(int command) const { return RowOf(predecessors, command); }
std::span<const uint32_t> RunData::SlicesOf(int command) const { return RowOf(slices_of_command, command); }

int64_t RunData::FindSlice(int command, int step) const {
  const auto slices = SlicesOf(command);
  if (slices.empty()) return -1;
  const Lane& lane = lanes[static_cast<size_t>(commands[static_cast<size_t>(command)].lane)];
  const auto found = std::lower_bound(slices.begin(), slices.end(), step,
                                      [&](uint32_t slice, int value) { return lane.step[slice] < value; });
  return found == slices.end() || lane.step[*found] != step ? -1 : static_cast<int64_t>(*found);
}

int32_t RunData::CallOf(const Lane& lane, uint32_t slice) const {
  const std::vector<int32_t>& call = lane.call;
  if (slice >= call.size() || call[slice] < 0 || static_cast<size_t>(call[slice]) >= calls.size()) return -1;
  return call[slice];
}
int32_t RunData::CallOf(int lane, uint32_t slice) const {
  return CallOf(lanes[static_cast<size_t>(lane)], slice);
}

int32_t RunData::OriginOf(const Lane& lane, uint32_t slice) const {
  const int32_t call = CallOf(lane, slice);
  if (call < 0 || lane.role == LaneRole::kThread) return call;
  const int recorded = captured.Find(call, lane.start_ns[slice], traces::CapturedCalls::kAnyStream);
  return recorded >= 0 && static_cast<size_t>(recorded) < calls.size() ? recorded : call;
}

int RunData::FindOp(std::string_view name) const {
  const auto found = std::lower_bound(
      ops_by_name.begin(), ops_by_name.end(), name,
      [&](int op, std::string_view value) { return ops[static_cast<size_t>(op)].name < value; });
  return found == ops_by_name.end() || ops[static_cast<size_t>(*found)].name != name ? -1 : *found;
}

int RunData::MedianStep() const {
  std::vector<int> order;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].counts) order.push_back(static_cast<int>(i));
  }
  if (order.empty()) return -1;
  const auto length = [&](int i) {
    return steps[static_cast<size_t>(i)].end_ns - steps[static_cast<size_t>(i)].start_ns;
  };
  const auto middle = order.begin() + static_cast<ptrdiff_t>((order.size() - 1) / 2);
  std::nth_element(order.begin(), middle, order.end(),
                   [&](int a, int b) { return std::pair(length(a), a) < std::pair(length(b), b); });
  return *middle;
}

size_t RunData::MemoryBytes() const {
  size_t bytes = Bytes(commands) + Bytes(steps) + Bytes(ops);
  for (const Rows<uint32_t>* rows : {&successors, &predecessors, &slices_of_command}) {
    bytes += Bytes(rows->first) + Bytes(rows->items);
  }
  bytes += Bytes(calls) + Bytes(launched.first) + Bytes(launched.items);
  for (const OpEntry& entry : ops) bytes += entry.name.capacity() + entry.op.capacity();
  for (const Lane& lane : lanes) {
    bytes += sizeof(Lane) + Bytes(lane.start_ns) + Bytes(lane.end_ns) + Bytes(lane.op) + Bytes(lane.command) +
             Bytes(lane.step) + Bytes(lane.bytes) + Bytes(lane.route) + Bytes(lane.call) + Bytes(lane.rows) +
             Bytes(lane.counter_time_ns) + Bytes(lane.counter_value) + lane.counter.MemoryBytes();
    for (const SliceRow& row : lane.rows) bytes += row.summary.MemoryBytes();
  }
  return bytes;
}

}  // namespace lanescope::gui
