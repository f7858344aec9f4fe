// SPDX-License-Identifier: Apache-2.0
#include "core/strategies/token_feeds.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/nearest_number.h"

namespace lanescope {
namespace {

constexpr int kTokenAxis = 1;

struct Feed {
  NodeId node;
  std::string name;
  const TensorInfo* info = nullptr;
  int64_t tokens() const { return info->shape.dim(kTokenAxis); }
};

std::vector<Feed> FeedsOf(const Graph& graph, const RunSpec& spec, const GraphInfo& info,
                          const std::map<NodeId, std::string>* parts) {
  std::vector<Feed> feeds;
  const auto add = [&](Endpoint tensor, const std::string& name) {
    const Shape& shape = info.of(tensor).shape;
    if (shape.known_rank() && shape.IsExact() && shape.rank() > kTokenAxis && shape.dim(kTokenAxis) > 1)
      feeds.push_back({tensor.node, name, &info.of(tensor)});
  };
  if (parts != nullptr) {
    for (const auto& [node, name] : *parts) add({node, 0}, name);
    return feeds;
  }
  for (const auto& [name, feed] : spec.feeds) {
    const Endpoint tensor = graph.FindEndpoint(name);
    add(tensor, graph.node(tensor.node).name);
  }
  return feeds;
}

// Gives rows of what it takes, in order: its tokens are the same.
bool CutsRows(const Graph& graph, const GraphInfo& info, NodeId id, const std::map<NodeId, Layout>& parts) {
  const Node& node = graph.node(id);
  if (node.op != "Split" && node.op != "SplitV" && node.op != "Identity") return false;
  const Endpoint& tensor = node.inputs[node.op == "Split" ? 1 : 0];
  if (!parts.contains(tensor.node)) return false;
  const Shape& before = info.of(tensor).shape;
  return std::ranges::all_of(info.outputs(id), [&](const TensorInfo& piece) {
    return piece.shape.known_rank() && piece.shape.rank() == before.rank() &&
           piece.shape.dim(kTokenAxis) == before.dim(kTokenAxis);
  });
}

bool IsOfWords(const Feed& feed) {
  return feed.info->dtype == DataType::kInt32 || feed.info->dtype == DataType::kInt64;
}
bool IsOfVectors(const Feed& feed) { return feed.info->shape.rank() == 3; }

void CheckTokens(const Feed& feed, int64_t devices, SplitBy by) {
  const int64_t tokens = feed.tokens();
  if (tokens % devices == 0) return;
  Throw(Code::kInvalidArgument,
        "{}: the {} tokens of '{}' cannot be shared out evenly over {} GPUs; the nearest number that divides "
        "them is {}",
        StrategyOf(by), tokens, feed.name, devices, NearestDivisor(tokens, devices));
}

}  // namespace

std::map<NodeId, Layout> TokenFeeds(const Graph& graph, const RunSpec& spec, const GraphInfo& info,
                                    int64_t devices, SplitBy by, const std::map<NodeId, std::string>* given) {
  const std::vector<Feed> feeds = FeedsOf(graph, spec, info, given);
  const auto is_of_tokens = std::ranges::any_of(feeds, &IsOfWords) ? &IsOfWords : &IsOfVectors;
  std::set<int64_t> lengths;
  for (const Feed& feed : feeds) {
    if (!is_of_tokens(feed)) continue;
    CheckTokens(feed, devices, by);
    lengths.insert(feed.tokens());
  }
  if (lengths.empty()) {
    Throw(Code::kInvalidArgument,
          "{}: the graph has no feed of tokens: of integers, [batch, tokens], or of floats, [batch, tokens, "
          "columns]",
          StrategyOf(by));
  }
  std::map<NodeId, Layout> parts;
  for (const Feed& feed : feeds) {
    if (lengths.contains(feed.tokens())) parts[feed.node] = InParts(kTokenAxis);
  }
  for (const NodeId id : graph.TopologicalOrder()) {
    if (CutsRows(graph, info, id, parts)) parts[id] = InParts(kTokenAxis);
  }
  return parts;
}

}  // namespace lanescope
