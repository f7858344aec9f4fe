// SPDX-License-Identifier: Apache-2.0
// Which run a what-if changes, and what is said of it.
#include <filesystem>

#include "gui/app/actions.h"

namespace lanescope::gui {

RunKey EditedRun(const Document& document, const ViewState& state) {
  const Timeline& timeline = document.timeline();
  const WhatIfView& what_if = document.what_if();
  if (timeline.Find(what_if.base) != nullptr) return what_if.base;
  for (const RunKey key : {state.selection.slice.run, state.run, timeline.baseline()}) {
    const ShownRun* run = timeline.Find(key);
    if (run != nullptr && HasPlacement(*run->data)) return key;
  }
  return 0;
}

RunKey ReplayedRun(const Document& document, const ViewState& state) {
  const Timeline& timeline = document.timeline();
  if (timeline.Find(document.replay().base) != nullptr) return document.replay().base;
  if (timeline.Find(document.what_if().base) != nullptr) return 0;
  for (const RunKey key : {state.selection.slice.run, state.run, timeline.baseline()}) {
    const ShownRun* run = timeline.Find(key);
    if (run != nullptr) return IsReplayable(*run->data) ? key : 0;
  }
  return 0;
}

std::string ReplayCommand(const Document& document) {
  const ShownRun* run = document.timeline().Find(document.replay().base);
  if (run == nullptr) return {};
  const auto quoted = [](const std::string& text) {
    std::string shell = "'";
    for (const char c : text) shell += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return shell + "'";
  };
  std::string command = "lanescope simulate " + quoted(run->data->source);
  for (const std::string& change : document.replay().changes) command += " --set " + quoted(change);
  return command;
}

void MoveSelection(RunKey run, const std::string& scope, const std::string& device,
                   const ActionContext& context) {
  if (run == 0) {
    context.state.message = "there is no run of lanescope to change";
    return;
  }
  if (!scope.empty()) return context.document.MoveScope(run, scope, device);
  const Timeline& timeline = context.document.timeline();
  std::vector<OpIdentity> ops = context.state.selection.ops;
  if (ops.empty() && context.state.selection.op >= 0) ops = {context.state.selection.op};
  std::vector<std::string> nodes;
  for (const OpIdentity op : ops) nodes.push_back(timeline.NameOf(op));
  if (!nodes.empty()) context.document.MoveOps(run, nodes, device);
}

std::string RunItText(const WhatIfView& what_if) {
  const std::string file = std::filesystem::path(what_if.records_into).filename().string();
  if (what_if.measuring) return "this machine is busy: it runs, and records into " + file;
  return "records into " + file + "; keeps this machine busy";
}

}  // namespace lanescope::gui
