// SPDX-License-Identifier: Apache-2.0
#include "core/runs/run_view.h"

#include <algorithm>
#include <cctype>
#include <tuple>

namespace lanescope {
namespace {

using Edges = std::vector<std::pair<int, int>>;

// Record and Wait stand on in-order queues, and hold up what comes after them there. The order of launches
// and copies shows in their times.
void AddQueueOrder(const RunView& view, Edges* edges) {
  std::vector<int> last(view.queues.size(), -1);
  for (size_t c = 0; c < view.commands.size(); ++c) {
    const RunView::Command& command = view.commands[c];
    if (command.queue < 0 || !view.queues[static_cast<size_t>(command.queue)].in_order) continue;
    int& before = last[static_cast<size_t>(command.queue)];
    const bool syncs =
        before >= 0 && !(IsWork(command.kind) && IsWork(view.commands[static_cast<size_t>(before)].kind));
    if (syncs) edges->emplace_back(before, static_cast<int>(c));
    before = static_cast<int>(c);
  }
}

// One step over everything.
void AddWholeRun(RunView* view) {
  RunView::Step whole{0, INT64_MAX, INT64_MIN};
  for (const RunView::Lane& lane : view->lanes) {
    for (const int64_t start : lane.slices->start_ns) whole.start_ns = std::min(whole.start_ns, start);
    for (const int64_t end : lane.slices->end_ns) whole.end_ns = std::max(whole.end_ns, end);
  }
  view->whole = true;
  if (whole.start_ns <= whole.end_ns) view->steps.push_back(whole);
}

}  // namespace

bool IsCommunication(std::string_view kernel_name) {
  constexpr std::string_view kNccl = "nccl";
  const auto found =
      std::search(kernel_name.begin(), kernel_name.end(), kNccl.begin(), kNccl.end(),
                  [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; });
  return found != kernel_name.end();
}

bool IsWaiting(std::string_view op) {
  op.remove_prefix(op.rfind('/') + 1);
  return op.starts_with("bubble: ") || op.starts_with("waits for ");
}

SliceColumns* RunView::AddLane(int device, bool copies) {
  auto slices = std::make_unique<SliceColumns>();
  SliceColumns* added = slices.get();
  owned.push_back(std::move(slices));
  lanes.push_back({added, device, copies, static_cast<int>(lanes.size())});
  return added;
}

void RunView::Settle(std::span<const std::pair<int, int>> dependencies) {
  const auto count = static_cast<int>(commands.size());
  Edges edges;
  for (const auto& [from, to] : dependencies) {
    if (from >= 0 && from < count && to >= 0 && to < count && from != to) edges.emplace_back(from, to);
  }
  AddQueueOrder(*this, &edges);
  holders = MakeRows(commands.size(), [&](const auto& add) {
    for (const auto& [from, to] : edges) add(to, from);
  });
  if (steps.empty()) return AddWholeRun(this);
  std::stable_sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) {
    return std::tie(a.start_ns, a.number) < std::tie(b.start_ns, b.number);
  });
}

}  // namespace lanescope
