// SPDX-License-Identifier: Apache-2.0
#include "study/measure/pair_correction.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "core/base/statistics.h"

namespace lanescope::study {
namespace {

// A stretch of time, and what is taken out of it.
struct Stretch {
  int64_t begin = 0, end = 0;
  double taken_ns = 0;
  double share() const { return taken_ns / static_cast<double>(end - begin); }
};

// A command, and the gap behind it up to the next one of its queue.
struct Timed {
  int64_t start = 0, end = 0;
  int64_t gap = 0;
};

std::vector<Timed> TimedCommands(const Schedule& schedule, std::span<const Event> events) {
  std::map<QueueId, std::vector<Timed>> by_queue;
  for (const Event& event : events) {
    if (!event.by_pair || !schedule.commands.Contains(event.command)) continue;
    by_queue[schedule.commands[event.command].queue].push_back({event.start_ns, event.end_ns, 0});
  }
  std::vector<Timed> all;
  for (auto& [queue, commands] : by_queue) {
    std::ranges::sort(commands, {}, &Timed::start);
    for (size_t i = 0; i + 1 < commands.size(); ++i)
      commands[i].gap = std::max<int64_t>(0, commands[i + 1].start - commands[i].end);
    all.insert(all.end(), commands.begin(), commands.end());
  }
  return all;
}

// How much later everything is than without the stretches: of those that cover a moment the densest counts.
class Delay {
 public:
  explicit Delay(std::vector<Stretch> stretches) {
    struct Edge {
      int64_t time;
      double share;
      bool begins;
    };
    std::vector<Edge> edges;
    for (const Stretch& stretch : stretches) {
      if (stretch.end <= stretch.begin || stretch.taken_ns <= 0) continue;
      edges.push_back({stretch.begin, stretch.share(), true});
      edges.push_back({stretch.end, stretch.share(), false});
    }
    std::ranges::sort(edges, {}, &Edge::time);
    std::multiset<double> open;
    double delay = 0;
    for (const Edge& edge : edges) {
      if (!points_.empty() && !open.empty())
        delay += *open.rbegin() * static_cast<double>(edge.time - points_.back().time);
      points_.push_back({edge.time, delay});
      if (edge.begins) {
        open.insert(edge.share);
      } else {
        open.erase(open.find(edge.share));
      }
    }
  }

  double total() const { return points_.empty() ? 0 : points_.back().delay; }
  int64_t At(int64_t time) const {
    const auto after = std::ranges::upper_bound(points_, time, {}, &Point::time);
    if (after == points_.begin()) return 0;
    const Point& before = *std::prev(after);
    double delay = before.delay;
    if (after != points_.end() && after->time > before.time) {
      delay += (after->delay - before.delay) * static_cast<double>(time - before.time) /
               static_cast<double>(after->time - before.time);
    }
    return std::llround(delay);
  }

 private:
  struct Point {
    int64_t time = 0;
    double delay = 0;
  };
  std::vector<Point> points_;  // in time; linear between them
};

// A pair's worth in every command and the gap behind it, as far as it goes.
std::vector<Stretch> StretchesOf(const std::vector<Timed>& commands, double inside_ns, double outside_ns) {
  constexpr double kMost = 0.9;
  std::vector<Stretch> stretches;
  for (const Timed& command : commands) {
    const auto length = static_cast<double>(command.end - command.start);
    stretches.push_back({command.start, command.end, std::min(inside_ns, kMost * length)});
    stretches.push_back(
        {command.end, command.end + command.gap, std::min(outside_ns, static_cast<double>(command.gap))});
  }
  return stretches;
}

// Gaps in which there is nothing but the end of a pair and the beginning of the next.
double UsualGap(const std::vector<Timed>& commands, double pair_ns) {
  std::vector<double> gaps;
  for (const Timed& command : commands) {
    if (command.gap > 0 && static_cast<double>(command.gap) < pair_ns)
      gaps.push_back(static_cast<double>(command.gap));
  }
  return gaps.empty() ? 0 : Median(std::move(gaps));
}

}  // namespace

int64_t TakeOutPairs(const Schedule& schedule, int64_t added_ns, std::span<Event> events) {
  const std::vector<Timed> commands = TimedCommands(schedule, events);
  // As many as were made one after the other: what is taken out if each is worth a nanosecond.
  const double pairs = Delay(StretchesOf(commands, 1, 0)).total();
  if (added_ns <= 0 || pairs <= 0) return 0;
  const double pair_ns = std::min(static_cast<double>(added_ns) / pairs, static_cast<double>(kLongestPairNs));
  const double outside = std::min(UsualGap(commands, pair_ns), pair_ns / 2);
  const Delay delay(StretchesOf(commands, pair_ns - outside, outside));
  for (Event& event : events) {
    event.start_ns -= delay.At(event.start_ns);
    event.end_ns -= delay.At(event.end_ns);
  }
  return std::llround(pair_ns);
}

}  // namespace lanescope::study
