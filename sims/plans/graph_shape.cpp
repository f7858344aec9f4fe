// SPDX-License-Identifier: Apache-2.0
#include "sims/plans/graph_shape.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/printable.h"
#include "sims/plans/graph_causal.h"
#include "sims/plans/layer_matrices.h"

namespace lanescope::sims::plans {
namespace {

using Sizes = std::vector<std::array<int64_t, 3>>;

struct Layer {
  std::vector<NamedMatrix> matrices;
  bool HasExperts() const {
    return std::ranges::any_of(matrices, [](const NamedMatrix& matrix) { return matrix.experts > 0; });
  }
  Sizes SortedSizes() const {
    Sizes all;
    for (const NamedMatrix& matrix : matrices) all.push_back({matrix.experts, matrix.rows, matrix.columns});
    std::ranges::sort(all);
    return all;
  }
};
// A number as its digits without leading zeros, shorter ones first.
struct ByNumber {
  bool operator()(const std::string& a, const std::string& b) const {
    return std::pair(a.size(), std::string_view(a)) < std::pair(b.size(), std::string_view(b));
  }
};
using LayersByNumber = std::map<std::string, Layer, ByNumber>;

// "model/h/" and "3" of "model/h/3/attn/w"; none without a scope that is a number.
std::optional<std::pair<std::string_view, std::string_view>> NumberedScope(std::string_view name) {
  for (size_t begin = 0; begin < name.size();) {
    const size_t end = std::min(name.find_first_of("/.", begin), name.size());
    const std::string_view part = name.substr(begin, end - begin);
    if (end < name.size() && !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos)
      return std::pair{name.substr(0, begin), part};
    begin = end + 1;
  }
  return std::nullopt;
}

bool IsVariable(const Node& node) {
  return node.op == "VarHandleOp" || node.op == "VariableV2" || node.op == "Variable";
}
bool GivesElementsOfOne(const Node& node) {
  static constexpr std::array kOps = {"Identity",   "Cast",    "Reshape",    "Transpose",
                                      "ExpandDims", "Squeeze", "Slice",      "StridedSlice",
                                      "Split",      "SplitV",  "BroadcastTo"};
  return std::ranges::find(kOps, node.op) != kOps.end();
}
bool IsElementWise(const Node& node) {
  static constexpr std::array kOps = {"Mul", "AddV2", "Sub", "RealDiv"};
  return std::ranges::find(kOps, node.op) != kOps.end();
}
bool IsRead(const Node& node) { return node.op == "ReadVariableOp" || node.op == "Identity"; }

class GraphReader {
 public:
  GraphReader(const Graph& graph, const GraphInfo& info, const std::string& where)
      : graph_(graph), info_(info), where_(where) {}

  ModelShape Read() {
    SortVariables();
    ModelShape model;
    model.name = where_;
    const NamedMatrix embedding = Embedding();
    hidden_ = embedding.columns;
    model.hidden = static_cast<double>(hidden_);
    model.vocabulary = static_cast<double>(embedding.rows);
    model.tied = std::ranges::none_of(outside_, [&](const NamedMatrix& other) {
      return other.name != embedding.name && other.Beside(hidden_) == embedding.rows;
    });
    const LayersByNumber& layers = Layers();
    model.layers = static_cast<double>(layers.size());
    TakeLayers(layers, &model);
    model.sequence = static_cast<double>(tokens_);
    CheckModel(model);
    return model;
  }

 private:
  [[noreturn]] void Refuse(const std::string& why) const {
    Throw(
        Code::kInvalidArgument,
        "{} is no model's shape: {}. A plan needs an embedding of tokens and one stack of equal layers: name "
        "a .json file with them or a published model, or simulate the graph by --strategy, as "
        "data-parallel, on a --machine FILE",
        Printable(where_), why);
  }

  // Numbers by which activations are multiplied or added up, element by element, are no matrix: angles of
  // positions in every layer, scales of heads.
  bool IsTable(NodeId read, const Fanout& fanout) const {
    std::vector<NodeId> open{read};
    bool is_table = false;
    for (size_t i = 0; i < open.size(); ++i) {
      for (const NodeUse& use : fanout[open[i]]) {
        if (use.input < 0) continue;
        if (IsElementWise(graph_.node(use.node))) {
          is_table = true;
          continue;
        }
        if (!GivesElementsOfOne(graph_.node(use.node))) return false;
        if (std::ranges::find(open, use.node) == open.end()) open.push_back(use.node);
      }
    }
    return is_table;
  }

  // Variables that are read, not those of the optimizer.
  void SortVariables() {
    const Fanout fanout = ComputeFanout(graph_);
    std::set<NodeId> read, tables;
    for (const NodeId id : graph_.node_ids()) {
      const Node& node = graph_.node(id);
      if (!IsRead(node) || node.inputs.empty() || !IsVariable(graph_.node(node.inputs[0].node))) continue;
      const NodeId variable = node.inputs[0].node;
      const bool is_table = IsTable(id, fanout);
      if (read.insert(variable).second && is_table) tables.insert(variable);
      if (!is_table) tables.erase(variable);
    }
    for (const NodeId id : read) {
      const Node& node = graph_.node(id);
      const Shape shape = node.GetShapeAttr("shape");
      if (!shape.known_rank() || !shape.IsExact() || shape.rank() < 2) continue;
      const auto scope = NumberedScope(node.name);
      if (scope && tables.contains(id)) continue;
      const bool is_mask = shape.rank() == 4 && shape[0] == 1 && shape[1] == 1 && shape[2] == shape[3];
      if (is_mask) continue;
      const bool is_stack = shape.rank() == 3;
      if (shape.rank() > 3 || (is_stack && !scope)) {
        if (scope) Refuse("'" + node.name + "' is neither a matrix nor one for each expert");
        continue;
      }
      const size_t rows = is_stack ? 1 : 0;
      const NamedMatrix matrix{node.name, is_stack ? shape[0] : 0, shape[rows], shape[rows + 1]};
      if (scope)
        layers_[std::string(scope->first)][std::string(scope->second)].matrices.push_back(matrix);
      else
        outside_.push_back(matrix);
    }
  }

  // The largest that is gathered.
  NamedMatrix Embedding() {
    NamedMatrix largest;
    for (const Node& node : graph_.nodes()) {
      if (node.op != "GatherV2" && node.op != "Gather") continue;
      const Node& from = graph_.node(node.inputs[0].node);
      const Node& variable = IsRead(from) && !from.inputs.empty() ? graph_.node(from.inputs[0].node) : from;
      const auto found = std::ranges::find(outside_, variable.name, &NamedMatrix::name);
      if (found == outside_.end() || found->rows <= largest.rows) continue;
      largest = *found;
      const Shape& tokens = info_.of(node.inputs[1]).shape;
      if (!tokens.known_rank() || !tokens.IsExact() || tokens.rank() != 2) continue;
      batch_ = tokens[0];
      tokens_ = tokens[1];
    }
    if (largest.rows == 0) Refuse("it gathers rows of no embedding, as models of images do not");
    return largest;
  }

  // The scope with the most numbers has the layers. Those without experts may come before those with.
  const LayersByNumber& Layers() const {
    const LayersByNumber* most = nullptr;
    for (const auto& [scope, numbered] : layers_) {
      if (most == nullptr || numbered.size() > most->size()) most = &numbered;
    }
    if (most == nullptr) Refuse("it has no layers under numbered scopes, as h/0/");
    CheckOneStack(*most);
    const auto* before = &*most->begin();
    for (const auto& layer : *most) {
      const bool begins_experts = layer.second.HasExperts() && !before->second.HasExperts();
      if (!begins_experts && layer.second.SortedSizes() != before->second.SortedSizes())
        Refuse("layers " + before->first + " and " + layer.first + " have other matrices");
      before = &layer;
    }
    return *most;
  }

  // Encoder and decoder of one model are two.
  void CheckOneStack(const LayersByNumber& stack) const {
    constexpr std::ptrdiff_t kLeastMatrices = 4;  // of attention two, of its network two
    std::string scopes;
    for (const auto& [scope, numbered] : layers_) {
      const auto of_layer = [&](const NamedMatrix& matrix) { return matrix.Beside(hidden_) > 0; };
      const bool is_layer = std::ranges::any_of(numbered, [&](const auto& layer) {
        return std::ranges::count_if(layer.second.matrices, of_layer) >= kLeastMatrices;
      });
      if (is_layer || &numbered == &stack) scopes += (scopes.empty() ? "'" : ", '") + scope + "'";
    }
    if (scopes.find(", ") != std::string::npos) Refuse("it has several stacks of layers, under " + scopes);
  }

  // The first attention has queries as [batch, heads, tokens, size], with the middle ones the other way
  // round, or with batch and heads in one.
  // Where it stands: `found`.
  AttentionHeads Heads(NodeId* found) const {
    for (const NodeId id : graph_.node_ids()) {
      const Node& node = graph_.node(id);
      *found = id;
      const bool fused = node.op.find("ScaledDotProduct") != std::string::npos;
      if ((!fused && !node.op.starts_with("BatchMatMul")) || node.inputs.empty()) continue;
      const Shape& queries = info_.of(node.inputs[0]).shape;
      if (!queries.known_rank() || !queries.IsExact() || batch_ == 0) continue;
      if (queries.rank() == 4 && queries[0] == batch_) {
        if (queries[2] == tokens_) return {queries[1], queries[3]};
        if (queries[1] == tokens_) return {queries[2], queries[3]};
      }
      if (queries.rank() == 3 && queries[0] % batch_ == 0 && queries[1] == tokens_)
        return {queries[0] / batch_, queries[2]};
    }
    Refuse("it has no attention with a known number of heads");
  }

  LayerSizes SizesOf(const Layer& layer, const AttentionHeads& heads) const {
    try {
      return SizesOfLayer(layer.matrices, hidden_, heads);
    } catch (const Error& error) {
      Refuse(error.message());
    }
  }
  void TakeLayers(const LayersByNumber& layers, ModelShape* model) const {
    NodeId attention;
    const AttentionHeads heads = Heads(&attention);
    model->causal = IsCausal(graph_, info_, attention);
    const LayerSizes first = SizesOf(layers.begin()->second, heads),
                     last = SizesOf(layers.rbegin()->second, heads);
    model->heads = static_cast<double>(heads.count);
    model->head_size = static_cast<double>(heads.size);
    model->kv_heads = static_cast<double>(last.kv_heads);
    model->gated = last.gated;
    if (last.experts == 0) {
      model->ffn = static_cast<double>(last.ffn);
      return;
    }
    if (first.kv_heads != last.kv_heads || first.gated != last.gated)
      Refuse("its layers with experts and those without are of two kinds");
    model->experts = static_cast<double>(last.experts);
    model->expert_ffn = static_cast<double>(last.expert_ffn);
    model->shared_ffn = static_cast<double>(last.ffn);
    model->top_k = static_cast<double>(ExpertsOfToken(last.experts));
    model->dense_layers = static_cast<double>(
        std::ranges::count_if(layers, [](const auto& layer) { return !layer.second.HasExperts(); }));
    model->ffn = static_cast<double>(first.experts == 0 ? first.ffn : last.expert_ffn);
  }

  // The router takes the largest of so many numbers a token.
  int64_t ExpertsOfToken(int64_t experts) const {
    const auto last_of = [&](Endpoint of) {
      const Shape& shape = info_.of(of).shape;
      return shape.known_rank() && shape.rank() > 0 ? shape[shape.rank() - 1] : kUnknownDim;
    };
    std::set<int64_t> taken;
    for (const NodeId id : graph_.node_ids()) {
      const Node& node = graph_.node(id);
      const bool is_top = node.op == "TopKV2" || node.op == "AtenTopk";  // the latter in fused exports
      if (is_top && !node.inputs.empty() && last_of(node.inputs[0]) == experts)
        taken.insert(last_of({id, 0}));
    }
    if (taken.size() != 1 || *taken.begin() < 1)
      Refuse("how many of its " + std::to_string(experts) +
             " experts a token passes is missing: it has no TopKV2 of so many numbers, or several of other "
             "sizes");
    return *taken.begin();
  }

  const Graph& graph_;
  const GraphInfo& info_;
  const std::string& where_;
  std::map<std::string, LayersByNumber> layers_;  // by scope
  std::vector<NamedMatrix> outside_;
  int64_t hidden_ = 0, batch_ = 0, tokens_ = 0;
};

}  // namespace

ModelShape ShapeOfGraph(const Graph& graph, const GraphInfo& info, const std::string& where) {
  return GraphReader(graph, info, where).Read();
}

}  // namespace lanescope::sims::plans
