// SPDX-License-Identifier: Apache-2.0
// Fetches of steps of random graphs, by a session of their own.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "exec/run/session.h"
#include "tests/support/random_graph.h"
#include "tests/support/random_tensors.h"

namespace lanescope::exec::test {

inline void Append(std::vector<Tensor>* all, std::vector<Tensor> more) {
  for (Tensor& tensor : more) all->push_back(std::move(tensor));
}

inline std::vector<Tensor> RunDag(const lanescope::test::RandomGraph& random, const Placement& placement,
                                  const Machine& machine, const SessionOptions& options) {
  Session session(random.graph, placement, machine, options);
  session.Run({{}, {}, random.init});
  std::vector<Tensor> results;
  for (int step = 0; step < 4; ++step)
    Append(&results, session.Run({{}, random.fetches, random.targets}).fetches);
  return results;
}

// With feeds that differ from step to step, one of them empty.
inline std::vector<Tensor> RunTensors(const lanescope::test::RandomTensors& tensors,
                                      const Placement& placement, const Machine& machine,
                                      const SessionOptions& options) {
  Session session(tensors.graph(), placement, machine, options);
  session.Run({{}, {}, tensors.init()});
  std::vector<Tensor> results;
  for (int step = 0; step < 3; ++step) {
    Tensor x(DataType::kFloat, Shape{16});
    for (int i = 0; i < 16; ++i) x.data<float>()[i] = static_cast<float>((i * 7 + step) % 5) / 4 - 0.5f;
    const std::map<std::string, Tensor> feeds = {{"x", x}, {"z", Tensor(DataType::kFloat, Shape{0})}};
    Append(&results, session.Run({feeds, tensors.fetches(), tensors.targets()}).fetches);
  }
  return results;
}

}  // namespace lanescope::exec::test
