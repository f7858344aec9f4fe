// SPDX-License-Identifier: Apache-2.0
#include "core/runs/step_path.h"

#include <algorithm>
#include <unordered_map>

#include "core/runs/path_cover.h"
#include "core/runs/work_by_start.h"

namespace lanescope {
namespace {

using Items = std::vector<WorkItem>;
using Segments = std::vector<PathSegment>;

const WorkItem& At(const Items& items, int item) { return items[static_cast<size_t>(item)]; }

Segments Cover(const RunView::Step& step, const Items& items) {
  Segments segments;
  const auto add = [&](const int* item, bool waiting, int64_t start_ns, int64_t end_ns) {
    const int number = item == nullptr ? -1 : *item;
    if (!segments.empty() && segments.back().item == number && segments.back().waiting == waiting) {
      segments.back().end_ns = end_ns;
    } else {
      segments.push_back({start_ns, end_ns, number, waiting});
    }
  };
  PathCover<int> cover(step.start_ns, step.end_ns);
  for (int i = 0; i < static_cast<int>(items.size()); ++i)
    cover.Add(At(items, i).kind, At(items, i).start_ns, At(items, i).end_ns, i, add);
  cover.Finish(add);
  return segments;
}

// The waits of one step's items.
class Holders {
 public:
  Holders(const RunView& view, const Items& items)
      : view_(view),
        items_(items),
        item_of_(view.commands.size(), -1),
        seen_for_(view.commands.size(), -1),
        before_(items.size(), -1) {
    for (int i = 0; i < static_cast<int>(items_.size()); ++i) {
      const int command = CommandOf(i);
      if (command < 0) continue;
      int& of_command = item_of_[static_cast<size_t>(command)];
      if (of_command < 0 || End(i) >= End(of_command)) of_command = i;
    }
    FindBefore();
  }

  // The item that held this one up; -1: the beginning of the step. `candidates`: everything that could have.
  int Of(int item, std::vector<int>* candidates) {
    FindDependencies(item, candidates);
    int holder = -1;
    for (const int other : *candidates) {
      if (holder < 0 || Later(other, holder)) holder = other;
    }
    const int before = before_[static_cast<size_t>(item)];
    if (before < 0) return holder;
    candidates->push_back(before);
    return holder < 0 || End(before) > End(holder) ? before : holder;
  }

 private:
  int CommandOf(int item) const {
    const WorkItem& work = At(items_, item);
    return view_.lanes[static_cast<size_t>(work.lane)].slices->CommandOf(work.slice);
  }
  int64_t End(int item) const { return At(items_, item).end_ns; }
  bool Later(int a, int b) const { return End(a) != End(b) ? End(a) > End(b) : CommandOf(a) < CommandOf(b); }

  // Looks through commands that have no items, each once.
  void FindDependencies(int item, std::vector<int>* found) {
    found->clear();
    if (CommandOf(item) >= 0) open_.push_back(CommandOf(item));
    ++visit_;
    while (!open_.empty()) {
      const int command = open_.back();
      open_.pop_back();
      for (const int holder : view_.holders[command]) {
        const auto other = static_cast<size_t>(holder);
        if (seen_for_[other] == visit_) continue;
        seen_for_[other] = visit_;
        const int dependency = item_of_[other];
        if (dependency < 0) {
          open_.push_back(holder);
        } else if (dependency < item) {
          found->push_back(dependency);
        }
      }
    }
  }

  // Items of no command queue up in their lane.
  void FindBefore() {
    std::unordered_map<int64_t, std::vector<int>> queues;
    for (int i = 0; i < static_cast<int>(items_.size()); ++i) {
      const int command = CommandOf(i);
      const int queue = command < 0 ? -1 : view_.commands[static_cast<size_t>(command)].queue;
      queues[queue >= 0 ? queue : -1 - int64_t{At(items_, i).lane}].push_back(i);
    }
    for (const auto& [queue, ran] : queues) {
      if (queue >= 0 && view_.queues[static_cast<size_t>(queue)].in_order) {
        for (size_t k = 1; k < ran.size(); ++k) before_[static_cast<size_t>(ran[k])] = ran[k - 1];
      } else {
        FindEndedBefore(ran);
      }
    }
  }

  void FindEndedBefore(const std::vector<int>& ran) {
    std::vector<int> by_end = ran;
    std::stable_sort(by_end.begin(), by_end.end(), [this](int a, int b) { return End(a) < End(b); });
    size_t ended = 0;
    int last = -1;
    for (const int item : ran) {
      while (ended < by_end.size() && End(by_end[ended]) <= At(items_, item).start_ns && by_end[ended] < item)
        last = by_end[ended++];
      before_[static_cast<size_t>(item)] = last;
    }
  }

  const RunView& view_;
  const Items& items_;
  std::vector<int> item_of_;   // by command: the last of its items to end
  std::vector<int> seen_for_;  // by command: the visit that looked at it last
  std::vector<int> before_;    // by item: the one before it on its queue
  std::vector<int> open_;
  int visit_ = 0;
};

// Appends to segments that are built from the end of the step to its start.
void AddSegment(int64_t start, int64_t end, int item, bool waiting, Segments* segments) {
  if (start < end) segments->push_back({start, end, item, waiting});
}

int LastToEnd(const Items& items) {
  int last = -1;
  for (int i = 0; i < static_cast<int>(items.size()); ++i) {
    if (last < 0 || At(items, i).end_ns > At(items, last).end_ns) last = i;
  }
  return last;
}

Segments Follow(const RunView& view, const RunView::Step& step, const Items& items) {
  Segments segments;
  Holders holders(view, items);
  std::vector<int> candidates;
  int64_t time = step.end_ns;
  const int last = LastToEnd(items);
  if (last >= 0) {
    const int64_t end = std::clamp(At(items, last).end_ns, step.start_ns, time);
    AddSegment(end, time, -1, true, &segments);
    time = end;
  }
  for (int item = last; item >= 0;) {
    const int64_t start = std::clamp(At(items, item).start_ns, step.start_ns, time);
    AddSegment(start, time, item, false, &segments);
    const int holder = holders.Of(item, &candidates);
    const int64_t free =
        holder < 0 ? step.start_ns : std::clamp(At(items, holder).end_ns, step.start_ns, start);
    AddSegment(free, start, item, true, &segments);
    time = free;
    item = holder;
  }
  AddSegment(step.start_ns, time, -1, true, &segments);
  std::reverse(segments.begin(), segments.end());
  return segments;
}

}  // namespace

std::string_view WorkKindName(WorkKind kind) {
  switch (kind) {
    case WorkKind::kLaunch:
      return "launch";
    case WorkKind::kCommunication:
      return "communication";
    case WorkKind::kCopy:
      return "copy";
  }
  return "launch";
}

StepPath::Totals StepPath::totals() const {
  Totals totals;
  for (const PathSegment& segment : segments) {
    const int64_t ns = segment.end_ns - segment.start_ns;
    if (segment.waiting) {
      totals.waiting_ns += ns;
    } else if (At(items, segment.item).kind == WorkKind::kLaunch) {
      totals.launch_ns += ns;
    } else {
      totals.transfer_ns += ns;
    }
  }
  return totals;
}

std::vector<int> StepPath::OnPath() const {
  std::vector<int> path;
  for (const PathSegment& segment : segments) {
    if (!segment.waiting && (path.empty() || path.back() != segment.item)) path.push_back(segment.item);
  }
  return path;
}

StepPathFinder::StepPathFinder(const RunView& view) : view_(view) {
  GroupSlices(std::vector<char>(view.steps.size(), 1));
}

StepPathFinder::StepPathFinder(const RunView& view, std::span<const size_t> chosen) : view_(view) {
  std::vector<char> wanted(view.steps.size(), 0);
  for (const size_t step : chosen) wanted[step] = 1;
  GroupSlices(wanted);
}

// The steps in whose windows, which do not overlap, some of [start, end) lies.
template <typename Visit>
void StepPathFinder::ForEachWindow(int64_t start_ns, int64_t end_ns, const Visit& visit) const {
  const auto ends_later = [](int64_t time, const RunView::Step& step) { return time < step.end_ns; };
  auto step = std::upper_bound(view_.steps.begin(), view_.steps.end(), start_ns, ends_later);
  for (; step != view_.steps.end() && step->start_ns < end_ns; ++step) {
    visit(static_cast<size_t>(step - view_.steps.begin()));
  }
}

void StepPathFinder::GroupSlices(const std::vector<char>& chosen) {
  std::unordered_map<int, size_t> position;
  for (size_t s = 0; s < view_.steps.size(); ++s) {
    if (chosen[s]) position.emplace(view_.steps[s].number, s);
  }
  if (view_.steps.empty()) return;
  const bool only_times = !view_.knows_dependencies() && !view_.whole;
  refs_ = MakeRows<Ref>(view_.steps.size(), [&](const auto& add) {
    const auto visit = [&add](size_t step, size_t lane, size_t slice) {
      add(static_cast<int>(step), {static_cast<uint32_t>(lane), static_cast<uint32_t>(slice)});
    };
    for (size_t l = 0; l < view_.lanes.size(); ++l) {
      const SliceColumns& slices = *view_.lanes[l].slices;
      int32_t known = 0;
      auto found = position.end();
      bool first = true;
      for (size_t i = 0; i < slices.size(); ++i) {
        if (slices.op[i] >= 0 && view_.ops[static_cast<size_t>(slices.op[i])].waiting) continue;
        if (view_.whole) {
          if (chosen[0]) visit(size_t{0}, l, i);
          continue;
        }
        if (first || slices.StepOf(i) != known) found = position.find(known = slices.StepOf(i));
        first = false;
        const size_t own = found != position.end() ? found->second : view_.steps.size();
        if (own < view_.steps.size()) visit(own, l, i);
        if (only_times) {
          ForEachWindow(slices.start_ns[i], slices.end_ns[i], [&](size_t step) {
            if (step != own && chosen[step]) visit(step, l, i);
          });
        }
      }
    }
  });
}

bool LeavesItsDevice(const RunView& view, const RunView::Lane& lane, uint32_t slice) {
  const SliceColumns& slices = *lane.slices;
  if (const int32_t command = slices.CommandOf(slice); command >= 0) {
    const RunView::Command& copy = view.commands[static_cast<size_t>(command)];
    if (copy.src >= 0) return copy.src != copy.dst;
  }
  const int32_t number = slices.RouteOf(slice);
  if (number < 0) return true;
  const RunView::Route& route = view.routes[static_cast<size_t>(number)];
  return route.src != route.dst;
}

std::vector<WorkItem> StepPathFinder::ItemsOf(size_t step) const {
  Items items;
  items.reserve(NumItems(step));
  for (const auto& [lane, slice] : refs_[step]) {
    WorkItem& item = items.emplace_back(ItemOf(view_, lane, slice));
    item.carried = !view_.whole && view_.lanes[lane].slices->StepOf(slice) != view_.steps[step].number;
  }
  std::stable_sort(items.begin(), items.end(),
                   [this](const WorkItem& a, const WorkItem& b) { return ComesBefore(view_, a, b); });
  return items;
}

StepPath StepPathFinder::Find(size_t step) const {
  StepPath path;
  path.items = ItemsOf(step);
  const RunView::Step& window = view_.steps[step];
  path.segments = view_.knows_dependencies() ? Follow(view_, window, path.items) : Cover(window, path.items);
  return path;
}

// Backwards: an item must end before the latest start of each that waits for it, less that one's hand-over,
// which is fixed.
std::vector<int64_t> StepPathFinder::SlackOf(const StepPath& path) const {
  if (!view_.knows_dependencies() || path.items.empty()) return {};
  const Items& items = path.items;
  std::vector<int64_t> slack(items.size());
  std::vector<int64_t> latest(items.size(), At(items, LastToEnd(items)).end_ns);
  Holders holders(view_, items);
  std::vector<int> candidates;
  for (size_t i = items.size(); i-- > 0;) {
    slack[i] = latest[i] - items[i].end_ns;
    const int holder = holders.Of(static_cast<int>(i), &candidates);
    for (const int other : candidates) {
      int64_t& limit = latest[static_cast<size_t>(other)];
      limit = std::min(limit, At(items, holder).end_ns + slack[i]);
    }
  }
  return slack;
}

}  // namespace lanescope
