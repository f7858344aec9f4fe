// SPDX-License-Identifier: Apache-2.0
#include "cli/module_format.h"

#include "cli/options.h"
#include "cli/print.h"
#include "study/workload/module_placement.h"

namespace lanescope::cli {

void ModuleFormat::Add(CLI::App* command, const std::vector<CLI::Option*>& others) {
  CLI::Option* format =
      command
          ->add_option(
              "--format", format_,
              "Print the placement of a model of lanescope.torch.export for a library of PyTorch: a "
              "device-map for Accelerate, the split-points of a pipeline, the modules that fsdp wraps")
          ->check(CLI::IsMember(study::ModuleFormats()));
  for (CLI::Option* other : others) format->excludes(other);
  command
      ->add_option(
          "--no-split", whole_,
          "Classes of modules that stay whole in a device-map and between split-points, with commas between")
      ->needs(format);
}

void ModuleFormat::Read(const std::string& graph) { modules_ = study::ModuleTree::BesideGraph(graph); }

std::set<std::string> ModuleFormat::whole() const {
  std::set<std::string> whole;
  if (whole_.empty()) return whole;
  for (std::string& type : SplitAtCommas(whole_)) whole.insert(std::move(type));
  return whole;
}

void ModuleFormat::Print(const study::PlacedGraph& placed, const Machine& machine) const {
  PrintJson(study::ModulePlacementJson(format_, modules_.value(), placed, machine, whole()));
}

}  // namespace lanescope::cli
