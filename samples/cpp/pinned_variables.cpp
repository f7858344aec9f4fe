// SPDX-License-Identifier: Apache-2.0
// Variables pinned by name and by a function of the op, an integer variable that no GPU takes, and ops that
// wait for others.
#include <graph_run.h>

#include "graphs/ops.h"

namespace op = lanescope::graphs::op;
using lanescope::Endpoint;
using lanescope::graphs::Scope;

namespace {

void Pinned() {
  Scope s;
  const lanescope::graphs::Variable *a, *b;
  {
    const auto cpu = s.Device("/cpu:0");
    a = &s.NewVariable(3.0, {.name = "a"});
    b = &s.NewVariable(4.0, {.name = "b"});
  }
  const Endpoint c = op::Mul(s, *a, *b);
  const Endpoint init = lanescope::graphs::InitializeVariables(s);
  samples::GraphRun run(s);
  run({}, {}, {init});
  std::printf("a on %s, c on %s: %g\n", run.DeviceOf(a->ref).c_str(), run.DeviceOf(c).c_str(),
              run({c})[0].data<float>()[0]);
}

void ByFunction() {
  Scope s;
  const auto variables_on_cpu = s.Device([](const lanescope::Node& node) -> std::string {
    return node.op == "VariableV2" ? "/cpu:0" : "/gpu:0";
  });
  const auto& a = s.NewVariable(3.0, {.name = "a"});
  const Endpoint c = op::Mul(s, a, op::Const(s, 4.0));
  samples::GraphRun run(s);
  std::printf("a on %s, c on %s\n", run.DeviceOf(a.ref).c_str(), run.DeviceOf(c).c_str());
}

void Integer(bool soft_placement) {
  Scope s;
  const auto gpu = s.Device("/gpu:0");
  const auto& i = s.NewVariable(3, {.name = "i"});
  samples::GraphRun run(s, {.soft_placement = soft_placement});
  run({}, {}, {i.initializer});
  std::printf("i on %s\n", run.DeviceOf(i.ref).c_str());
}

void After() {
  Scope s;
  const Endpoint a = op::Const(s, 1.0), b = op::Add(s, a, 2.0);
  const auto after = s.ControlDependencies({a, b});
  const Endpoint x = op::Const(s, 3.0), y = op::Const(s, 4.0);
  const Endpoint sum = op::Add(s, x, y);
  samples::GraphRun run(s);
  std::printf("after a and b: %g\n", run({sum})[0].data<float>()[0]);
}

}  // namespace

int main() {
  return samples::Main([] {
    Pinned();
    ByFunction();
    Integer(true);
    try {
      Integer(false);
    } catch (const lanescope::Error& error) {
      std::printf("without soft placement: %s\n", error.what());
    }
    After();
  });
}
