// SPDX-License-Identifier: Apache-2.0
// Memory-constrained Small Communication Times: Jeon et al., "Baechi: Fast Device Placement of Machine
// Learning Graphs", SoCC 2020, after Hanen and Munier, "An Approximation Algorithm for Scheduling Dependent
// Tasks on m Processors with Small Communication Delays", ETFA 1995.
//
// Every task has at most one favourite successor, which should start on its device at once, and is the
// favourite of at most one. Hanen and Munier choose them by a linear program: minimise the longest way
// through the graph where an edge costs its copy unless it is a favourite's. Here that program is solved by
// Frank and Wolfe's method on a smoothed longest way, whose steps are matchings, instead of by a simplex
// library: what is wanted of the solution is only which edges it takes nearly whole.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "core/base/stop_point.h"
#include "core/strategies/earliest_start.h"

namespace lanescope {
namespace {

constexpr int kRounds = 50;
// Hanen and Munier round an edge of at most 0.1 down to a favourite's; that is 0.9 here, where 1 is taken.
constexpr double kTaken = 0.9;

struct FavouriteEdge {
  int from = -1, to = -1;
  double copy_ns = 0;
  double share = 0;  // of a favourite, 0 to 1
};

// The edges of a task graph with a way through them.
class FavouriteProgram {
 public:
  explicit FavouriteProgram(const TaskGraph& tasks) {
    CopyTimes times(tasks);
    for (int id = 0; id < tasks.num_tasks(); ++id) {
      const std::vector<DeviceId> devices = tasks.Candidates(id);
      int64_t fastest = tasks.LaunchNs(id, devices[0]);
      for (const DeviceId device : devices) fastest = std::min(fastest, tasks.LaunchNs(id, device));
      launch_ns_.push_back(static_cast<double>(fastest));
      for (const int before : tasks.task(id).after) edges_.push_back({before, id});
      for (const TaskRead& read : tasks.task(id).reads) {
        const TaskTensor& tensor = tasks.tensor(read.tensor);
        if (tensor.producer >= 0)
          edges_.push_back({tensor.producer, id, MeanCopyNs(tasks, tensor.bytes, &times)});
      }
    }
  }

  std::vector<int> Solve() {
    for (int round = 0; round < kRounds; ++round) {
      StopPoint();
      const std::vector<double> flow = Flow();
      StopPoint();
      const std::vector<bool> matching = Match(flow);
      const double step = 2.0 / (round + 2);
      for (size_t e = 0; e < edges_.size(); ++e)
        edges_[e].share += step * ((matching[e] ? 1.0 : 0.0) - edges_[e].share);
    }
    std::vector<int> child(launch_ns_.size(), -1);
    for (const FavouriteEdge& edge : edges_) {
      if (edge.share >= kTaken) child[static_cast<size_t>(edge.from)] = edge.to;
    }
    return child;
  }

 private:
  double Length(const FavouriteEdge& edge) const { return edge.copy_ns * (1 - edge.share); }

  // How much of the longest way passes each edge: the gradient of the smoothed maximum. Edges stand by
  // rising `to`, and every `from` is smaller than its `to`.
  std::vector<double> Flow() const {
    const size_t nodes = launch_ns_.size();
    std::vector<double> way(launch_ns_);
    for (const FavouriteEdge& edge : edges_) {
      double& at = way[static_cast<size_t>(edge.to)];
      at = std::max(
          at, way[static_cast<size_t>(edge.from)] + Length(edge) + launch_ns_[static_cast<size_t>(edge.to)]);
    }
    const double longest = *std::max_element(way.begin(), way.end());
    const double width = std::max(1.0, 0.01 * longest);
    std::vector<double> through(nodes, 0);
    double total = 0;
    for (size_t n = 0; n < nodes; ++n) total += through[n] = std::exp((way[n] - longest) / width);
    for (double& t : through) t /= total;
    std::vector<double> flow(edges_.size(), 0);
    for (size_t end = edges_.size(); end > 0;) {
      size_t begin = end;
      const int to = edges_[end - 1].to;
      double sum = 0;
      while (begin > 0 && edges_[begin - 1].to == to) {
        --begin;
        const FavouriteEdge& edge = edges_[begin];
        const double slack = way[static_cast<size_t>(to)] - launch_ns_[static_cast<size_t>(to)] -
                             way[static_cast<size_t>(edge.from)] - Length(edge);
        sum += flow[begin] = std::exp(-slack / width);
      }
      for (size_t e = begin; e < end; ++e) {
        flow[e] *= through[static_cast<size_t>(to)] / sum;
        through[static_cast<size_t>(edges_[e].from)] += flow[e];
      }
      end = begin;
    }
    return flow;
  }

  // Edges with one at most out of and into each task, heaviest first: at least half of the best matching.
  std::vector<bool> Match(const std::vector<double>& flow) const {
    std::vector<std::pair<double, size_t>> order;  // the negative weight, and the edge
    order.reserve(edges_.size());
    for (size_t e = 0; e < edges_.size(); ++e) {
      if (edges_[e].copy_ns > 0) order.emplace_back(-flow[e] * edges_[e].copy_ns, e);
    }
    std::sort(order.begin(), order.end());
    std::vector<bool> left(launch_ns_.size(), false), entered(launch_ns_.size(), false);
    std::vector<bool> matching(edges_.size(), false);
    for (const auto& [weight, e] : order) {
      const auto from = static_cast<size_t>(edges_[e].from), to = static_cast<size_t>(edges_[e].to);
      if (left[from] || entered[to]) continue;
      left[from] = entered[to] = matching[e] = true;
    }
    return matching;
  }

  std::vector<double> launch_ns_;
  std::vector<FavouriteEdge> edges_;
};

}  // namespace

Placement PlaceMSct(const StrategyInput& input) {
  const TaskGraph tasks(input);
  if (tasks.num_tasks() == 0) return ListSchedule(tasks).ToPlacement(input);
  return PlaceByEarliestStart(input, tasks, FavouriteProgram(tasks).Solve());
}

}  // namespace lanescope
