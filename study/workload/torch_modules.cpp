// SPDX-License-Identifier: Apache-2.0
#include "study/workload/torch_modules.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/schedule/cost.h"
#include "core/strategies/graph_strategy.h"
#include "study/workload/module_tree.h"
#include "study/workload/workload.h"

namespace lanescope::study {
namespace {

using sims::plans::TorchModules;
using sims::plans::TorchStyle;

bool IsBlockNumber(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}
std::string_view EndOfPath(std::string_view path) { return path.substr(path.rfind('.') + 1); }
std::string_view PathAbove(std::string_view path) {
  const size_t dot = path.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : path.substr(0, dot);
}

// The axes along which the strategy cuts variables, by name.
std::map<std::string, int> CutAxes(const Workload& workload, int tp) {
  const RooflineCost costs;
  const Machine machine = VirtualMachine(tp, 1);
  const StepGraph written =
      SplitOverMatrices({workload.graph(), workload.spec(), workload.info(), machine, costs});
  std::map<std::string, int> axes;
  for (const Node& node : workload.graph().nodes()) {
    if (node.FindAttr("shape") == nullptr) continue;
    const NodeId part = written.graph.FindNode("rank_1/" + node.name);
    if (!part.exists() || written.graph.node(part).FindAttr("shape") == nullptr) continue;
    const Shape whole = node.GetShapeAttr("shape"), of_part = written.graph.node(part).GetShapeAttr("shape");
    if (!whole.known_rank() || !of_part.known_rank() || whole.rank() != of_part.rank()) continue;
    for (int axis = 0; axis < whole.rank(); ++axis) {
      if (whole.dim(axis) != of_part.dim(axis)) axes[node.name] = axis;
    }
  }
  return axes;
}

class TorchModuleFinder {
 public:
  TorchModuleFinder(const ModuleTree& tree, const Graph& graph, const sims::plans::ModelShape& shape,
                    std::map<std::string, int> axes)
      : tree_(tree), graph_(graph), shape_(shape), axes_(std::move(axes)) {}

  TorchModules Find() {
    size_t most = 0;
    Visit(tree_.root(), [&](const TorchModule& module) {
      const size_t numbered = NumberedIn(module);
      if (numbered <= most || module.path.empty()) return;
      most = numbered;
      found_.blocks = module.path;
    });
    if (most == 0)
      Throw(Code::kInvalidArgument, "the model has no list of blocks (in PyTorch: a ModuleList)");
    Visit(tree_.root(), [&](const TorchModule& module) { Take(module); });
    LeaveOut();
    return std::move(found_);
  }

 private:
  template <typename Function>
  void Visit(size_t at, const Function& function) const {
    function(tree_[at]);
    for (const size_t child : tree_[at].children) Visit(child, function);
  }
  size_t NumberedIn(const TorchModule& module) const {
    const auto is_block = [&](size_t child) {
      return IsBlockNumber(EndOfPath(tree_[child].path)) && !tree_[child].children.empty();
    };
    return static_cast<size_t>(std::ranges::count_if(module.children, is_block));
  }

  // The path within its block; none: it is outside of all.
  std::optional<std::string> InBlock(const std::string& path) const {
    const std::string begin = found_.blocks + ".";
    if (!path.starts_with(begin)) return std::nullopt;
    const size_t end = path.find('.', begin.size());
    return end == std::string::npos ? std::string() : path.substr(end + 1);
  }
  Shape ShapeOf(const TorchParameter& parameter) const {
    const NodeId id = graph_.FindNode(parameter.NodeName());
    if (!id.exists() || graph_.node(id).FindAttr("shape") == nullptr) return Shape::Unknown();
    return graph_.node(id).GetShapeAttr("shape");
  }

  void Take(const TorchModule& module) {
    const auto path = InBlock(module.path);
    if (path && path->empty()) return;
    if (!axes_.empty() && module.type.find("Norm") != std::string::npos) return TakeNorm(module, path);
    for (const TorchParameter& parameter : module.parameters) {
      const auto axis = axes_.find(parameter.NodeName());
      const Shape shape = ShapeOf(parameter);
      if (axis == axes_.end() || !shape.known_rank() || shape.rank() < 2) continue;
      TakeMatrix(module, parameter, path, axis->second, shape);
    }
  }

  void TakeMatrix(const TorchModule& module, const TorchParameter& parameter,
                  const std::optional<std::string>& path, int axis, const Shape& shape) {
    const bool is_tied = !parameter.tied_to.empty() || IsTiedTo(parameter.name);
    if (!path) {
      if (is_tied) return Whole(module.path, "whose matrix is another module's too");
      if (module.type == "Embedding")
        return Add(&found_.outside, module.path,
                   axis == 0 ? TorchStyle::kWords : TorchStyle::kColumnsOfWords);
      if (module.type == "Linear" && axis == 0)
        return Add(&found_.outside, module.path, TorchStyle::kColumns);
      return Whole(module.path, "a " + module.type);
    }
    if (module.type != "Linear") return Leave(*path, "a " + module.type + ", for which PyTorch has no style");
    if (axis == 0 && IsFused(shape))
      return Leave(*path, "several matrices in one: take it apart into a Linear for each");
    Add(&found_.in_block, *path, axis == 0 ? TorchStyle::kColumns : TorchStyle::kRows);
  }
  bool IsTiedTo(const std::string& name) const {
    bool is_tied = false;
    Visit(tree_.root(), [&](const TorchModule& module) {
      for (const TorchParameter& each : module.parameters) is_tied |= each.tied_to == name;
    });
    return is_tied;
  }
  // Queries, keys and values, or gate and value, one behind the other.
  bool IsFused(const Shape& shape) const {
    const auto rows = static_cast<double>(shape.dim(0));
    return rows == (shape_.heads + 2 * shape_.KvHeads()) * HeadSize() ||
           (shape_.gated && rows == 2 * shape_.ffn);
  }
  double HeadSize() const { return shape_.head_size > 0 ? shape_.head_size : shape_.hidden / shape_.heads; }

  void TakeNorm(const TorchModule& module, const std::optional<std::string>& path) {
    if (!path) return;  // tokens are whole there
    const bool between = path->find('.') == std::string::npos;
    if (between) return Add(&found_.in_block, *path, TorchStyle::kTokens);
    double size = 0;
    for (const TorchParameter& parameter : module.parameters) {
      const Shape shape = ShapeOf(parameter);
      if (shape.known_rank() && shape.IsExact()) size = static_cast<double>(shape.NumElements());
    }
    if (size == HeadSize()) return Add(&found_.in_block, *path, TorchStyle::kHeads);
    Leave(*path, "a norm over what GPUs would share");
  }

  static void Add(std::vector<sims::plans::TorchModule>* to, const std::string& path, TorchStyle style) {
    const auto known = std::ranges::find(*to, path, &sims::plans::TorchModule::path);
    if (known == to->end()) to->push_back({path, style});
  }
  void Whole(const std::string& path, const std::string& why) {
    const std::string note = fmt::format("'{}' stays whole: it is a module {}.", path, why);
    if (std::ranges::count(found_.left_whole, note) == 0) found_.left_whole.push_back(note);
  }
  // With all that stands beside it: what one gives the next takes.
  void Leave(const std::string& path, const std::string& why) {
    const std::string note =
        fmt::format("'{}' of a block stays whole, and so do those beside it: it is {}.", path, why);
    if (std::ranges::count(found_.left_whole, note) == 0) found_.left_whole.push_back(note);
    left_.insert(std::string(PathAbove(path)));
  }
  void LeaveOut() {
    std::erase_if(found_.in_block, [&](const sims::plans::TorchModule& module) {
      return module.style != TorchStyle::kTokens && left_.contains(std::string(PathAbove(module.path)));
    });
  }

  const ModuleTree& tree_;
  const Graph& graph_;
  const sims::plans::ModelShape& shape_;
  const std::map<std::string, int> axes_;
  std::set<std::string> left_;  // parents within a block
  TorchModules found_;
};

}  // namespace

TorchModules TorchModulesOf(const std::string& graph, const sims::plans::ModelShape& shape, int tp) {
  std::error_code unknown;
  const std::filesystem::path beside = std::filesystem::path(graph).replace_extension(".modules.json");
  if (graph.ends_with(".json") || !std::filesystem::exists(graph, unknown) ||
      !std::filesystem::exists(beside, unknown))
    return sims::plans::ModulesOfTorchtitan();
  const ModuleTree tree = ModuleTree::BesideGraph(graph);
  const Workload workload(graph);
  std::map<std::string, int> axes;
  std::string refused;
  try {
    if (tp > 1) axes = CutAxes(workload, tp);
  } catch (const Error& error) {
    if (error.code() != Code::kInvalidArgument) throw;
    refused = error.message();
  }
  TorchModules found = TorchModuleFinder(tree, workload.graph(), shape, std::move(axes)).Find();
  if (!refused.empty()) found.left_whole.push_back(refused);
  return found;
}

}  // namespace lanescope::study
