// SPDX-License-Identifier: Apache-2.0
// Field numbers are those of xplane.proto.
#include "traces/import/xplane_trace.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "core/base/error.h"
#include "core/base/file.h"
#include "traces/import/early_events.h"
#include "traces/import/tensorflow_devices.h"
#include "traces/import/wire_message.h"

namespace lanescope::traces {
namespace {

using Kind = ImportEvent::Kind;
using Texts = std::unordered_map<int64_t, std::string_view>;

// The subject of a plane.
enum class Plane { kGpu, kAccelerator, kCalls, kThreads, kOther };

Plane PlaneOf(std::string_view name) {
  if (name.starts_with("/device:GPU:")) return Plane::kGpu;
  if (name.starts_with("/device:") && !name.starts_with("/device:CUSTOM:")) return Plane::kAccelerator;
  if (name == "/host:CUPTI" || name == "/host:ROCTRACER") return Plane::kCalls;
  return name == "/host:CPU" || name == "/host:python-tracer" ? Plane::kThreads : Plane::kOther;
}

// An entry of map<int64, X*Metadata>.
void AddName(WireMessage entry, Texts* names) {
  int64_t key = 0;
  std::string_view name;
  while (entry.Next()) {
    if (entry.field() == 1) key = entry.Integer();
    if (entry.field() != 2) continue;
    WireMessage metadata = entry.Nested();
    while (metadata.Next()) {
      if (metadata.field() == 2) name = metadata.Bytes();
    }
  }
  names->insert_or_assign(key, name);
}

std::string_view Find(const Texts& texts, int64_t key) {
  const auto found = texts.find(key);
  return found == texts.end() ? std::string_view() : found->second;
}

// The statistics of an event.
struct Facts {
  int64_t correlation = -1, step = -1, step_id = -1, device = -1, graph = -1, graph_node = -1;
  std::string_view kernel, copy, op;
};

// A statistic of an event, or of a plane.
struct Stat {
  std::string_view name, text;
  int64_t number = 0;
};

// The prefix of a kernel that a graph launched: XLA knows of it no more than that it is one of its own.
constexpr std::string_view kOfModule = "XlaModule:";
constexpr std::string_view kEnvironment = "Task Environment";

class XPlaneReader {
 public:
  XPlaneReader(const std::string& path, const std::atomic<bool>* cancelled)
      : path_(path), cancelled_(cancelled), names_(&trace_) {
    trace_.format = "XPlane";
  }

  ImportTrace Read(std::string_view bytes) {
    WireMessage space(bytes, &path_);
    while (space.Next()) {
      if (space.field() == 1) ReadPlane(space.Nested());
      if (space.field() == 4 && trace_.host.empty()) trace_.host = space.Text();
    }
    // Times are behind the start of the profile, or since 1970 as that is.
    if (early_.first_ns() < profile_start_ns_ / 2) trace_.base_ns = UsableBase(profile_start_ns_);
    early_.Finish();
    if (trace_.events.empty() && trace_.skipped == 0)
      Throw(Code::kInvalidArgument, "{} holds no events of devices or threads", path_);
    return std::move(trace_);
  }

 private:
  void ReadPlane(WireMessage plane) {
    event_names_.clear();
    stat_names_.clear();
    std::string_view name;
    std::vector<WireMessage> lines, stats;
    while (plane.Next()) {
      if (plane.field() == 2) name = plane.Bytes();
      if (plane.field() == 6) stats.push_back(plane.Nested());
      if (plane.field() == 3) lines.push_back(plane.Nested());
      if (plane.field() == 4) AddName(plane.Nested(), &event_names_);
      if (plane.field() == 5) AddName(plane.Nested(), &stat_names_);
    }
    plane_ = PlaneOf(name);
    if (plane_ == Plane::kGpu) device_ = ParseTensorFlowDevice(name).gpu;
    if (plane_ == Plane::kAccelerator) {
      device_ = static_cast<int64_t>(trace_.hosts.size());
      trace_.hosts.emplace_back(name);
    }
    for (const WireMessage& line : lines) ReadLine(line, name);
    for (const WireMessage& each : stats) {
      const Stat stat = StatOf(each);
      if (name == kEnvironment && stat.name == "profile_start_time") profile_start_ns_ = stat.number;
    }
  }

  void ReadLine(WireMessage line, std::string_view plane_name) {
    int64_t id = 0, begin_ns = 0;
    std::string_view name;
    std::vector<WireMessage> events;
    while (line.Next()) {
      if (line.field() == 1) id = line.Integer();
      if (line.field() == 2) name = line.Bytes();
      if (line.field() == 3) begin_ns = line.Integer();
      if (line.field() == 4) events.push_back(line.Nested());
    }
    // Other lines of a device say what its streams say, grouped by step, module or name.
    const bool told = (plane_ == Plane::kGpu && !name.empty() && !name.starts_with("Stream")) ||
                      (plane_ == Plane::kAccelerator && name.find("XLA Ops") == std::string_view::npos);
    if (plane_ == Plane::kOther || told) {
      if (!events.empty())
        trace_.LeaveOut(std::string(told ? name : plane_name).substr(0, 60),
                        static_cast<int64_t>(events.size()));
      return;
    }
    if ((plane_ == Plane::kThreads || plane_ == Plane::kCalls) && !name.empty() && !events.empty())
      trace_.threads.push_back({kProcess, id, names_.Intern(name)});
    beside_core_ = plane_ == Plane::kAccelerator && name.find("Async") != std::string_view::npos;
    for (const WireMessage& event : events) {
      CheckImportGoesOn(cancelled_);
      AddEvent(event, id, begin_ns);
    }
  }

  Stat StatOf(WireMessage message) const {
    Stat stat;
    int64_t key = 0;
    while (message.Next()) {
      if (message.field() == 1) key = message.Integer();
      if (message.field() == 3 || message.field() == 4) stat.number = message.Integer();
      if (message.field() == 5) stat.text = message.Bytes();
      if (message.field() == 7) stat.text = Find(stat_names_, message.Integer());
    }
    stat.name = Find(stat_names_, key);
    return stat;
  }

  void AddFact(const Stat& stat, Facts* facts) const {
    const auto [name, text, number] = stat;
    if (name == "correlation_id" && number > 0) facts->correlation = number;
    if (name == "step_num") facts->step = number;
    if (name == "step_id") facts->step_id = number;
    if (name == "device_ordinal") facts->device = number;
    if (name == "cuda_graph_id" && number > 0) facts->graph = number;
    if (name == "cuda_graph_node_id" && number > 0) facts->graph_node = number;
    if (name == "kernel_details") facts->kernel = text;
    if (name == "memcpy_details") facts->copy = text;
    if (name == "tf_op" && !text.ends_with(kOfModule)) facts->op = text;
  }

  void AddEvent(WireMessage message, int64_t line, int64_t begin_ns) {
    int64_t metadata = 0, offset_ps = 0, length_ps = 0;
    bool timed = true;
    Facts facts;
    while (message.Next()) {
      if (message.field() == 1) metadata = message.Integer();
      if (message.field() == 2) offset_ps = message.Integer();
      if (message.field() == 3) length_ps = message.Integer();
      if (message.field() == 4) AddFact(StatOf(message.Nested()), &facts);
      if (message.field() == 5) timed = false;  // a count, of no time
    }
    const std::string_view name = Find(event_names_, metadata);
    constexpr int64_t kMostPs = int64_t{1} << 62;
    const bool usable = timed && !name.empty() && UsableTimes(begin_ns, 0) && offset_ps > -kMostPs &&
                        offset_ps < kMostPs && length_ps >= 0 && length_ps < kMostPs;
    const int64_t start_ns = usable ? begin_ns + offset_ps / 1000 : 0;
    if (!usable || !UsableTimes(start_ns, length_ps / 1000)) {
      ++trace_.skipped;
      return;
    }
    ImportEvent event;
    event.start_ns = start_ns;
    event.end_ns = begin_ns + (offset_ps + length_ps) / 1000;
    event.correlation = facts.correlation;
    event.graph = facts.graph;
    event.graph_node = facts.graph_node;
    event.pid = kProcess;
    event.tid = line;
    Describe(name, facts, line, &event);
    early_.Add(event);
  }

  void Describe(std::string_view name, const Facts& facts, int64_t line, ImportEvent* event) {
    if (plane_ == Plane::kThreads || plane_ == Plane::kCalls) return DescribeOnHost(name, facts, line, event);
    event->kind = Kind::kKernel;
    event->device = device_;
    event->on_host = plane_ == Plane::kAccelerator;
    event->stream = line;
    event->name = names_.Intern(name);
    if (!facts.op.empty()) event->brief = names_.Intern(facts.op);
    // Moves of data beside the core of a TPU.
    if (beside_core_) {
      event->kind = Kind::kCopy;
      event->ends = {kWithinDevice, kDeviceMemory, kDeviceMemory};
    }
    if (!facts.copy.empty() && plane_ == Plane::kGpu) {
      event->kind = Kind::kCopy;
      event->ends = ParseTensorFlowCopy(name);
      event->bytes = NumberAfter(facts.copy, "size:");
      if (event->ends.kind == kBetweenDevices && facts.copy.find(kTo) != std::string_view::npos) {
        event->src_device = device_;
        event->dst_device = std::min<int64_t>(NumberAfter(facts.copy, kTo), INT32_MAX);
      }
    }
    if (facts.kernel.empty()) return;
    ImportLaunch launch;
    KernelOfLabel(fmt::format(" {}", facts.kernel), &launch);
    event->launch = static_cast<int>(trace_.launches.size());
    trace_.launches.push_back(launch);
  }

  // CUPTI's calls have a plane of their own, or stand among what threads annotate, as those with correlation
  // ids; so do the ops of a CPU, which name their device.
  void DescribeOnHost(std::string_view name, const Facts& facts, int64_t line, ImportEvent* event) {
    event->name = names_.Intern(name);
    if (plane_ == Plane::kCalls || facts.correlation > 0) {
      event->kind = Kind::kApiCall;
    } else if (facts.device >= 0) {
      event->kind = Kind::kKernel;
      event->on_host = true;
      event->device = CpuOf(facts.device);
      event->stream = line;
      if (!facts.op.empty()) event->brief = names_.Intern(facts.op);
    } else {
      const bool has_id = facts.step_id >= 0 && name.find("step") != std::string_view::npos;
      const int64_t step = facts.step >= 0 ? facts.step : has_id ? facts.step_id : -1;
      if (step >= 0) event->name = names_.Intern(fmt::format("step {}", step));
    }
  }

  int64_t CpuOf(int64_t ordinal) {
    const auto [entry, is_new] = cpus_.try_emplace(ordinal, std::ssize(trace_.hosts));
    if (is_new) trace_.hosts.push_back(fmt::format("/device:CPU:{}", ordinal));
    return entry->second;
  }

  static constexpr int64_t kProcess = 1;  // all planes are of one
  static constexpr std::string_view kTo = "dest:";
  static constexpr int kWithinDevice = 8, kBetweenDevices = 10,
                       kDeviceMemory = 2;  // ENUM_CUDA_MEMCPY_OPER, ENUM_CUDA_MEM_KIND

  const std::string& path_;
  const std::atomic<bool>* cancelled_;
  ImportTrace trace_;
  ImportNames names_;
  Plane plane_ = Plane::kOther;
  int64_t device_ = 0;
  bool beside_core_ = false;  // the line is of what does not run on the core
  std::map<int64_t, int64_t> cpus_;
  int64_t profile_start_ns_ = 0;
  EarlyEvents early_{&trace_};
  Texts event_names_, stat_names_;
};

}  // namespace

bool IsXPlane(const ForeignFile& file) { return file.name.ends_with(".xplane.pb"); }

ImportTrace ReadXPlane(const ImportSource& source) {
  return XPlaneReader(source.path, source.cancelled).Read(ReadFile(source.path));
}

}  // namespace lanescope::traces
