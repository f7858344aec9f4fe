// SPDX-License-Identifier: Apache-2.0
// megatron [--fit FITTED.csv] ROWS.csv: predicts every row of measured GPT training steps, and how far off
// that is. With --fit by constants that are fitted to other rows, and printed; else by those of
// sims/megatron.

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "bench/accuracy/megatron_fit.h"
#include "core/base/error.h"
#include "core/base/units.h"

namespace {

using lanescope::sims::megatron::MeasuredRow;
using lanescope::sims::megatron::MegatronRules;

void PrintErrors(const std::vector<MeasuredRow>& rows, const MegatronRules& rules) {
  double sum = 0, worst = 0;
  for (const MeasuredRow& row : rows) {
    const lanescope::sims::megatron::GptLayout& layout = row.layout;
    const auto step = EstimateGptStep(row.model, layout, rules);
    const double error = lanescope::bench::ErrorOf(row, rules);
    sum += std::abs(error);
    worst = std::max(worst, std::abs(error));
    fmt::print(
        "hidden {} layers {} batch {} micro {} tensor {} data {} pipeline {}: measured {:.1f} ms, predicted "
        "{:.1f} ms, {}; layers {:.0f} ends {:.0f} messages {:.0f} bubble {:.0f} gradients {:.0f} "
        "update {:.0f} ms{}\n",
        row.model.hidden, row.model.layers, layout.batch, layout.micro_batch, layout.tensor, layout.data,
        layout.pipeline, row.measured_ms, step.seconds * 1e3, lanescope::SignedPercentText(error),
        step.layers * 1e3, step.ends * 1e3, step.messages * 1e3, step.bubble * 1e3, step.gradients * 1e3,
        step.update * 1e3, layout.recompute ? ", recomputing" : "");
  }
  fmt::print("mean error {}, worst {}\n", lanescope::PercentText(sum / static_cast<double>(rows.size()), 2),
             lanescope::PercentText(worst, 2));
}

}  // namespace

int main(int argc, char** argv) {
  const bool fit = argc == 4 && std::string(argv[1]) == "--fit";
  if (argc != 2 && !fit) {
    fmt::print(stderr, "usage: megatron [--fit FITTED.csv] ROWS.csv\n");
    return 2;
  }
  try {
    MegatronRules rules;
    const std::vector<MeasuredRow> rows =
        lanescope::sims::megatron::ReadMeasuredRows(argv[argc - 1], rules.gpu);
    if (fit)
      rules = lanescope::bench::FitMegatron(lanescope::sims::megatron::ReadMeasuredRows(argv[2], rules.gpu));
    PrintErrors(rows, rules);
    return 0;
  } catch (const lanescope::Error& error) {
    fmt::print(stderr, "error: {}: {}\n", lanescope::CodeName(error.code()), error.message());
    return 1;
  }
}
