// SPDX-License-Identifier: Apache-2.0
#include "bench/accuracy/megatron_fit.h"

#include <fmt/core.h>

#include <cmath>

namespace lanescope::bench {
namespace {

using sims::megatron::MeasuredRow;
using sims::megatron::MegatronRules;

struct Constant {
  const char* name;
  double* value;
  double usual;  // before anything is measured
};

std::vector<Constant> ConstantsOf(MegatronRules* rules) {
  auto& [gpu, cluster, host, passes] = *rules;
  return {{"large_tile_share", &gpu.large_tile_share, 0.85},
          {"medium_tile_share", &gpu.medium_tile_share, 0.72},
          {"small_tile_share", &gpu.small_tile_share, 0.43},
          {"ramp", &gpu.ramp, 128},
          {"unaligned_share", &gpu.unaligned_share, 0.35},
          {"product_s", &gpu.product_s, 4e-6},
          {"memory_bytes_per_s", &gpu.memory_bytes_per_s, 1.5e12},
          {"layer_s", &host.layer_s, 2.9e-3},
          {"unfused_softmax_s", &host.unfused_softmax_s, 1.2e-3},
          {"head_s", &host.head_s, 1.5e-3},
          {"embedding_s", &host.embedding_s, 0.4e-3},
          {"overlap", &host.overlap, 4},
          {"collective_s", &host.collective_s, 200e-6},
          {"collective_s_per_gpu", &host.collective_s_per_gpu, 20e-6},
          {"step_s", &host.step_s, 0.3e-3},
          {"update_layer_s", &host.update_layer_s, 50e-6},
          {"whole", &passes.whole, 36},
          {"split", &passes.split, 26},
          {"scores", &passes.scores, 16},
          {"logits", &passes.logits, 16},
          {"update_bytes", &passes.update_bytes, 20}};
}

double Cost(const std::vector<MeasuredRow>& rows, const MegatronRules& rules,
            const std::vector<Constant>& constants) {
  constexpr double kSmooth = 0.015;  // errors below this weigh by their square
  constexpr double kPull = 0.05;
  double cost = 0;
  for (const MeasuredRow& row : rows) cost += std::hypot(std::log1p(ErrorOf(row, rules)), kSmooth);
  for (const Constant& constant : constants)
    cost += kPull * std::pow(std::log(*constant.value / constant.usual), 2);
  return cost;
}

}  // namespace

double ErrorOf(const MeasuredRow& row, const MegatronRules& rules) {
  return EstimateGptStep(row.model, row.layout, rules).seconds * 1e3 / row.measured_ms - 1;
}

// One constant after the other, by steps that grow where they help and shrink where they do not.
MegatronRules FitMegatron(const std::vector<MeasuredRow>& rows) {
  MegatronRules rules;
  const std::vector<Constant> constants = ConstantsOf(&rules);
  std::vector<double> step(constants.size(), 0.05);
  double best = Cost(rows, rules, constants);
  for (int round = 0; round < 60; ++round) {
    for (size_t i = 0; i < constants.size(); ++i) {
      double* value = constants[i].value;
      const double before = *value;
      bool better = false;
      for (const double factor : {std::exp(step[i]), std::exp(-step[i])}) {
        *value = before * factor;
        const double cost = Cost(rows, rules, constants);
        if (cost < best) {
          best = cost;
          better = true;
          break;
        }
        *value = before;
      }
      step[i] *= better ? 1.5 : 0.5;
    }
  }
  for (const Constant& constant : constants) fmt::print("{:22} {:.4g}\n", constant.name, *constant.value);
  return rules;
}

}  // namespace lanescope::bench
