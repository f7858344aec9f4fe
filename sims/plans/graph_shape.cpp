// SPDX-License-Identifier: Apache-2.0
#include "sims/plans/graph_shape.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/base/printable.h"

namespace lanescope::sims::plans {
namespace {

struct NamedMatrix {
  std::string name;
  int64_t rows = 0, columns = 0;
  // The size beside `hidden`; 0: it has none such.
  int64_t Beside(int64_t hidden) const {
    if (rows == hidden) return columns;
    return columns == hidden ? rows : 0;
  }
};

struct Block {
  std::vector<NamedMatrix> matrices;
  std::vector<std::pair<int64_t, int64_t>> sizes() const {
    std::vector<std::pair<int64_t, int64_t>> all;
    for (const NamedMatrix& matrix : matrices) all.emplace_back(matrix.rows, matrix.columns);
    std::ranges::sort(all);
    return all;
  }
};

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
bool IsRead(const Node& node) { return node.op == "ReadVariableOp" || node.op == "Identity"; }

// Takes the sizes out where all are there.
bool Take(std::multiset<int64_t>* from, std::initializer_list<int64_t> sizes) {
  std::multiset<int64_t> rest = *from;
  for (const int64_t size : sizes) {
    const auto found = rest.find(size);
    if (found == rest.end()) return false;
    rest.erase(found);
  }
  *from = std::move(rest);
  return true;
}

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
    const std::map<std::string, Block>& layers = Layers();
    model.layers = static_cast<double>(layers.size());
    TakeLayer(layers.begin()->second, &model);
    CheckModel(model);
    return model;
  }

 private:
  [[noreturn]] void Refuse(const std::string& why) const {
    Throw(Code::kInvalidArgument,
          "{} is no model's shape: {}; name a .json file with one, or a published model", Printable(where_),
          why);
  }

  // Variables that are read, not those of the optimizer.
  void SortVariables() {
    std::set<NodeId> read;
    for (const Node& node : graph_.nodes()) {
      if (IsRead(node) && !node.inputs.empty() && IsVariable(graph_.node(node.inputs[0].node)))
        read.insert(node.inputs[0].node);
    }
    for (const NodeId id : read) {
      const Node& node = graph_.node(id);
      const Shape shape = node.GetShapeAttr("shape");
      if (!shape.known_rank() || !shape.IsExact() || shape.rank() < 2) continue;
      const auto scope = NumberedScope(node.name);
      if (shape.rank() > 2) {
        if (scope) Refuse("'" + node.name + "' is no matrix, as those of experts and convolutions");
        continue;
      }
      const NamedMatrix matrix{node.name, shape[0], shape[1]};
      if (scope)
        blocks_[std::string(scope->first)][std::string(scope->second)].matrices.push_back(matrix);
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
    if (largest.rows == 0) Refuse("it gathers rows of no embedding");
    return largest;
  }

  // The scope with the most numbers has the layers.
  const std::map<std::string, Block>& Layers() const {
    const std::map<std::string, Block>* most = nullptr;
    for (const auto& [scope, numbered] : blocks_) {
      if (most == nullptr || numbered.size() > most->size()) most = &numbered;
    }
    if (most == nullptr) Refuse("it has no layers under numbered scopes, as h/0/");
    const auto sizes = most->begin()->second.sizes();
    for (const auto& [number, block] : *most) {
      if (block.sizes() != sizes)
        Refuse("layers " + most->begin()->first + " and " + number + " have other matrices");
    }
    return *most;
  }

  // The first attention has queries as [batch, heads, tokens, size], with the middle ones the other way
  // round, or with batch and heads in one.
  std::pair<int64_t, int64_t> HeadsAndSize() const {
    for (const Node& node : graph_.nodes()) {
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

  // Queries, keys, values and the result are one matrix each, or the first three are one; what is left is the
  // feed-forward network, with a gate (beside the value in one matrix, or by itself) or without.
  void TakeLayer(const Block& block, ModelShape* model) const {
    std::multiset<int64_t> sizes;
    for (const NamedMatrix& matrix : block.matrices) {
      sizes.insert(matrix.Beside(hidden_));
      if (matrix.Beside(hidden_) == 0)
        Refuse("'" + matrix.name + "' has no side of " + std::to_string(hidden_));
    }
    const auto [heads, size] = HeadsAndSize();
    const int64_t all = heads * size;
    for (int64_t kv = heads; kv >= 1; --kv) {
      std::multiset<int64_t> rest = sizes;
      if (heads % kv != 0 ||
          !(Take(&rest, {all + 2 * kv * size, all}) || Take(&rest, {all, kv * size, kv * size, all})))
        continue;
      const bool gated = rest.size() == 3 || (rest.size() == 2 && *rest.rbegin() == 2 * *rest.begin());
      if (rest.size() < 2 || rest.size() > 3 || (rest.size() == 3 && *rest.begin() != *rest.rbegin()) ||
          (rest.size() == 2 && !gated && *rest.begin() != *rest.rbegin()))
        continue;
      model->heads = static_cast<double>(heads);
      model->kv_heads = static_cast<double>(kv);
      model->head_size = static_cast<double>(size);
      model->ffn = static_cast<double>(*rest.begin());
      model->gated = gated;
      return;
    }
    Refuse("the matrices of a layer are not those of attention with " + std::to_string(heads) +
           " heads and a feed-forward network");
  }

  const Graph& graph_;
  const GraphInfo& info_;
  const std::string& where_;
  std::map<std::string, std::map<std::string, Block>> blocks_;  // by scope and number
  std::vector<NamedMatrix> outside_;
  int64_t hidden_ = 0, batch_ = 0, tokens_ = 0;
};

}  // namespace

ModelShape ShapeOfGraph(const Graph& graph, const GraphInfo& info, const std::string& where) {
  return GraphReader(graph, info, where).Read();
}

}  // namespace lanescope::sims::plans
