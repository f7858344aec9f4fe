#include "traces/step_path.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <queue>
#include <tuple>

#include "traces/activity_totals.h"

namespace lanescope {
namespace {

int64_t CommandKey(int schedule, int id) {
  return (int64_t{schedule} << 32) | static_cast<int64_t>(static_cast<uint32_t>(id));
}

bool ItemStartsBefore(const WorkItem& a, const WorkItem& b) {
  return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns < b.end_ns;
}

// One step over everything, for runs without steps.
TraceStep WholeRun(const TraceRun& run) {
  TraceStep whole{0, INT64_MAX, INT64_MIN};
  const auto widen = [&](const auto& activities) {
    for (const auto& activity : activities) {
      whole.start_ns = std::min(whole.start_ns, activity.start_ns);
      whole.end_ns = std::max(whole.end_ns, activity.end_ns);
    }
  };
  widen(run.launches);
  widen(run.copies);
  return whole;
}

// Appends to segments that are built from the end of the step to its start.
void AddSegment(int64_t start, int64_t end, int item, bool waiting, std::vector<PathSegment>* segments) {
  if (start < end) segments->push_back({start, end, item, waiting});
}

// Which item of the first kind that has one runs, moment by moment.
std::vector<PathSegment> Cover(const TraceStep& step, const std::vector<WorkItem>& items) {
  struct LaterStart {
    const std::vector<WorkItem>* items;
    bool operator()(int a, int b) const {
      const WorkItem& x = (*items)[static_cast<size_t>(a)];
      const WorkItem& y = (*items)[static_cast<size_t>(b)];
      return x.start_ns != y.start_ns ? x.start_ns > y.start_ns : a > b;
    }
  };
  using Running = std::priority_queue<int, std::vector<int>, LaterStart>;
  std::array<Running, 3> running{Running(LaterStart{&items}), Running(LaterStart{&items}),
                                 Running(LaterStart{&items})};
  std::vector<PathSegment> segments;
  int64_t now = step.start_ns;
  size_t next = 0;
  while (now < step.end_ns) {
    for (; next < items.size() && items[next].start_ns <= now; ++next) {
      running[static_cast<size_t>(items[next].kind)].push(static_cast<int>(next));
    }
    int item = -1;
    for (Running& queue : running) {
      while (!queue.empty() && items[static_cast<size_t>(queue.top())].end_ns <= now) queue.pop();
      if (item < 0 && !queue.empty()) item = queue.top();
    }
    // Until what runs ends or something begins, which may come before it.
    int64_t until = next < items.size() ? std::min(items[next].start_ns, step.end_ns) : step.end_ns;
    if (item >= 0) until = std::min(until, items[static_cast<size_t>(item)].end_ns);
    const bool waiting = item < 0;
    if (waiting) item = next < items.size() ? static_cast<int>(next) : -1;
    if (!segments.empty() && segments.back().item == item && segments.back().waiting == waiting) {
      segments.back().end_ns = until;
    } else {
      segments.push_back({now, until, item, waiting});
    }
    now = until;
  }
  return segments;
}

}  // namespace

StepPathFinder::StepPathFinder(const TraceRun& run) : run_(run), steps_(run.steps) {
  if (steps_.empty() && !(run.launches.empty() && run.copies.empty())) steps_ = {WholeRun(run)};
  ReadCommands();
  GroupItems();
}

void StepPathFinder::ReadCommands() {
  if (run_.dependencies.empty()) return;
  for (const TraceCommand& command : run_.commands) {
    command_numbers_.emplace(CommandKey(command.schedule, command.id), static_cast<int>(commands_.size()));
    commands_.emplace_back();
  }
  for (const TraceDependency& edge : run_.dependencies) {
    const auto from = command_numbers_.find(CommandKey(edge.schedule, edge.from));
    const auto to = command_numbers_.find(CommandKey(edge.schedule, edge.to));
    if (from == command_numbers_.end() || to == command_numbers_.end()) continue;
    commands_[static_cast<size_t>(to->second)].before.push_back(from->second);
  }
  AddQueueOrder();
}

// Records and waits stand in in-order queues only, and hold up what comes after them there. The order of
// launches and copies shows in their times.
void StepPathFinder::AddQueueOrder() {
  std::vector<int> order(run_.commands.size());
  std::iota(order.begin(), order.end(), 0);
  const auto place = [this](int number) {
    const TraceCommand& command = run_.commands[static_cast<size_t>(number)];
    return std::tuple(command.schedule, command.queue, command.rank, command.id);
  };
  std::sort(order.begin(), order.end(), [&](int a, int b) { return place(a) < place(b); });
  for (size_t i = 1; i < order.size(); ++i) {
    const TraceCommand& before = run_.commands[static_cast<size_t>(order[i - 1])];
    const TraceCommand& after = run_.commands[static_cast<size_t>(order[i])];
    if (before.schedule != after.schedule || before.queue != after.queue) continue;
    if (!IsWork(before.kind) || !IsWork(after.kind)) {
      commands_[static_cast<size_t>(order[i])].before.push_back(order[i - 1]);
    }
  }
}

void StepPathFinder::GroupItems() {
  items_.resize(steps_.size());
  std::unordered_map<int, size_t> position;
  for (size_t i = 0; i < steps_.size(); ++i) position.emplace(steps_[i].step, i);
  const bool whole = run_.steps.empty();
  const auto add = [&](int step, const WorkItem& item) {
    const auto found = whole ? position.begin() : position.find(step);
    if (found != position.end()) items_[found->second].push_back(item);
  };
  std::vector<char> communication;
  for (const std::string& text : run_.texts) communication.push_back(IsCommunication(text) ? 1 : 0);
  for (size_t i = 0; i < run_.launches.size(); ++i) {
    const TraceLaunch& launch = run_.launches[i];
    const int name = launch.op >= 0 ? launch.op : launch.name;
    const bool moves = name >= 0 && communication[static_cast<size_t>(name)] != 0;
    add(launch.step, {moves ? WorkKind::kCommunication : WorkKind::kLaunch, static_cast<int>(i),
                      launch.start_ns, launch.end_ns});
  }
  for (size_t i = 0; i < run_.copies.size(); ++i) {
    const TraceCopy& copy = run_.copies[i];
    add(copy.step, {WorkKind::kCopy, static_cast<int>(i), copy.start_ns, copy.end_ns});
  }
  for (auto& items : items_) std::stable_sort(items.begin(), items.end(), ItemStartsBefore);
}

int StepPathFinder::CommandOf(const WorkItem& item) const {
  int schedule = -1, command = -1;
  if (item.kind == WorkKind::kCopy) {
    const TraceCopy& copy = run_.copies[static_cast<size_t>(item.index)];
    schedule = copy.schedule;
    command = copy.command;
  } else {
    const TraceLaunch& launch = run_.launches[static_cast<size_t>(item.index)];
    schedule = launch.schedule;
    command = launch.command;
  }
  const auto found = command_numbers_.find(CommandKey(schedule, command));
  return found == command_numbers_.end() ? -1 : found->second;
}

std::vector<PathSegment> StepPathFinder::FollowDependencies(const TraceStep& step,
                                                            const std::vector<WorkItem>& items) const {
  std::vector<PathSegment> segments;
  std::vector<int> command_of(items.size(), -1), before_on_queue(items.size(), -1);
  std::unordered_map<int, int> item_of;  // by position of the command
  std::map<std::pair<int, int>, int> last_on_queue;
  int last = -1;
  for (size_t i = 0; i < items.size(); ++i) {
    command_of[i] = CommandOf(items[i]);
    if (command_of[i] >= 0) item_of[command_of[i]] = static_cast<int>(i);
    const auto queue = items[i].kind == WorkKind::kCopy
                           ? std::pair(run_.copies[static_cast<size_t>(items[i].index)].device,
                                       run_.copies[static_cast<size_t>(items[i].index)].stream)
                           : std::pair(run_.launches[static_cast<size_t>(items[i].index)].device,
                                       run_.launches[static_cast<size_t>(items[i].index)].stream);
    const auto [entry, is_first] = last_on_queue.try_emplace(queue, static_cast<int>(i));
    if (!is_first) {
      before_on_queue[i] = entry->second;
      entry->second = static_cast<int>(i);
    }
    if (last < 0 || items[i].end_ns > items[static_cast<size_t>(last)].end_ns) last = static_cast<int>(i);
  }
  const auto end_of = [&](int item) { return items[static_cast<size_t>(item)].end_ns; };
  int64_t time = step.end_ns;
  if (last >= 0) {
    const int64_t end = std::clamp(end_of(last), step.start_ns, time);
    AddSegment(end, time, -1, true, &segments);
    time = end;
  }
  std::vector<int> seen(commands_.size(), -1), pending;
  for (int item = last, visits = 0; item >= 0; ++visits) {
    const int64_t start = std::clamp(items[static_cast<size_t>(item)].start_ns, step.start_ns, time);
    AddSegment(start, time, item, false, &segments);
    time = start;
    // What ended last before the item; records and waits between two items are looked through.
    int holder = before_on_queue[static_cast<size_t>(item)];
    if (command_of[static_cast<size_t>(item)] >= 0) pending = {command_of[static_cast<size_t>(item)]};
    while (!pending.empty()) {
      const int command = pending.back();
      pending.pop_back();
      for (const int before : commands_[static_cast<size_t>(command)].before) {
        if (seen[static_cast<size_t>(before)] == visits) continue;
        seen[static_cast<size_t>(before)] = visits;
        const auto found = item_of.find(before);
        if (found == item_of.end()) {
          pending.push_back(before);
        } else if (holder < 0 || end_of(found->second) > end_of(holder)) {
          holder = found->second;
        }
      }
    }
    // A file may claim that an item waits for one that began no earlier: the walk must go back.
    if (holder >= 0 &&
        !ItemStartsBefore(items[static_cast<size_t>(holder)], items[static_cast<size_t>(item)])) {
      holder = before_on_queue[static_cast<size_t>(item)];
    }
    if (holder >= item) holder = -1;
    const int64_t free = holder < 0 ? step.start_ns : std::clamp(end_of(holder), step.start_ns, time);
    AddSegment(free, time, item, true, &segments);
    time = free;
    item = holder;
  }
  AddSegment(step.start_ns, time, -1, true, &segments);
  std::reverse(segments.begin(), segments.end());
  return segments;
}

StepPath StepPathFinder::Find(size_t step) const {
  StepPath path;
  path.items = items_[step];
  path.segments =
      commands_.empty() ? Cover(steps_[step], path.items) : FollowDependencies(steps_[step], path.items);
  return path;
}

}  // namespace lanescope
