// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <map>

#include "core/base/error.h"
#include "core/base/printable.h"
#include "core/base/units.h"
#include "traces/export/export.h"
#include "traces/export/work_order.h"
#include "traces/read/run_tables.h"

namespace lanescope::traces {
namespace {

std::string DotText(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : Printable(text)) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

}  // namespace

void WriteGraphviz(const TraceRun& run, const ExportOutput& output) {
  if (run.commands.empty()) {
    Throw(Code::kFailedPrecondition,
          "run {} records no dependencies; a graph for Graphviz can be made of runs of lanescope",
          run.info.id);
  }
  RunTables tables = TablesOf(run);
  const RunView& view = tables.view;
  std::map<int, std::string> nodes_by_device;
  for (size_t i = 0; i < run.commands.size(); ++i) {
    const TraceCommand& command = run.commands[i];
    if (!IsWork(command.kind)) continue;
    const int op = view.commands[i].op;
    const std::string name =
        op < 0 ? std::string("no name") : std::string(view.ops[static_cast<size_t>(op)].name);
    const bool copy = command.kind == CommandKind::kCopy;
    const std::string label = copy ? fmt::format("{} {} -> {}, {}", name, run.DeviceLabel(command.src),
                                                 run.DeviceLabel(command.dst), FormatBytes(command.bytes))
                                   : name;
    nodes_by_device[command.device] +=
        fmt::format("    c{} [label={}{}];\n", i, DotText(label), copy ? ", shape=oval" : "");
  }
  output("digraph {\n  node [shape=box];\n");
  std::map<int, std::string> clusters_by_task;
  for (const auto& [device, nodes] : nodes_by_device) {
    const TraceDevice* known = run.FindDevice(device);
    clusters_by_task[known == nullptr ? -1 : known->task] +=
        fmt::format("  subgraph cluster_{} {{\n    label={};\n{}  }}\n", device < 0 ? 0 : device + 1,
                    DotText(run.DeviceLabel(device)), nodes);
  }
  for (const auto& [task, clusters] : clusters_by_task) {
    output(task < 0 ? clusters
                    : fmt::format("  subgraph cluster_task_{} {{\n    label={};\n{}  }}\n", task,
                                  DotText(TaskText(run.tasks[static_cast<size_t>(task)])), clusters));
  }
  const Rows<> before = WorkBefore(std::move(tables));
  for (size_t i = 0; i < before.size(); ++i) {
    for (const int earlier : before[static_cast<int>(i)]) output(fmt::format("  c{} -> c{};\n", earlier, i));
  }
  output("}\n");
}

}  // namespace lanescope::traces
