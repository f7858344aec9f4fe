// SPDX-License-Identifier: Apache-2.0
// Writes the graphs of the larger samples, for TensorFlow to read:
//   write_graphs FOLDER
// Names and step are those of samples/graphs, whose run configurations fit.
#include <cifar10_model.h>
#include <deepconn_model.h>
#include <graph_run.h>
#include <polynomial_model.h>

#include "core/graph/graph_io.h"

namespace {

template <typename Build>
void Write(const std::string& folder, const std::string& name, Build build) {
  lanescope::graphs::Scope s;
  build(s);
  const std::string path = folder + "/" + name + ".pbtxt";
  lanescope::WriteGraph(s.graph(), path);
  std::printf("%s: %zu nodes\n", path.c_str(), s.graph().num_nodes());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: write_graphs FOLDER\n");
    return 2;
  }
  return samples::Main([&] {
    const std::string folder = argv[1];
    using lanescope::graphs::Scope;
    Write(folder, "polynomial", [](Scope& s) { samples::BuildPolynomialFit(s, 1); });
    Write(folder, "polynomial_parallel", [](Scope& s) { samples::BuildPolynomialFit(s, 2); });
    Write(folder, "cifar10_single", [](Scope& s) { samples::Cifar10Writer(s, 1).Build(); });
    Write(folder, "cifar10_towers", [](Scope& s) { samples::Cifar10Writer(s, 2).Build(); });
    for (const auto& placement : samples::kDeepConnPlacements) {
      Write(folder, std::string("deepconn_") + placement.name,
            [&](Scope& s) { samples::DeepConnWriter(s).Build(placement, false); });
    }
  });
}
