// SPDX-License-Identifier: Apache-2.0
#include "traces/import/xla_events.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "traces/import/kineto_fields.h"
#include "traces/import/tensorflow_devices.h"

namespace lanescope::traces {
namespace {

using Kind = ImportEvent::Kind;

constexpr int64_t kProcess = 1;  // all planes are of one
constexpr std::string_view kTo = "dest:";
constexpr int kWithinDevice = 8, kBetweenDevices = 10, kDeviceMemory = 2;  // CUPTI's numbers
constexpr size_t kLongestUnused = 60;
// The prefix of a kernel that a graph launched: XLA knows of it no more than that it is one of its own.
constexpr std::string_view kOfModule = "XlaModule:";

XlaPlane::Kind KindOf(std::string_view name) {
  using enum XlaPlane::Kind;
  if (name.starts_with("/device:GPU:")) return kGpu;
  if (name.starts_with("/device:") && !name.starts_with("/device:CUSTOM:")) return kAccelerator;
  if (name == "/host:CUPTI" || name == "/host:ROCTRACER") return kCalls;
  return name == "/host:CPU" || name == "/host:python-tracer" ? kThreads : kOther;
}

// HLO's collectives; "all-reduce-start.3" begins one that runs beside the core.
bool IsCollective(std::string_view op) {
  constexpr std::array<std::string_view, 7> kCollectives = {
      "all-reduce",         "all-gather",           "reduce-scatter",   "all-to-all",
      "collective-permute", "collective-broadcast", "ragged-all-to-all"};
  return std::ranges::any_of(kCollectives, [&](std::string_view name) { return op.starts_with(name); });
}

}  // namespace

void XlaFacts::Add(std::string_view stat, int64_t number, std::string_view text) {
  if (stat == "correlation_id" && number > 0) correlation = number;
  if (stat == "step_num") step = text.empty() ? number : IdOfText(text).value_or(-1);
  if (stat == "step_id") step_id = number;
  if (stat == "group_id") group = number;
  if (stat == "device_ordinal") device = number;
  if (stat == "cuda_graph_id" && number > 0) graph = number;
  if (stat == "cuda_graph_node_id" && number > 0) graph_node = number;
  if (stat == "kernel_details") kernel = text;
  if (stat == "memcpy_details") copy = text;
  if (stat == "tf_op" && !text.ends_with(kOfModule)) op = text;
}

XlaPlane XlaEvents::Plane(std::string_view name) {
  XlaPlane plane{KindOf(name), std::string(name), 0};
  if (plane.kind == XlaPlane::Kind::kGpu) plane.device = ParseTensorFlowDevice(name).gpu;
  if (plane.kind == XlaPlane::Kind::kAccelerator) {
    plane.device = std::ssize(trace_.hosts);
    trace_.hosts.emplace_back(name);
  }
  return plane;
}

XlaLine XlaEvents::Line(const XlaPlane& plane, int64_t id, std::string_view name) {
  XlaLine line;
  line.plane = plane;
  line.id = id;
  const bool on_accelerator = plane.kind == XlaPlane::Kind::kAccelerator;
  // Other lines of a device say what its streams say, grouped by step, module or name.
  const bool told = (plane.kind == XlaPlane::Kind::kGpu && !name.empty() && !name.starts_with("Stream")) ||
                    (on_accelerator && name.find("XLA Ops") == std::string_view::npos);
  if (plane.kind == XlaPlane::Kind::kOther || told) {
    line.unused = std::string(told ? name : plane.name).substr(0, kLongestUnused);
    if (on_accelerator && name == "Steps") line.use = XlaLine::Use::kSteps;
    return line;
  }
  line.use = XlaLine::Use::kEvents;
  line.beside_core = on_accelerator && name.find("Async") != std::string_view::npos;
  if ((plane.kind == XlaPlane::Kind::kThreads || plane.kind == XlaPlane::Kind::kCalls) && !name.empty())
    trace_.threads.push_back({kProcess, id, names_.Intern(name)});
  return line;
}

bool XlaEvents::Describe(const XlaLine& line, std::string_view name, const XlaFacts& facts,
                         ImportEvent* event) {
  event->pid = kProcess;
  event->tid = line.id;
  if (line.use == XlaLine::Use::kSteps) {
    // Steps have numbers for names, or say them. All devices have the steps of one program.
    const int64_t number =
        facts.step >= 0 ? facts.step : IdOfText(name).value_or(facts.group >= 0 ? facts.group : -1);
    if (number < 0 || (steps_device_ >= 0 && steps_device_ != line.plane.device)) {
      trace_.LeaveOut(line.unused);
      return false;
    }
    steps_device_ = line.plane.device;
    event->kind = Kind::kRange;
    event->name = names_.Intern(fmt::format("step {}", number));
    steps_.push_back(*event);
    return false;
  }
  event->correlation = facts.correlation;
  event->graph = facts.graph;
  event->graph_node = facts.graph_node;
  if (line.plane.kind == XlaPlane::Kind::kThreads || line.plane.kind == XlaPlane::Kind::kCalls) {
    DescribeOnHost(line, name, facts, event);
  } else {
    DescribeOnDevice(line, name, facts, event);
  }
  return true;
}

void XlaEvents::DescribeOnDevice(const XlaLine& line, std::string_view name, const XlaFacts& facts,
                                 ImportEvent* event) {
  const bool on_gpu = line.plane.kind == XlaPlane::Kind::kGpu;
  event->kind = Kind::kKernel;
  event->device = line.plane.device;
  event->on_host = !on_gpu;
  event->stream = line.id;
  event->name = names_.Intern(name);
  if (!facts.op.empty()) event->brief = names_.Intern(facts.op);
  // Moves of data beside the core of a TPU, within it or to others.
  if (line.beside_core) {
    event->kind = Kind::kCopy;
    event->ends = {IsCollective(name) ? kBetweenDevices : kWithinDevice, kDeviceMemory, kDeviceMemory};
  }
  if (!facts.copy.empty() && on_gpu) {
    event->kind = Kind::kCopy;
    event->ends = ParseTensorFlowCopy(name);
    event->bytes = NumberAfter(facts.copy, "size:");
    if (event->ends.kind == kBetweenDevices && facts.copy.find(kTo) != std::string_view::npos) {
      event->src_device = line.plane.device;
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
void XlaEvents::DescribeOnHost(const XlaLine& line, std::string_view name, const XlaFacts& facts,
                               ImportEvent* event) {
  event->name = names_.Intern(name);
  if (line.plane.kind == XlaPlane::Kind::kCalls || facts.correlation > 0) {
    event->kind = Kind::kApiCall;
  } else if (facts.device >= 0) {
    event->kind = Kind::kKernel;
    event->on_host = true;
    event->device = CpuOf(facts.device);
    event->stream = line.id;
    if (!facts.op.empty()) event->brief = names_.Intern(facts.op);
  } else {
    const bool has_id = facts.step_id >= 0 && name.find("step") != std::string_view::npos;
    const int64_t step = facts.step >= 0 ? facts.step : has_id ? facts.step_id : -1;
    if (step >= 0) event->name = names_.Intern(fmt::format("step {}", step));
    host_has_steps_ = host_has_steps_ || step >= 0;
  }
}

std::vector<ImportEvent> XlaEvents::TakeSteps() {
  if (!host_has_steps_) return std::exchange(steps_, {});
  if (!steps_.empty()) trace_.LeaveOut("Steps", std::ssize(steps_));
  return {};
}

int64_t XlaEvents::CpuOf(int64_t ordinal) {
  const auto [entry, is_new] = cpus_.try_emplace(ordinal, std::ssize(trace_.hosts));
  if (is_new) trace_.hosts.push_back(fmt::format("/device:CPU:{}", ordinal));
  return entry->second;
}

}  // namespace lanescope::traces
