// SPDX-License-Identifier: Apache-2.0
// Placements for PyTorch's libraries instead of tables: --format and --no-split.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/machine/machine.h"
#include "study/workload/module_tree.h"
#include "study/workload/placing.h"

namespace lanescope::cli {

class ModuleFormat {
 public:
  // `other`: flags that print something else.
  void Add(CLI::App* command, const std::vector<CLI::Option*>& others);
  bool given() const { return !format_.empty(); }
  // The modules beside the graph, so that work begins only where they are there. Throws what
  // ModuleTree::BesideGraph throws.
  void Read(const std::string& graph);
  bool makes_fsdp() const { return format_ == "fsdp"; }
  bool makes_splits() const { return format_ == "split-points"; }
  std::set<std::string> whole() const;
  // After Read.
  void Print(const study::PlacedGraph& placed, const Machine& machine) const;

 private:
  std::string format_, whole_;
  std::optional<study::ModuleTree> modules_;
};

}  // namespace lanescope::cli
