// SPDX-License-Identifier: Apache-2.0
#include "core/strategies/token_feeds.h"

#include <algorithm>
#include <set>
#include <vector>

#include "core/base/error.h"
#include "core/base/nearest_number.h"

namespace lanescope {
namespace {

constexpr int kTokenAxis = 1;

struct Feed {
  NodeId node;
  const TensorInfo* info = nullptr;
  int64_t tokens() const { return info->shape.dim(kTokenAxis); }
};

std::vector<Feed> FeedsOf(const Graph& graph, const RunSpec& spec, const GraphInfo& info) {
  std::vector<Feed> feeds;
  for (const auto& [name, feed] : spec.feeds) {
    const Endpoint tensor = graph.FindEndpoint(name);
    const Shape& shape = info.of(tensor).shape;
    if (shape.known_rank() && shape.IsExact() && shape.rank() > kTokenAxis && shape.dim(kTokenAxis) > 1)
      feeds.push_back({tensor.node, &info.of(tensor)});
  }
  return feeds;
}

bool IsOfWords(const Feed& feed) {
  return feed.info->dtype == DataType::kInt32 || feed.info->dtype == DataType::kInt64;
}
bool IsOfVectors(const Feed& feed) { return feed.info->shape.rank() == 3; }

void CheckTokens(const Graph& graph, const Feed& feed, int64_t devices, SplitBy by) {
  const int64_t tokens = feed.tokens();
  if (tokens % devices == 0) return;
  Throw(Code::kInvalidArgument,
        "{}: the {} tokens of '{}' cannot be shared out evenly over {} GPUs; the nearest number that divides "
        "them is {}",
        StrategyOf(by), tokens, graph.node(feed.node).name, devices, NearestDivisor(tokens, devices));
}

}  // namespace

std::map<NodeId, Layout> TokenFeeds(const Graph& graph, const RunSpec& spec, const GraphInfo& info,
                                    int64_t devices, SplitBy by) {
  const std::vector<Feed> feeds = FeedsOf(graph, spec, info);
  const auto is_of_tokens = std::ranges::any_of(feeds, &IsOfWords) ? &IsOfWords : &IsOfVectors;
  std::set<int64_t> lengths;
  for (const Feed& feed : feeds) {
    if (!is_of_tokens(feed)) continue;
    CheckTokens(graph, feed, devices, by);
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
  return parts;
}

}  // namespace lanescope
