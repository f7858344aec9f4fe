// SPDX-License-Identifier: Apache-2.0
// Plans of parallelism on the command line: the search for the best, and the step of one.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace lanescope::cli {

struct PlanOptions {
  std::string model;  // a named one, or a file with its shape
  std::string plan;   // of `simulate`; empty: look for the best
  std::string machine, precision = "bf16", kernels = "compiled", loss = "plain", launch;
  std::string trace;  // of `simulate`: where the step is recorded
  double global_batch = 0, largest_micro = 16;
  double sequence = 0;         // 0: as the model has it
  int verify = 0, steps = 20;  // of the best, how many run here, and for how long
  bool as_json = false;

  // --global-batch and --sequence.
  void AddBatch(CLI::App* command);
  // --precision, --kernels, --loss, --launch.
  void AddSearch(CLI::App* command);
};

// Throw Error.
void SearchPlans(const PlanOptions& options);
void SimulatePlan(const PlanOptions& options);
// Throws CLI::ValidationError for an option that was given and is not among what plans take.
void CheckOfPlans(const CLI::App& command, std::string_view flag);
// Throws it for an option of plans without `flag`.
void CheckOfGraphs(const CLI::App& command, std::string_view flag);

}  // namespace lanescope::cli
