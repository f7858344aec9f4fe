// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/stream_issue.h"

#include <algorithm>
#include <array>
#include <ranges>

#include "core/collective/joint_launch.h"

namespace lanescope {
namespace {

constexpr std::array<std::string_view, 12> kVarying = {"CheckNumerics",
                                                       "CheckNumericsV2",
                                                       "DynamicPartition",
                                                       "Multinomial",
                                                       "ParameterizedTruncatedNormal",
                                                       "RandomGamma",
                                                       "RandomStandardNormal",
                                                       "RandomUniform",
                                                       "RandomUniformInt",
                                                       "TruncatedNormal",
                                                       "Unique",
                                                       "UniqueWithCounts"};

// Handles have no memory of their own; what they stand for is not looked at here.
bool InHostMemory(const Schedule& schedule, const Machine& machine, ValueId value) {
  if (!value.exists()) return true;
  const Value& root = schedule.RootValue(value);
  return root.storage == Storage::kResource || !machine.device(root.device).is_gpu();
}

StreamIssue OfLaunch(const Schedule& schedule, const Graph& graph, const Machine& machine,
                     const Command& command) {
  const Node& node = graph.node(command.node);
  if (node.op == "NoOp") return StreamIssue::kNothing;
  if (!JointLaunchOf(node).empty()) return StreamIssue::kSingle;
  const auto inputs = schedule.Inputs(command), outputs = schedule.Outputs(command);
  const auto any = [&](const auto& is) {
    return std::ranges::any_of(inputs, is) || std::ranges::any_of(outputs, is);
  };
  const auto on_device = [&](ValueId value) { return !InHostMemory(schedule, machine, value); };
  // Values that the host reads or writes in the course of issuing: constants never change.
  const auto live = [&](ValueId value) {
    if (!value.exists() || on_device(value)) return false;
    const Storage storage = schedule.RootValue(value).storage;
    return storage != Storage::kConstant && storage != Storage::kResource;
  };
  if (!any(on_device) || any(live)) return StreamIssue::kSettled;
  const auto dynamic = [&](ValueId value) {
    return value.exists() && !schedule.values[value].shape.IsExact();
  };
  return any(dynamic) || LaunchesVary(node.op) ? StreamIssue::kSingle : StreamIssue::kRecordable;
}

}  // namespace

bool IsStream(const Queue& queue, const Machine& machine) {
  return queue.in_order && machine.device(queue.device).is_hardware();
}

bool LaunchesVary(std::string_view op) {
  return std::ranges::find(kVarying, op) != kVarying.end() || op.starts_with("Where") ||
         op.find("Segment") != std::string_view::npos;
}

IdVector<CommandId, StreamIssue> FindStreamIssues(const Schedule& schedule, const Graph& graph,
                                                  const Machine& machine) {
  const auto is_stream = [&](const Queue& queue) { return IsStream(queue, machine); };
  if (std::ranges::none_of(schedule.queues, is_stream)) return {};
  IdVector<CommandId, StreamIssue> issues(schedule.commands.size(), StreamIssue::kSingle);
  for (const CommandId c : schedule.commands.ids()) {
    const Command& command = schedule.commands[c];
    if (!is_stream(schedule.queues[command.queue])) continue;
    if (command.kind == CommandKind::kLaunch) {
      issues[c] = OfLaunch(schedule, graph, machine, command);
    } else if (command.kind != CommandKind::kCopy ||
               schedule.values[schedule.Inputs(command)[0]].shape.IsExact()) {
      issues[c] = StreamIssue::kRecordable;
    }
  }
  return issues;
}

StreamIssue StreamIssueOf(CommandKind kind, std::string_view op, std::string_view signature) {
  if (kind == CommandKind::kRecord || kind == CommandKind::kWait) return StreamIssue::kRecordable;
  if (kind == CommandKind::kLaunch && op == "NoOp") return StreamIssue::kNothing;
  const bool dynamic =
      signature.find("<=") != std::string_view::npos || signature.find('?') != std::string_view::npos;
  if (kind == CommandKind::kCopy) return dynamic ? StreamIssue::kSingle : StreamIssue::kRecordable;
  // Shapes, and what is computed of them, are in host memory.
  const size_t outputs = signature.find("->");
  const std::string_view made = outputs == std::string_view::npos ? "" : signature.substr(outputs + 2);
  if (made.starts_with("int32") && signature.find("(float") == std::string_view::npos)
    return StreamIssue::kSettled;
  return dynamic || LaunchesVary(op) ? StreamIssue::kSingle : StreamIssue::kRecordable;
}

}  // namespace lanescope
