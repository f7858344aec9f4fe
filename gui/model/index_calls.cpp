// SPDX-License-Identifier: Apache-2.0
#include "gui/model/index_calls.h"

#include <algorithm>
#include <map>
#include <utility>

#include "gui/model/run_builder.h"

namespace lanescope::gui {
namespace {

// Calls `visit(lane, slice, call)` for every slice that has a call, but for those of links.
template <typename Visit>
void ForEachCall(const RunData& run, Visit visit) {
  const auto count = static_cast<int32_t>(run.calls.size());
  for (size_t l = 0; l < run.lanes.size(); ++l) {
    const Lane& lane = run.lanes[l];
    if (lane.role == LaneRole::kLink) continue;
    for (size_t i = 0; i < lane.call.size(); ++i) {
      if (lane.call[i] >= 0 && lane.call[i] < count)
        visit(static_cast<int>(l), static_cast<uint32_t>(i), lane.call[i]);
    }
  }
}

bool IsThread(const RunData& run, int lane) {
  return run.lanes[static_cast<size_t>(lane)].role == LaneRole::kThread;
}

// "a/b" of "a/b/c": the scope that a node is in.
std::string_view ScopeOf(std::string_view name) {
  const size_t slash = name.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : name.substr(0, slash);
}

}  // namespace

void IndexCalls(RunData* run) {
  if (run->calls.empty()) return;
  ForEachCall(*run, [&](int lane, uint32_t slice, int32_t call) {
    if (IsThread(*run, lane)) run->calls[static_cast<size_t>(call)].place = {lane, slice};
  });
  run->launched = MakeRows<SlicePlace>(run->calls.size(), [&](const auto& add) {
    ForEachCall(*run, [&](int lane, uint32_t slice, int32_t call) {
      if (!IsThread(*run, lane)) add(call, SlicePlace{lane, slice});
    });
  });
  const auto start_of = [run](const SlicePlace& place) {
    return run->lanes[static_cast<size_t>(place.lane)].start_ns[place.slice];
  };
  for (size_t call = 0; call < run->calls.size(); ++call) {
    std::stable_sort(run->launched.items.begin() + run->launched.first[call],
                     run->launched.items.begin() + run->launched.first[call + 1],
                     [&](const SlicePlace& a, const SlicePlace& b) { return start_of(a) < start_of(b); });
  }
}

void FillRanges(RunData* run) {
  std::map<std::pair<int32_t, int>, int64_t> spent;  // by op and range
  ForEachCall(*run, [&](int l, uint32_t slice, int32_t call) {
    const Lane& lane = run->lanes[static_cast<size_t>(l)];
    const int32_t origin = run->OriginOf(lane, slice);
    const int range = run->calls[static_cast<size_t>(origin < 0 ? call : origin)].range;
    if (range >= 0 && lane.op[slice] >= 0 && lane.on_device())
      spent[{lane.op[slice], range}] += lane.end_ns[slice] - lane.start_ns[slice];
  });
  std::map<uint32_t, RangeUse> uses;
  // Ops of one range mostly stand together.
  std::string_view last;
  RangeUse* use = nullptr;
  const auto add = [&](std::string_view name, int64_t ns) {
    if (use == nullptr || name != last) {
      const uint32_t range = OpColor(name);
      use = &uses[range];
      if (use->name.empty()) use->name = name;
      use->range = range;
      last = name;
    }
    use->ns += ns;
    return use->range;
  };
  std::vector<int64_t> most(run->ops.size(), -1);
  for (const auto& [pair, ns] : spent) {
    const auto op = static_cast<size_t>(pair.first);
    const uint32_t range = add(run->ops[static_cast<size_t>(pair.second)].name, ns);
    if (ns <= most[op]) continue;
    most[op] = ns;
    run->ops[op].range = range;
  }
  for (OpEntry& op : run->ops) {
    const std::string_view scope = op.node >= 0 ? ScopeOf(op.name) : std::string_view();
    if (op.op == kRangeOp) op.range = OpColor(op.name);
    if (op.range == 0 && !scope.empty()) op.range = add(scope, op.ns);
  }
  run->ranges.clear();
  for (auto& [hash, range] : uses) run->ranges.push_back(std::move(range));
}

}  // namespace lanescope::gui
