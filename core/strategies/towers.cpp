// SPDX-License-Identifier: Apache-2.0
#include "core/strategies/towers.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>

#include "core/base/split_mix.h"

namespace lanescope {
namespace {

// Joins that are looked at, most promising first; bounds the time on graphs with very many.
constexpr size_t kMaxCandidates = 256;
// A tower is more than a few element-wise ops around a constant, unless the graph has little else.
constexpr int kMinOpsInTower = 3;
constexpr double kMostOfGraph = 0.5;
// Where towers do most of the work before the join, little is left that would have to be done once for all.
constexpr double kGoodCoverage = 0.8;
constexpr double kMinCoverage = 0.5;

// Equal for nodes whose ancestries look alike: same ops on same types and shapes. The order of inputs does
// not count (gradients of a*b swap it), nor do values of constants or which output of an input is read.
IdVector<NodeId, uint64_t> StructuralHashes(const Graph& graph, const GraphInfo& info,
                                            const std::vector<NodeId>& order) {
  IdVector<NodeId, uint64_t> hashes(graph.num_nodes());
  for (const NodeId id : order) {
    const Node& node = graph.node(id);
    uint64_t hash = std::hash<std::string_view>()(node.op);
    for (const TensorInfo& output : info.outputs(id)) {
      hash = SplitMix(hash ^ static_cast<uint64_t>(output.dtype));
      for (const Dim dim : output.shape.dims()) hash = SplitMix(hash ^ static_cast<uint64_t>(dim));
    }
    uint64_t inputs = 0;
    for (const Endpoint& input : node.inputs) inputs += SplitMix(hashes[input.node]);
    hashes[id] = SplitMix(hash + inputs);
  }
  return hashes;
}

// The largest set of distinct inputs that look alike, in input order.
std::vector<NodeId> AlikeInputs(const Node& node, const IdVector<NodeId, uint64_t>& hashes) {
  std::map<uint64_t, std::vector<NodeId>> by_hash;
  for (const Endpoint& input : node.inputs) {
    std::vector<NodeId>& alike = by_hash[hashes[input.node]];
    if (std::find(alike.begin(), alike.end(), input.node) == alike.end()) alike.push_back(input.node);
  }
  std::vector<NodeId> best;
  for (const auto& [hash, alike] : by_hash) {
    if (alike.size() > best.size()) best = alike;
  }
  return best;
}

struct Candidate {
  NodeId join;
  std::vector<NodeId> ends;  // the last node of each tower
  double bound = 0;          // at least the work of all its towers
};

// Work of everything before each node, with what is reached on several ways counted as often: cheap, and
// never too low.
IdVector<NodeId, double> WorkBefore(const Graph& graph, const std::vector<NodeId>& order,
                                    const IdVector<NodeId, double>& work) {
  constexpr double kEnough = 1e300;
  IdVector<NodeId, double> before(work);
  for (const NodeId id : order) {
    double& sum = before[id];
    for (const Endpoint& input : graph.node(id).inputs) {
      sum = std::min(kEnough, sum + before[input.node]);
    }
  }
  return before;
}

std::vector<Candidate> FindCandidates(const Graph& graph, const std::vector<NodeId>& order,
                                      const IdVector<NodeId, uint64_t>& hashes,
                                      const IdVector<NodeId, double>& work) {
  const IdVector<NodeId, double> before = WorkBefore(graph, order, work);
  std::vector<Candidate> candidates;
  for (const NodeId id : order) {
    if (graph.node(id).inputs.size() < 2) continue;
    Candidate candidate{id, AlikeInputs(graph.node(id), hashes), 0};
    if (candidate.ends.size() < 2) continue;
    for (const NodeId end : candidate.ends) candidate.bound += before[end];
    candidates.push_back(std::move(candidate));
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.bound > b.bound; });
  if (candidates.size() > kMaxCandidates) candidates.resize(kMaxCandidates);
  return candidates;
}

// Labels the data ancestors of every end by the tower that alone needs them.
IdVector<NodeId, int> LabelAncestors(const Graph& graph, const std::vector<NodeId>& ends) {
  IdVector<NodeId, int> label(graph.num_nodes(), Towers::kUnknown);
  std::vector<NodeId> stack;
  for (size_t tower = 0; tower < ends.size(); ++tower) {
    const int own = static_cast<int>(tower);
    stack.push_back(ends[tower]);
    while (!stack.empty()) {
      const NodeId id = stack.back();
      stack.pop_back();
      int& mark = label[id];
      if (mark == own || mark == Towers::kShared) continue;
      mark = mark == Towers::kUnknown ? own : Towers::kShared;
      for (const Endpoint& input : graph.node(id).inputs) stack.push_back(input.node);
    }
  }
  return label;
}

struct Score {
  double exclusive = 0;  // work of the towers
  double coverage = 0;   // its share of all work before the join
  int ops = 0;           // in the smallest tower
};

Score ScoreOf(const Graph& graph, const IdVector<NodeId, int>& label, size_t towers,
              const IdVector<NodeId, double>& work) {
  std::vector<int> ops(towers, 0);
  std::vector<double> exclusive(towers, 0);
  double shared = 0;
  for (const NodeId id : label.ids()) {
    if (label[id] == Towers::kShared) shared += work[id];
    if (label[id] < 0) continue;
    const auto tower = static_cast<size_t>(label[id]);
    exclusive[tower] += work[id];
    if (work[id] > 0 && !graph.node(id).inputs.empty()) ++ops[tower];
  }
  Score score;
  score.ops = *std::min_element(ops.begin(), ops.end());
  for (const double sum : exclusive) score.exclusive += sum;
  if (score.exclusive > 0) score.coverage = score.exclusive / (score.exclusive + shared);
  return score;
}

bool IsAcceptable(const Score& score, double all_work) {
  if (score.ops < 1 || score.coverage < kMinCoverage) return false;
  return score.ops >= kMinOpsInTower || score.exclusive >= kMostOfGraph * all_work;
}

bool IsBetter(const Score& a, const Score& b) {
  const bool a_good = a.coverage >= kGoodCoverage, b_good = b.coverage >= kGoodCoverage;
  return a_good != b_good ? a_good : a.exclusive > b.exclusive;
}

}  // namespace

Towers FindTowers(const Graph& graph, const GraphInfo& info, const IdVector<NodeId, double>& work) {
  const std::vector<NodeId> order = graph.TopologicalOrder();
  const IdVector<NodeId, uint64_t> hashes = StructuralHashes(graph, info, order);
  const double all_work = std::accumulate(work.begin(), work.end(), 0.0);
  Towers best;
  Score best_score;
  for (const Candidate& candidate : FindCandidates(graph, order, hashes, work)) {
    IdVector<NodeId, int> label = LabelAncestors(graph, candidate.ends);
    const Score score = ScoreOf(graph, label, candidate.ends.size(), work);
    if (!IsAcceptable(score, all_work) || !IsBetter(score, best_score)) continue;
    best_score = score;
    best.count = static_cast<int>(candidate.ends.size());
    best.join = candidate.join;
    best.label = std::move(label);
  }
  return best;
}

}  // namespace lanescope
