// SPDX-License-Identifier: Apache-2.0
// The modules of a PyTorch model whose step is a graph, as `lanescope.torch.export` saves them beside it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lanescope::study {

struct TorchParameter {
  std::string name;     // "blocks.0.weight"; its variable is the node "blocks/0/weight"
  int64_t bytes = 0;    // none of its own where it is tied
  std::string tied_to;  // the parameter that it is another name of, or nothing

  std::string NodeName() const;
};

struct TorchModule {
  std::string path;  // "blocks.0"; the model itself has none
  std::string type;  // the name of its class
  std::vector<size_t> children;
  std::vector<TorchParameter> parameters;  // its own, without those of its children
  size_t first_use = SIZE_MAX;  // which of the modules that work is the first in it; SIZE_MAX: none
};

// A list of modules, as blocks that follow each other are in.
bool HoldsBlocks(const TorchModule& module);

// Immutable.
class ModuleTree {
 public:
  // {"modules": {PATH: CLASS}, "parameters": {NAME: BYTES}, "tied": {NAME: NAME}, "order": [PATH]}, in the
  // model's order; `tied` maps further names of parameters to those with bytes and may be left out, `order`
  // says when modules work. Throws InvalidArgument.
  explicit ModuleTree(std::string_view json);

  // Reads MODEL.modules.json beside the graph MODEL.pb. Throws NotFound where there is none.
  static ModuleTree BesideGraph(const std::string& graph);

  size_t root() const { return 0; }
  size_t size() const { return modules_.size(); }
  const TorchModule& operator[](size_t module) const { return modules_[module]; }

 private:
  // The module at `path`, or the nearest that it lies in.
  size_t Nearest(std::string_view path) const;

  std::vector<TorchModule> modules_;  // parents before children
  std::map<std::string, size_t, std::less<>> by_path_;
};

// The line of the model that a node stands for ("model.py:12"), by MODEL.modules.json beside the graph, whose
// "lines" are {LINE: [NODE]}; empty: nothing says it.
std::string LineOfNode(const std::string& graph, std::string_view node);

}  // namespace lanescope::study
