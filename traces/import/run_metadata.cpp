// SPDX-License-Identifier: Apache-2.0
// Field numbers are those of TensorFlow's config.proto (RunMetadata) and step_stats.proto.
#include "traces/import/run_metadata.h"

#include <filesystem>

#include "core/base/error.h"
#include "core/base/file.h"
#include "traces/import/tensorflow_devices.h"
#include "traces/import/wire_message.h"

namespace lanescope::traces {
namespace {

constexpr int kStepStats = 1;                   // of RunMetadata
constexpr int kDevStats = 1;                    // of StepStats
constexpr int kDeviceName = 1, kNodeStats = 2;  // of DeviceStepStats
constexpr int64_t kMostMicroseconds = kMaxImportNs / 1000;

// NodeExecStats.
struct NodeStats {
  std::string_view name, label;
  int64_t start_us = 0, op_start_us = 0, op_end_us = 0, all_end_us = 0, thread = 0;
  int64_t start_ns = 0, op_start_ns = 0, op_end_ns = 0, all_end_ns = 0;
};

NodeStats ReadNodeStats(WireMessage message) {
  NodeStats node;
  while (message.Next()) {
    switch (message.field()) {
      case 1:
        node.name = message.Bytes();
        break;
      case 2:
        node.start_us = message.Integer();
        break;
      case 3:
        node.op_start_us = message.Integer();
        break;
      case 4:
        node.op_end_us = message.Integer();
        break;
      case 5:
        node.all_end_us = message.Integer();
        break;
      case 8:
        node.label = message.Bytes();
        break;
      case 10:
        node.thread = message.Integer();
        break;
      case 13:
        node.start_ns = message.Integer();
        break;
      case 14:
        node.op_start_ns = message.Integer();
        break;
      case 15:
        node.op_end_ns = message.Integer();
        break;
      case 16:
        node.all_end_ns = message.Integer();
        break;
      default:
        break;
    }
  }
  return node;
}

bool IsMicroseconds(int64_t us) { return us > -kMostMicroseconds && us < kMostMicroseconds; }

// The op's own time, in ns where the file has them. False: it has none.
bool TimesOf(const NodeStats& node, TensorFlowRow* row) {
  const bool fine = node.start_ns != 0;
  if (!fine && !(IsMicroseconds(node.start_us) && IsMicroseconds(node.op_start_us) &&
                 IsMicroseconds(node.op_end_us) && IsMicroseconds(node.all_end_us)))
    return false;
  const int64_t unit = fine ? 1 : 1000;
  const int64_t all = unit * (fine ? node.start_ns : node.start_us);
  const int64_t from = unit * (fine ? node.op_start_ns : node.op_start_us);
  int64_t until = unit * (fine ? node.op_end_ns : node.op_end_us);
  if (until == 0) until = unit * (fine ? node.all_end_ns : node.all_end_us);
  if (!UsableTimes(all, 0) || !UsableTimes(0, from) || !UsableTimes(0, until) || until < from) return false;
  row->start_ns = all + from;
  row->length_ns = until - from;
  return UsableTimes(row->start_ns, row->length_ns);
}

// Names are those of the file; "_SOURCE" and the like run nothing.
void ReadDevice(WireMessage message, const std::atomic<bool>* cancelled, ImportTrace* trace,
                TensorFlowRows* rows) {
  std::string_view device;
  std::vector<std::string_view> nodes;
  while (message.Next()) {
    if (message.field() == kDeviceName) device = message.Bytes();
    if (message.field() != kNodeStats) continue;
    CheckImportGoesOn(cancelled);
    TensorFlowRow row;
    const NodeStats node = ReadNodeStats(message.Nested());
    row.device = device;
    row.name = node.name;
    row.label = node.label;
    row.thread = node.thread;
    if (node.name.empty() || !TimesOf(node, &row)) {
      ++trace->skipped;
      continue;
    }
    rows->Add(row);
  }
}

// The head of a file ends within the first message, so only where that begins is looked at: lengths that fit
// into the file, and a device's name. A NodeDef, the first of a GraphDef, begins with a text; taken for a
// message, that has no such fields.
bool BeginsRunMetadata(std::string_view head, uint64_t size) {
  const auto open = [&](int field) -> bool {
    if (head.empty() || head.front() != static_cast<char>(field << 3 | 2)) return false;
    head.remove_prefix(1);
    uint64_t length = 0;
    for (int shift = 0; shift < 35 && !head.empty(); shift += 7) {
      const auto byte = static_cast<uint8_t>(head.front());
      head.remove_prefix(1);
      length |= uint64_t{byte & 0x7fu} << shift;
      if (byte >= 0x80) continue;
      if (length > size) return false;
      size = length;
      return true;
    }
    return false;
  };
  if (!open(kStepStats) || !open(kDevStats) || !open(kDeviceName)) return false;
  const std::string_view name = head.substr(0, size);
  return name.starts_with('/') && name.find(':') != std::string_view::npos;
}

}  // namespace

ImportEvent TensorFlowRows::EventOf(const TensorFlowRow& row, std::string_view name) {
  ImportEvent event;
  event.start_ns = row.start_ns;
  event.end_ns = row.start_ns + row.length_ns;
  event.pid = 1;
  event.tid = row.thread;
  event.name = names_.Intern(name);
  return event;
}

int64_t TensorFlowRows::HostOf(std::string_view device) {
  const auto found = hosts_.find(device);
  if (found != hosts_.end()) return found->second;
  const auto number = static_cast<int64_t>(trace_.hosts.size());
  trace_.hosts.emplace_back(device);
  hosts_.emplace(device, number);
  return number;
}

ImportEvent TensorFlowRows::OnGpu(const TensorFlowRow& row, int64_t gpu, int64_t stream) {
  CopyEnds ends = ParseTensorFlowCopy(row.label);
  if (ends.kind == 0) ends = ParseTensorFlowCopy(row.name);
  ImportLaunch launch;
  const std::string_view kernel = KernelOfLabel(row.label.empty() ? row.name : row.label, &launch);
  ImportEvent event = EventOf(row, ends.kind > 0 ? row.name : kernel);
  event.device = gpu;
  event.stream = stream;
  event.pid = event.tid = 0;
  if (ends.kind > 0) {
    event.kind = ImportEvent::Kind::kCopy;
    event.ends = ends;
    event.bytes = std::max(NumberAfter(row.label, " size:"), NumberAfter(row.label, " num_bytes:"));
  } else {
    event.kind = ImportEvent::Kind::kKernel;
    event.brief = names_.Intern(row.name);
    if (launch.grid[0] > 0) {
      event.launch = static_cast<int>(trace_.launches.size());
      trace_.launches.push_back(launch);
    }
  }
  return event;
}

void TensorFlowRows::Add(const TensorFlowRow& row) {
  using Rows = TensorFlowDevice::Rows;
  const TensorFlowDevice device = ParseTensorFlowDevice(row.device);
  switch (device.rows) {
    case Rows::kStream: {
      const ImportEvent event = OnGpu(row, device.gpu, device.stream);
      (event.kind == ImportEvent::Kind::kCopy ? copies_ : kernels_)[device.gpu].told = true;
      return trace_.events.push_back(event);
    }
    case Rows::kAllStreams:
      return kernels_[device.gpu].events.push_back(OnGpu(row, device.gpu, 0));
    case Rows::kCopies:
      return copies_[device.gpu].events.push_back(OnGpu(row, device.gpu, 0));
    case Rows::kScheduled:
    case Rows::kSync: {
      ImportEvent event = EventOf(row, row.name);
      if (device.rows == Rows::kSync) event.kind = ImportEvent::Kind::kApiCall;
      return trace_.events.push_back(event);
    }
    case Rows::kOther:
      break;
  }
  ImportEvent event = EventOf(row, row.name);
  const std::string_view op = row.op.empty() ? OpOfLabel(row.label) : row.op;
  event.kind = ImportEvent::Kind::kKernel;
  event.on_host = true;
  event.device = HostOf(row.device.empty() ? std::string_view("device:CPU:0") : row.device);
  event.stream = row.thread & 0x7fffffff;
  if (!op.empty()) event.brief = names_.Intern(op);
  trace_.events.push_back(event);
}

void TensorFlowRows::Finish() {
  for (const auto* doubled : {&kernels_, &copies_}) {
    for (const auto& [gpu, rows] : *doubled) {
      if (rows.told) continue;
      for (const ImportEvent& event : rows.events) trace_.events.push_back(event);
    }
  }
}

bool IsRunMetadata(const ForeignFile& file) {
  if (!file.name.ends_with(".pb") && !file.name.ends_with(".run_metadata")) return false;
  std::error_code error;
  const auto size = std::filesystem::file_size(file.path, error);
  return !error && BeginsRunMetadata(file.Head(), size);
}

ImportTrace ReadRunMetadata(const ImportSource& source) {
  const std::string& path = source.path;
  const std::string bytes = ReadFile(path);
  ImportTrace trace;
  trace.format = "TensorFlow's RunMetadata";
  TensorFlowRows rows(&trace);
  WireMessage metadata(bytes, &path);
  bool has_stats = false;
  while (metadata.Next()) {
    if (metadata.field() != kStepStats) {
      trace.LeaveOut(metadata.field() == 3 ? "partition graphs" : "parts of RunMetadata without times");
      continue;
    }
    has_stats = true;
    WireMessage stats = metadata.Nested();
    while (stats.Next()) {
      if (stats.field() == kDevStats) ReadDevice(stats.Nested(), source.cancelled, &trace, &rows);
    }
  }
  rows.Finish();
  if (!has_stats || (trace.events.empty() && trace.skipped == 0)) {
    Throw(Code::kInvalidArgument,
          "{} has no step statistics; record them with RunOptions(trace_level=RunOptions.FULL_TRACE)", path);
  }
  return trace;
}

}  // namespace lanescope::traces
