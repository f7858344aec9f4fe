// SPDX-License-Identifier: Apache-2.0
// Matrices on the CPU, their product where the placer puts it, and what becomes of a device that is not
// there.
#include <graph_run.h>

#include "graphs/ops.h"

namespace op = lanescope::graphs::op;
using lanescope::graphs::Input;
using lanescope::graphs::Scope;

namespace {

const Input kMatrix({2, 2}, std::vector<float>{1, 2, 3, 4});

void Product(const char* device, bool soft_placement) {
  Scope s;
  lanescope::Endpoint a, b;
  {
    const auto on = s.Device(device);
    a = op::Const(s, kMatrix, {.name = "a"});
    b = op::Const(s, kMatrix, {.name = "b"});
  }
  const auto c = op::MatMul(s, a, b);
  samples::GraphRun run(s, {.soft_placement = soft_placement, .log_placement = true});
  samples::Print("c", run({c})[0]);
}

}  // namespace

int main() {
  return samples::Main([] {
    Product("/cpu:0", true);
    Product("/gpu:7", true);  // soft placement takes a GPU that is there
    try {
      Product("/gpu:7", false);
    } catch (const lanescope::Error& error) {
      std::printf("without soft placement: %s\n", error.what());
    }
  });
}
