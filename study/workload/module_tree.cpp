// SPDX-License-Identifier: Apache-2.0
#include "study/workload/module_tree.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/base/file.h"

namespace lanescope::study {
namespace {

using nlohmann::ordered_json;

// Thousands of modules are a few hundred KiB.
constexpr size_t kMostBytes = size_t{16} << 20;
// Deeper than any model; what walks the tree calls itself.
constexpr ptrdiff_t kMostDots = 500;

ordered_json Parse(std::string_view text) {
  ordered_json root = ordered_json::parse(text, nullptr, false);
  if (!root.is_object()) Throw(Code::kInvalidArgument, "the modules of a model must be a JSON object");
  for (const char* key : {"modules", "parameters"}) {
    if (!root.contains(key) || !root[key].is_object())
      Throw(Code::kInvalidArgument, "the modules of a model need an object '{}'", key);
  }
  if (!root.contains("order") || !root["order"].is_array())
    Throw(Code::kInvalidArgument, "the modules of a model need a list 'order'");
  return root;
}

std::string_view ParentOf(std::string_view path) {
  const size_t dot = path.rfind('.');
  return dot == path.npos ? std::string_view() : path.substr(0, dot);
}

}  // namespace

std::string TorchParameter::NodeName() const {
  std::string node = tied_to.empty() ? name : tied_to;
  std::replace(node.begin(), node.end(), '.', '/');
  return node;
}

bool HoldsBlocks(const TorchModule& module) {
  return module.type == "ModuleList" || module.type == "Sequential" || module.type == "ModuleDict";
}

ModuleTree::ModuleTree(std::string_view text) {
  const ordered_json root = Parse(text);
  modules_.emplace_back();
  by_path_.emplace("", 0);
  for (const auto& [path, type] : root["modules"].items()) {
    if (!type.is_string()) Throw(Code::kInvalidArgument, "the class of module '{}' must be a string", path);
    if (path.empty()) {
      modules_[0].type = type.get<std::string>();
      continue;
    }
    if (std::count(path.begin(), path.end(), '.') > kMostDots)
      Throw(Code::kInvalidArgument, "a module lies in more than {} others", kMostDots);
    const size_t parent = Nearest(ParentOf(path));
    if (!by_path_.emplace(path, modules_.size()).second) continue;
    modules_[parent].children.push_back(modules_.size());
    TorchModule& module = modules_.emplace_back();
    module.path = path;
    module.type = type.get<std::string>();
  }
  for (const auto& [name, bytes] : root["parameters"].items()) {
    if (!bytes.is_number_unsigned() || bytes.get<uint64_t>() > uint64_t{1} << 50)
      Throw(Code::kInvalidArgument, "the bytes of parameter '{}' must be an integer from 0 to 2^50", name);
    modules_[Nearest(ParentOf(name))].parameters.push_back({name, bytes.get<int64_t>(), ""});
  }
  const ordered_json tied = root.value("tied", ordered_json::object());
  if (!tied.is_object()) Throw(Code::kInvalidArgument, "'tied' must be an object of names of parameters");
  for (const auto& [name, first] : tied.items()) {
    if (!first.is_string() || !root["parameters"].contains(first.get<std::string>()))
      Throw(Code::kInvalidArgument, "'{}' is tied to what is no parameter", name);
    modules_[Nearest(ParentOf(name))].parameters.push_back({name, 0, first.get<std::string>()});
  }
  size_t time = 0;
  for (const ordered_json& each : root["order"]) {
    if (!each.is_string()) Throw(Code::kInvalidArgument, "'order' must be a list of module paths");
    const std::string path = each.get<std::string>();
    const auto at = by_path_.find(path);
    if (at == by_path_.end()) continue;
    for (std::string_view outer = path;; outer = ParentOf(outer)) {
      TorchModule& module = modules_[Nearest(outer)];
      module.first_use = std::min(module.first_use, time);
      if (outer.empty()) break;
    }
    ++time;
  }
}

ModuleTree ModuleTree::BesideGraph(const std::string& graph) {
  const std::string path = std::filesystem::path(graph).replace_extension(".modules.json").string();
  if (!std::filesystem::exists(path)) {
    Throw(Code::kNotFound,
          "there is no '{}' with the modules of the model; lanescope.torch.export writes it when it saves a "
          "graph",
          path);
  }
  const std::string text = ReadFile(path, kMostBytes);
  try {
    return ModuleTree(text);
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{}: {}", path, error.message()));
  }
}

std::string LineOfNode(const std::string& graph, std::string_view node) {
  const auto path = std::filesystem::path(graph).replace_extension(".modules.json");
  if (graph.empty() || !std::filesystem::exists(path)) return "";
  ordered_json root;
  try {
    root = ordered_json::parse(ReadFile(path.string(), kMostBytes), nullptr, false);
  } catch (const Error&) {
    return "";  // of which whoever needs the modules hears
  }
  if (!root.is_object() || !root.contains("lines") || !root["lines"].is_object()) return "";
  for (const auto& [line, nodes] : root["lines"].items()) {
    for (const ordered_json& each : nodes) {
      if (each.is_string() && each.get_ref<const std::string&>() == node) return line;
    }
  }
  return "";
}

size_t ModuleTree::Nearest(std::string_view path) const {
  for (; !path.empty(); path = ParentOf(path)) {
    const auto at = by_path_.find(path);
    if (at != by_path_.end()) return at->second;
  }
  return 0;
}

}  // namespace lanescope::study
