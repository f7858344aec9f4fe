// SPDX-License-Identifier: Apache-2.0
// Minimum cuts of directed graphs. Internal to sims.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "core/base/stop_point.h"

namespace lanescope::sims {

// Dinic's algorithm (1970) on capacities that are doubles; what is left of an edge below a billionth of the
// largest finite capacity counts as nothing. Owned and used by one thread.
class MinCut {
 public:
  static constexpr double kInfinite = std::numeric_limits<double>::infinity();

  // Node 0 is the source, node 1 the sink.
  explicit MinCut(int nodes) : first_(static_cast<size_t>(nodes), -1) {}
  // Cut when `from` is on the source's side and `to` is not.
  void AddEdge(int from, int to, double capacity) {
    Add(from, to, capacity);
    Add(to, from, 0);
    if (capacity < kInfinite) smallest_ = std::max(smallest_, capacity * 1e-9);
  }
  // The value of the cut; kInfinite where none is finite.
  double Solve() {
    double flow = 0;
    while (FindLevels()) {
      StopPoint();
      next_ = first_;
      for (double pushed = Push(0, kInfinite); pushed > 0; pushed = Push(0, kInfinite)) {
        if (pushed == kInfinite) return kInfinite;
        StopPoint();
        flow += pushed;
      }
    }
    return flow;
  }
  // After Solve.
  bool OnSourceSide(int node) const { return level_[static_cast<size_t>(node)] >= 0; }

 private:
  struct Edge {
    int to;
    int next;
    double left;
  };

  void Add(int from, int to, double capacity) {
    edges_.push_back({to, first_[static_cast<size_t>(from)], capacity});
    first_[static_cast<size_t>(from)] = static_cast<int>(edges_.size()) - 1;
  }
  bool FindLevels() {
    level_.assign(first_.size(), -1);
    level_[0] = 0;
    std::vector<int> queue{0};
    for (size_t i = 0; i < queue.size(); ++i) {
      for (int e = first_[static_cast<size_t>(queue[i])]; e >= 0; e = edges_[static_cast<size_t>(e)].next) {
        const Edge& edge = edges_[static_cast<size_t>(e)];
        if (edge.left <= smallest_ || level_[static_cast<size_t>(edge.to)] >= 0) continue;
        level_[static_cast<size_t>(edge.to)] = level_[static_cast<size_t>(queue[i])] + 1;
        queue.push_back(edge.to);
      }
    }
    return level_[1] >= 0;
  }
  // One way of the level graph, found with a stack of its own: graphs may be deep.
  double Push(int source, double limit) {
    std::vector<int> way;
    int at = source;
    while (at != 1) {
      int& e = next_[static_cast<size_t>(at)];
      while (e >= 0 && !Leads(at, edges_[static_cast<size_t>(e)])) e = edges_[static_cast<size_t>(e)].next;
      if (e >= 0) {
        way.push_back(e);
        at = edges_[static_cast<size_t>(e)].to;
        continue;
      }
      if (way.empty()) return 0;
      const int back = way.back();
      way.pop_back();
      at = edges_[static_cast<size_t>(back ^ 1)].to;
      next_[static_cast<size_t>(at)] = edges_[static_cast<size_t>(back)].next;
    }
    for (const int e : way) limit = std::min(limit, edges_[static_cast<size_t>(e)].left);
    if (limit == kInfinite) return kInfinite;
    for (const int e : way) {
      edges_[static_cast<size_t>(e)].left -= limit;
      edges_[static_cast<size_t>(e ^ 1)].left += limit;
    }
    return limit;
  }
  bool Leads(int from, const Edge& edge) const {
    return edge.left > smallest_ &&
           level_[static_cast<size_t>(edge.to)] == level_[static_cast<size_t>(from)] + 1;
  }

  std::vector<int> first_, next_, level_;
  std::vector<Edge> edges_;
  double smallest_ = 0;
};

}  // namespace lanescope::sims
