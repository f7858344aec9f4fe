// SPDX-License-Identifier: Apache-2.0
// One product on each of two GPUs, added up on the CPU.
#include <graph_run.h>

#include "graphs/ops.h"

namespace op = lanescope::graphs::op;

int main() {
  return samples::Main([] {
    lanescope::graphs::Scope s;
    const lanescope::graphs::Input matrix({2, 2}, std::vector<float>{1, 2, 3, 4});
    std::vector<lanescope::Endpoint> products;
    for (const char* device : {"/gpu:2", "/gpu:3"}) {
      const auto on = s.Device(device);
      const auto a = op::Const(s, matrix);
      const auto b = op::Const(s, matrix);
      products.push_back(op::MatMul(s, a, b));
    }
    const auto cpu = s.Device("/cpu:0");
    const auto sum = op::AddN(s, products);
    samples::GraphRun run(s, {.machine = lanescope::VirtualMachine(4, 1), .log_placement = true});
    samples::Print("sum", run({sum})[0]);
  });
}
