// SPDX-License-Identifier: Apache-2.0
#include "traces/import/onnx_runtime_profile.h"

#include <fmt/core.h>

#include <string>

#include "traces/import/kineto_events.h"
#include "traces/import/kineto_fields.h"
#include "traces/store/kernel_name.h"

namespace lanescope::traces {
namespace {

using Kind = ImportEvent::Kind;

constexpr std::string_view kOfNode = "_kernel_time";
constexpr std::string_view kOnHost = "CPUExecutionProvider";

// The time of such a node is that of the nodes in its body, which the profile has, too.
bool RunsOthers(std::string_view op) { return op == "Loop" || op == "If" || op == "Scan"; }

// Sizes are texts of numbers.
int32_t SizeOf(const JsonFields& args, const char* key) {
  const auto size = JsonId(args, key);
  return size && *size > 0 && *size <= INT32_MAX ? static_cast<int32_t>(*size) : 0;
}

}  // namespace

bool OnnxRuntimeProfile::Add(const ChromeEvent& event, std::string_view category) {
  const bool of_session = category == "Session", of_node = category == "Node";
  const bool of_gpu = category == "Kernel" && JsonInteger(event, "pid") == -1;
  if (!of_session && !of_node && !of_gpu) return false;
  const auto start = JsonNanoseconds(event, "ts"), length = JsonNanoseconds(event, "dur");
  const auto name = JsonText(event, "name");
  if (!start || !length || *length < 0 || !name) {
    ++trace_.skipped;
    return true;
  }
  trace_.format = "ONNX Runtime's profile";
  ImportEvent result;
  result.start_ns = *start;
  result.end_ns = *start + *length;
  result.pid = JsonInteger(event, "pid").value_or(0);
  result.tid = JsonInteger(event, "tid").value_or(0);
  if (of_session) AddSession(*name, result);
  if (of_node) AddNode(event.args, *name, result);
  if (of_gpu) AddKernel(event.args, *name, result);
  return true;
}

// "model_run" is what one call of the session takes.
void OnnxRuntimeProfile::AddSession(std::string_view name, ImportEvent event) {
  event.name = names_.Intern(name == "model_run" ? fmt::format("model_run step {}", runs_++) : name);
  trace_.events.push_back(event);
}

void OnnxRuntimeProfile::AddNode(const JsonFields& args, std::string_view name, ImportEvent event) {
  // Beside each node older versions note when it waited ("_fence_before", "_fence_after").
  if (!name.ends_with(kOfNode)) return trace_.LeaveOut("Node without a kernel");
  name.remove_suffix(kOfNode.size());
  const auto op = JsonText(args, "op_name"), provider = JsonText(args, "provider");
  event.name = names_.Intern(name.empty() && op ? *op : name);
  if ((!provider || *provider == kOnHost) && !(op && RunsOthers(*op))) {
    event.kind = Kind::kKernel;
    event.on_host = true;
    event.device = Host();
    event.stream = event.tid & 0x7fffffff;
    if (op) event.brief = names_.Intern(*op);
  }
  trace_.events.push_back(event);
}

void OnnxRuntimeProfile::AddKernel(const JsonFields& args, std::string_view name, ImportEvent event) {
  event.pid = event.tid = 0;
  event.stream = JsonId(args, "stream").value_or(0);
  const CopyEnds ends = ParseCopyName(std::string(name));
  if (ends.kind > 0) {
    event.kind = Kind::kCopy;
    event.name = names_.Intern(name);
    event.ends = ends;
  } else {
    event.kind = Kind::kKernel;
    const std::string demangled = KinetoKernelName(std::string(name));
    event.name = names_.Intern(demangled);
    event.brief = names_.Intern(ShortKernelName(demangled));
    ImportLaunch launch;
    launch.grid = {SizeOf(args, "grid_x"), SizeOf(args, "grid_y"), SizeOf(args, "grid_z")};
    launch.block = {SizeOf(args, "block_x"), SizeOf(args, "block_y"), SizeOf(args, "block_z")};
    if (launch.grid[0] > 0) {
      event.launch = static_cast<int>(trace_.launches.size());
      trace_.launches.push_back(launch);
    }
  }
  trace_.events.push_back(event);
}

int64_t OnnxRuntimeProfile::Host() {
  if (host_ < 0) {
    host_ = static_cast<int64_t>(trace_.hosts.size());
    trace_.hosts.emplace_back("device:CPU:0");
  }
  return host_;
}

}  // namespace lanescope::traces
