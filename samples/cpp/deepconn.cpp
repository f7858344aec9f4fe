// SPDX-License-Identifier: Apache-2.0
// DeepCoNN written here and trained: on one GPU, with a tower a GPU, and with every stage on another GPU than
// the one before it. The losses are the same; what differs is what is copied.
// Its feeds are those of the run configuration beside GRAPH:
//   deepconn GRAPH.pbtxt [STEPS]
#include <deepconn_model.h>
#include <graph_run.h>

#include <cstdlib>

#include "core/inputs/run_spec.h"

namespace {

void Train(const samples::DeepConnPlacement& placement, const lanescope::RunSpec& spec, int steps) {
  for (const bool colocate : {false, true}) {
    lanescope::graphs::Scope s;
    const samples::DeepConn model = samples::DeepConnWriter(s).Build(placement, colocate);
    samples::GraphRun run(s);
    run({}, {}, {model.init, model.init_tables});
    float loss = 0;
    for (int step = 0; step < steps; ++step) {
      loss = run({model.loss}, MakeFeeds(spec, step), {model.train})[0].data<float>()[0];
    }
    std::printf("%-12s gradients %-17s loss after %d steps %8.5f, %2d copies between GPUs, %lld bytes\n",
                placement.name, colocate ? "beside their ops:" : "anywhere:", steps, loss, run.copies().count,
                static_cast<long long>(run.copies().bytes));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: deepconn GRAPH.pbtxt [STEPS]\n");
    return 2;
  }
  return samples::Main([&] {
    const lanescope::RunSpec spec = lanescope::ReadRunSpecBeside(argv[1]);
    const int steps = argc > 2 ? std::atoi(argv[2]) : 3;
    for (const auto& placement : samples::kDeepConnPlacements) Train(placement, spec, steps);
  });
}
