// SPDX-License-Identifier: Apache-2.0
#include "gui/model/selection.h"

#include <algorithm>
#include <string>

#include "core/schedule/fusion.h"

namespace lanescope::gui {

void Selection::SelectSlice(const Timeline& timeline, const SliceRef& chosen) {
  Clear();
  if (!chosen.valid()) return;
  slice = chosen;
  lane = LaneId(chosen.run, chosen.lane);
  op = timeline.IdentityOf(chosen);
  if (op >= 0) ops = {op};
}

void Selection::SelectOp(OpIdentity identity) {
  Clear();
  op = identity;
  if (op >= 0) ops = {op};
}

void Selection::ToggleOp(OpIdentity identity) {
  if (identity < 0) return;
  const auto found = std::lower_bound(ops.begin(), ops.end(), identity);
  if (found != ops.end() && *found == identity) {
    ops.erase(found);
    if (op == identity) op = ops.empty() ? -1 : ops.front();
  } else {
    ops.insert(found, identity);
    op = identity;
  }
}

void Selection::SelectScope(const Timeline& timeline, const std::string& scope) {
  Clear();
  if (scope.empty()) return;
  for (OpIdentity id = 0; id < static_cast<OpIdentity>(timeline.num_identities()); ++id) {
    const std::string& name = timeline.NameOf(id);
    const bool inside = name.size() > scope.size() && name[scope.size()] == '/' && name.starts_with(scope);
    if (inside || name == scope) ops.push_back(id);
  }
  if (!ops.empty()) op = ops.front();
}

std::vector<std::string> ScopesOf(const std::string& name) {
  std::vector<std::string> scopes;
  for (size_t slash = name.find('/'); slash != std::string::npos; slash = name.find('/', slash + 1)) {
    if (slash > 0) scopes.push_back(name.substr(0, slash));
  }
  return scopes;
}

SliceDetails DetailsOf(const Timeline& timeline, const SliceRef& ref) {
  SliceDetails details;
  const ShownRun* shown = ref.valid() ? timeline.Find(ref.run) : nullptr;
  if (shown == nullptr) return details;
  const RunData& run = *shown->data;
  const Lane& lane = run.lanes[static_cast<size_t>(ref.lane)];
  const size_t i = ref.slice;
  const int32_t op = lane.op[i];
  if (op >= 0) {
    details.name = run.ops[static_cast<size_t>(op)].name;
    details.op = run.ops[static_cast<size_t>(op)].op;
  }
  // A launch of several nodes has the name of the last one.
  if (const int32_t command = lane.command[i]; command >= 0) {
    const int signature = run.commands[static_cast<size_t>(command)].signature;
    const std::string fused = signature < 0 ? "" : FusedOpOf(run.signatures[static_cast<size_t>(signature)]);
    if (!fused.empty()) details.op = fused;
  }
  details.run = shown->title;
  details.lane = lane.label;
  // Lanes of other tools' streams name their device.
  const bool named = run.foreign && (lane.role == LaneRole::kCompute || lane.role == LaneRole::kAnnotation);
  if (lane.device >= 0 && lane.role != LaneRole::kLink && !named) {
    details.lane = run.devices[static_cast<size_t>(lane.device)].label + " " + lane.label;
  }
  details.start_ns = lane.start_ns[i] - run.begin_ns;
  details.duration_ns = lane.end_ns[i] - lane.start_ns[i];
  details.step = lane.step[i];
  if (!lane.bytes.empty()) {
    details.bytes = lane.bytes[i];
    if (details.duration_ns > 0) {
      details.bandwidth = 1e9 * static_cast<double>(details.bytes) / static_cast<double>(details.duration_ns);
    }
  }
  int64_t total = 0;
  for (size_t k = 0; k < lane.size(); ++k) {
    if (lane.op[k] != op) continue;
    total += lane.end_ns[k] - lane.start_ns[k];
    ++details.count;
  }
  if (details.count > 0) details.mean_ns = total / details.count;
  return details;
}

Area VisibleArea(const Timeline& timeline, const ViewTransform& view) {
  Area area{view.begin(), view.end(), {}};
  for (const ShownRun& run : timeline.runs()) {
    for (size_t lane = 0; lane < run.data->lanes.size(); ++lane) {
      const Lane& each = run.data->lanes[lane];
      if (each.role != LaneRole::kLink && !each.is_counter())
        area.lanes.emplace_back(run.key, static_cast<int>(lane));
    }
  }
  return area;
}

}  // namespace lanescope::gui
